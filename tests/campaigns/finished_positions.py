"""Plays finished positions under Japanese rules to their end: is the winner seen, and does nobody play on?

    make campaign-finished_positions ARGS="--net strong"

Korean rules are the same here. The 30 positions of finished_positions.sgf were made by hand, or are ends of games that
a network's policy played: dead stones, which are marked there (MA), sekis, and neutral points, some of which only one
side can fill. In each of them either side is to move; in the end of a game the other side after a pass. The result (RE)
is what two ways of counting agree on, and what b10c384h6nbttflrs finds after 200 visits.

After a short search the network has to give the winner more than half. Then it plays both sides until both pass: each
may put at most MOST stones where a point has an owner, and the winner must be the same. The status is 1 where it fails.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from go_rules.agreement import agreed_owners, agreed_score
from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_NAMES, PASS, WHITE, opponent, point_at, to_vertex
from go_rules.scoring import result_text
from go_rules.sgf.grammar import parse_game, split_games
from go_rules.sgf.reader import parse_sgf
from gtp_engine.configuration.configuration import network_path
from gtp_engine.session.estimate import estimate, is_finished, judged
from nets.evaluator import Evaluator
from nets.open import open_network
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest
from search.result import SearchResult

FILE = Path(__file__).with_suffix(".sgf")
MOST = 2
"""The most moves of each side inside areas that have an owner."""
LONGEST = 100
"""A side has lost its way if so many moves do not end the game."""


class Position(NamedTuple):
    """A finished position, with the side to move in it."""

    name: str
    game: Game
    dead: frozenset[int]
    """The points of the dead stones."""
    result: str
    """As in SGF files."""

    def __str__(self) -> str:
        side = COLOUR_NAMES[self.game.to_play].capitalize()
        return f"{self.name}, {self.game.width}x{self.game.height}, {side} to move"


def positions() -> Iterator[Position]:
    """Yield the positions of the file, each with both sides to move."""
    for text in split_games(FILE.read_bytes()):
        nodes, read = parse_game(text).nodes, parse_sgf(text)
        name = nodes[0].properties["GN"][0].decode()
        marked = nodes[-1].properties.get("MA", [])
        dead = frozenset(point_at(x - ord("a"), y - ord("a")) for x, y in marked)
        game = read.to_game()
        yield Position(name, game, dead, read.result)
        other = game.copy()
        if game.moves:
            other.play(game.to_play, PASS)
        else:
            other.give_turn(opponent(game.to_play))
        yield Position(name, other, dead, read.result)


Think = Callable[[Game], tuple[int, SearchResult]]
"""Chooses a move for the side to move. Returns it, and the search that found it."""


def searching(player: PuctPlayer, visits: int) -> Think:
    """Return what thinks as the engine does in a game, with so many visits."""

    def think(game: Game) -> tuple[int, SearchResult]:
        result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits), fresh=True))
        return player.choose(game, result), result

    return think


def fault(evaluator: Evaluator, think: Think, position: Position) -> str:
    """Play a position to its end. Return what was wrong, in a line; nothing if all was well."""
    game = position.game.copy()
    owners = agreed_owners(game, position.dead)
    settled: Counter[int] = Counter()
    winner = BLACK if position.result.startswith("B") else WHITE
    for number in range(LONGEST):
        colour = game.to_play
        point, result = think(game)
        winrate = result.winrate if colour == winner else 1.0 - result.winrate
        shares = " ".join(f"{to_vertex(move.point, game.height)} {move.visits}" for move in result.moves[:4])
        said = f"winrate of {COLOUR_NAMES[winner]} {winrate:.3f}, visits {shares}"
        if number == 0 and winrate <= 0.5:
            return said
        if point in owners:
            settled[colour] += 1
        if settled[colour] > MOST:
            return f"{COLOUR_NAMES[colour]} plays {to_vertex(point, game.height)} too: {said}"
        game.play(colour, point)
        if is_finished(game):
            break
    found = estimate(game, lambda before, colour: judged(evaluator, before, colour, lambda: False))
    score = agreed_score(game, found.dead)
    return "" if (score > 0) == (winner == WHITE) else f"ends as {result_text(score)} and not as {position.result}"


def network(name: str, precision: str) -> Evaluator:
    """Open a network by its name or its file's."""
    path = network_path(name)
    if path is None:
        raise SystemExit(f"{name}: no network")
    return open_network(path, precision, "cpu")


def new_player(evaluator: Evaluator, seed: int = 1) -> PuctPlayer:
    """Make a player that does the same each time."""
    return PuctPlayer(evaluator, SearchParameters(workers=1, seed=seed, memory=64, resign=False))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="strong", help="the network that plays")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    evaluator = network(options.net, options.precision)
    player = new_player(evaluator, options.seed)
    think = searching(player, options.visits)
    tried = failed = 0
    for position in positions():
        tried += 1
        said = fault(evaluator, think, position)
        if said:
            failed += 1
            print(f"{position}: {said}", flush=True)
    print(f"{evaluator.attributes.name} ends {tried - failed} of {tried} finished positions well")
    player.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
