"""The log of a dialogue: what was said, and the facts that a replay needs beside it (gtp_engine/tools/replay.py).

A line has the seconds since the start, a mark and a text:

         0.004 :: nobi {"version": "1.0", "python": "3.12.3", "system": "linux"}      a fact: a name, and JSON
         0.512 << genmove b                                                          what the controller sent
         2.519 :: search {"reason": "time", "step": 96, "visits": 412, ...}          search/course.py tells the fields
         2.520 >> = Q16                                                              a reply, or a part of one
         2.600 -- komi is ...                                                        what the user was told
         2.700 !! Traceback ...                                                      an internal error

Of files only the last part of the name is written: a log is for strangers to read.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nobi_machine.files import append_regular, read_regular
from nobi_machine.streams import note
from nobi_machine.text import escaped, printable_path

if TYPE_CHECKING:
    from go_rules.game import Game
    from search.player import Player
    from search.request import SearchRequest
    from search.result import SearchResult

RECEIVED, SENT, REMARK, FAILURE, FACT = "<<", ">>", "--", "!!", "::"
ENGINE, PLAYER, SEARCH, PONDERING, FILE = "nobi", "player", "search", "pondering", "file"
"""The names of facts. With ENGINE a session begins; gtp_engine/recording.py knows what there is to say of a PLAYER."""

MOST_OF_A_FILE = 1 << 20
"""Bytes of a game record that is written into the log."""

_FOLDERS = re.compile(
    r"""(?<![\w.:/\\~-])(?:~[\w.-]*/|\.{0,2}/|[A-Za-z]:[\\/]|\\\\(?=\w))(?:[^\s\\/"'<>|:]+[\\/])*(?=[^\s\\/])"""
)
"""The folders of a path that begins at a root, a home, or the current folder."""


def without_folders(text: str) -> str:
    """Return a text in which paths, as far as they can be told from other words, have only their last part."""
    return _FOLDERS.sub("", text)


class DialogueLog:
    """Appends to a log file. Without a path it does nothing.

    Control characters are written out (`\\x1b`): a log is read in a terminal, and its lines come from strangers.

    If the file cannot be written, the log ends with one line on stderr and the engine goes on.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._names: dict[str, str] = {}
        """Names of files with their folders, and without."""

    @property
    def is_kept(self) -> bool:
        """Whether lines are written."""
        return self._path is not None

    def received(self, line: str) -> None:
        """Log a line that the controller sent."""
        self._add(RECEIVED, line)

    def sent(self, text: str) -> None:
        """Log a reply, or a part of one."""
        self._add(SENT, text)

    def remark(self, text: str) -> None:
        """Log a line that the user was told."""
        self._add(REMARK, text)

    def failure(self, error: BaseException) -> None:
        """Log the traceback of an internal error."""
        self._add(FAILURE, "".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def fact(self, name: str, value: object) -> None:
        """Log what a replay has to know: a name of one word, and what JSON can hold."""
        self._add(FACT, f"{name} {json.dumps(value)}")

    def shorten(self, path: str) -> None:
        """Write of this file only the last part of the name from now on."""
        name = re.split(r"[\\/]", path)[-1]
        if name != path:
            self._names[path] = name

    def written(self, text: str) -> list[str]:
        """Return the lines of a text as the log has them."""
        for path, name in self._names.items():
            text = text.replace(path, name)
        return [escaped(without_folders(line)) for line in text.splitlines() if line]

    # --- What a replay does otherwise -------------------------------------------------------------------------

    def search(
        self, player: Player, request: SearchRequest, is_over_by_clock: Callable[[], bool] = lambda: False
    ) -> SearchResult:
        """Let a player search, and log the course of it. Raises what `Player.search` does.

        `is_over_by_clock`: whether it was our clock that has set the request's `stop`; then the result says so."""
        from search.result import StopReason

        try:
            result = player.search(request)
            if is_over_by_clock() and result.reason is StopReason.INTERRUPTED:
                request.course.reason = StopReason.TIME.value
                result = dataclasses.replace(result, reason=StopReason.TIME)
            return result
        finally:
            self.fact(PONDERING if request.pondering else SEARCH, request.course.facts())

    def choose(self, player: Player, game: Game, result: SearchResult) -> int:
        """Let a player choose a move as `Player.choose` does."""
        return player.choose(game, result)

    def can_ponder(self, is_time_for_it: bool) -> bool:
        """Return whether to ponder now: where the clock has time for it."""
        return is_time_for_it

    def file(self, path: str | os.PathLike[str]) -> None:
        """Log the content of a file that a command reads, if it can be read."""
        if self.is_kept:
            try:
                content = read_regular(path, MOST_OF_A_FILE)
            except OSError:
                return
            self.fact(FILE, {"name": Path(path).name, "content": content.decode("latin-1")})

    def _add(self, mark: str, text: str) -> None:
        if self._path is None:
            return
        stamp = f"{time.monotonic() - self._started:10.3f} {mark} "
        with self._lock:
            try:
                lines = "".join(f"{stamp}{line}\n" for line in ([text] if mark == FACT else self.written(text)))
                append_regular(self._path, lines.encode("utf-8", "replace"))
            except OSError as error:
                note(f"cannot write the log {printable_path(self._path)}: {error.strerror}")
                self._path = None
