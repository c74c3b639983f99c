"""Rounding the matrices of a network's file, which compresses better then: what computes in bf16 or in 16 bits does not
see what is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nets.katago.reader import MAX_BYTES, ModelFormatError, Reader, decompress, read_model
from training.errors import TrainingError
from training.files import named_errors

BF16, FP16 = 7, 10
"""How many bits of a number's fraction bf16 and fp16 have; float32 has 23."""
MATRIX = 32768
"""Arrays of a network with so many numbers are matrices and convolutions."""


def rounded_network(path: Path, bits: int) -> bytes:
    """Return the content of a KataGo network's file, with the fractions of all matrices' numbers rounded to so many
    bits. Raises TrainingError."""
    with named_errors(path):
        content = path.read_bytes()
    try:
        return rounded_content(content[:MAX_BYTES], bits)
    except ModelFormatError as error:
        raise TrainingError(f"{path}: not a usable KataGo network: {error}") from None


def rounded_content(content: bytes, bits: int) -> bytes:
    """Return the content of a file, given that of another, as `rounded_network` does. Raises ModelFormatError."""
    reader = _ArrayReader(decompress(content), bits)
    read_model(reader)
    return gzip.compress(bytes(reader.rounded), mtime=0)


class _ArrayReader(Reader):
    """Rounds the matrices that are read from a model's content in a copy of it, `rounded`."""

    def __init__(self, content: bytes, bits: int) -> None:
        super().__init__(content)
        self.rounded = bytearray(content)
        self._bits = bits

    def _binary(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        values = super()._binary(what, start, count)
        if count >= MATRIX:  # decimal numbers stay as they are
            self.rounded[start : start + 4 * count] = rounded(values, self._bits).astype("<f4").tobytes()
        return values


def rounded(values: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """Round to the nearest numbers whose fractions have so many bits, half to even."""
    lost = np.uint32(23 - bits)
    unit = np.uint32(1) << lost
    numbers = np.ascontiguousarray(values, np.float32).view(np.uint32)
    numbers = (numbers + (unit // 2 - np.uint32(1)) + ((numbers >> lost) & np.uint32(1))) & ~(unit - np.uint32(1))
    return numbers.view(np.float32)
