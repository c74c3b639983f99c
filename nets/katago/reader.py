"""Reads the parts of KataGo's model files: gzip, tokens between spaces, and arrays of floats.

A stranger's file may be truncated, corrupt or made to exhaust memory. What is decompressed is capped, and no array
is allocated before the bytes that fill it are known to be there. (Layout: KataGo's `cpp/neuralnet/desc.cpp`.)
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from nobi_machine.text import parse_integer, parse_number

MAX_BYTES = 1 << 30
"""The largest decompressed file to accept; no network that KataGo has published is as large."""
SMALL_BYTES = 64 << 20
MAX_RATIO = 100
"""Beyond SMALL_BYTES: decompressed bytes per compressed byte. Trained weights compress less than tenfold."""
MOST_MEMBERS = 50_000
"""Parts of a gzip file. One is usual; programs that compress in parallel write one for each 64 kB or more."""
FIRST_PIECE, LARGEST_PIECE = 1 << 10, 1 << 20
"""Bytes of a member that are decompressed at once: the first, and the most."""
MAX_TOKEN = 256
MAX_DIMENSION = 1 << 16
"""The largest number of channels, kernel points or heads that a header may announce."""

LEAST_WEIGHT = 1e-30
"""Smaller weights are read as 0. Training wears weights down as far as to numbers that are not normal in float32, which
processors of Intel take more than ten times as long to multiply."""

_TOKEN = re.compile(rb"[^\s]+")
_BINARY = b"@BIN@"


class ModelFormatError(ValueError):
    """A file's content is no KataGo network; the text is one line without the file's name."""


def decompress(data: bytes) -> bytes:
    """Decompress gzip data, which may have several members; other data is returned as it is. Raises
    ModelFormatError. Takes linear time."""
    if data[:2] != b"\x1f\x8b":
        return data
    limit = min(MAX_BYTES, max(SMALL_BYTES, MAX_RATIO * len(data)))
    content = bytearray()
    view, at, members = memoryview(data), 0, 0
    try:
        while at < len(data) and any(view[at : at + 64]):  # gzip allows padding with zeros
            members += 1
            if members > MOST_MEMBERS:
                raise ModelFormatError(f"more than {MOST_MEMBERS} gzip members")
            at = _decompress_member(view, at, content, limit)
    except zlib.error as error:
        raise ModelFormatError(f"corrupt gzip data ({error})") from None
    return bytes(content)


def _decompress_member(data: memoryview, at: int, content: bytearray, limit: int) -> int:
    """Append the member at `at` to `content`, and return where it ends. Raises ModelFormatError and zlib.error."""
    member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    size = FIRST_PIECE
    while not member.eof:
        if at >= len(data):
            raise ModelFormatError("truncated gzip data")
        content += member.decompress(data[at : at + size], limit + 1 - len(content))
        if len(content) > limit:
            raise ModelFormatError(f"decompresses to more than {limit >> 20} MiB")
        at = min(at + size, len(data))
        size = min(2 * size, LARGEST_PIECE)
    return at - len(member.unused_data)  # which is copied: hence small pieces first


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
        try:
            value = parse_integer(word)
        except ValueError:
            raise ModelFormatError(f"{what}: a number was expected, not {word[:40]!r}") from None
        if not low <= value <= high:
            raise ModelFormatError(f"{what}: {value} is outside {low}..{high}")
        return value

    def count(self, what: str, most: int) -> None:
        """Count one more of something that a file may have `most` of."""
        self._counts[what] += 1
        if self._counts[what] > most:
            raise ModelFormatError(f"more than {most} {what}")

    def flag(self, what: str) -> bool:
        """Read the next token as a truth value, 0 or 1."""
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
            value = parse_number(word)
        except ValueError:
            raise ModelFormatError(f"{what}: a finite number was expected, not {word[:40]!r}") from None
        if not value > 0.0:
            raise ModelFormatError(f"{what}: {word[:40]} is not positive")
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
        values[np.abs(values) < LEAST_WEIGHT] = 0.0
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
