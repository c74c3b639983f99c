"""The engines of a match: from the words on the command line to a process that is ready for a game."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from go_rules.points import COLOUR_NAMES, to_vertex
from go_rules.rules import Rules
from gtp_engine.errors import UserError
from gtp_engine.match.client import EngineError, GtpClient, GtpFailure
from gtp_engine.match.clock import announcements
from gtp_engine.thinking.clock import TimeControl

START_SECONDS = 120.0
"""For an engine's first answers and for preparing a board: networks are loaded and kernels compiled here."""
SCORE_SECONDS = 60.0
REPLY_SECONDS = 30.0
"""For any other command but genmove."""

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
"""What `kgs-rules` calls a preset, for engines without `kata-set-rules`."""


@dataclass(frozen=True)
class Terms:
    """What both engines are told before each game."""

    width: int
    height: int
    komi: float
    rules_name: str
    rules: Rules
    control: TimeControl | None
    visits: int | None


def engine_command(text: str) -> list[str]:
    """The words of an engine's command; `nobi` is this Nobi's `nobi gtp`. Raises UserError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"cannot read the engine's command {text!r}: {error}") from error
    if not words:
        raise UserError("an engine's command is empty")
    if words[0] == "nobi":
        own = words[1:]
        words = [sys.executable, "-m", "gtp_engine.cli", *([] if own[:1] == ["gtp"] else ["gtp"]), *own]
    return words


class Engine:
    """One side at one table: a process that is started when it is needed and again after it failed."""

    def __init__(self, command: list[str], label: str, stderr: Path) -> None:
        self.command = command
        self.label = label
        """What messages call it."""
        self.stderr = stderr
        self._client: GtpClient | None = None
        self._stopped = False
        self._takes_fractions = False
        """Of seconds; GTP has whole ones, but engines whose clocks go further read fractions too."""

    @property
    def client(self) -> GtpClient:
        """The running process. Raises EngineError if it cannot be started."""
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
        """Set up an empty board on these terms. Raises EngineError, or UserError if the engine refuses them."""
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
        """Tell the engine of a move. Raises EngineError, GtpFailure."""
        self.client.send(f"play {COLOUR_NAMES[colour]} {to_vertex(point, height)}", REPLY_SECONDS)

    def time_left(self, colour: int, seconds: float, stones: int) -> None:
        """Tell the engine its clock, if it listens. Raises EngineError."""
        if self.client.knows("time_left", REPLY_SECONDS):
            with contextlib.suppress(GtpFailure):
                shown = f"{seconds:.2f}" if self._takes_fractions else f"{max(int(seconds), min(1, stones))}"
                self.client.send(f"time_left {COLOUR_NAMES[colour]} {shown} {stones}", REPLY_SECONDS)

    def genmove(self, colour: int, seconds: float) -> str:
        """The engine's answer: a vertex, `pass` or `resign`, lower case. Raises EngineError, GtpFailure."""
        return self.client.send(f"genmove {COLOUR_NAMES[colour]}", seconds).strip().lower()

    def final_score(self) -> str | None:
        """`B+3.5`, `W+0.5` or `0`; None if the engine gives no such thing. Raises EngineError."""
        try:
            return parse_score(self.client.send("final_score", SCORE_SECONDS))
        except GtpFailure:
            return None

    def stderr_lines(self) -> int:
        """Lines written to stderr so far, earlier processes of this match included."""
        try:
            return self.stderr.read_bytes().count(b"\n")
        except OSError:
            return 0

    def stray_lines(self) -> int:
        return self._client.stray_lines if self._client else 0

    def discard(self) -> None:
        """Kill the process; the next use starts another."""
        client, self._client = self._client, None
        if client is not None:
            client.kill()

    def stop(self) -> None:
        """Kill the process for good, from whatever thread."""
        self._stopped = True
        self.discard()

    def close(self) -> None:
        """Let the process quit in good order."""
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
    """A score as `B+3.5`, `W+0.5` or `0`, from what engines say; None if it is none."""
    word = (text.split() or [""])[0].upper()
    if word in ("0", "DRAW", "JIGO"):
        return "0"
    if word[:2] not in ("B+", "W+"):
        return None
    try:
        margin = float(word[2:])
    except ValueError:
        return None
    return "0" if margin == 0 else f"{word[:2]}{margin:g}"
