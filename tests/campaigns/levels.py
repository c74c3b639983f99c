"""Plays the levels of `nobi web` against each other and GNU Go: how many Elo lie between two of them?

    make campaign-levels ARGS="curve"     # says what the levels are to be made of, after a new network
    make campaign-levels ARGS="ladder"    # what they are worth, for docs/web.md
    make campaign-levels ARGS="settled"   # whether they end games: minutes

GNU Go 3.8 at its levels 1 and 10 plays too; its level 1 is the zero of all ratings. Games are by Chinese rules with
komi 7.5, in pairs with the same opening and colours exchanged. Next play two whose ratings so far are near, and whose
games have taken least time. All games are kept in a file for each board size and network, and it goes on from those
found there (`--games 0` shows what they say). Ratings are those of `nobi tournament`.

In `curve` a scale of strengths plays, from a hot policy to a search. It prints for each board size which temperatures,
and above them which visits, are worth what the levels in gtp_engine/web/levels.py are to be worth: for temperatures a
cubic through the ratings says it, for visits lines between their logarithms.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from go_rules.agreement import agreed_score
from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_NAMES, WHITE, from_vertex, opponent, to_vertex
from go_rules.rule_names import PRESETS
from gtp_engine.match.client import GtpClient
from gtp_engine.session.estimate import estimate, is_finished, judged
from gtp_engine.tournament.results import rate
from gtp_engine.web.levels import CALIBRATED, STEP, WEAKEST, Strength, calibrated
from nets.evaluator import Evaluator
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import RESIGN, SearchResult
from tests.campaigns.finished_positions import fault, network, positions

SIZES = {9: 400, 13: 200, 19: 100}
"""Board sizes, and how many games there are for each."""
RULES, KOMI = PRESETS["chinese-ogs"][0], 7.5
GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"
ZERO = "GNU Go 1"
FIXED = {ZERO: 1, "GNU Go 10": 10}
"""GNU Go's levels by the names of its players."""
ANSWER_SECONDS = 600.0
"""In which GNU Go has to answer."""
TEMPERATURES, VISITS = (2.4, 1.8, 1.2, 0.6, 0.0), (4, 16)
"""The scale of `curve`, the weakest first: the policy alone, then searches."""
FINEST = 0.05
"""Steps of the temperatures that are proposed."""
OPENING, OPENING_SHARE = Strength(1, 1.0), 0.5
"""How the first moves are drawn, and how many for each line of the board."""
HOPELESS_LEAD, HOPELESS_WINRATE, HOPELESS_TIMES = 3.0, 0.01, 4
"""A game ends where one side is behind by so many points for each line of the board, and with such a winrate, in so
many evaluations in turn: what strong players resign, weak ones may still win."""
NEAR = 3
"""Places by the ratings so far that players are apart at most. Those far apart say most of the whole scale."""
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


