"""Kernels that check the bounds of every array, in memory that holds extreme bytes before it is used.

    python -m tests.campaigns.kernels [PART ...] [--lines N] [--short]

    searches   searches by rules, boards and limits of all kinds, asked for everything, in workspaces, trees and caches
               full of one byte: they find the same as where these are full of zeros, and only finite numbers
    networks   evaluations between guard zones (tests/nets/native/guarded.py), by the embedded network and those beside
               this checkout: nothing is written beside an array, and no output depends on what nobody has written
    tests      the tests of the rules, the features, the kernels of networks and the searches
    gtp, json  --lines random lines each to GTP and to the JSON engine (gtp_fuzz.py, json_fuzz.py)

All of it runs with NUMBA_BOUNDSCHECK=1, whose kernels lie apart in the cache. --short: fewer cases, as in `make test`,
by kernels that are optimised less and so compile faster. Prints counts, and what is wrong; the exit status is 1 if
anything is.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS, opponent
from go_rules.rule_names import preset
from nets.embedded import network_file
from nets.evaluator import LEAD, SCORE_MEAN, SCORE_STDEV, Evaluation, EvaluationRequest, Evaluator
from nets.native.evaluator import NativeEvaluator
from nets.open import open_network
from search.nobi import search as nobi_search
from search.nobi.compile_ahead import compile_all, compile_ends
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import RESIGN
from tests.conftest import REPOSITORY
from tests.nets.graph.test_katago_networks import inputs
from tests.nets.native.guarded import BYTES, NANS, ZEROS, differences
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Numbers, numbers_of

PARTS = ("searches", "networks", "tests", "gtp", "json")
KERNEL_TESTS = [f"tests/{name}" for name in ("go_rules", "nets/native", "nets/test_features.py", "search")]
RULES = ("chinese", "japanese", "tromp-taylor", "aga-button", "korean", "stone-scoring")
BOARDS = ((2, 2), (25, 25), (7, 11), (9, 9), (19, 19))
SHORT_CASES = (((2, 2), "aga-button"), ((7, 5), "japanese"), ((9, 9), "tromp-taylor"))
MOVES = 12
BATCHES = range(1, 9)

Wrong = Iterator[str]


class Extreme(FancifulEvaluator):
    """Says what no network says but a damaged one might: the largest logits and scores that are finite."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        answer = super().evaluate(request)
        answer.policy[:] = np.where(answer.policy > 0, np.float32(3e38), np.float32(-3e38))
        answer.score[:, [SCORE_MEAN, LEAD]] *= np.float32(1e36)
        answer.score[:, SCORE_STDEV] = np.float32(3e38)
        return answer


