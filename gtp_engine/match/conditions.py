"""On what terms engines play each other: the options of `nobi match` and `nobi tournament`, and what they mean."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap
from go_rules.rule_names import preset
from gtp_engine.configuration.parameters import Count, Number
from gtp_engine.configuration.settings import parse_size
from gtp_engine.errors import UserError
from gtp_engine.match.client import EngineError
from gtp_engine.match.clock import FORMS, ClockError, announcements, parse_control
from gtp_engine.match.engines import Engine, EngineLimits, Terms, engine_command
from gtp_engine.match.openings import NO_OPENING, Opening, openings, read_openings
from gtp_engine.match.record import MatchTerms
from gtp_engine.match.referee import Conduct, scores_on_board
from gtp_engine.match.statistics import Sprt
from gtp_engine.session.clock import TimeControl
from nobi_machine.text import parse_number, printable, shown

F = TypeVar("F", bound=Callable[..., Any])


class BoardSize(click.ParamType):  # type: ignore[type-arg]
    """A board size as an option: `19` or `13x9`."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


# fmt: off
OPTIONS = (
    click.option("--size", type=BoardSize(), default="19", show_default=True, help="Board: N, or WIDTHxHEIGHT."),
    click.option("--komi", type=Number(-1000, 1000), help="Points for white.  [default: customary with the rules]"),
    click.option("--rules", default="chinese", show_default=True,
                 help="A rule set by name; `nobi gtp --help` lists them."),
    click.option("--visits", type=Count(1, 10**12),
                 help="Visits a move, for engines that take `kata-set-param maxVisits`."),
    click.option("--time", "seconds", type=Number(0, 1e7, min_open=True), metavar="SECONDS", help="Seconds a move."),
    click.option("--clock", metavar="CONTROL", help=f"A time control: {FORMS}."),
    click.option("--enforce-clock", is_flag=True, help="Overstepping loses the game, rather than only being counted."),
    click.option("--lag", type=Number(0, 1e7), default=0.5, show_default=True,
                 help="Seconds that a clock may be below zero before a move is late; all seconds that a move takes are "
                      "charged."),
    click.option("--hang", type=Number(1, 1e7),
                 help="Seconds until a silent engine loses.  [default: 10 times what its clock allows, 60 at least; "
                      "600 without]"),
    click.option("--start", type=Number(1, 1e7), default=EngineLimits.start, show_default=True,
                 help="Seconds for an engine to start, and to get ready for a game."),
    click.option("--max-moves", type=Count(1), help="Score the game after so many.  [default: 3 times the points]"),
    click.option("--openings", "opening_set", default="built-in", show_default=True, metavar="built-in|none|FILE",
                 help="First moves; a FILE has a line of vertices for each."),
    click.option("--score", "scorer", type=click.Choice(["auto", "engines", "board"]), default="auto",
                 show_default=True,
                 help="Ask both engines for the final score, or count the board as it stands (auto: by the rules)."),
    click.option("--judge", metavar="COMMAND",
                 help="A third engine, whose final score counts where the engines do not agree and nothing else shows "
                      "who won."),
    click.option("--parallel", type=Count(1, 256), default=1, show_default=True, help="Games at the same time."),
    click.option("--sprt", metavar="ELO0:ELO1",
                 help="Stop once a sequential test has decided between these differences. It takes the games in the "
                      "order of their numbers."),
)
# fmt: on


