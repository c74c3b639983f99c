"""Plays the levels of `nobi web` against each other and GNU Go: how many Elo lie between two of them?

    make campaign-levels ARGS="ladder"    # what they are worth, and what they should be made of
    make campaign-levels ARGS="settled"   # whether they end games: minutes

GNU Go 3.8 at its levels 1 and 10 plays too; its level 1 is the zero of all ratings. Games are by Chinese rules with
komi 7.5, in pairs with the same opening and colours exchanged. All games are kept in a file for each board size and
network, and it goes on from those found there (`--games 0` shows what they say), also after levels were changed:
players are called by what they are made of.

Ratings are of Bradley and Terry's model, by maximum likelihood; those of all temperatures together are a parabola. It
says which temperatures are worth what the levels in gtp_engine/web/levels.py are to be worth. After a new network,
change the levels and go on until they agree.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from go_rules.agreement import agreed_score
from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_NAMES, WHITE, from_vertex, opponent, to_vertex
from go_rules.rule_names import PRESETS
from gtp_engine.match.client import GtpClient
from gtp_engine.match.statistics import Z_95
from gtp_engine.session.estimate import estimate, is_finished, judged
from gtp_engine.tournament.results import ELO
from gtp_engine.web.levels import CALIBRATED, STEP, WEAKEST, Strength, calibrated
from nets.evaluator import Evaluator
from nobi_machine.terminal import print_table
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import RESIGN, SearchResult
from tests.campaigns.finished_positions import fault, network, positions

COLUMNS = ("level", "made of", "Elo", "wanted", "better")
SIZES = {9: 400, 13: 200, 19: 100}
"""Board sizes, and how many games there are for each."""
RULES, KOMI = PRESETS["chinese-ogs"][0], 7.5
GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"
ZERO, STRONG = "GNU Go 1", "GNU Go 10"
FIXED = {ZERO: 1, STRONG: 10}
"""GNU Go's levels by the names of its players."""
ANSWER_SECONDS = 600.0
"""In which GNU Go has to answer."""
HOTTEST, FINEST = 3.0, 0.01
"""The highest temperature that is proposed, and the steps between them."""
POWERS, MIDDLE = 3, 1.5
"""Coefficients of the parabola, and the temperature from which it is counted."""
PRIOR = 1e-7
"""One over the variance of each coefficient before any game, in Elo: a player who won or lost all has a rating, too."""
HALF_STEPS = 100
"""Of Newton's method."""
OPENING, OPENING_SHARE = Strength(1, 1.0), 0.5
"""How the first moves are drawn, and how many for each line of the board."""
HOPELESS_LEAD, HOPELESS_WINRATE, HOPELESS_TIMES = 3.0, 0.01, 4
"""A game ends where one side is behind by so many points for each line of the board, and with such a winrate, in so
many evaluations in turn: what strong players resign, weak ones may still win."""
LONGEST = 3
"""Moves for each point of the board after which the game is counted as it stands."""


class Played(msgspec.Struct, frozen=True):
    """A game, as a line of the file."""

    winner: str
    loser: str
    won_as: str
    how: str
    moves: int
    seconds: float


class Side(Protocol):
    """Somebody who plays, one game at a time."""

    def begin(self, game: Game) -> None: ...

    def told(self, game: Game, point: int) -> None:
        """Learn of the opponent's move, which is about to be played."""

    def move(self, game: Game) -> tuple[int, SearchResult | None]:
        """Choose a move. Return it, and the search that found it if it was ours."""

    def close(self) -> None: ...


class Ours:
    """A strength of ours. It plays as in `nobi web`."""

    def __init__(self, strength: Strength, evaluator: Evaluator) -> None:
        self._strength, self._generator = strength, np.random.default_rng()
        self._player = PuctPlayer(evaluator, SearchParameters(workers=1, memory=16, cache_memory=4))

    def begin(self, game: Game) -> None:
        self._player.clear()

    def told(self, game: Game, point: int) -> None:
        pass

    def move(self, game: Game) -> tuple[int, SearchResult]:
        limits = Limits(self._strength.visits, may_stop_early=False)
        request = SearchRequest(game, game.to_play, limits, report=OWNERSHIP_AT_THE_END, analysis=True)
        result = self._player.search(request)
        return self._strength.choose(game, result, self._player, self._generator), result

    def close(self) -> None:
        self._player.close()


