"""The engines of a match: from the text on the command line to a process that is ready for a game."""

from __future__ import annotations

import contextlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from go_rules.machine.launch import python_command
from go_rules.machine.texts import parse_number
from go_rules.points import COLOUR_NAMES, to_vertex
from go_rules.rules import Rules
from gtp_engine.errors import UserError
from gtp_engine.match.client import EngineError, GtpClient, GtpFailure
from gtp_engine.match.clock import announcements
from gtp_engine.thinking.clock import TimeControl

START_SECONDS = 120.0
"""Limit for an engine's first replies and for the preparation of a game, when it may load a network and compile."""
SCORE_SECONDS = 60.0
REPLY_SECONDS = 30.0
"""Limit for all other commands except genmove."""

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


def engine_command(text: str) -> list[str]:
    """The words of an engine's command. `nobi` stands for `nobi gtp` of this installation. Raises UserError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"cannot read the engine's command {text!r}: {error}") from error
    if not words:
        raise UserError("an engine's command is empty")
    if words[0] == "nobi":
        own = words[1:]
        words = python_command("gtp_engine.cli", *([] if own[:1] == ["gtp"] else ["gtp"]), *own)
    return words


class Engine:
    """One engine at one table. Its process is started when it is needed, and again after it has failed."""

    def __init__(self, command: list[str], label: str, stderr: Path) -> None:
        self.command = command
        self.label = label
        """How messages call the engine."""
        self.stderr = stderr
        self._client: GtpClient | None = None
        self._stopped = False
        self._takes_fractions = False
        """Whether the engine reads fractions of seconds. GTP has whole seconds only."""

    @property
    def client(self) -> GtpClient:
        """The client of the running process, which is started if there is none. Raises EngineError."""
        if self._client is None:
            if self._stopped:
                raise EngineError("the match was stopped")
            self._client = GtpClient(self.command, self.stderr)
        return self._client

    def name(self) -> str:
        """The engine's own name and version. Raises EngineError."""
        words = []
        for command in ("name", "version"):
            with contextlib.suppress(GtpFailure):
                words.append(" ".join(self.client.send(command, START_SECONDS).split())[:60])
        return " ".join(word for word in words if word) or self.label

    def prepare(self, terms: Terms) -> None:
        """Prepare the engine for a game on these terms. Raises EngineError, and UserError if it refuses them."""
        client = self.client
        width, height = terms.width, terms.height
        if width == height:
            self._insist(f"boardsize {width}")
        elif client.knows("rectangular_boardsize", START_SECONDS):
            self._insist(f"rectangular_boardsize {width} {height}")
        else:
            self._insist(f"boardsize {width} {height}")
        self._insist("clear_board")
        self._insist(f"komi {terms.komi:g}")
        if client.knows("kata-set-rules", START_SECONDS):
            self._insist(f"kata-set-rules {json.dumps(terms.rules.to_json())}")
        elif terms.rules_name in KGS_RULES and client.knows("kgs-rules", START_SECONDS):
            with contextlib.suppress(GtpFailure):
                client.send(f"kgs-rules {KGS_RULES[terms.rules_name]}", REPLY_SECONDS)
        if terms.control is not None:
            self._announce(announcements(terms.control))
        if terms.visits:
            if not client.knows("kata-set-param", START_SECONDS):
                raise UserError(f"{self.label} takes no visits by GTP; leave out --visits and put them in its command")
            self._insist(f"kata-set-param maxVisits {terms.visits}")

    def play(self, colour: int, point: int, height: int) -> None:
        """Send a move to the engine. Raises EngineError and GtpFailure."""
        self.client.send(f"play {COLOUR_NAMES[colour]} {to_vertex(point, height)}", REPLY_SECONDS)

    def time_left(self, colour: int, seconds: float, stones: int) -> None:
        """Send the engine its clock, if it knows the command for that. Raises EngineError."""
        if self.client.knows("time_left", REPLY_SECONDS):
            with contextlib.suppress(GtpFailure):
                shown = f"{seconds:.2f}" if self._takes_fractions else f"{max(int(seconds), min(1, stones))}"
                self.client.send(f"time_left {COLOUR_NAMES[colour]} {shown} {stones}", REPLY_SECONDS)

    def genmove(self, colour: int, seconds: float) -> str:
        """Ask the engine for a move: a vertex, `pass` or `resign` in lower case. Raises EngineError and GtpFailure."""
        return self.client.send(f"genmove {COLOUR_NAMES[colour]}", seconds).strip().lower()

    def final_score(self) -> str | None:
        """Ask the engine for the score: `B+3.5`, `W+0.5` or `0`; None if it gives none. Raises EngineError."""
        try:
            return parse_score(self.client.send("final_score", SCORE_SECONDS))
        except GtpFailure:
            return None

    def stderr_lines(self) -> int:
        """How many lines the engine has written to stderr in this match."""
        try:
            return self.stderr.read_bytes().count(b"\n")
        except OSError:
            return 0

    def stray_lines(self) -> int:
        """How many lines of the present process's stdout belonged to no reply."""
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

    def _announce(self, commands: list[str]) -> None:
        """Send one command after another until one is accepted."""
        for command in commands[:-1]:
            with contextlib.suppress(GtpFailure):
                self.client.send(command, REPLY_SECONDS)
                self._takes_fractions = True
                return
        self._insist(commands[-1])

    def _insist(self, command: str) -> None:
        try:
            self.client.send(command, START_SECONDS)
        except GtpFailure as error:
            raise UserError(f"{self.label} refuses `{command}`: {error}") from error


def parse_score(text: str) -> str | None:
    """Read a score as engines write it: `B+3.5`, `W+0.5` or `0`; None if the text is no score."""
    word = (text.split() or [""])[0].upper()
    if word in ("0", "DRAW", "JIGO"):
        return "0"
    if word[:2] not in ("B+", "W+"):
        return None
    try:
        margin = parse_number(word[2:])
    except ValueError:
        return None
    return "0" if margin == 0 else f"{word[:2]}{margin:g}"