class Tournament:
    """The games of some players on one board size, in a file."""

    def __init__(self, size: int, players: Mapping[str, Strength | int], evaluator: Evaluator, file: Path) -> None:
        """`players`: our strengths and GNU Go's levels by their names, the weakest first if that is known."""
        self.size, self.names, self._evaluator, self._file = size, list(players), evaluator, file
        self._sides: dict[str, Side] = {
            name: Ours(each, evaluator) if isinstance(each, Strength) else GnuGo(each) for name, each in players.items()
        }
        self._opening = Ours(OPENING, evaluator)
        lines = file.read_bytes().splitlines() if file.exists() else []
        self._games = [each for each in map(msgspec.json.Decoder(Played).decode, lines) if self._counts(each)]

    def _counts(self, played: Played) -> bool:
        return {played.winner, played.loser} <= {*self.names}

    def points(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the points of each against each, float64[n, n], and the seconds of these games."""
        points, seconds = np.zeros((2, len(self.names), len(self.names)))
        for each in self._games:
            won, lost = self.names.index(each.winner), self.names.index(each.loser)
            points[won, lost] += 1.0
            seconds[won, lost] += each.seconds
        return points, seconds + seconds.T

    def go_on(self, count: int) -> None:
        """Play until there are so many games."""
        while len(self._games) < count:
            pair = self._next_pair()
            start = Game(self.size, self.size, RULES, KOMI)
            for _ in range(round(OPENING_SHARE * self.size)):
                start.play(start.to_play, self._opening.move(start)[0])
            for names in (pair, pair[::-1]):
                self._add(names, start.copy())

    def _next_pair(self) -> tuple[str, str]:
        """The pair at most NEAR apart that has taken least time, and will have after a game as these players' usually
        are: GNU Go 10 takes as long for one as others for twenty."""
        points, seconds = self.points()
        order = np.argsort(rate(points).elo, kind="stable").tolist()
        played = points + points.T
        cost = seconds.sum(axis=1) / np.maximum(1.0, played.sum(axis=1))
        pairs = [pair for apart in range(NEAR, 0, -1) for pair in zip(order, order[apart:], strict=False)]
        first, second = min(pairs, key=lambda pair: (1.0 + played[pair]) * (cost[pair[0]] + cost[pair[1]]))
        return self.names[first], self.names[second]

    def _add(self, names: tuple[str, str], game: Game) -> None:
        began = time.monotonic()
        sides = dict(zip((BLACK, WHITE), names, strict=True))
        winner, how = play({colour: self._sides[name] for colour, name in sides.items()}, game, self._evaluator)
        seconds = round(time.monotonic() - began, 1)
        loser = sides[opponent(winner)]
        played = Played(sides[winner], loser, COLOUR_NAMES[winner], how, len(game.moves), seconds)
        self._games.append(played)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(played) + b"\n")

    def close(self) -> None:
        for side in (*self._sides.values(), self._opening):
            side.close()


def ladder(size: int) -> dict[str, Strength | int]:
    """Return the players of `ladder` by their names, which say what a level is made of: it may be changed."""
    levels: list[tuple[str, Strength | int]] = [
        (f"level {number}, {each}", each) for number, each in enumerate(CALIBRATED[size], start=1)
    ]
    weak = 1 - WEAKEST // STEP
    return dict([*levels[:weak], (ZERO, FIXED[ZERO]), *levels[weak:]]) | FIXED


def scale(_size: int) -> dict[str, Strength | int]:
    """Return the players of `curve` by their names."""
    strengths = (*(Strength(1, each) for each in TEMPERATURES), *map(Strength, VISITS))
    return {str(each): each for each in strengths} | FIXED


def table(tournaments: Sequence[Tournament]) -> Iterator[str]:
    """Yield the ratings as the lines of a table: Elo above GNU Go 1, and of ours above the weaker one."""
    rows = [[name.partition(",")[0]] for name in tournaments[0].names]
    ours = [number for number, name in enumerate(tournaments[0].names) if name not in FIXED]
    for tournament in tournaments:
        ratings, zero = rate(tournament.points()[0]), tournament.names.index(ZERO)
        for number, row in enumerate(rows):
            row.append("0" if number == zero else "{:+.0f} ± {:.0f}".format(*ratings.difference(number, zero)))
            weaker = ours[ours.index(number) - 1] if number in ours[1:] else None
            row.append("" if weaker is None else "{:+.0f} ± {:.0f}".format(*ratings.difference(number, weaker)))
    yield "| | " + " | ".join(f"{each.size}×{each.size} | step" for each in tournaments) + " |"
    yield "| --- |" + " --- |" * (2 * len(tournaments))
    yield from (f"| {' | '.join(row)} |" for row in rows)
    for tournament in tournaments:
        points, size = tournament.points()[0], tournament.size
        step, margin = (each / (len(ours) - 1) for each in rate(points).difference(ours[-1], ours[0]))
        yield f"{size}×{size}: {step:+.0f} ± {margin:.0f} for a step on average, {points.sum():.0f} games"


def proposal(tournament: Tournament) -> str:
    """Say what the levels are to be made of, by the ratings of the scale."""
    ratings, names = rate(tournament.points()[0]), tournament.names
    elo = [ratings.difference(number, names.index(ZERO))[0] for number in range(len(names))]
    hot, searched = elo[: len(TEMPERATURES)], elo[len(TEMPERATURES) - 1 :][: len(VISITS) + 1]
    cubic = np.polynomial.Polynomial.fit(TEMPERATURES, hot, 3)
    tried = np.arange(0.0, TEMPERATURES[0] + FINEST / 2, FINEST)
    found = []
    for wanted in (WEAKEST + STEP * number for number in range(len(CALIBRATED[tournament.size]))):
        doublings = np.interp(wanted, np.maximum.accumulate(searched), np.log2([1, *VISITS]))
        colder = float(tried[np.abs(cubic(tried) - wanted).argmin()])
        found.append(str(Strength(1, round(colder, 2)) if wanted <= searched[0] else Strength(round(2**doublings))))
    return f"{tournament.size}×{tournament.size}: {', '.join(found)}"


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
    parser.add_argument("what", choices=("curve", "ladder", "settled"))
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
    tournaments = []
    for size in options.sizes:
        players = (ladder if options.what == "ladder" else scale)(size)
        file = options.out / f"{options.what}-{size}-{evaluator.attributes.name}.jsonl"
        tournaments.append(Tournament(size, players, evaluator, file))
        tournaments[-1].go_on(SIZES[size] if options.games is None else options.games)
        tournaments[-1].close()
    print("\n".join(table(tournaments)))
    if options.what == "curve":
        print("\n".join(map(proposal, tournaments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