class GnuGo:
    """GNU Go at one of its levels."""

    def __init__(self, level: int) -> None:
        options = ("--chinese-rules", "--positional-superko", "--never-resign")
        self._client = GtpClient([GNUGO, "--mode", "gtp", "--level", str(level), *options])

    def begin(self, game: Game) -> None:
        for command in (f"boardsize {game.width}", "clear_board", f"komi {game.komi}"):
            self._client.send(command, ANSWER_SECONDS)
        for move in game.moves:
            self._play(game, move.colour, move.point)

    def told(self, game: Game, point: int) -> None:
        self._play(game, game.to_play, point)

    def move(self, game: Game) -> tuple[int, SearchResult | None]:
        vertex = self._client.send(f"genmove {COLOUR_NAMES[game.to_play]}", ANSWER_SECONDS)
        return from_vertex(vertex, game.width, game.height), None

    def close(self) -> None:
        self._client.close()

    def _play(self, game: Game, colour: int, point: int) -> None:
        self._client.send(f"play {COLOUR_NAMES[colour]} {to_vertex(point, game.height)}", ANSWER_SECONDS)


def play(sides: Mapping[int, Side], game: Game, evaluator: Evaluator) -> tuple[int, str]:
    """Play a game on to its end, with a side for each colour. Return the winner, and how it won."""
    behind = {BLACK: 0, WHITE: 0}
    for side in sides.values():
        side.begin(game)
    while not is_finished(game) and len(game.moves) < LONGEST * game.width * game.height:
        colour = game.to_play
        other = opponent(colour)
        point, found = sides[colour].move(game)
        if point == RESIGN:
            return other, "resigned"
        if found is not None:
            for each, winrate, lead in ((colour, found.winrate, found.lead), (other, 1 - found.winrate, -found.lead)):
                is_hopeless = winrate < HOPELESS_WINRATE and lead < -HOPELESS_LEAD * game.width
                behind[each] = behind[each] + 1 if is_hopeless else 0
                if behind[each] == HOPELESS_TIMES:
                    return opponent(each), "hopeless"
        sides[other].told(game, point)
        game.play(colour, point)
    dead = estimate(game, lambda at, colour: judged(evaluator, at, colour, lambda: False)).dead
    score = agreed_score(game, dead)
    return WHITE if score > 0 else BLACK, f"{abs(score):g} points"


class Ratings:
    """Ratings of players by their names, in Elo above ZERO's."""

    def __init__(self, games: Sequence[Played]) -> None:
        names = {name for each in games for name in (each.winner, each.loser)}
        self._apart = sorted(name for name in names if _temperature(name) is None)
        count = POWERS + len(self._apart)
        won = np.array([self._features(each.winner) - self._features(each.loser) for each in games]).reshape(-1, count)
        self._coefficients = np.zeros(count)
        for _ in range(HALF_STEPS):
            surprise = 1 / (1 + np.exp(won @ self._coefficients / ELO))
            weights = surprise * (1 - surprise) / ELO**2
            self._covariance = np.linalg.inv((won.T * weights) @ won + PRIOR * np.eye(count))
            gradient = won.T @ surprise / ELO - PRIOR * self._coefficients
            self._coefficients += self._covariance @ gradient / 2

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return how much higher the first one's rating is, and half of the 95 % interval of that."""
        features = self._features(first) - self._features(second)
        return float(features @ self._coefficients), Z_95 * float(features @ self._covariance @ features) ** 0.5

    def _features(self, name: str) -> NDArray[np.float64]:
        """What a rating is the sum of, by coefficients, float64[n]: powers of the temperature, or the player itself."""
        temperature, features = _temperature(name), np.zeros(POWERS + len(self._apart))
        if temperature is not None:
            features[:POWERS] = (temperature - MIDDLE) ** np.arange(POWERS)
        elif name != ZERO and name in self._apart:
            features[POWERS + self._apart.index(name)] = 1.0
        return features


def called(temperature: float) -> str:
    """Return the name of a player of ours."""
    return f"temperature {temperature:.3g}"


def _temperature(name: str) -> float | None:
    kind, _, number = name.partition(" ")
    return float(number) if kind == "temperature" else None