# --- Searches ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def filled(byte: int) -> Iterator[None]:
    """Let what searches reserve in the body hold `byte` where they do not say what it should hold."""
    empty = np.empty

    def reserved(*arguments: Any, **options: Any) -> NDArray[Any]:
        memory: NDArray[Any] = empty(*arguments, **options)
        if memory.flags.c_contiguous and not memory.dtype.hasobject:
            memory.reshape(-1).view(np.uint8)[:] = byte
        return memory

    class Filled(Workspace):
        """A workspace whose leaves, and what a network is shown of them, hold that byte too."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            for buffers in (*self.workers, self.root_buffers):
                for array in (buffers.leaves, buffers.flat, buffers.global_, buffers.keys):
                    array.reshape(-1).view(np.uint8)[:] = byte

    with patch.object(np, "empty", reserved), patch.object(nobi_search, "Workspace", Filled):
        yield


def searched(evaluator: Evaluator, size: tuple[int, int], rules: str, seed: int) -> list[tuple[str, Numbers]]:
    """Search the positions of a random game, each in another way; return everything that was found."""
    random = np.random.default_rng(seed)
    parameters = SearchParameters(workers=1, batch=1 + seed % 4, memory=4, cache_memory=1, seed=seed)
    player = PuctPlayer(evaluator, dataclasses.replace(parameters, analysis_wide_root_noise=0.1 * (seed % 2)))
    game = Game(*size, preset(rules)[0], 6.5 + seed % 2 / 2)
    report = ReportRequest(
        lambda _: None, math.inf, ownership=True, ownership_stdev=True, moves_ownership=True, moves_ownership_stdev=True
    )
    found: list[tuple[str, Numbers]] = []
    for number in range(MOVES):
        if game.is_over:
            break
        legal = [move for move in game.legal_moves(game.to_play) if move != PASS]
        avoided = MoveFilter(avoid={game.to_play: ((frozenset(legal[::2]), 1 + number),)}) if number % 4 == 3 else None
        colour = opponent(game.to_play) if number % 7 == 6 else game.to_play
        asked = report if number % 3 == 0 else None
        limits = Limits(visits=40 + 10 * number, may_stop_early=asked is None)
        result = player.search(SearchRequest(game, colour, limits, avoided, asked, analysis=asked is not None))
        found += numbers_of(result)
        chosen = player.choose(game, result)
        if colour != game.to_play or chosen == RESIGN or number % 2:
            chosen = int(random.choice(legal or [PASS]))
        game.play(game.to_play, chosen)
    player.close()
    return found


def searches(short: bool) -> Wrong:
    """Compile as at a first start, then search by every content of memory and compare. Yields what is wrong."""
    ahead = subprocess.Popen([sys.executable, "-m", "search.nobi.compile_ahead"], stdin=subprocess.PIPE, cwd=REPOSITORY)
    compile_ends()
    if ahead.wait() != 0:
        yield "the process that compiles ahead failed"
    compile_all()
    evaluators = FancifulEvaluator(), FancifulEvaluator(with_errors=True), Extreme()
    games = 0
    for seed, (size, rules) in enumerate(SHORT_CASES if short else [(size, each) for size in BOARDS for each in RULES]):
        for evaluator in evaluators[1:] if short else evaluators:
            first: list[tuple[str, Numbers]] = []
            for byte in (ZEROS, NANS) if short else BYTES:
                name = f"{type(evaluator).__name__} on {size} by {rules} in {byte:#x}"
                try:
                    with filled(byte):
                        found = searched(evaluator, size, rules, seed)
                except IndexError as error:
                    yield f"{name}: {error}"
                    continue
                games, first = games + 1, first or found
                if len(found) != len(first):
                    yield f"{name}: finds other moves than with zeros"
                for (field, numbers), (_, expected) in zip(found, first, strict=False):
                    if not np.isfinite(numbers).all():
                        yield f"{name}: not finite: {field}"
                    elif not np.array_equal(numbers, expected):
                        yield f"{name}: {field} is not as with zeros"
        print(f"searches: {games} games of up to {MOVES} searches so far", flush=True)


# --- Networks ---------------------------------------------------------------------------------------------------------


def networks(short: bool) -> Wrong:
    """Evaluate in guarded memory, by every network, on boards and in batches of many sizes. Yields what is wrong."""
    count = 0
    for file in (network_file(), *sorted((REPOSITORY.parent / "shared" / "nets").glob("*.bin.gz"))):
        evaluator = open_network(file, "int16")
        assert isinstance(evaluator, NativeEvaluator)
        for size in BOARDS:
            for batch in BATCHES[:: 7 if short else 1]:
                spatial, global_ = (np.resize(each, (batch, *each.shape[1:])) for each in inputs(*size))
                optimism = np.linspace(0, 1, batch, dtype=np.float32)
                for found in differences(evaluator, EvaluationRequest(spatial, global_, optimism)):
                    yield f"{file.name}, {batch} of {size}: {found}"
                count += 1
        print(f"networks: {file.name}: {count} batches so far", flush=True)


# --- Other programs ---------------------------------------------------------------------------------------------------


def run(*command: object) -> Wrong:
    """Run a module of Python's. Yields what it was if it fails."""
    words = [str(each) for each in command]
    if subprocess.run([sys.executable, "-m", *words], cwd=REPOSITORY).returncode != 0:
        yield f"failed: {' '.join(words)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, choices=PARTS, metavar="PART")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") != "1":
        environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", **({"NUMBA_OPT": "1"} if options.short else {})}
        command = [sys.executable, "-m", "tests.campaigns.kernels", *sys.argv[1:]]
        return subprocess.run(command, env=environment).returncode
    parts: dict[str, Callable[[], Wrong]] = {
        "searches": partial(searches, options.short),
        "networks": partial(networks, options.short),
        "tests": partial(run, "pytest", "-q", *KERNEL_TESTS),
        "gtp": partial(run, "tests.campaigns.gtp_fuzz", "--lines", options.lines),
        "json": partial(run, "tests.campaigns.json_fuzz", "--lines", options.lines),
    }
    failures = 0
    for part in options.parts:
        for wrong in parts[part]():
            print(f"{part}: {wrong}"[:1000], flush=True)
            failures += 1
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
