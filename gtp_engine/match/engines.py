"""The engines of a match: from the text on the command line to a process that is ready for a game."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from go_rules.points import COLOUR_NAMES, COLUMNS, PASS, VertexError, from_vertex, to_vertex
from go_rules.rules import Rules
from gtp_engine.configuration.configuration import network_path
from gtp_engine.errors import UserError
from gtp_engine.match.client import EngineError, EngineTimeout, ErrorLog, GtpClient, GtpFailure
from gtp_engine.match.clock import announcements
from gtp_engine.session.clock import System, TimeControl
from nets.embedded import EMBEDDED, NO_NETWORK
from nobi_machine.launch import python_command
from nobi_machine.text import parse_number, printable, split_command

Answer = TypeVar("Answer")

LONGEST_NAME = 60
"""Characters of what an engine calls itself, and again of its version."""
DESCRIBE = "gomill-describe_engine"
"""What gomill's engines answer in some lines; the first one is the name and the version."""
SCORE = re.compile(r"([BW])\+([0-9]{1,4}(?:\.[0-9]{1,3})?)")
NO_SCORE = ("0", "DRAW", "JIGO")
"""What engines write for a draw."""

KGS_RULES = {
    "chinese": "chinese",
    "chinese-kgs": "chinese",
    "chinese-ogs": "chinese",
    "aga": "aga",
    "bga": "aga",
    "japanese": "japanese",
    "korean": "japanese",
    "new-zealand": "new_zealand",
}
"""The name of a preset in `kgs-rules`, for engines without `kata-set-rules`."""


@dataclass(frozen=True)
class Terms:
    """The terms of a game, which both engines are told before it."""

    width: int
    height: int
    komi: float
    rules_name: str
    rules: Rules
    control: TimeControl | None
    visits: int | None
    handicap: tuple[int, ...] = ()
    """The points of black's handicap stones."""


@dataclass(frozen=True)
class EngineLimits:
    """How many seconds an engine may take, except for its moves: those have a clock."""

    start: float = 300.0
    """For its name, and again for all preparations of a game: it may load a network and compile."""
    score: float = 60.0
    """For each answer about the score of a game."""
    reply: float = 30.0
    """For every other reply."""


NETWORK_OPTIONS = ("--net", "--human-net")
SENT = "sent:"
"""So a word begins that stands for a file which was sent."""


class TermsRefused(UserError):
    """The engine does not play on the terms of the match."""


def engine_command(text: str) -> list[str]:
    """Split an engine's command into words. `nobi` stands for `nobi gtp` of this installation. Raises UserError."""
    try:
        words = split_command(text)
    except ValueError as error:
        raise UserError(f"cannot read the engine's command {text!r}: {error}") from error
    if not words:
        raise UserError("an engine's command is empty")
    if words[0] == "nobi":
        own = words[1:]
        words = python_command("gtp_engine.cli", *([] if own[:1] == ["gtp"] else ["gtp"]), *own)
    return words


def portable_command(command: Sequence[str], files: dict[str, Path]) -> list[str]:
    """Write an engine's command as it holds on other machines, and add the files that it names to those to be sent."""
    own = engine_command("nobi")
    if list(command[: len(own)]) != own:
        return list(command)
    words = ["nobi"]
    for word in command[len(own) :]:
        option, is_one_word, value = word.partition("=")
        option, value = (option, value) if is_one_word else (words[-1], word)
        path = network_path(value) if option in NETWORK_OPTIONS and value not in (EMBEDDED, NO_NETWORK) else None
        if path is not None:
            name = next((name for name, known in files.items() if known == path), str(len(files)))
            files[name] = path
            word = f"{option}={SENT}{name}" if is_one_word else SENT + name
        words.append(word)
    return words


def local_command(words: Sequence[str], files: Mapping[str, Path]) -> list[str]:
    """Return the command on this machine of which `portable_command` made these words."""
    if not words or words[0] != "nobi":
        return list(words)
    found = engine_command("nobi")
    for word in words[1:]:
        before, is_sent, name = word.partition(SENT)
        found.append(before + str(files[name]) if is_sent and name in files else word)
    return found


