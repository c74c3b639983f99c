"""The origin of labels: which networks made them. Sample folders, sample files and checkpoints record it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import msgspec

from go_rules.machine.files import opened_regular
from training.errors import TrainingError
from training.files import named_errors, write_whole

ORIGIN = "origin.json"
FORMAT = b"nobi-samples-2 "
"""How a sample file begins; the rest of its first line is the origin of the samples."""
LONGEST_LINE = 1 << 16


class Origin(msgspec.Struct, frozen=True):
    """Which networks made some labels, and what kind of labels they are."""

    teachers: tuple[str, ...] = ()
    """Names of the networks that made them; none for labels that are records' moves and results."""
    has_optimistic: bool = False
    """Whether some of them have an optimistic policy."""
    pass_alive_under_suicide: bool = False
    """Whether area features of the positions count pass-alive groups as under rules with suicide (nets.features)."""

    def joined_with(self, other: Origin) -> Origin:
        """Return the origin of labels of both origins together."""
        new = tuple(name for name in other.teachers if name not in self.teachers)
        return Origin(
            self.teachers + new,
            self.has_optimistic or other.has_optimistic,
            self.pass_alive_under_suicide or other.pass_alive_under_suicide,
        )


def read_origin(source: Path) -> Origin:
    """Return the origin of the samples in a file, or in a folder as far as the folder says it. Raises TrainingError."""
    if source.is_file():
        with named_errors(source), opened_regular(source) as file:
            return read_first_line(file, source)
    path = source / ORIGIN
    try:
        return msgspec.json.decode(path.read_bytes(), type=Origin)
    except FileNotFoundError:
        return Origin()
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise TrainingError(f"{path}: damaged; remove it, and the samples count as of unknown origin") from None


def add_origin(folder: Path, origin: Origin) -> None:
    """Record that a folder has samples of this origin too. Raises TrainingError."""
    write_whole(folder / ORIGIN, msgspec.json.encode(read_origin(folder).joined_with(origin)) + b"\n")


def first_line(origin: Origin) -> bytes:
    """Return the first line of a file with samples of this origin."""
    return FORMAT + msgspec.json.encode(origin) + b"\n"


def read_first_line(file: BinaryIO, path: Path) -> Origin:
    """Return the origin that the first line of a sample file says. Raises TrainingError."""
    line = file.readline(LONGEST_LINE)
    if not line.startswith(FORMAT) or not line.endswith(b"\n"):
        raise TrainingError(f"{path}: not a sample file of this version")
    try:
        return msgspec.json.decode(line[len(FORMAT) :], type=Origin)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise TrainingError(f"{path}: a damaged sample file") from None
