"""The origin of labels: which networks made them. Sample folders and checkpoints record it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from training.errors import TrainingError
from training.files import write_whole

ORIGIN = "origin.json"


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


def read_origin(folder: Path) -> Origin:
    """Return the origin of the samples in a folder, as far as the folder says it. Raises TrainingError."""
    path = folder / ORIGIN
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
