"""A JSON engine spoken to line by line, without a process and with a network that knows nothing."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gtp_engine.json_engine.engine import JsonEngine, Models
from gtp_engine.json_engine.options import Options
from nets.bare_evaluation import HumanNetwork
from nets.evaluator import ConstantEvaluator, Evaluator
from search.nobi.parameters import HumanParameters, SearchParameters
from tests.systems import PATIENCE

PLAIN = {"rules": "chinese", "komi": 7, "boardXSize": 9, "boardYSize": 9, "maxVisits": 5}


def asking(id: str = "a", **fields: Any) -> dict[str, Any]:
    """A query for a 9x9 board after two moves; a field of None is left out."""
    query = {"id": id, "moves": [["B", "E5"], ["W", "C3"]], **PLAIN, **fields}
    return {name: value for name, value in query.items() if value is not None}


class Spoken:
    """An engine that searches, and the replies that it has sent."""

    def __init__(
        self, slots: int = 1, workers: int = 1, evaluator: Evaluator | None = None, human: HumanNetwork | None = None
    ) -> None:
        self.replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.send: Callable[[dict[str, Any]], None] = self.replies.put
        self.is_behind: Callable[[], bool] = lambda: False
        table = SearchParameters if human is None else HumanParameters
        parameters = table(memory=64, cache_memory=8, seed=1)
        path = Path("human.bin.gz") if human is not None else None
        models = Models(evaluator or ConstantEvaluator(), Path("constant.bin.gz"), 4, human, path)
        self.engine = JsonEngine(
            models, Options(parameters), slots, workers, lambda reply: self.send(reply), lambda: self.is_behind()
        )
        self.engine.start()

    def say(self, *queries: dict[str, Any] | str) -> None:
        """Send queries, or lines as they are."""
        for query in queries:
            self.engine.read((query if isinstance(query, str) else json.dumps(query)).encode())

    def next(self) -> dict[str, Any]:
        """The next reply."""
        return self.replies.get(timeout=PATIENCE)

    def ask(self, query: dict[str, Any] | str, count: int = 1) -> list[dict[str, Any]]:
        """Send one query and return so many replies."""
        self.say(query)
        return [self.next() for _ in range(count)]

    def end(self) -> None:
        """End everything, and see that every search has ended."""
        self.engine.close()
        self.engine.terminate()
