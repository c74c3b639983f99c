"""`nobi replay`: a dialogue that `nobi gtp` has logged, held once more without the clock, and compared.

Every search follows the course that the log has of it (search/course.py). With one worker and the same kind of kernels
the replies are the same, byte for byte; else the engine plays the moves of the log, and what only its searches tell is
not compared.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtp_engine.errors import UserError
from gtp_engine.gtp.call import Call, Controller
from gtp_engine.gtp.commands import carry_out
from gtp_engine.gtp.protocol import format_header, parse_line, parse_long_line
from gtp_engine.session.loading import STILL_LOADING
from gtp_engine.session.log import ENGINE, FACT, FILE, PLAYER, PONDERING, RECEIVED, SEARCH, SENT, DialogueLog
from gtp_engine.session.session import Session
from gtp_engine.stdio import MAX_LINE
from gtp_engine.version import VERSION
from nobi_machine.files import read_regular
from nobi_machine.streams import note
from nobi_machine.text import parse_json, printable_path, shown

if TYPE_CHECKING:
    from go_rules.game import Game
    from search.course import Course
    from search.player import Player
    from search.request import SearchRequest
    from search.result import SearchResult

MOST_BYTES = 1 << 30
"""The largest log."""
BEFORE = 20
"""Characters that are shown before the first that differs."""
_LINE = re.compile(r" *[0-9]+\.[0-9]{3} (<<|>>|--|!!|::) (.*)")

OF_THE_MOMENT = frozenset({"cputime", "gomill-cpu_time", "kata-benchmark", "kata-debug-print-tc"})
"""Commands whose replies tell how long something took."""
OF_SEARCHES = frozenset(
    (
        *("kgs-chat", "gomill-explain_last_move", "gomill-describe_engine", "debug_moves", "kata-get-models"),
        *("kata-raw-nn", "kata-raw-human-nn", "nobi-policy", "nobi-influence", "nobi-ownership", "nobi-variation"),
        *("final_score", "final_status_list"),
    )
)
"""Commands whose replies tell what searches and networks find, and how they are computed."""
_FIGURES = re.compile(r"info |\{")
"""How a line begins that tells what an analysis has found."""


# --- Reading a log ------------------------------------------------------------------------------------------------


@dataclass
class Exchange:
    """A command of the log, and what belongs to it."""

    line: str
    number: int
    """The number of its line in the file, from 1."""
    replies: list[tuple[int, str]] = field(default_factory=list)
    """The lines of the reply, with their numbers."""
    files: dict[str, bytes] = field(default_factory=dict)
    """The files that it reads, by name."""


@dataclass
class Dialogue:
    """One session of a log."""

    version: str
    """That of the Nobi which wrote it."""
    player: dict[str, Any] | None = None
    """What gtp_engine/recording.py says of the player; None if the session ended before there was one."""
    exchanges: list[Exchange] = field(default_factory=list)
    searches: list[tuple[str, Course]] = field(default_factory=list)
    """SEARCH or PONDERING, and the course."""

    def take(self, number: int, mark: str, text: str) -> None:
        """Add a line. Raises ValueError, KeyError, TypeError, AttributeError and IndexError where it is damaged."""
        name, _, content = text.partition(" ")
        if mark == RECEIVED:
            self.exchanges.append(Exchange(text, number))
        elif mark == SENT:
            self.exchanges[-1].replies.append((number, text))
        elif mark == FACT and name == FILE:
            file = parse_json(content)
            self.exchanges[-1].files[Path(file["name"]).name] = file["content"].encode("latin-1")
        elif mark == FACT and name in (SEARCH, PONDERING):
            self.searches.append((name, _course(parse_json(content))))
        elif mark == FACT and name == PLAYER:
            self.player = dict(parse_json(content))


def _course(facts: dict[str, Any]) -> Course:
    from search.course import Course

    course = Course(**facts)
    course.stop_reason()
    return course


def read_log(path: Path) -> Dialogue:
    """Read the last session of a log. Raises UserError."""
    try:
        lines = read_regular(path, MOST_BYTES).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise UserError(f"{printable_path(path)}: {error.strerror}") from None
    if lines.pop():
        note(f"{printable_path(path)}: the last line was cut off, and is left out")
    dialogue = None
    for number, line in enumerate(lines, 1):
        try:
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError
            mark, text = match.groups()
            if mark == FACT and text.startswith(f"{ENGINE} "):
                dialogue = Dialogue(str(parse_json(text.partition(" ")[2])["version"]))
            elif dialogue is not None:
                dialogue.take(number, mark, text)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise UserError(f"{printable_path(path)}: line {number} is damaged, or this is no log") from None
    if dialogue is None:
        raise UserError(f"{printable_path(path)}: no log of `nobi gtp`, or one of an earlier version")
    if dialogue.player is None:
        raise UserError(f"{printable_path(path)}: the last session ended before its player was loaded")
    return dialogue


# --- Following it -------------------------------------------------------------------------------------------------


class Difference(BaseException):
    """The replay goes on otherwise than the log. The text says how. No handler of errors stops it."""


class CutOff(Difference):
    """The log has no more of this, which is no difference where it ends."""


class FollowedLog(DialogueLog):
    """What a session follows in place of the log that it would write."""

    def __init__(self, dialogue: Dialogue, is_exact: bool) -> None:
        """`is_exact`: whether the same searches give the same results."""
        super().__init__()
        self._searches = iter(dialogue.searches)
        self._coming = next(self._searches, None)
        self.is_exact = is_exact
        self.line = 0
        """The number of the line of the present command."""
        self.move = ""
        """The move with which the log answers the present command; anything else if it does not."""

    def search(
        self, player: Player, request: SearchRequest, is_over_by_clock: Callable[[], bool] = lambda: False
    ) -> SearchResult:
        """Let a player search as it did, and set the request's `stop` where it was set."""
        from search.course import UNSEARCHED
        from search.result import StopReason

        if self._coming is None or self._coming[0] != (PONDERING if request.pondering else SEARCH):
            raise CutOff(f"line {self.line}: the log has no search for this command")
        known, stop = self._coming[1], threading.Event()
        self._coming = next(self._searches, None)
        if known.step == UNSEARCHED:
            stop.set()
        course = dataclasses.replace(known, leads=True, by_visits=not self.is_exact)
        limits = dataclasses.replace(request.limits, seconds=None)
        result = player.search(dataclasses.replace(request, limits=limits, stop=stop, course=course))
        if known.stop_reason() is StopReason.INTERRUPTED and request.stop is not None:
            request.stop.set()
        return known.told_in(result)

    def choose(self, player: Player, game: Game, result: SearchResult) -> int:
        """Let a player choose a move. Where results may be others, the log's move is played."""
        from go_rules.points import VertexError, from_vertex
        from search.result import RESIGN

        chosen = player.choose(game, result)
        if self.is_exact:
            return chosen
        try:
            return RESIGN if self.move == "resign" else from_vertex(self.move, game.width, game.height)
        except VertexError:
            return chosen

    def can_ponder(self, is_time_for_it: bool) -> bool:
        """Return whether the engine pondered here, and stopped before the log ends."""
        return self._coming is not None and self._coming[0] == PONDERING


