"""Counts in how many of some 60 finished positions under Japanese rules a network passes after a short search.

    make campaign-finished_positions ARGS="--net strong"
    make campaign-finished_positions ARGS="--make --player FILE --net TEACHER.bin.gz --visits 200"

Korean rules are the same here. Under territory rules a search goes on through KataGo's clean-up phases; a network that
does not know these plays on in settled areas, or fills its own territory. BOARDS were made by hand: sekis, dead stones,
no dame, which a strong network plays before it passes. The others, in finished_positions.txt, are ends of games that a
network's policy played, with the dead stones where they were. Each comes twice: the boards with either side to move; a
game with the side whose turn it is, and with the other one, which is to answer that side's pass.

The second command writes the ends of games anew: of games by the policy of --player, on boards of 9, 13 and 19 lines,
in which --net passes both times. The status is 1 where a network fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, point_at, to_vertex
from go_rules.rule_names import preset
from gtp_engine.configuration.configuration import network_path
from nets.evaluator import Evaluator
from nets.loss import RecordedGame
from nets.open import open_network
from search.nobi.parameters import SearchParameters
from search.nobi.player import PolicyPlayer, PuctPlayer
from search.request import Limits, SearchRequest

FILE = Path(__file__).with_suffix(".txt")
RULES = "japanese"
SIZES = (9,) * 8 + (13,) * 8 + (19,) * 4
"""The boards of the games in the file."""
LONGEST = 2.0
"""A game is given up after so many moves for each point of the board."""

BOARDS = {
    "a lone dead stone": """
        . . . . X . . . .
        . . X . . . X . .
        . . . . X . . . .
        . . X . . . X . .
        . . . . X . . . .
        . . X . . . X . .
        . . . . X . . . .
        . . X . . . X . .
        O . . . X . . . .
    """,
    "a seki of four stones each": """
        O X X . O O X . .
        O X X . O O X X .
        O O O O X X X . .
        . . . O X . . X .
        . . . O X . X . .
        . O . O X . . . .
        . . . O X . X . .
        . . O O X X . . .
        . . . O X . . X .
    """,
    "a seki with an eye each": """
        . X X . O . O X .
        X X X O O O O X .
        O O O X X X X X .
        . . O X . . . . .
        . . O X . X . X .
        . O O X . . . . .
        . . O X . X . X .
        . . O X . . . . .
        . . O X . . . . .
    """,
    "dead stones on both sides": """
        . . . O X . . . .
        . . . O X . O X .
        . X . O X . O X .
        . . . O X X . . .
        . O . O X . . . .
        . . O O X . X . .
        . . O X X . . . .
        . . O X . . . X .
        . . O X . . . . .
    """,
    "dame filled": """
        . . . O X X . . .
        . . . O X X . . .
        . . O O X . . X .
        . O . O X . X . .
        . . . O O X . . .
        . . O O X X . . .
        . . . O X . . X .
        . O . O X . X . .
        . . . O X . . . .
    """,
    "a dead group in a corner": """
        . . . X O . . . .
        . . . X O O . O .
        . . X X X O . . .
        . . . . X O . O .
        . X . . X O . . .
        . . . . X O . O .
        X X X X X O . . .
        O O O O X O . O .
        . X . O X O . . .
    """,
    "nothing left": """
        . . . . X O . . .
        . . X . X O . . .
        . . . . X O . O .
        . X . . X O . . .
        . . . X X O . . .
        . . X X O O . O .
        . . X O O . . . .
        . . X O . . . . .
        . . X O . . O . .
    """,
    "a seki on a larger board": """
        O X X . O O X . . . . . .
        O X X . O O X X . . . . .
        O O O O X X X . . . X . .
        . . . O X . . . X . . . .
        . O . O X . . X . . . X .
        . . . O X X . . . X . . .
        . . . O O X . . X . . X .
        . O . . O X . . . . . . .
        . . . . O X . X . O O X .
        . . O . O X . . . X X . .
        . O . . O X . . X . . . .
        . . . O O X X . . . X . .
        . . . . O X . . . . . . .
    """,
    "dead stones on a larger board": """
        . . . . . O X . . . . . .
        . . . O . O X . X . . . .
        . O . . . O X . . . . X .
        . . . . O O X X . X . . .
        . . X . O X X . . . O . .
        . O . . O X X . X . X . .
        . . . O O O X . . . . X .
        . . O . . O X . X . . . .
        . O . X . O X . . X O . .
        . . O . O O X . . . X . .
        . . O . O X X . X . . . .
        . . . . O X . . . . X . .
        . . . . O X . . . . . . .
    """,
    "nothing left on a larger board": """
        . . . . . X O . . . . . .
        . . X . . X O . . O . . .
        . . . . X X O . . . . . .
        . X . . X O O . O . . O .
        . . . . X O . . . . . . .
        . . X . X O . . . O . . .
        . . . . X O O . . . . O .
        . X . . X X O . O . . . .
        . . . X . X O . . . . . .
        . . . . . X O . . O . . .
        . . X . . X O . . . . O .
        . . . . X X O . O . . . .
        . . . . . X O . . . . . .
    """,
}


class Position(NamedTuple):
    """A finished position, in which the side to move is to pass."""

    name: str
    game: Game

    def __str__(self) -> str:
        side = "Black" if self.game.to_play == BLACK else "White"
        return f"{self.name}, {self.game.width}x{self.game.height}, {side} to move"


def boards() -> Iterator[Position]:
    """Yield the positions that were made by hand."""
    for name, diagram in BOARDS.items():
        rows = [line.split() for line in diagram.split("\n") if line.strip()]
        stones = [
            (BLACK if content == "X" else WHITE, point_at(x, y))
            for y, row in enumerate(rows)
            for x, content in enumerate(row)
            if content != "."
        ]
        for colour in (BLACK, WHITE):
            game = Game(len(rows[0]), len(rows), *preset(RULES))
            game.set_position(stones, colour)
            yield Position(name, game)


def both(game: Game, number: int) -> tuple[Position, Position]:
    """Return the end of a game, and what it is once the side to move has passed."""
    answered = game.copy()
    answered.play(game.to_play, PASS)
    return Position(f"end of game {number}", game), Position(f"end of game {number}, after a pass", answered)


def ends_of_games() -> Iterator[Position]:
    """Yield the positions of the file."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for number, line in enumerate(lines, 1):
        recorded = RecordedGame.from_line(line)
        game = Game(recorded.width, recorded.height, preset(recorded.rules)[0], recorded.komi)
        for point in recorded.moves:
            game.play(game.to_play, point)
        yield from both(game, number)


