"""What a client says to the engine, what it reads of the answers, and what it checks there.

A story is what one client does, told as a function of a Talk. `make test` tells all stories to an engine whose player
knows nothing (partners.py); `make conformance` tells the same ones to `nobi gtp` and `nobi analysis` with their
network. Each client's module says which lines of its source it was written after, and reads as that client does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.gtp_engine.clients import page

FRAMED = re.compile(r"[=?]\d*( .*)?\n(.+\n)*\n")
"""A whole reply: one blank line, and that at its end."""


class Partner(Protocol):
    """An engine on the other side of GTP."""

    def send(self, line: str) -> str:
        """The whole reply to one line, with the blank line that ends it."""

    def analyse(self, line: str, end: str) -> tuple[str, str]:
        """Begin an analysis, wait for a report, and end it by the line `end`: both whole replies, the second one empty
        where `end` is.
        """

    def errors(self) -> list[str]:
        """The lines that came on stderr since this was called last."""


class JsonPartner(Protocol):
    """An engine on the other side of KataGo's JSON protocol."""

    def say(self, *queries: dict[str, Any] | str) -> None:
        """Send queries, or lines as they are."""

    def next(self) -> dict[str, Any]:
        """The next reply."""


class GaveUp(Exception):
    """The client got an answer with which it does not go on."""


@dataclass(frozen=True)
class Case:
    """One thing that a client expects, and whether it was so."""

    story: str
    text: str
    is_right: bool


@dataclass
class Talk:
    """A client's side of a dialogue in GTP."""

    partner: Partner
    story: str
    has_ids: bool = False
    cases: list[Case] = field(default_factory=list)
    number: int = 0

    def check(self, text: str, is_right: object) -> None:
        """Count one case."""
        self.cases.append(Case(self.story, text, bool(is_right)))

    def ask(self, *lines: str) -> str:
        """The text of the reply to the last of some lines. Raises GaveUp if the engine refuses one."""
        text = ""
        for line in lines:
            is_success, text = self.attempt(line)
            if not is_success:
                raise GaveUp(f"{line}: refused: {text}")
        return text

    def attempt(self, line: str) -> tuple[bool, str]:
        """Whether the engine carried the line out, and the text of its reply."""
        return self.read(line, self.partner.send(self._numbered(line)))

    def analyse(self, line: str, end: str) -> list[str]:
        """The lines of an analysis that is ended by `end`, which has a reply of its own; a bare newline has none."""
        first = self._numbered(line)
        began = self.number
        analysis, reply = self.partner.analyse(first, self._numbered(end) if end else "")
        ended, self.number = self.number, began
        is_success, text = self.read(line, analysis)
        self.number = ended
        if not is_success:
            raise GaveUp(f"{line}: refused: {text}")
        if end:
            self.read(end, reply)
        elif reply:
            raise GaveUp(f"an empty line was answered: {reply!r}")
        return [each for each in text.split("\n") if each]

    def read(self, line: str, reply: str) -> tuple[bool, str]:
        """Split a reply into success and text. Raises GaveUp if it is no reply to this line."""
        if not FRAMED.fullmatch(reply):
            raise GaveUp(f"{line}: ill-framed: {reply!r}")
        found = re.match(r"([=?])(\d*)", reply)
        assert found is not None
        if found[2] != (str(self.number) if self.has_ids else ""):
            raise GaveUp(f"{line}: the number is {found[2]!r}")
        return found[1] == "=", reply[found.end() :].removeprefix(" ").rstrip("\n")

    def _numbered(self, line: str) -> str:
        if not self.has_ids:
            return line
        self.number += 1
        return f"{self.number} {line}"


@dataclass
class JsonTalk:
    """A client's side of a dialogue in JSON."""

    partner: JsonPartner
    story: str
    cases: list[Case] = field(default_factory=list)

    def check(self, text: str, is_right: object) -> None:
        """Count one case."""
        self.cases.append(Case(self.story, text, bool(is_right)))

    def ask(self, query: dict[str, Any] | str, count: int = 1) -> list[dict[str, Any]]:
        """Send one query and return so many replies."""
        self.partner.say(query)
        return [self.partner.next() for _ in range(count)]


@dataclass(frozen=True)
class Story:
    """What one client does, and how it starts the engine."""

    client: str
    name: str
    tell: Callable[[Any], None]
    arguments: tuple[str, ...]
    """Of `nobi`."""
    has_ids: bool = False
    is_json: bool = False

    @property
    def title(self) -> str:
        return f"{self.client}: {self.name}"

    def told_to(self, partner: Any) -> list[Case]:
        """Tell it to a Partner, or to a JsonPartner where `is_json`. If the client gives up, that is a failed case."""
        talk = JsonTalk(partner, self.title) if self.is_json else Talk(partner, self.title, self.has_ids)
        try:
            self.tell(talk)
        except GaveUp as reason:
            talk.check(str(reason), False)
        except (ValueError, LookupError) as error:  # what a client could not read
            talk.check(f"the client stumbles: {error!r}", False)
        return talk.cases


STORIES: list[Story] = []
"""Every story of every client, in the order in which stories.py imports the clients."""


def story(
    client: str, name: str, *, ids: bool = False, json: bool = False, arguments: tuple[str, ...] = ()
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register a function of a Talk as a story. `arguments`: those of `nobi`, where they are not the ones that the page
    about clients tells the users of this one to enter."""

    def register(tell: Callable[[Any], None]) -> Callable[[Any], None]:
        started = ("analysis",) if json else arguments or page.gtp_command(client)
        STORIES.append(Story(client, name, tell, started, ids, json))
        return tell

    return register


def takes_own_stones(talk: Talk) -> bool:
    """Whether the engine's own move is suicide of two stones, where no other move is left beside a pass.

    The board is 5x5 and White's, but for a black stone at A4, the empty point A5 and White's eye at E1.
    """
    white = [f"w {column}{row}" for column in "ABCDE" for row in range(1, 6)]
    stones = [stone for stone in white if stone not in ("w A4", "w A5", "w E1")]
    talk.ask("boardsize 5", f"set_position b A4 {' '.join(stones)}")
    move = talk.ask("genmove b").upper()
    if move not in ("A5", "PASS", "RESIGN"):
        raise GaveUp(f"no legal move: {move}")
    return move == "A5"


def is_vertex(word: str, size: int = 9) -> bool:
    """Whether a client can put a stone there, or it is a pass or a resignation."""
    if word.lower() in ("pass", "resign"):
        return True
    found = re.fullmatch(r"([A-HJ-Z])(\d+)", word.upper())
    return found is not None and "ABCDEFGHJKLMNOPQRSTUVWXYZ".index(found[1]) < size and 1 <= int(found[2]) <= size
