"""The files of training: their names in a run's folder, how they are read, and how they are written.

    training.toml     the configuration that the run was started with
    start.bin.gz      the network that it began with, if not with random weights; start.json has its provenance
    checkpoint.pt     the present state
    student.bin.gz    the average of the weights as a KataGo file, which the engine opens
    leg1.bin.gz, ...  what that was at the ends of legs
    student.json      its provenance and figures
    progress.jsonl    losses and yardstick figures; plots/ shows them

What goes wrong is a TrainingError of one line that names the file.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Model
from nets.katago.reader import MAX_BYTES as MAX_NETWORK_BYTES
from nets.katago.reader import ModelFormatError, decompress, parse_model
from nobi_machine import files
from training.errors import TrainingError

CONFIG, CHECKPOINT, LEG = "training.toml", "checkpoint.pt", "leg"
START, START_CARD = "start.bin.gz", "start.json"
LOG = "progress.jsonl"
STUDENT, CARD = "student.bin.gz", "student.json"

MAX_BYTES = 4 << 30
"""Arrays of an archive that are larger together are damaged or hostile."""


def card_beside(network: Path) -> Path:
    """Return the path of the file NAME.json with the provenance of a network NAME.bin.gz."""
    return network.with_name(network.name.removesuffix(".bin.gz") + ".json")


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a TrainingError that names `path`."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Put a file with this content in place of whatever is at `path`, in one step. Raises TrainingError."""
    with named_errors(path):
        files.write_whole(path, content, files.PUBLIC, durable=True)


def write_new(next_free: Callable[[], Path], content: bytes) -> None:
    """Write to the path that `next_free` returns, and never over another process's file. Raises TrainingError."""
    with named_errors(next_free()):
        files.write_new(next_free, content)


def make_folder(path: Path) -> None:
    """Create a folder, and its parents, unless it exists. Raises TrainingError."""
    with named_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def read_network(path: Path) -> Model:
    """Read a KataGo network. Raises TrainingError."""
    try:
        with named_errors(path):
            return parse_model(decompress(files.read_regular(path, MAX_NETWORK_BYTES)))
    except ModelFormatError as error:
        raise TrainingError(f"{path}: not a usable KataGo network: {error}") from None


def read_arrays(path: Path, names: Iterable[str], what: str) -> list[NDArray[Any]]:
    """Read the named arrays of a .npz archive that may be damaged, or anything else. `what` says for errors what the
    file should be. Raises TrainingError."""
    with opened_arrays(path, what) as archive:
        if archive.size > MAX_BYTES:
            raise TrainingError(f"{path}: not {what}: it is too large")
        return [archive.read(name) for name in names]


@contextmanager
def opened_arrays(path: Path, what: str, most_bytes: int | None = None) -> Iterator[Arrays]:
    """Open a .npz archive, of at most `most_bytes` if given, for a body that reads some of its arrays. What goes wrong
    in the body is the file's fault: it is not `what`, or damaged. Raises TrainingError."""
    try:
        with named_errors(path), files.opened_regular(path) as file:
            if most_bytes is not None and file.seek(0, 2) > most_bytes:
                raise TrainingError(f"{path}: not {what}: it is too large")
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                yield Arrays(archive)
    except TrainingError:
        raise
    except KeyError as error:
        raise TrainingError(f"{path}: not {what}: {error.args[0]}") from None
    except Exception:  # zipfile, numpy and each way of compressing have errors of their own for damaged content
        raise TrainingError(f"{path}: not {what}, or a damaged one") from None


class Arrays:
    """The arrays of an open .npz archive. They are read one by one, and take no more memory than they have content,
    whatever their headers say."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @property
    def size(self) -> int:
        """How many bytes all arrays have, as the archive says."""
        return sum(entry.file_size for entry in self._archive.infolist())

    def has(self, name: str) -> bool:
        """Return whether there is an array of this name."""
        return f"{name}.npy" in self._archive.namelist()

    def shape(self, name: str) -> tuple[int, ...]:
        """Return an array's shape, as its header says. Raises KeyError where there is no such array."""
        with self._archive.open(f"{name}.npy") as file:
            return _header(file)[0]

    def read(self, name: str, kind: type | None = None, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        """Read an array, which must be of this dtype and shape where they are given. Raises KeyError where there is
        none of this name; what is damaged has many other errors."""
        with self._archive.open(f"{name}.npy") as file:
            found, is_fortran, dtype = _header(file)
            size = math.prod(found) * dtype.itemsize
            is_expected = (kind is None or dtype == kind) and shape in (None, found)
            if not is_expected or dtype.hasobject or file.tell() + size != self._archive.getinfo(file.name).file_size:
                raise ValueError("the header contradicts the content, or what is expected")
            content = bytearray(file.read(size))
        return np.ndarray(found, dtype, content, order="F" if is_fortran else "C")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an array: its shape, whether columns come first, and its dtype. Raises ValueError."""
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise ValueError("an unknown version")
    return read[version](file)
