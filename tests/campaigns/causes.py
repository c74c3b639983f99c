"""Measures "where the points went": does `find_cause` name the area that a bad move is known to have lost?

    make campaign-causes ARGS="--first 65"

The positions of causes.sgf were made by `cause_positions`, which plays them on to their ends: each ends with a bad
move, and the stones that changed hands by it are marked (MA). An answer is right where an area that the mover loses has
one of them, wrong where an area that the mover wins has one, and elsewhere where none has. What failed of the even ones
of the first 65 positions was looked at. The others were made after that, and are held out: 32 of the 36 were right, two
elsewhere, and of two nothing was claimed; of all 101 positions 94 were right and none wrong (28 November 2026, and with
the next day's network). The status is 1 where a goal is missed: RIGHT of all answers, and none wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import COLOUR_NAMES, point_at, to_vertex
from go_rules.sgf.grammar import parse_game, split_games
from go_rules.sgf.reader import parse_sgf
from gtp_engine.review.causes import Cause, find_cause
from nets.embedded import network_file
from search.nobi.player import PuctPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import SearchResult
from tests.campaigns.finished_positions import network, new_player

FILE = Path(__file__).with_suffix(".sgf")
RIGHT = 0.9
VERDICTS = ("right", "elsewhere", "wrong", "nothing")


class BadMove(NamedTuple):
    """A bad move whose cause is known."""

    before: Game
    point: int
    lost: frozenset[int]
    """Stones that changed hands: all of them lost for the mover."""
    kind: str
    """A key of KINDS in `cause_positions`."""
    said: str
    """What is known of it, for people."""


def bad_moves() -> Iterator[BadMove]:
    """Yield the bad moves of the file."""
    for text in split_games(FILE.read_bytes()):
        nodes, read = parse_game(text).nodes, parse_sgf(text)
        game = read.to_game()
        point = game.moves[-1].point
        game.undo()
        said = nodes[-1].properties["C"][0].decode()
        lost = frozenset(point_at(x - ord("a"), y - ord("a")) for x, y in nodes[-1].properties["MA"])
        yield BadMove(game, point, lost, said.split(":")[0], said)


def cause_of(player: PuctPlayer, move: BadMove, visits: int) -> Cause | None:
    """Find the cause of a bad move as reviews do."""

    def analyse(game: Game, visits: int) -> SearchResult:
        limits = Limits(visits, may_stop_early=False)
        return player.search(SearchRequest(game, game.to_play, limits, report=OWNERSHIP_AT_THE_END, analysis=True))

    player.clear()
    return find_cause(move.before, move.point, analyse, visits)


def verdict(move: BadMove, cause: Cause | None) -> str:
    """Return which of VERDICTS an answer is."""
    if cause is None or not cause.areas:
        return "nothing"
    there = [area.change for area in cause.areas if area.points & move.lost]
    if not there:
        return "elsewhere"
    return "right" if max(there) < 0 else "wrong"


def main() -> int:
    """Run the campaign and print its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default=str(network_file()), help="a network's name or file")
    parser.add_argument("--visits", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="number of the first position, from 0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    player = new_player(network(options.net, "auto"), options.seed)
    counts, by_kind = Counter[str](), Counter[tuple[str, str]]()
    for number, move in islice(enumerate(bad_moves()), options.first, None):
        cause = cause_of(player, move, options.visits)
        found, height = verdict(move, cause), move.before.height
        counts[found] += 1
        by_kind[f"{move.before.width}x{height}", found] += 1
        by_kind[move.kind, found] += 1
        if found != "right":
            side, played = COLOUR_NAMES[move.before.to_play], to_vertex(move.point, height)
            lost = " ".join(to_vertex(point, height) for point in sorted(move.lost))
            print(f"{number} {height}x{height} {side} {played}, {move.said}; lost {lost}")
            print(f"    {found}: {cause.text('en', height) if cause else ''}", flush=True)
    for name in dict.fromkeys(name for name, _ in sorted(by_kind)):
        print(f"{name:>6}  " + ", ".join(f"{by_kind[name, each]} {each}" for each in VERDICTS))
    total = counts.total()
    print(f"{total} bad moves: " + ", ".join(f"{counts[each]} {each}" for each in VERDICTS))
    player.close()
    return 0 if counts["right"] >= RIGHT * total and not counts["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main())