def passes(player: PuctPlayer, position: Position, visits: int) -> str:
    """Search a position. Return what the player does instead of passing, and what it thinks; nothing if it passes."""
    game = position.game
    result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits), fresh=True))
    point = player.choose(game, result)
    if point == PASS:
        return ""
    shares = " ".join(f"{to_vertex(move.point, game.height)} {move.visits}" for move in result.moves[:4])
    return f"{to_vertex(point, game.height)}: winrate {result.winrate:.3f}, lead {result.lead:.1f}; visits: {shares}"


def play(player: PolicyPlayer, size: int) -> Game | None:
    """Play a game to its end. Return it without the passes at its end; None if it was given up."""
    game = Game(size, size, *preset(RULES))
    while not game.is_over:
        if len(game.moves) > LONGEST * size * size:
            return None
        game.play(game.to_play, player.choose(game, player.search(SearchRequest(game, game.to_play))))
    while game.moves[-1].point == PASS:
        game.undo()
    return game


def make(quick: Evaluator, player: PuctPlayer, visits: int, seed: int) -> Iterator[str]:
    """Play games by a network's policy, until on each of SIZES there is one in whose end `player` passes. Yield their
    lines."""
    parameters = SearchParameters(workers=1, seed=seed, temperature_early=0.8, temperature=0.2, lcb=False, resign=False)
    by_policy = PolicyPlayer(quick, parameters)
    found = tried = 0
    while found < len(SIZES):
        game, tried = play(by_policy, SIZES[found]), tried + 1
        if game is not None and not any(passes(player, position, visits) for position in both(game, found)):
            found += 1
            yield RecordedGame.of(game, 1).to_line()
        print(f"{found} of {tried} games", file=sys.stderr, flush=True)
    by_policy.close()


def network(name: str, precision: str) -> Evaluator:
    """Open a network by its name or its file's."""
    path = network_path(name)
    if path is None:
        raise SystemExit(f"{name}: no network")
    return open_network(path, precision, "cpu")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="strong", help="the network that is to pass")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument("--make", action="store_true", help=f"write {FILE.name} anew")
    parser.add_argument("--player", default="strong", help="the network whose policy plays these games")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    evaluator = network(options.net, options.precision)
    player = PuctPlayer(evaluator, SearchParameters(workers=1, seed=options.seed, resign=False))
    if options.make:
        quick = network(options.player, options.precision)
        by, judge = quick.attributes.name, evaluator.attributes.name
        content = f"# Ends of games by the policy of {by}, in which {judge} passes after {options.visits} visits.\n"
        content += "# Board, 1, rules, komi, moves.\n"
        for line in make(quick, player, options.visits, options.seed):
            content += line + "\n"
            FILE.write_text(content, encoding="utf-8")
        return 0
    failed = 0
    positions = [*boards(), *ends_of_games()]
    for position in positions:
        said = passes(player, position, options.visits)
        if said:
            failed += 1
            print(f"{position}: {said}", flush=True)
    print(f"{evaluator.attributes.name} passes in {len(positions) - failed} of {len(positions)} finished positions")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