def condition_options(command: F) -> F:
    """Give a command the options whose values `read_conditions` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Conditions:
    """Everything about games between engines except who plays."""

    terms: Terms
    conduct: Conduct
    limits: EngineLimits
    openings: Sequence[Opening]
    opening_set: str
    """What the record calls the openings: `built-in`, `none`, or the path of a file."""
    judge: list[str]
    """The command of the engine that is asked who has won a disputed game; empty if there is none."""
    parallel: int
    """How many games are played at the same time, at most."""
    sprt: Sprt | None
    """The test that ends a match as soon as it has decided."""

    def agreed(self, commands: Sequence[list[str]], names: Sequence[str]) -> MatchTerms:
        """Put the terms of a match of these two engines together, as its record has them."""
        terms, conduct = self.terms, self.conduct
        return MatchTerms(
            commands=[[_as_text(word) for word in command] for command in commands],
            names=list(names),
            width=terms.width,
            height=terms.height,
            komi=terms.komi,
            rules=terms.rules_name,
            time=announcements(terms.control)[0] if terms.control else "",
            enforce_clock=conduct.enforce_clock,
            visits=terms.visits or 0,
            max_moves=conduct.max_moves,
            judge=[_as_text(word) for word in self.judge],
            openings=self.opening_set,
            count_board=conduct.count_board,
            handicap=len(terms.handicap),
        )

    def names(self, commands: Sequence[list[str]], labels: Sequence[str], given: Sequence[str | None]) -> list[str]:
        """Start each engine once, and the judge, to see that it plays on these terms. Return their names, asked for
        where none is given.

        `labels` say how messages call the engines. Raises UserError, and KeyboardInterrupt after SIGINT and SIGTERM.
        """
        names = []
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for command, label, own in zip(commands, labels, given, strict=True):
                chosen = printable(own or "")
                said = self._try(command, chosen or label)
                names.append(chosen or said)
            if self.judge:
                self._try(self.judge, "judge")
        finally:
            signal.signal(signal.SIGTERM, before)
        return names

    def _try(self, command: list[str], label: str) -> str:
        """Start an engine, prepare it for a game and return its name. Raises UserError."""
        engine = Engine(command, label, limits=self.limits)
        try:
            said = engine.name()
            engine.prepare(self.terms)
        except EngineError as error:
            words = engine.last_words()
            raise UserError(f"{engine.label}: {error}{words and f'; its last words: {words}'}") from error
        except KeyboardInterrupt:
            engine.stop()  # one that compiles would not hear `quit`, nor SIGTERM, for many seconds
            raise
        finally:
            engine.close()
        return said


def read_conditions(
    size: tuple[int, int] = (19, 19),
    komi: float | None = None,
    rules: str = "chinese",
    visits: int | None = None,
    seconds: float | None = None,
    clock: str | None = None,
    enforce_clock: bool = False,
    lag: float = 0.5,
    hang: float | None = None,
    start: float = EngineLimits.start,
    max_moves: int | None = None,
    opening_set: str = "built-in",
    scorer: str = "auto",
    judge: str | None = None,
    parallel: int = 1,
    sprt: str | None = None,
    handicap: int | None = None,
) -> Conditions:
    """Read what the values of OPTIONS mean, and for a match the number of black's handicap stones. Raises UserError,
    RulesError and click.UsageError."""
    rule_set, customary_komi = preset(rules)
    width, height = size
    control = _control(seconds, clock)
    test = _sprt(sprt)
    count_board = scorer == "board" or (scorer == "auto" and scores_on_board(rule_set))
    stones = _handicap(handicap, width, height)
    if stones:
        if opening_set not in ("built-in", "none"):
            raise click.UsageError("--handicap and a file of --openings exclude each other")
        opening_set, customary_komi = "none", HANDICAP_KOMI
    first_moves: Sequence[Opening] = [NO_OPENING]
    if opening_set == "built-in":
        first_moves = openings(width, height)
    elif opening_set != "none":
        first_moves = read_openings(Path(opening_set), width, height, rule_set)
        opening_set = str(Path(opening_set).resolve())
    terms = Terms(width, height, customary_komi if komi is None else komi, rules, rule_set, control, visits, stones)
    conduct = Conduct(enforce_clock, lag, hang, max_moves or 0, count_board)
    most = math.inf if hang is None else hang  # it is for every reply once the game has begun
    limits = EngineLimits(start, min(EngineLimits.score, most), min(EngineLimits.reply, most))
    asked = engine_command(judge) if judge is not None else []
    return Conditions(terms, conduct, limits, first_moves, opening_set, asked, parallel, test)


def _control(seconds: float | None, clock: str | None) -> TimeControl | None:
    if seconds is not None and clock is not None:
        raise click.UsageError("--time and --clock exclude each other")
    if seconds is not None:
        return TimeControl.canadian(0.0, seconds, 1)
    try:
        return parse_control(clock) if clock is not None else None
    except ClockError as error:
        raise click.BadParameter(str(error), param_hint="--clock") from error


def _handicap(number: int | None, width: int, height: int) -> tuple[int, ...]:
    try:
        return tuple(fixed_handicap(number, width, height)) if number else ()
    except HandicapError as error:
        raise click.BadParameter(str(error), param_hint="--handicap") from error


def _as_text(word: str) -> str:
    """A word of a command for the record, which is in UTF-8; a path may have other bytes."""
    return word.encode("utf-8", "backslashreplace").decode("utf-8")


def _sprt(text: str | None) -> Sprt | None:
    if text is None:
        return None
    try:
        elo0, elo1 = (parse_number(word) for word in text.split(":"))
        if elo0 < elo1:
            return Sprt(elo0, elo1)
    except ValueError:
        pass
    raise click.BadParameter(f"{shown(text)} is not ELO0:ELO1 with ELO0 < ELO1", param_hint="--sprt")
