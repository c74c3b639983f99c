"""`nobi match`: its options, and the match that they describe."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import click
import msgspec

from go_rules.machine.texts import parse_number, shown
from go_rules.rule_names import preset
from go_rules.rules import Rules
from gtp_engine.configuration.options import Count, Number
from gtp_engine.configuration.settings import parse_size
from gtp_engine.errors import UserError
from gtp_engine.match.client import EngineError
from gtp_engine.match.clock import FORMS, ClockError, announcements, parse_control
from gtp_engine.match.engines import Engine, Limits, Terms, engine_command
from gtp_engine.match.openings import NO_OPENING, Opening, openings, read_openings
from gtp_engine.match.play import Match
from gtp_engine.match.record import FAULTS, SIDES, GameRecord, MatchRecord, MatchTerms
from gtp_engine.match.referee import Conduct
from gtp_engine.match.statistics import Sprt
from gtp_engine.match.table import Progress, print_table, summary
from gtp_engine.match.verdict import scores_on_board
from gtp_engine.printable import printable
from gtp_engine.thinking.clock import TimeControl

EXIT_FAULTS = 3
"""All games were played, but an engine misbehaved or the engines' scores differed."""


class BoardSize(click.ParamType):  # type: ignore[type-arg]
    """A board size as an option: `19` or `13x9`."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("engine_a", metavar="ENGINE_A")
@click.argument("engine_b", metavar="ENGINE_B")
@click.option("--games", "-n", type=Count(1), default=20, show_default=True, help="How many to play.")
@click.option("--size", type=BoardSize(), default="19", show_default=True, help="Board: N, or WIDTHxHEIGHT.")
@click.option("--komi", type=Number(-1000, 1000), help="Points for white.  [default: customary with the rules]")
@click.option("--rules", default="chinese", show_default=True, help="A rule set by name; `nobi gtp --help` lists them.")
@click.option(
    "--visits", type=Count(1, 10**12), help="Visits a move, for engines that take `kata-set-param maxVisits`."
)
@click.option("--time", "seconds", type=Number(0, 1e7, min_open=True), metavar="SECONDS", help="Seconds a move.")
@click.option("--clock", metavar="CONTROL", help=f"A time control: {FORMS}.")
@click.option("--enforce-clock", is_flag=True, help="Overstepping loses the game, rather than only being counted.")
@click.option(
    "--lag", type=Number(0, 1e7), default=0.5, show_default=True, help="Seconds a move may overstep unnoticed."
)
@click.option(
    "--hang",
    type=Number(1, 1e7),
    help="Seconds until a silent engine loses.  [default: 10 times what its clock allows, 60 at least; 600 without]",
)
@click.option(
    "--start",
    type=Number(1, 1e7),
    default=Limits.start,
    show_default=True,
    help="Seconds for an engine to start, and to get ready for a game.",
)
@click.option("--max-moves", type=Count(1), help="Score the game after so many.  [default: 3 times the points]")
@click.option(
    "--openings",
    "opening_set",
    default="built-in",
    show_default=True,
    metavar="built-in|none|FILE",
    help="First moves; a FILE has a line of vertices for each.",
)
@click.option(
    "--score",
    "scorer",
    type=click.Choice(["auto", "engines", "board"]),
    default="auto",
    show_default=True,
    help="Ask both engines for the final score, or count the board as it stands (auto: by the rules).",
)
@click.option(
    "--judge",
    metavar="COMMAND",
    help="A third engine, whose final score counts where the engines do not agree and nothing else shows who won.",
)
@click.option("--parallel", type=Count(1, 256), default=1, show_default=True, help="Games at the same time.")
@click.option("--sprt", metavar="ELO0:ELO1", help="Stop once a sequential test has decided between these differences.")
@click.option("--name-a", help="What to call the first engine.  [default: what it says]")
@click.option("--name-b", help="What to call the second.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the record, the SGF files and the "
    "engines' stderr; a match found there goes on.  [default: match-DATE-TIME]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object instead of a table.")
def match(
    engine_a: str,
    engine_b: str,
    games: int,
    size: tuple[int, int],
    komi: float | None,
    rules: str,
    visits: int | None,
    seconds: float | None,
    clock: str | None,
    enforce_clock: bool,
    lag: float,
    hang: float | None,
    start: float,
    max_moves: int | None,
    opening_set: str,
    scorer: str,
    judge: str | None,
    parallel: int,
    sprt: str | None,
    name_a: str | None,
    name_b: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Let two GTP engines play a match and judge it.

    ENGINE_A and ENGINE_B are quoted commands, such as "gnugo --mode gtp --chinese-rules". The word nobi stands for this
    installation's `nobi gtp`: "nobi --net FILE --visits 200".

    Colours alternate and each opening is played from both sides. The referee keeps its own board and clock; illegal
    moves, crashes, floods and hangs lose the game and are counted; no engine can hold the match up beyond --start and
    --hang. The exit code is 0, or 3 if there were any or if the engines did not agree on a score.
    """
    rule_set, customary_komi = preset(rules)
    width, height = size
    control = _control(seconds, clock)
    test = _sprt(sprt)
    count_board = scorer == "board" or (scorer == "auto" and scores_on_board(rule_set))
    first_moves, source = _openings(opening_set, width, height, rule_set)
    commands = [engine_command(text) for text in (engine_a, engine_b, judge) if text is not None]
    as_text = [[_as_text(word) for word in command] for command in commands]
    terms = Terms(width, height, customary_komi if komi is None else komi, rules, rule_set, control, visits)
    conduct = Conduct(enforce_clock, lag, hang, max_moves or 0, count_board)
    limits = _limits(start, hang)
    with _termination_interrupts():
        names = _names(commands[:2], [name_a, name_b], terms, limits)
    agreed = MatchTerms(
        commands=as_text[:2],
        names=names,
        width=width,
        height=height,
        komi=terms.komi,
        rules=rules,
        time=announcements(control)[0] if control else "",
        enforce_clock=enforce_clock,
        visits=visits or 0,
        max_moves=max_moves or 0,
        judge=as_text[2] if judge is not None else [],
        openings=source,
        count_board=count_board,
    )
    folder = out or Path(time.strftime("match-%Y%m%d-%H%M%S"))
    record = MatchRecord(folder, agreed)
    shown_folder = printable(str(folder))
    click.echo(f"match: {agreed.names[0]} against {agreed.names[1]}; record in {shown_folder}", err=True)
    progress = Progress(agreed.names, games)
    try:
        with _termination_interrupts():
            play = Match(record, terms, conduct, first_moves, games, parallel, test, limits, commands)
            play.run(progress.update)
    except KeyboardInterrupt:
        progress.finish()
        if record.games:
            click.echo(f"match: interrupted; go on with the same command and --out {shown_folder}", err=True)
        raise
    progress.finish()
    finished = sorted(record.games, key=lambda game: game.game)
    if as_json:
        click.echo(msgspec.json.encode(summary(agreed, finished, test)).decode())
    else:
        print_table(agreed, finished, test)
    return EXIT_FAULTS if _has_faults(finished) else 0


