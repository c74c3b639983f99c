"""The JSON engine without its input and output: it reads queries, searches their positions and replies.

Queries are read by one thread, and `read` never waits for a search. Each slot of the schedule has a thread that runs
one search after another.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from go_rules.game import Game
from gtp_engine.errors import explain
from gtp_engine.json_engine import replies
from gtp_engine.json_engine.options import Options
from gtp_engine.json_engine.query import FieldError, read_integers, read_query
from gtp_engine.json_engine.records import Replayer
from gtp_engine.json_engine.schedule import Position, Schedule
from gtp_engine.networks import described
from gtp_engine.version import GTP_VERSION, VERSION
from nets.bare_evaluation import HumanEvaluation, HumanNetwork
from nets.evaluator import Evaluator
from nets.human_profile import HumanProfile
from nobi_machine.streams import note
from nobi_machine.text import RepeatedName, parse_json, printable_path, shown
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import ReportRequest, SearchRequest, allows_a_move
from search.result import SearchResult


@dataclass(frozen=True)
class Models:
    """The opened networks, with where they come from."""

    evaluator: Evaluator
    path: Path
    batch: int
    """Positions that a thread has evaluated at a time, at most."""
    human: HumanNetwork | None = None
    human_path: Path | None = None

    def reason_against(self, profile: HumanProfile) -> str:
        """Say why a query cannot ask for this profile; empty if it can."""
        own = self.evaluator.attributes.profile
        if self.human is not None or own == profile:
            return ""
        if own is not None:
            return f"humanSLProfile can only be {own.name} here; give the network with -human-model to choose by query"
        return (
            "WARNING: humanSLProfile is specified as config param but model(s) don't use it: "
            f"{printable_path(self.path)}\n"
        )

    def described(self) -> list[dict[str, Any]]:
        """Describe the networks as `query_models` lists them, the human network last."""
        models = [described(self.evaluator, self.path, self.batch)]
        if self.human is not None and self.human_path is not None:
            models.append(described(self.human.evaluator, self.human_path, self.batch))
        return models


Send = Callable[[dict[str, Any]], None]

UNKNOWN = "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or 'terminate_all'"
TURNS = "If provided, must be an array of integers indicating turns to terminate"
NO_TERMINATE_ID = 'Requests for a terminate action must have a string "terminateId" field'
NO_OBJECT = "Request line was valid json but was not an object, ignoring: "
NO_JSON = "could not parse input line as json request: "
LEAST_MEGABYTES = 4
"""Of a slot's tree."""
SEED_STEP = 1 << 20
"""How far the seeds of two slots are apart; those of a slot's workers follow each other."""
NO_ID = 'Request must have a string "id" field'