class EndedStop(threading.Event):
    """An event for which nobody waits: what it would end has ended."""

    def wait(self, timeout: float | None = None) -> bool:
        """Set the event, and return True."""
        self.set()
        return True


class Replay:
    """A session that follows a log."""

    def __init__(self, dialogue: Dialogue, session: Session, log: FollowedLog, write: Callable[[str], None]) -> None:
        """`write` gets the replies."""
        self._dialogue, self._session, self._log, self._write = dialogue, session, log, write
        self._controller = Controller()

    def run(self) -> None:
        """Carry the commands out. Raises Difference."""
        for exchange in self._dialogue.exchanges:
            for name, content in exchange.files.items():
                Path(name).write_bytes(content)
            try:
                self._carry_out(exchange)
            except CutOff:
                if exchange is not self._dialogue.exchanges[-1]:
                    raise
                note(f"the log ends before the end of the reply to line {exchange.number}")

    def _carry_out(self, exchange: Exchange) -> None:
        is_long = len(exchange.line.encode()) > MAX_LINE
        command = (parse_long_line if is_long else parse_line)(exchange.line)
        if command is None:
            return
        replies = [line for _, line in exchange.replies]
        is_to_a_file = command.name == "printsgf" and command.text not in ("", "-")
        if is_to_a_file or replies == [f"{format_header(command.id, ok=False)} {STILL_LOADING}"]:
            self._write("\n".join(replies) + "\n\n")
            return
        written: list[str] = []

        def write(text: str) -> None:
            written.append(text)
            self._write(text)

        call = Call(command, write, controller=self._controller)
        call.stop = EndedStop()
        self._log.line = exchange.number
        self._log.move = replies[-1].split(" ")[-1] if replies else ""
        goes_on = carry_out(self._session, call)
        self._compare(command.name, exchange, self._log.written("".join(written)))
        if goes_on:
            self._session.after_reply()

    def _compare(self, command: str, exchange: Exchange, came: list[str]) -> None:
        """Raises Difference."""
        expected, is_exact = exchange.replies, self._log.is_exact
        if command in OF_THE_MOMENT or (not is_exact and command in OF_SEARCHES):
            expected, came = [(number, line[:1]) for number, line in expected[:1]], [line[:1] for line in came[:1]]
        elif not is_exact:
            expected = [(number, line) for number, line in expected if not _FIGURES.match(line)]
            came = [line for line in came if not _FIGURES.match(line)]
        for (number, line), other in zip(expected, came, strict=False):
            if line != other:
                raise Difference(f"line {number}: expected {_from_there(line, other)}, came {_from_there(other, line)}")
        if len(came) > len(expected):
            raise CutOff(f"line {exchange.number}: the reply goes on with {shown(came[len(expected)])}")
        if len(came) < len(expected):
            number, line = expected[len(came)]
            raise Difference(f"line {number}: expected {shown(line)}, came nothing")


