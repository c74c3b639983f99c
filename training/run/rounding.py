"""Rounding the matrices of a network's file to bf16: they compress better then, and what computes in bf16 or in 16 bits
does not see what is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nets.katago.reader import MAX_BYTES, ModelFormatError, Reader, decompress, read_model
from training.errors import TrainingError
from training.files import named_errors

LOST = 16
"""How many of the 23 bits of a number's fraction bf16 has not."""
MATRIX = 32768
"""Arrays of a network with so many numbers are matrices and convolutions."""


def rounded_network(path: Path) -> bytes:
    """Return the content of a KataGo network's file, with the numbers of all matrices rounded to bf16. Raises
    TrainingError."""
    with named_errors(path):
        content = path.read_bytes()
    try:
        return rounded_content(content[:MAX_BYTES])
    except ModelFormatError as error:
        raise TrainingError(f"{path}: not a usable KataGo network: {error}") from None


def rounded_content(content: bytes) -> bytes:
    """Return the content of a file, given that of another, as `rounded_network` does. Raises ModelFormatError."""
    reader = _ArrayReader(decompress(content))
    read_model(reader)
    return gzip.compress(bytes(reader.rounded), mtime=0)


class _ArrayReader(Reader):
    """Rounds the matrices that are read from a model's content in a copy of it, `rounded`."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.rounded = bytearray(content)

    def _binary(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        values = super()._binary(what, start, count)
        if count >= MATRIX:  # decimal numbers stay as they are
            self.rounded[start : start + 4 * count] = rounded(values).astype("<f4").tobytes()
        return values


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to the nearest numbers of bf16, half to even."""
    unit, one = np.uint32(1 << LOST), np.uint32(1)
    numbers = np.ascontiguousarray(values, np.float32).view(np.uint32)
    to_even = (numbers >> np.uint32(LOST)) & one
    numbers = (numbers + (unit // 2 - one) + to_even) & ~(unit - one)
    return numbers.view(np.float32)