class JsonEngine:
    """Answers the lines of KataGo's analysis protocol."""

    def __init__(
        self,
        models: Models,
        defaults: Options,
        slots: int,
        workers: int,
        send: Send,
        is_behind: Callable[[], bool],
        on_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        """`slots`: the most positions that are searched at once; `workers`: the threads that search, in all slots
        together. `send` sends a reply, from any thread; `is_behind` says whether reports in between are too many;
        `on_failure` is told of errors that are no fault of a query's.
        """
        self._models = models
        self._defaults = defaults
        self._send = send
        self._is_behind = is_behind
        self._on_failure = on_failure
        self._workers = workers
        self._schedule = Schedule(slots, workers)
        self._players: dict[int, PuctPlayer] = {}
        self._replayer = Replayer()
        self._replayers = [Replayer() for _ in range(slots)]
        self._clear_at = dict.fromkeys(range(slots), 0)
        """By slot, the number of the last `clear_cache` that its search has carried out."""
        self._cleared = 0
        self._sharing = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, args=(slot,), name=f"position-{slot}", daemon=True)
            for slot in range(slots)
        ]
        self._prepare(0)

    # --- Reading ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to search what is read."""
        for thread in self._threads:
            thread.start()

    def read(self, line: bytes) -> None:
        """Read one line, and answer at once what needs no search."""
        try:
            text = line.decode("utf-8-sig").strip()
            if not text:
                return
            query = parse_json(text)
        except RepeatedName as error:
            id = error.value.get("id") if isinstance(error.value, dict) else None
            self._send({**({"id": id} if isinstance(id, str) else {}), "error": f"parse error: {error}"})
            return
        except ValueError:  # bytes that are no UTF-8 among them: an id with such could not be given back
            self._send({"error": f"parse error: {NO_JSON}{shown(line.decode('utf-8', 'replace').strip())}"})
            return
        if not isinstance(query, dict):
            self._send({"error": NO_OBJECT + shown(text)})
        elif not isinstance(query.get("id"), str):
            self._send({"error": NO_ID})
        elif isinstance(query.get("action"), str):
            self._act(query, query["action"])
        else:
            self._accept(query, len(line))

    def terminate(self, id: str | None = None, turns: frozenset[int] | None = None) -> None:
        """Terminate positions as `Schedule.terminate` says, and answer those that had not begun."""
        for position in self._schedule.terminate(id, turns):
            self._send(replies.no_results(position))
            self._schedule.finish(position)

    def close(self) -> None:
        """Say that nothing more will be read. What was read is answered all the same."""
        self._schedule.close()

    def is_done(self) -> bool:
        """Return whether after `close` the last reply was sent."""
        return not any(thread.is_alive() for thread in self._threads)

    def _act(self, query: dict[str, Any], action: str) -> None:
        """Carry out the action of a query that has one. The answer repeats the whole query."""
        answer: dict[str, Any] = {}
        try:
            if action == "query_version":
                answer = {"version": GTP_VERSION, "git_hash": f"Nobi {VERSION}"}
            elif action == "query_models":
                answer = {"models": self._models.described()}
            elif action == "clear_cache":
                self._cleared += 1
            elif action in ("terminate", "terminate_all"):
                id = query.get("terminateId") if action == "terminate" else None
                if action == "terminate" and not isinstance(id, str):
                    raise FieldError("terminateId", NO_TERMINATE_ID)
                turns = frozenset(read_integers(query, "turnNumbers", TURNS)) if "turnNumbers" in query else None
                self.terminate(id, turns)
            else:
                self._send({"error": UNKNOWN})
                return
        except FieldError as error:
            self._send({"id": query["id"], "field": error.field, "error": error.text})
            return
        self._send({**query, **answer})

    def _accept(self, fields: dict[str, Any], size: int) -> None:
        id = fields["id"]

        def warn(field: str, text: str) -> None:
            self._send({"id": id, "field": field, "warning": text})

        try:
            query = read_query(fields, self._defaults, self._models.reason_against, warn, self._replayer)
            if not self._schedule.add(query, size):
                raise FieldError("analyzeTurns", "Too many positions are waiting to be analyzed")
        except FieldError as error:
            self._send({"id": id, "field": error.field, "error": error.text})
        except Exception as error:  # out of memory, for example: what was asked before goes on
            self._send(self._error(id, error))

    def _error(self, id: str, error: Exception) -> dict[str, Any]:
        """Report an error that is no fault of a query's, and return the reply that says so."""
        self._on_failure(error)
        return {"id": id, "error": explain(error)}

    # --- Searching --------------------------------------------------------------------------------------------

    def _work(self, slot: int) -> None:
        while (position := self._schedule.take(slot)) is not None:
            try:
                self._answer(slot, position)
            except Exception as error:  # even the error could not be sent; whoever waits behind it is answered
                self._on_failure(error)
                note(f"a reply was lost: {explain(error)}")
            self._schedule.finish(position)
            self._share()
        player = self._players.pop(slot, None)
        if player is not None:
            player.close()

    def _answer(self, slot: int, position: Position) -> None:
        """Search a position and send its last reply. Raises what sending an error raises."""
        try:
            self._send(self._analyse(slot, position))
        except Exception as error:
            self._send(self._error(position.query.id, error))
            self._send(replies.no_results(position))

    def _analyse(self, slot: int, position: Position) -> dict[str, Any]:
        """Search a position and return its last reply. Raises whatever a search may raise."""
        if position.stop.is_set():
            return replies.no_results(position)
        query, options = position.query, position.query.options
        player = self._prepare(slot, options)
        self._share()
        game = self._replayers[slot].game(query.record, position.turn)
        human = self._ask_human(game, options.profile)
        reporter = replies.Reporter(position, game, human)

        def report(result: SearchResult) -> None:
            if not self._is_behind():
                self._send(reporter.reply(result, True))

        # Where no legal move is allowed there is nothing to search, and a reply has no moves, as KataGo's.
        most = options.engine.limits(may_stop_early=False)
        visits = most.visits_from(0) if allows_a_move(game, game.to_play, query.filter) else 1  # the tree is empty
        request = SearchRequest(
            game,
            game.to_play,
            dataclasses.replace(most, visits=visits, playouts=None),
            query.filter,
            ReportRequest.of(report, query.flags, query.every, query.first),
            analysis=True,
            fresh=True,
            stop=position.stop,
            may_end_empty=True,
            likelihoods=None if human is None else np.maximum(human.policy, 0.0),
        )
        result = player.search(request)
        return reporter.reply(result, False) if result.moves else replies.no_results(position)

    def _ask_human(self, game: Game, profile: HumanProfile | None) -> HumanEvaluation | None:
        """What people would play, if somebody said whom to imitate, or if the human network knows no kinds of them."""
        human = self._models.human
        if human is None:
            return None
        knows_kinds = human.evaluator.attributes.profile is not None
        return None if knows_kinds and profile is None else human.evaluate(game, profile if knows_kinds else None)

    def _prepare(self, slot: int, options: Options | None = None) -> PuctPlayer:
        """The search of a slot, with the parameters of a query."""
        wanted = self._parameters(slot, options or self._defaults)
        player = self._players.get(slot)
        if player is None:
            player = self._players[slot] = PuctPlayer(self._models.evaluator, wanted)
            if slot == 0:
                player.warm_up(19, 19)
        player.parameters = wanted
        if self._clear_at[slot] != self._cleared:
            self._clear_at[slot] = self._cleared
            player.clear()
        return player

    def _parameters(self, slot: int, options: Options) -> SearchParameters:
        """A query's parameters with this slot's part of the machine: a part of the memory, and as many threads as it
        may get: all in the first two slots, half of them in the third, and so on. The first slots are the ones in use
        while there are few positions."""
        parameters, slots = options.parameters, self._schedule.slots
        alone = self._defaults.parameters.workers or self._workers
        return dataclasses.replace(
            parameters,
            workers=max(1, -(-alone // max(1, slot))),
            memory=max(LEAST_MEGABYTES, parameters.memory // slots),
            cache_memory=parameters.cache_memory // slots,
            seed=parameters.seed if parameters.seed < 0 else parameters.seed + SEED_STEP * slot,
        )

    def _share(self) -> None:
        """Share the threads out among the slots that search now."""
        with self._sharing:
            for slot, count in self._schedule.shares().items():
                player = self._players.get(slot)
                if player is not None:
                    player.searcher.use_workers(count)