@contextlib.contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Let SIGTERM end the match as Ctrl-C does, so that no engine is left behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _control(seconds: float | None, clock: str | None) -> TimeControl | None:
    if seconds is not None and clock is not None:
        raise click.UsageError("--time and --clock exclude each other")
    if seconds is not None:
        return TimeControl.canadian(0.0, seconds, 1)
    try:
        return parse_control(clock) if clock is not None else None
    except ClockError as error:
        raise click.BadParameter(str(error), param_hint="--clock") from error


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


def _limits(start: float, hang: float | None) -> Limits:
    """How long an engine may take: `--hang` is for every reply once the game has begun."""
    usual = Limits()
    hang = usual.score if hang is None else hang
    return Limits(start, min(usual.score, hang), min(usual.reply, hang))


def _openings(source: str, width: int, height: int, rules: Rules) -> tuple[Sequence[Opening], str]:
    """The openings, and what the record calls them."""
    if source == "built-in":
        return openings(width, height), source
    if source == "none":
        return [NO_OPENING], source
    return read_openings(Path(source), width, height, rules), str(Path(source).resolve())


def _names(commands: list[list[str]], given: list[str | None], terms: Terms, limits: Limits) -> list[str]:
    """Start each engine once, to see that it plays on these terms and to ask its name; equal names get a letter."""
    names = []
    for side, command in enumerate(commands):
        label = printable(given[side] or "") or f"engine {SIDES[side]}"
        engine = Engine(command, label, limits=limits)
        try:
            own = engine.name()
            engine.prepare(terms)
        except EngineError as error:
            raise UserError(f"{engine.label}: {error}") from error
        finally:
            engine.close()
        names.append(label if given[side] else own)
    if names[0] == names[1]:
        names = [f"{name} ({side})" for name, side in zip(names, SIDES, strict=True)]
    return names


def _has_faults(games: list[GameRecord]) -> bool:
    return any(game.reason in FAULTS or game.agreed is False for game in games)
