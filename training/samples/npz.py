"""Reading .npz archives that may be damaged, or anything else."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.errors import TrainingError

MAX_BYTES = 4 << 30
"""Of an archive's arrays together: a larger one is damaged or hostile."""


def read_arrays(path: Path, names: Iterable[str], what: str) -> list[NDArray[Any]]:
    """The named arrays. `what` the file should be, for errors. Raises TrainingError, one line."""
    try:
        opened = np.load(path, allow_pickle=False)
        if not isinstance(opened, np.lib.npyio.NpzFile):
            raise TrainingError(f"{path}: not {what}")
        with opened as archive:
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise TrainingError(f"{path}: not {what}: it has no array named {missing[0]}")
            if archive.zip is not None and sum(entry.file_size for entry in archive.zip.infolist()) > MAX_BYTES:
                raise TrainingError(f"{path}: not {what}: it is too large")
            return [archive[name] for name in names]
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, EOFError, TypeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise TrainingError(f"{path}: not {what}, or a damaged one") from None
