"""Reading and writing files for training: what goes wrong is a TrainingError of one line that names the file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.machine import files
from nets.katago.model import Model
from nets.katago.parse import parse_model
from nets.katago.reader import MAX_BYTES as MAX_NETWORK_BYTES
from nets.katago.reader import ModelFormatError, decompress
from training.errors import TrainingError

MAX_BYTES = 4 << 30
"""Arrays of an archive that are larger together are damaged or hostile."""


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
    try:
        with named_errors(path), ExitStack() as stack:
            file = stack.enter_context(files.opened_regular(path))
            opened = np.load(file, allow_pickle=False)
            if not isinstance(opened, np.lib.npyio.NpzFile):
                raise TrainingError(f"{path}: not {what}")
            with opened as archive:
                missing = [name for name in names if name not in archive.files]
                if missing:
                    raise TrainingError(f"{path}: not {what}: it has no array named {missing[0]}")
                if archive.zip is not None and sum(entry.file_size for entry in archive.zip.infolist()) > MAX_BYTES:
                    raise TrainingError(f"{path}: not {what}: it is too large")
                return [archive[name] for name in names]
    except (ValueError, KeyError, EOFError, TypeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise TrainingError(f"{path}: not {what}, or a damaged one") from None
