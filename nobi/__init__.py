"""Nobi as a library: games of Go, and an engine that analyses them and plays.

    import nobi

    game = nobi.Game(9)
    game.play("E5")
    with nobi.Engine(visits=200) as engine:
        print(engine.analyse(game))     # best moves: winrate, lead, visits, how play may go on
        engine.play(game)               # the engine's move: "C5"
    print(game)                         # a board of letters; in a notebook, a picture
    game.save("game.sgf")

Colours are "black" and "white"; moves are vertices such as "D4", or "pass". A mistake of the caller's raises ValueError
with a text of one line. What `__all__` lists is kept stable, and only that.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import go_rules.game
from go_rules.points import COLOUR_NAMES, COLOURS, board_points, from_vertex, to_vertex
from go_rules.rule_names import rules_and_komi
from go_rules.rules import RulesError
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import parse_sgf, read_sgf
from go_rules.sgf.writer import to_sgf, write_sgf
from gtp_engine.configuration.parameters import find_parameter
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.configuration.sources import load
from gtp_engine.drawing import draw_analysis, draw_board
from gtp_engine.errors import explain, is_of_user
from gtp_engine.session.session import Session
from search.request import Limits, ReportRequest
from search.result import RESIGN, SearchResult

__all__ = ("Analysis", "Engine", "Game", "MoveAnalysis", "analyse", "play")


class Game:
    """A game of Go: a board, the moves that led to it, and the rules by which it goes on."""

    def __init__(self, size: int | tuple[int, int] = 19, rules: str = "chinese", komi: float | None = None) -> None:
        """Begin a game. `size`: N, or (width, height), 2 to 25. `rules`: a name such as "japanese", or KataGo's
        notation. `komi`: white's points; None is customary with the rules."""
        given = "x".join(map(str, size)) if isinstance(size, tuple) else str(size)
        width, height = EngineSettings(size=given).board
        try:
            parsed, customary = rules_and_komi(rules)
        except RulesError as error:
            raise ValueError(str(error)) from None
        points = customary if komi is None else find_parameter("komi").convert(komi)
        self._game = go_rules.game.Game(width, height, parsed, points)

    @classmethod
    def from_sgf(cls, source: str | os.PathLike[str] | bytes) -> Game:
        """Read the main line of a game record: a file's path, or the bytes of its content."""
        try:
            loaded = parse_sgf(source) if isinstance(source, bytes) else read_sgf(source)
            game = cls.__new__(cls)
            game._game = loaded.to_game()
        except SgfError as error:
            raise ValueError(str(error)) from None
        return game

    @property
    def size(self) -> tuple[int, int]:
        """The width and the height of the board."""
        return self._game.width, self._game.height

    @property
    def komi(self) -> float:
        """The points that white has in advance."""
        return self._game.komi

    @property
    def to_play(self) -> str:
        """Whose turn it is: "black" or "white"."""
        return COLOUR_NAMES[self._game.to_play]

    @property
    def moves(self) -> list[tuple[str, str]]:
        """The moves so far, as pairs of colour and vertex."""
        return [(COLOUR_NAMES[each.colour], self._vertex(each.point)) for each in self._game.moves]

    @property
    def is_over(self) -> bool:
        """Whether the rules let nobody play on."""
        return self._game.is_over

    def legal_moves(self) -> list[str]:
        """List the moves that the side to move may play, a pass included."""
        return [self._vertex(point) for point in self._game.legal_moves(self._game.to_play)]

    def play(self, move: str, colour: str | None = None) -> None:
        """Play a move for a colour, or for the side to move."""
        try:
            side = self._game.to_play if colour is None else COLOURS[colour.lower()]
            self._game.play(side, from_vertex(str(move), *self.size))
        except go_rules.game.RuleViolation as violation:
            raise ValueError(f"illegal move: {move} ({violation.reason})") from None
        except KeyError:
            raise ValueError(f'no colour: {colour!r} ("black" or "white")') from None

    def undo(self, moves: int = 1) -> None:
        """Take moves back, the last first."""
        if not 0 <= moves <= len(self._game.moves):
            raise ValueError(f"there are {len(self._game.moves)} moves, and not {moves}")
        for _ in range(moves):
            self._game.undo()

    def score(self, dead: Sequence[str] = ()) -> float:
        """Count white's points minus black's, komi included, as if play ended here. `dead`: a stone of each chain that
        is taken off first."""
        return self._game.score([from_vertex(str(each), *self.size) for each in dead])

    def copy(self) -> Game:
        """Return another game that is the same so far."""
        other = Game.__new__(Game)
        other._game = self._game.copy()
        return other

    def sgf(self) -> str:
        """Write the game as the text of an SGF file."""
        return to_sgf(self._game)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the game to a new SGF file."""
        try:
            write_sgf(path, self.sgf())
        except SgfError as error:
            raise ValueError(str(error)) from None

    def _vertex(self, point: int) -> str:
        return to_vertex(point, self._game.height)

    def __str__(self) -> str:
        return str(self._game)

    def _repr_svg_(self) -> str:
        """Draw the board, for notebooks."""
        return draw_board(self._game)


@dataclass(frozen=True)
class MoveAnalysis:
    """What an analysis says of one move. All values are as the side to move sees them."""

    vertex: str
    visits: int
    winrate: float
    """0 to 1."""
    lead: float
    """Points."""
    prior: float
    """The network's first guess, 0 to 1."""
    line: tuple[str, ...]
    """How play may go on, this move first."""

    def __str__(self) -> str:
        line = " ".join(self.line)
        return f"{self.vertex:>4} {100 * self.winrate:5.1f} % {self.lead:+6.1f} {self.visits:7d} visits  {line}"