def _from_there(text: str, other: str) -> str:
    """A text from a little before the place where another one is different."""
    start = max(0, next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0) - BEFORE)
    return ("..." if start else "") + shown(text[start:])


# --- The command --------------------------------------------------------------------------------------------------


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--net", type=click.Path(path_type=Path), metavar="FILE", help="Where the network of the log is.")
@click.option("--human-net", type=click.Path(path_type=Path), metavar="FILE", help="Where its human network is.")
def replay(file: Path, net: Path | None, human_net: Path | None) -> int:
    """Hold a logged dialogue once more, and compare the replies.

    FILE is a log of `nobi gtp --set log=FILE`, of which the last session counts. The replies are written to stdout. The
    exit code is 0 if they are as in the log, and 1 if not: then one line on stderr says where they first differ.
    """
    from gtp_engine.recording import engine_of, make_logged_player

    dialogue = read_log(file)
    assert dialogue.player is not None
    try:
        engine = engine_of(dialogue.player, file.parent, {"net": net, "human_net": human_net})
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{printable_path(file)}: what it says of the player is damaged ({error})") from None
    if dialogue.version != VERSION:
        note(f"the log is of version {shown(dialogue.version)}, this is {VERSION}: replies may differ for that")
    if engine.inexact:
        note(f"{engine.inexact}: what searches find is not compared")
    configuration, log = engine.configuration, FollowedLog(dialogue, not engine.inexact)
    session = Session(
        configuration.engine, lambda: make_logged_player(configuration, log, engine.seed), named=configuration.named
    )
    session.log = log
    session.load()
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Replay(dialogue, session, log, lambda text: print(text, end="", flush=True)).run()
        except Difference as difference:
            note(str(difference))
            return 1
        finally:
            os.chdir(here)
            session.close()
    note(f"{len(dialogue.exchanges)} commands, and every reply as in the log")
    return 0
