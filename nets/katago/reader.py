"""Reads the parts of KataGo's model files: gzip, tokens between spaces, and arrays of floats.

A stranger's file may be truncated, corrupt or made to exhaust memory. What is decompressed is capped, and no array
is allocated before the bytes that fill it are known to be there. (Layout: KataGo's `cpp/neuralnet/desc.cpp`.)
"""

from __future__ import annotations

import itertools
import math
import re
import stat
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 1 << 30
"""The largest decompressed file to accept; no network that KataGo has published is as large."""
SMALL_BYTES = 64 << 20
MAX_RATIO = 100
"""Beyond SMALL_BYTES: decompressed bytes per compressed byte. Trained weights compress less than tenfold."""
MAX_TOKEN = 256
MAX_DIMENSION = 1 << 16
"""The largest number of channels, kernel points or heads that a header may announce."""

_TOKEN = re.compile(rb"[^\s]+")
_BINARY = b"@BIN@"


class ModelFormatError(ValueError):
    """A file's content is no KataGo network; the text is one line without the file's name."""


def read_bytes(path: Path) -> bytes:
    """Read a regular file that is no larger than MAX_BYTES. Raises ModelFormatError and OSError."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelFormatError("not a regular file")
    if status.st_size > MAX_BYTES:
        raise ModelFormatError(f"larger than {MAX_BYTES >> 20} MiB")
    with path.open("rb") as file:
        return file.read(status.st_size)  # to ask for more would reserve more


def decompress(data: bytes) -> bytes:
    """Decompress gzip data; other data is returned as it is. Raises ModelFormatError."""
    if data[:2] != b"\x1f\x8b":
        return data
    limit = min(MAX_BYTES, max(SMALL_BYTES, MAX_RATIO * len(data)))
    content = bytearray()
    view = memoryview(data)
    try:
        while view:
            member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            content += member.decompress(view, limit + 1 - len(content))
            if len(content) > limit:
                raise ModelFormatError(f"decompresses to more than {limit >> 20} MiB")
            if not member.eof:
                raise ModelFormatError("truncated gzip data")
            view = memoryview(member.unused_data)
            if not any(view[:64]):  # gzip allows padding with zeros
                break
    except zlib.error as error:
        raise ModelFormatError(f"corrupt gzip data ({error})") from None
    return bytes(content)


class Reader:
    """Reads a model's decompressed content from front to back.

    Every method raises ModelFormatError if the content ends early or is not what it should be.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._counts: Counter[str] = Counter()

    def word(self) -> str:
        """Read the next token, such as a layer's name or a block's kind."""
        found = _TOKEN.search(self._content, self._at, self._at + 4 * MAX_TOKEN)
        if found is None:
            raise ModelFormatError("ends early" if self._at_end() else "not a KataGo model file")
        if found.end() - found.start() > MAX_TOKEN:
            raise ModelFormatError("not a KataGo model file")
        self._at = found.end()
        try:
            word = found.group().decode("ascii")
        except UnicodeDecodeError:
            word = ""
        if not word.isprintable() or not word:
            raise ModelFormatError("not a KataGo model file")
        return word

    def integer(self, what: str, low: int = 1, high: int = MAX_DIMENSION) -> int:
        """Read the next token as an integer within [low, high]."""
        word = self.word()
        digits = word[1:] if word.startswith("-") else word
        if not (digits.isdigit() and len(digits) <= 9):
            raise ModelFormatError(f"{what}: a number was expected, not {word[:40]!r}")
        value = int(word)
        if not low <= value <= high:
            raise ModelFormatError(f"{what}: {value} is outside {low}..{high}")
        return value

    def count(self, what: str, most: int) -> None:
        """Count one more of something that a file may have `most` of."""
        self._counts[what] += 1
        if self._counts[what] > most:
            raise ModelFormatError(f"more than {most} {what}")

    def flag(self, what: str) -> bool:
        return self.integer(what, 0, 1) == 1

    def zero(self, what: str) -> None:
        """Read an option that no known network sets, and refuse any value but 0: ignoring it would be wrong."""
        value = self.integer(what, -(1 << 29), 1 << 29)
        if value != 0:
            raise ModelFormatError(f"{what}: {value} is not supported")

    def positive(self, what: str) -> float:
        """Read the next token as a finite float above zero."""
        word = self.word()
        try:
            value = float(word)
        except ValueError:
            raise ModelFormatError(f"{what}: a number was expected, not {word[:40]!r}") from None
        if not (math.isfinite(value) and value > 0.0):
            raise ModelFormatError(f"{what}: {word[:40]} is not positive and finite")
        return value

    def floats(self, what: str, *shape: int) -> NDArray[np.float32]:
        """Read the next array, binary or decimal, in row-major order; all numbers must be finite."""
        count = math.prod(shape)
        start = self._skip_space()
        if self._content.startswith(_BINARY, start):
            values = self._binary(what, start + len(_BINARY), count)
        else:
            values = self._decimal(what, start, count)
        if not np.isfinite(values).all():
            raise ModelFormatError(f"{what}: a weight is not finite")
        return values.reshape(shape)

    def _binary(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        if 4 * count > len(self._content) - start:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        self._at = start + 4 * count
        return np.frombuffer(self._content, "<f4", count, start).astype(np.float32)

    def _decimal(self, what: str, start: int, count: int) -> NDArray[np.float32]:
        if 2 * count - 1 > len(self._content) - start:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        values = np.empty(count, np.float64)
        filled = 0
        for found in itertools.islice(_TOKEN.finditer(self._content, start), count):
            try:
                values[filled] = float(found.group())
            except (ValueError, OverflowError):
                raise ModelFormatError(f"{what}: a weight is not a number") from None
            filled += 1
            self._at = found.end()
        if filled < count:
            raise ModelFormatError(f"{what}: ends early ({count} weights announced)")
        with np.errstate(over="ignore"):  # what no float32 can hold becomes infinite, which the caller refuses
            return values.astype(np.float32)

    def _skip_space(self) -> int:
        found = _TOKEN.search(self._content, self._at, self._at + 4 * MAX_TOKEN)
        return found.start() if found else len(self._content)

    def _at_end(self) -> bool:
        return not self._content[self._at :].strip()
