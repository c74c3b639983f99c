"""What a query may ask for instead of an analysis: its field `action`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gtp_engine.json_engine.fields import FieldError, read_integers
from gtp_engine.json_engine.models import Models
from gtp_engine.version import GTP_VERSION, VERSION

UNKNOWN = "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or 'terminate_all'"
TURNS = "If provided, must be an array of integers indicating turns to terminate"
NO_TERMINATE_ID = 'Requests for a terminate action must have a string "terminateId" field'


class Actions:
    """Carries actions out and answers them. An answer repeats the whole query."""

    def __init__(
        self,
        models: Models,
        terminate: Callable[[str | None, frozenset[int] | None], None],
        clear: Callable[[], None],
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        """`terminate` gets the id of queries and their turns; None stands for all."""
        self._models = models
        self._terminate = terminate
        self._clear = clear
        self._send = send

    def carry_out(self, query: dict[str, Any]) -> None:
        """Carry out the action of a query that has one, and answer it."""
        try:
            answer = self._answer(query, query["action"])
        except FieldError as error:
            self._send({"id": query["id"], "field": error.field, "error": error.text})
            return
        self._send({"error": UNKNOWN} if answer is None else {**query, **answer})

    def _answer(self, query: dict[str, Any], action: str) -> dict[str, Any] | None:
        """Carry out an action and return what the answer adds to the query; None for an unknown action."""
        if action == "query_version":
            return {"version": GTP_VERSION, "git_hash": f"Nobi {VERSION}"}
        if action == "query_models":
            return {"models": self._models.described()}
        if action == "clear_cache":
            self._clear()
            return {}
        if action in ("terminate", "terminate_all"):
            id = query.get("terminateId") if action == "terminate" else None
            if action == "terminate" and not isinstance(id, str):
                raise FieldError("terminateId", NO_TERMINATE_ID)
            turns = frozenset(read_integers(query, "turnNumbers", TURNS)) if "turnNumbers" in query else None
            self._terminate(id, turns)
            return {}
        return None