@dataclass(frozen=True)
class Analysis:
    """What a search found out about a position. All values are as the side to move sees them."""

    to_play: str
    visits: int
    winrate: float
    """0 to 1."""
    lead: float
    """Points."""
    moves: tuple[MoveAnalysis, ...]
    """Best first; only those that were visited."""
    ownership: dict[str, float] | None
    """-1 to 1 for each vertex, 1 where the side to move will own it; None in reports on the way."""
    picture: Callable[[], str]
    """Draws board, candidates and ownership as the text of an SVG file."""

    def __str__(self) -> str:
        head = f"{self.to_play} to play: {100 * self.winrate:.1f} %, {self.lead:+.1f} points, {self.visits} visits"
        return "\n".join((head, *map(str, self.moves[:10])))

    def _repr_svg_(self) -> str:
        """Draw the analysis, for notebooks."""
        return self.picture()


class Engine:
    """A Go engine in this process: a network and a search, as `nobi gtp` has them. Close it, or use it with `with`."""

    def __init__(self, net: str | os.PathLike[str] | None = None, **parameters: Any) -> None:
        """Load a network: the usual one, a file, or a name that `nobi networks` lists.

        `parameters` are any that `nobi config` lists, such as visits=200, time=2.5 (seconds a move) or workers=1, with
        `_` for a dot. The user's configuration file counts, too.
        """
        self._is_closed = False
        try:
            self._session = Session.of(load(None, (), {**parameters, "net": net and os.fspath(net)}), 19, 19)
            self._session.load()
        except Exception as error:
            if is_of_user(error):
                raise ValueError(explain(error)) from None
            raise

    def analyse(
        self,
        game: Game,
        visits: int | None = None,
        seconds: float | None = None,
        on_report: Callable[[Analysis], object] | None = None,
        every: float = 0.5,
    ) -> Analysis:
        """Search the present position of a game until a limit: the first that is reached of `visits` and `seconds`, or
        without both the engine's own. `on_report` is called with what is known so far, `every` so many seconds."""
        most = None if visits is None else find_parameter("visits").convert(visits)
        longest = None if seconds is None else find_parameter("time").convert(seconds, given="seconds")
        session = self._on(game)
        is_limited = most is not None or longest is not None
        limits = Limits(most, longest, False) if is_limited else session.settings.limits(may_stop_early=False)
        searched = session.game

        def report(result: SearchResult) -> None:
            if on_report is not None:
                on_report(_analysis(searched, result))

        return _analysis(searched, session.analyse(limits, report=ReportRequest(report, every=every, ownership=True)))

    def play(self, game: Game) -> str:
        """Think of a move for the side to move, as in a game, and play it. Return it, or "resign"."""
        session = self._on(game)
        decision = session.think(game._game.to_play, threading.Event())
        if decision.point == RESIGN:
            return "resign"
        game._game.play(decision.colour, decision.point)
        return to_vertex(decision.point, game.size[1])

    def close(self) -> None:
        """Free threads and memory. The engine cannot be used afterwards."""
        self._is_closed = True
        self._session.close()

    def _on(self, game: Game) -> Session:
        """The session, with a game as it stands. The tree is kept where the game goes on from what was searched."""
        if self._is_closed:
            raise ValueError("the engine is closed")
        self._session.replace_game(game._game.copy(), game.komi)
        return self._session

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def analyse(game: Game, visits: int = 100) -> Analysis:
    """Analyse a game's present position by an engine with the usual network, which is loaded once."""
    return _usual().analyse(game, visits)


def play(game: Game) -> str:
    """Have an engine with the usual network, which is loaded once, play a move. Return it, or "resign"."""
    return _usual().play(game)


@lru_cache(maxsize=1)
def _usual() -> Engine:
    return Engine()


def _analysis(game: go_rules.game.Game, result: SearchResult) -> Analysis:
    """The result of a search of a game's present position. The game must stay as it is, for the picture."""
    width, height = game.width, game.height

    def moves() -> Iterator[MoveAnalysis]:
        for move in result.moves:
            if move.visits:
                line = tuple(to_vertex(point, height) for point in move.pv)
                yield MoveAnalysis(line[0], move.visits, move.winrate, move.lead, move.prior, line)

    ownership = None
    if result.ownership is not None:
        vertices = (to_vertex(point, height) for point in board_points(width, height))
        ownership = dict(zip(vertices, result.ownership.tolist(), strict=True))
    return Analysis(
        COLOUR_NAMES[result.colour],
        result.visits,
        result.winrate,
        result.lead,
        tuple(moves()),
        ownership,
        lambda: draw_analysis(game, result, "Nobi"),
    )
