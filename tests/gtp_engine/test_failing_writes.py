"""Every step on the way to a user's file fails once in turn, or is the last one of a killed process.

What was there stays, or what is new is there whole; an error is one line; what a killed process leaves goes later.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from go_rules.sgf.writer import write_sgf
from gtp_engine.configuration.edit import write_values
from gtp_engine.errors import explain
from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.play import open_contest
from gtp_engine.match.record import MatchRecord
from gtp_engine.session.records import GameFiles
from gtp_engine.tools.networks import taken
from gtp_engine.tournament.report import write_results
from nobi_machine import files
from nobi_machine.files import append_regular, create_whole, write_whole
from tests.conftest import SMALL_NETWORK
from tests.gtp_engine.match.test_match import TERMS, game
from tests.systems import IS_WINDOWS
from training.files import write_new
from training.files import write_whole as write_of_training

OLD, NEW = b"(;B[aa])", b"(;B[aa];W[bb])"
Files = dict[str, bytes]
Operation = Callable[[Path], object]

pytestmark = pytest.mark.skipif(IS_WINDOWS, reason="what fails there, and how, is Windows's own")


def keep(folder: Path) -> None:
    """As `nobi play` does after each move."""
    path = folder / "game.sgf"
    GameFiles(path, OLD).keep(NEW)


def add_game(folder: Path) -> None:
    """As `nobi match` does at its start and after a game."""
    record = MatchRecord(folder, TERMS)
    if not record.games:
        record.add(game(0, "B+R"), NEW)


def free_name(folder: Path) -> Path:
    return folder / f"{len(list(folder.glob('*.npz')))}.npz"


def report(folder: Path) -> None:
    """As `nobi tournament` does after each game."""
    contest = open_contest(folder, (0, 1), [["x"], ["y"]], ["X", "Y"], read_conditions(size=(9, 9)))
    write_results(folder, ["X", "Y"], [["x"], ["y"]], [contest])


OPERATIONS: dict[str, tuple[Files, Operation]] = {
    "a new file": ({}, lambda folder: create_whole(folder / "new.sgf", NEW)),
    "a file replaced": ({"a": OLD}, lambda folder: write_whole(folder / "a", NEW, durable=True)),
    "a log": ({"log": OLD}, lambda folder: append_regular(folder / "log", NEW, durable=True)),
    "printsgf": ({}, lambda folder: write_sgf(folder / "new.sgf", NEW.decode())),
    "nobi play": ({"game.sgf": OLD}, keep),
    "save in nobi play": ({}, lambda folder: GameFiles().save(folder / "new.sgf", NEW)),
    "nobi match": ({}, add_game),
    "nobi tournament": ({"results.html": OLD, "results.json": OLD}, report),
    "a configuration": ({"config.toml": b"visits = 7\n"}, lambda at: write_values(at / "config.toml", {"visits": 9})),
    "a new configuration": ({}, lambda folder: write_values(folder / "config.toml", {"visits": 9})),
    "a network": ({"mine.bin.gz": OLD, "mine.bin.gz.0.part": OLD}, lambda _: taken("mine", str(SMALL_NETWORK))),
    "labels": ({"0.npz": OLD}, lambda folder: write_new(lambda: free_name(folder), NEW)),
    "a checkpoint": ({"checkpoint.pt": OLD}, lambda folder: write_of_training(folder / "checkpoint.pt", NEW)),
}
"""What is there before, and what is done to it."""
APPENDED = ("log", "record.jsonl")
TEMPORARY = ".new-"
# fmt: off
STEPS = (
    "open", "write", "fsync", "ftruncate", "truncate", "replace", "rename", "link", "chmod", "unlink", "mkdir",
)
# fmt: on


class Killed(BaseException):
    """The process is no more: nothing that it would still do to the disk happens."""


class Disk:
    """The calls of the system that change a folder. The one of this number fails, after half of what it should write:
    `fault` is the error's number, or None for a kill."""

    def __init__(self, folder: Path, fault: int | None, number: int) -> None:
        self._folder, self._fault, self._number = str(folder), fault, number
        self._descriptors: set[int] = set()
        self.steps: list[str] = []
        """Their names, up to the one that fails."""
        self.has_failed = False

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for name in STEPS:
                stack.enter_context(patch.object(os, name, self._step(name, getattr(os, name))))
            yield

    def _step(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(first: Any, *more: Any, **options: Any) -> Any:
            if name == "open" and not more[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real(first, *more, **options)
            is_ours = first in self._descriptors if isinstance(first, int) else str(first).startswith(self._folder)
            if is_ours:
                self._count(name, first, lambda: name == "write" and real(first, more[0][: len(more[0]) // 2]))
            result = real(first, *more, **options)
            if is_ours and name == "open":
                self._descriptors.add(result)
            return result

        return step

    def _count(self, name: str, first: object, half: Callable[[], object]) -> None:
        if self.has_failed and self._fault is None:
            raise Killed
        if not self.has_failed:
            self.steps.append(name)
            if len(self.steps) > self._number:
                self.has_failed = True
                half()
                if self._fault is None:
                    raise Killed
                raise OSError(self._fault, os.strerror(self._fault), *([] if isinstance(first, int) else [str(first)]))


def content(folder: Path) -> Files:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def prepared(place: Path, before: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with these files, which is also that of networks."""
    folder = place / "networks"
    folder.mkdir(parents=True)
    for name, text in before.items():
        (folder / name).write_bytes(text)
    monkeypatch.setenv("NOBI_DATA_DIR", str(place))
    return folder


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_step_fails_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, operation = OPERATIONS[name]
    monkeypatch.setattr(files, "LEFT_BEHIND_SECONDS", -1.0)
    folder = prepared(tmp_path / "undisturbed", before, monkeypatch)
    operation(folder)
    after = content(folder)
    assert after != before
    for fault in (errno.ENOSPC, errno.EACCES, None):
        for number in itertools.count():
            place = tmp_path / f"{fault}-{number}"
            folder = prepared(place, before, monkeypatch)
            disk, error = Disk(folder, fault, number), None
            with disk.failing():
                try:
                    operation(folder)
                except (Exception, Killed) as caught:
                    error = caught
            if not disk.has_failed:
                assert number >= 3
                break
            where = (fault, disk.steps, error)
            found = content(folder)
            for path, text in found.items():
                is_begun = path in APPENDED and after[path].startswith(text) and (fault is None or text[-1:] == b"\n")
                may_stay = TEMPORARY in path and (fault is None or disk.steps[-1] == "unlink")
                assert is_begun or may_stay or text in (before.get(path), after.get(path)), where
            assert not before.keys() - found.keys() - {path for path in before if path not in after}, where
            if isinstance(error, Exception):
                assert "internal error" not in explain(error), where
                assert TEMPORARY not in explain(error), where
            # The next process finds temporary files, which are old by then, and does what this one could not do.
            if name != "a log" and {path: found[path] for path in found if TEMPORARY not in path} != after:
                moved = place.rename(f"{place}-next") / folder.name
                monkeypatch.setenv("NOBI_DATA_DIR", str(moved.parent))
                operation(moved)
                assert content(moved) == after, where