class Engine:
    """One engine at one table. Its process is started when it is needed, and again after it has failed."""

    def __init__(
        self, command: list[str], label: str, log: ErrorLog | None = None, limits: EngineLimits | None = None
    ) -> None:
        self.command = command
        self.label = label
        """How messages call the engine."""
        self.limits = limits or EngineLimits()
        self._log = log or ErrorLog()
        self._client: GtpClient | None = None
        self._stopped = False
        self._takes_fractions = False
        """Whether the engine reads fractions of seconds. GTP has whole seconds only."""
        self.knows_periods = True
        """Whether the engine was told of byo-yomi periods as such, or has none."""
        self._prepared_until = 0.0
        """When the preparations must have ended, by time.monotonic."""

    @property
    def client(self) -> GtpClient:
        """The client of the running process, which is started if there is none. Raises EngineError."""
        client = self._client
        if client is None:
            if self._stopped:
                raise EngineError("the match was stopped")
            client = self._client = GtpClient(self.command, self._log)
            if self._stopped:  # by another thread, which found no process
                client.kill()
        return client

    def name(self) -> str:
        """Ask the engine for its own name and version, in printable characters; its label if it says neither. Raises
        EngineError.

        Some engines answer `version` as clients want to hear it, and gomill's command with what they are.
        """
        self._begin_preparations()
        name = self._said("name")
        described = self._said(DESCRIBE) if self._knows(DESCRIBE) else ""
        return described or " ".join(word for word in (name, self._said("version")) if word) or self.label

    def _said(self, command: str) -> str:
        """The first line of the answer, in printable characters; empty where there is none. Raises EngineError."""
        with contextlib.suppress(GtpFailure):
            lines = self._prepare(command).strip().splitlines()
            return printable(lines[0], LONGEST_NAME) if lines else ""
        return ""

    def prepare(self, terms: Terms) -> None:
        """Prepare the engine for a game on these terms. Raises EngineError, and TermsRefused."""
        self._begin_preparations()
        width, height = terms.width, terms.height
        if width == height:
            self._insist(f"boardsize {width}")
        elif self._knows("rectangular_boardsize"):
            self._insist(f"rectangular_boardsize {width} {height}")
        else:
            self._insist(f"boardsize {width} {height}")
            self._insist_on_shape(width, height)
        self._insist("clear_board")
        self._insist(f"komi {terms.komi:g}")
        if self._knows("kata-set-rules"):
            self._insist(f"kata-set-rules {json.dumps(terms.rules.to_json())}")
        elif terms.rules_name in KGS_RULES and self._knows("kgs-rules"):
            with contextlib.suppress(GtpFailure):
                self._prepare(f"kgs-rules {KGS_RULES[terms.rules_name]}")
        if terms.control is not None:
            self._announce(terms.control)
        if terms.visits:
            if not self._knows("kata-set-param"):
                raise TermsRefused(
                    f"{self.label} takes no visits by GTP; leave out --visits and put them in its command"
                )
            self._insist(f"kata-set-param maxVisits {terms.visits}")
        if terms.handicap:
            vertices = " ".join(to_vertex(point, height) for point in terms.handicap)
            self._insist(f"set_free_handicap {vertices}")

    def play(self, colour: int, point: int, height: int, seconds: float) -> None:
        """Send a move to the engine. Raises EngineError and GtpFailure."""
        command = f"play {COLOUR_NAMES[colour]} {to_vertex(point, height)}"
        self.client.send(command, min(seconds, self.limits.reply))

    def time_left(self, colour: int, seconds: float, stones: int, limit: float) -> None:
        """Send the engine its clock, if it knows the command for that; `limit` is in seconds. Raises EngineError."""
        if self.client.knows("time_left", min(limit, self.limits.reply)):
            with contextlib.suppress(GtpFailure):
                shown = f"{seconds:.2f}" if self._takes_fractions else f"{max(int(seconds), min(1, stones))}"
                command = f"time_left {COLOUR_NAMES[colour]} {shown} {stones}"
                self.client.send(command, min(limit, self.limits.reply))

    def genmove(self, colour: int, seconds: float) -> str:
        """Ask the engine for a move: a vertex, `pass` or `resign` in lower case. Raises EngineError and GtpFailure."""
        return self.client.send(f"genmove {COLOUR_NAMES[colour]}", seconds).strip().lower()

    def final_score(self) -> str | None:
        """Ask the engine for the score: `B+3.5`, `W+0.5` or `0`; None if it gives none. Raises EngineError."""
        try:
            return parse_score(self.client.send("final_score", self.limits.score))
        except GtpFailure:
            return None

    def dead_stones(self, width: int, height: int) -> frozenset[int] | None:
        """Ask the engine which stones are dead: their points; None if it does not say. Raises EngineError."""
        if not self.client.knows("final_status_list", self.limits.reply):
            return None
        try:
            words = self.client.send("final_status_list dead", self.limits.score).split()
            return frozenset(from_vertex(word, width, height) for word in words) - {PASS}
        except (GtpFailure, VertexError):
            return None

    def stderr_lines(self) -> int:
        """Count the lines that the engine has written to stderr in this match. Waits a second at most for those of a
        process that has ended."""
        if self._client is not None:
            self._client.stderr_is_read()
        return self._log.lines()

    def last_words(self) -> str:
        """Return the engine's last line on stderr, in printable characters; empty if it has written none."""
        self.stderr_lines()
        return self._log.last_line()

    def stray_lines(self) -> int:
        """Count the lines of the present process's stdout that belonged to no reply."""
        return self._client.stray_lines if self._client else 0

    def discard(self) -> None:
        """Kill the process. The next use starts another one."""
        client, self._client = self._client, None
        if client is not None:
            client.kill()

    def stop(self) -> None:
        """Kill the process, and let no other be started. Any thread may call this."""
        self._stopped = True
        self.discard()

    def close(self) -> None:
        """Ask the process to quit, and wait for it."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _begin_preparations(self) -> None:
        self._prepared_until = time.monotonic() + self.limits.start

    def _prepare(self, command: str) -> str:
        return self._in_time(lambda seconds: self.client.send(command, seconds))

    def _knows(self, command: str) -> bool:
        return self._in_time(lambda seconds: self.client.knows(command, seconds))

    def _in_time(self, question: Callable[[float], Answer]) -> Answer:
        """Ask a question within the limit that all preparations share."""
        try:
            return question(max(0.0, self._prepared_until - time.monotonic()))
        except EngineTimeout as error:
            raise EngineTimeout(f"not ready within {self.limits.start:g} s: {error}") from error

    def _announce(self, control: TimeControl) -> None:
        """Send one announcement after another until one is accepted, and keep in mind what it said."""
        *others, last = announcements(control)
        for number, command in enumerate(others):
            with contextlib.suppress(GtpFailure):
                self._prepare(command)
                self._takes_fractions = True
                self.knows_periods = number == 0 or control.system is not System.BYOYOMI
                return
        self._insist(last)
        self._takes_fractions = False
        self.knows_periods = control.system is not System.BYOYOMI

    def _insist_on_shape(self, width: int, height: int) -> None:
        """See whether the board has this shape. GTP's `boardsize` has one number, so an engine may take the first of
        two and say nothing. Stones stay on the board. Raises EngineError, and TermsRefused."""
        self._insist("clear_board")
        corner, beyond = (width, height), (1, height + 1) if width > height else (width + 1, 1)
        for (column, row), is_there in ((corner, True), (beyond, False)):
            try:
                self._prepare(f"play b {COLUMNS[column - 1]}{row}")
                accepted = True
            except GtpFailure:
                accepted = False
            if accepted != is_there:
                raise TermsRefused(f"{self.label} has no board of {width}x{height}, though it took `boardsize`")

    def _insist(self, command: str) -> None:
        try:
            self._prepare(command)
        except GtpFailure as error:
            raise TermsRefused(f"{self.label} refuses `{command}`: {error}") from error


def parse_score(text: str) -> str | None:
    """Read a score as engines write it: `B+3.5`, `W+0.5` or `0`; None if the text is no score."""
    word = (text.split() or [""])[0].upper()
    if word in NO_SCORE:
        return "0"
    if (match := SCORE.fullmatch(word)) is None:
        return None
    margin = parse_number(match[2])
    return "0" if margin == 0 else f"{match[1]}+{margin:g}"