class Tournament:
    """The games on one board size, in a file."""

    def __init__(self, size: int, evaluator: Evaluator, file: Path) -> None:
        self.size, self._evaluator, self._file = size, evaluator, file
        self._sides: dict[str, Side] = {called(each): Ours(Strength(1, each), evaluator) for each in CALIBRATED[size]}
        self._sides |= {name: GnuGo(level) for name, level in FIXED.items()}
        self._opening = Ours(OPENING, evaluator)
        lines = file.read_bytes().splitlines() if file.exists() else []
        self.games = [msgspec.json.decode(each, type=Played) for each in lines]

    def go_on(self, count: int) -> None:
        """Play until there are so many games."""
        while len(self.games) < count:
            pair = self._next_pair()
            start = Game(self.size, self.size, RULES, KOMI)
            for _ in range(round(OPENING_SHARE * self.size)):
                start.play(start.to_play, self._opening.move(start)[0])
            for names in (pair, pair[::-1]):
                self._add(names, start.copy())

    def _next_pair(self) -> tuple[str, str]:
        """The pair of which a game says most about all coefficients for its time: what the determinant of their
        covariance would shrink by (Fedorov 1972)."""
        ratings, seconds = Ratings(self.games), {name: [1.0] for name in self._sides}
        for each in self.games:
            for name in {each.winner, each.loser} & seconds.keys():
                seconds[name].append(each.seconds)

        def gain(pair: tuple[str, str]) -> float:
            difference, margin = ratings.difference(*pair)
            score = 1 / (1 + 10 ** (-difference / 400))
            shrinks = math.log1p(score * (1 - score) * (margin / Z_95 / ELO) ** 2)
            return shrinks / sum(fmean(seconds[name]) for name in pair)

        return max(combinations(self._sides, 2), key=gain)

    def _add(self, names: tuple[str, str], game: Game) -> None:
        began = time.monotonic()
        sides = dict(zip((BLACK, WHITE), names, strict=True))
        winner, how = play({colour: self._sides[name] for colour, name in sides.items()}, game, self._evaluator)
        seconds = round(time.monotonic() - began, 1)
        loser = sides[opponent(winner)]
        played = Played(sides[winner], loser, COLOUR_NAMES[winner], how, len(game.moves), seconds)
        self.games.append(played)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(played) + b"\n")

    def close(self) -> None:
        for side in (*self._sides.values(), self._opening):
            side.close()


def print_ratings(tournament: Tournament) -> None:
    """Print what levels are worth, and what they should be made of."""
    ratings, names, rows = Ratings(tournament.games), [called(each) for each in CALIBRATED[tournament.size]], []
    curve = {float(each): ratings.difference(called(each), ZERO)[0] for each in np.arange(0.0, HOTTEST, FINEST)}
    for number, name in enumerate(names):
        wanted, elo = WEAKEST + STEP * number, with_margin(*ratings.difference(name, ZERO))
        better = min(curve, key=lambda each: abs(curve[each] - wanted))
        rows.append((str(number + 1), name, elo, f"{wanted:+}", called(better)))
    print_table(COLUMNS, rows, f"{tournament.size}×{tournament.size}", left=("made of", "better"))
    step = with_margin(*(each / (len(names) - 1) for each in ratings.difference(names[-1], names[0])))
    print(f"a step is {step}, {STRONG} {with_margin(*ratings.difference(STRONG, ZERO))}, {len(tournament.games)} games")


def with_margin(elo: float, margin: float) -> str:
    return f"{elo:+.0f} ± {margin:.0f}"


def faults(evaluator: Evaluator) -> Iterator[str]:
    """Yield what the levels do wrong in the positions of finished_positions.py."""
    for position in positions():
        for level, strength in enumerate(calibrated(position.game.width, position.game.height), start=1):
            side = Ours(strength, evaluator)
            said = fault(evaluator, side.move, position)
            side.close()
            if said:
                yield f"level {level}, {position}: {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ladder", "settled"))
    parser.add_argument("--net", default="strong", help="the network that plays")
    parser.add_argument("--sizes", type=int, nargs="*", choices=SIZES, default=[*SIZES])
    parser.add_argument("--games", type=int, help="of each board size; the default depends on it")
    parser.add_argument("--out", type=Path, default=Path("levels"), help="folder of the games")
    options = parser.parse_args()
    evaluator = network(options.net, "auto")
    if options.what == "settled":
        found = list(faults(evaluator))
        print("\n".join(found) or "all levels end all finished positions well")
        return 1 if found else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for size in options.sizes:
        tournament = Tournament(size, evaluator, options.out / f"{size}-{evaluator.attributes.name}.jsonl")
        tournament.go_on(SIZES[size] if options.games is None else options.games)
        tournament.close()
        print_ratings(tournament)
    return 0


if __name__ == "__main__":
    sys.exit(main())
