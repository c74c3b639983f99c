"""Where labels come from: sample folders say it of their samples, checkpoints of what their runs learned from."""

from __future__ import annotations

from pathlib import Path

import msgspec

from training.errors import TrainingError
from training.files import write_whole

ORIGIN = "origin.json"


class Origin(msgspec.Struct, frozen=True):
    """What is known of some labels."""

    teachers: tuple[str, ...] = ()
    """Names of the networks that made them; none for results of records."""
    has_optimistic: bool = False
    """Some of them have an optimistic policy."""
    pass_alive_under_suicide: bool = False
    """How the area features of the positions were computed (nets.features)."""

    def and_also(self, other: Origin) -> Origin:
        """Of labels of both kinds."""
        new = tuple(name for name in other.teachers if name not in self.teachers)
        return Origin(
            self.teachers + new,
            self.has_optimistic or other.has_optimistic,
            self.pass_alive_under_suicide or other.pass_alive_under_suicide,
        )


def read_origin(folder: Path) -> Origin:
    """Of the samples in a folder, as far as it says so. Raises TrainingError."""
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
    """Have a folder say that samples of this origin are in it, too. Raises TrainingError."""
    write_whole(folder / ORIGIN, msgspec.json.encode(read_origin(folder).and_also(origin)) + b"\n")
