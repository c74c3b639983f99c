"""How fast the JSON engine analyses many positions, beside the search that `nobi benchmark` measures.

    python -m tests.campaigns.json_speed [--positions 100] [--visits 100] [--rounds 5] [--net FILE] [--size 19]

Both take turns, round by round, with the same network in one process. A round is some of the positions by the JSON
engine, and as long a time of one search with all threads. Prints the evaluations a second of wall time and of CPU time
(which other programs disturb less), and their ratio. The exit status is 1 if the median ratio of CPU time is below 0.9.
"""

from __future__ import annotations

import argparse
import json
import queue
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from go_rules.points import COLOUR_LETTERS, to_vertex
from gtp_engine.benchmark.trials import position
from gtp_engine.configuration.sources import load
from gtp_engine.json_engine.engine import JsonEngine, Models
from gtp_engine.json_engine.options import Options
from gtp_engine.networks import open_evaluator, suited_to
from nets.evaluator import RecordingEvaluator
from nobi_machine.memory import usable_cores
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest

WANTED = 0.9


class Speed(NamedTuple):
    """Evaluations a second."""

    wall: float
    cpu: float


class Meter:
    """Counts the evaluations of a network, and the time that passes meanwhile."""

    def __init__(self, recorder: RecordingEvaluator) -> None:
        self._recorder = recorder
        self.begin()

    def begin(self) -> None:
        self._recorder.batches.clear()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def speed(self) -> Speed:
        count = sum(size * calls for size, calls in self._recorder.batches.items())
        return Speed(count / (time.perf_counter() - self._wall), count / (time.process_time() - self._cpu))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=100)
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--net")
    parser.add_argument("--size", type=int, default=19)
    arguments = parser.parse_args()
    configuration = load(None, ("memory=512",), {"net": arguments.net})
    recorder = RecordingEvaluator(open_evaluator(configuration), most=0)
    parameters = configuration.fill(suited_to(recorder))
    workers = parameters.workers or usable_cores()
    replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    models = Models(recorder, Path("network"), parameters.batch)
    engine = JsonEngine(models, Options(parameters), workers, workers, replies.put, lambda: False)
    engine.start()
    player = PuctPlayer(recorder, parameters)
    player.warm_up(arguments.size, arguments.size)
    meter = Meter(recorder)
    each = max(1, arguments.positions // arguments.rounds)

    def analysed(first: int, count: int) -> tuple[Speed, float]:
        lines = [query(first + i, arguments.size, arguments.visits) for i in range(count)]
        started = time.perf_counter()
        meter.begin()
        for line in lines:
            engine.read(line)
        for _ in lines:
            assert "error" not in replies.get()
        return meter.speed(), time.perf_counter() - started

    def searched(number: int, seconds: float) -> Speed:
        game = position(number, arguments.size, arguments.size)
        player.clear()
        meter.begin()
        player.search(SearchRequest(game, game.to_play, Limits(seconds=seconds, may_stop_early=False)))
        return meter.speed()

    analysed(10**6, 2 * workers)
    pairs = []
    for number in range(arguments.rounds):
        many, seconds = analysed(number * each, each)
        one = searched(number, seconds)
        pairs.append((many, one))
        print(
            f"{each} positions in {seconds:.1f} s: {many.wall:.0f} evaluations/s, {many.cpu:.0f}/CPU s; one search: "
            f"{one.wall:.0f}, {one.cpu:.0f}/CPU s; ratio {many.wall / one.wall:.3f}, CPU {many.cpu / one.cpu:.3f}",
            flush=True,
        )
    wall = statistics.median(many.wall / one.wall for many, one in pairs)
    cpu = statistics.median(many.cpu / one.cpu for many, one in pairs)
    print(f"median ratio of {arguments.rounds} rounds: {wall:.3f}, by CPU time {cpu:.3f} (wanted: {WANTED})")
    return int(cpu < WANTED)


def query(number: int, size: int, visits: int) -> bytes:
    """A line that asks for the position after one of the match openings."""
    game = position(number, size, size)
    moves = [[COLOUR_LETTERS[move.colour], to_vertex(move.point, size)] for move in game.moves]
    fields = {"id": str(number), "moves": moves, "rules": "chinese", "komi": 7.5, "maxVisits": visits}
    return json.dumps({**fields, "boardXSize": size, "boardYSize": size}).encode()


if __name__ == "__main__":
    sys.exit(main())
