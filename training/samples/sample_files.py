"""Sample files: labelled positions that are kept to be learned from many times.

A file is a line of text, which says where the labels come from, and then chunks (compact.py). In a folder each file has
one canvas, and is named by it and a serial number. It is written whole or not at all, and never over another one, so
several processes can write to one folder. `nobi pack` makes one file of any number of them.
"""

from __future__ import annotations

import struct
import time
import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

from go_rules.compilation import jit
from go_rules.machine.files import opened_regular
from training.errors import TrainingError
from training.files import make_folder, named_errors, write_new
from training.positions.canvas import CANVASES
from training.samples.compact import MAX_SAMPLES, DamagedChunk, decode_chunk, encode_chunk, warm_up
from training.samples.origin import Origin, add_origin, first_line, read_first_line
from training.samples.samples import HAS_OPTIMISTIC, Samples, concatenate, with_optimistic
from training.status_line import StatusLine

SUFFIX = ".samples"
HEADER = struct.Struct("<BBHII")
"""Of a chunk: canvas, 1 where it has optimistic policies, number of samples, bytes that follow, and their CRC-32."""
MAX_CHUNK_BYTES = 1 << 25
KEPT_SECONDS = 120.0
"""A writer keeps no sample in memory for longer, as long as others come: so much is lost where the process is."""


class Chunk(NamedTuple):
    """A part of a sample file: samples of one canvas."""

    path: Path
    start: int
    """Where its bytes begin in the file."""
    size: int
    """How many they are."""
    checksum: int
    canvas: int
    length: int
    """How many samples it has."""
    has_optimistic: bool
    pass_alive_under_suicide: bool
    """How the area features of its planes count (nets.features)."""


class SampleWriter:
    """Collects samples and writes them to a folder in files of about `capacity` samples."""

    def __init__(self, folder: Path, origin: Origin, capacity: int = MAX_SAMPLES) -> None:
        """Create the folder unless it exists, and record the origin of the samples there. Raises TrainingError."""
        make_folder(folder)
        add_origin(folder, origin)
        self._folder, self._origin, self._capacity = folder, origin, min(capacity, MAX_SAMPLES)
        self._parts: dict[int, list[Samples]] = {canvas: [] for canvas in CANVASES}
        self._written = time.monotonic()
        self.files = 0
        """Files written so far."""

    def compile_ahead(self, status: StatusLine) -> None:
        """Compile what writes samples: were it compiled at an interruption, that would end late, without a word."""
        compiled, began = jit.compilations, time.monotonic()
        warm_up()
        if jit.compilations > compiled:
            status.note(f"what writes samples was compiled in {time.monotonic() - began:.0f} s")

    def add(self, samples: Samples) -> None:
        """Collect samples, and write all of them when there are enough, or they are KEPT_SECONDS old. Raises
        TrainingError."""
        parts = self._parts[samples.canvas]
        parts.append(samples)
        is_due = time.monotonic() - self._written >= KEPT_SECONDS
        if is_due or sum(part.length for part in parts) >= self._capacity:
            self.close()

    def close(self) -> None:
        """Write what there is, in files that may be small. Raises TrainingError."""
        self._written = time.monotonic()
        for canvas, parts in self._parts.items():
            if parts:
                content = first_line(self._origin) + encode_samples(concatenate(parts), self._origin)
                write_new(partial(next_path, self._folder, canvas), content)
                self._parts[canvas] = []
                self.files += 1


def next_path(folder: Path, canvas: int) -> Path:
    """Return the path of the next sample file in a folder."""
    taken = [int(path.name.split(".")[0].split("-")[1]) for path in sample_files(folder, canvas)]
    return folder / f"{canvas:02d}-{max(taken, default=-1) + 1:06d}{SUFFIX}"


def sample_files(folder: Path, canvas: int | None = None) -> list[Path]:
    """List the sample files in a folder, the oldest first; `canvas` restricts them to one canvas."""
    start = "[0-9][0-9]" if canvas is None else f"{canvas:02d}"
    return sorted(
        folder.glob(f"{start}-[0-9][0-9][0-9][0-9][0-9][0-9]{SUFFIX}"), key=lambda path: (path.name[3:], path.name)
    )


def require_read(sources: tuple[Path, ...]) -> None:
    """Raise TrainingError for a sample file in one of the folders that would not be read with it, because it has a name
    of its own as packed files do, unless it is one of `sources` itself."""
    named = {source.resolve() for source in sources}
    for source in sources:
        others = {path for path in source.glob(f"*{SUFFIX}") if path.is_file()} - set(sample_files(source))
        for path in sorted(others):
            if path.resolve() not in named:
                raise TrainingError(
                    f"{path}: a file of this name is not read with its folder: name the file too, or move it elsewhere"
                )


def encode_samples(samples: Samples, origin: Origin) -> bytes:
    """Return samples of one canvas as chunks."""
    content = []
    for first in range(0, samples.length, MAX_SAMPLES):
        part = Samples._make(array[first : first + MAX_SAMPLES] for array in samples)
        has_optimistic = bool((part.known & HAS_OPTIMISTIC).any())
        if not has_optimistic:
            part = part._replace(optimistic=part.optimistic[:, :0])
        body = encode_chunk(part, origin.pass_alive_under_suicide)
        header = HEADER.pack(part.canvas, has_optimistic, part.length, len(body), zlib.crc32(body))
        content.append(header + body)
    return b"".join(content)


def read_chunks(path: Path) -> list[Chunk]:
    """List the chunks of a file without reading their samples. Raises TrainingError."""
    with named_errors(path), opened_regular(path) as file:
        origin = read_first_line(file, path)
        place, end = file.tell(), file.seek(0, 2)
        chunks = []
        while place < end:
            file.seek(place)
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                raise _damaged(path)
            canvas, has_optimistic, count, size, checksum = HEADER.unpack(header)
            start = place + HEADER.size
            place = start + size
            is_sound = canvas in CANVASES and has_optimistic <= 1 and 0 < count <= MAX_SAMPLES
            if not is_sound or size > MAX_CHUNK_BYTES or place > end:
                raise _damaged(path)
            flags = bool(has_optimistic), origin.pass_alive_under_suicide
            chunks.append(Chunk(path, start, size, checksum, canvas, count, *flags))
    return chunks


def read_chunk(chunk: Chunk) -> Samples:
    """Read the samples of a chunk. Raises TrainingError where it is damaged."""
    with named_errors(chunk.path), opened_regular(chunk.path) as file:
        file.seek(chunk.start)
        content = file.read(chunk.size)
    if zlib.crc32(content) != chunk.checksum:
        raise _damaged(chunk.path)
    try:
        return decode_chunk(content, chunk.canvas, chunk.length, chunk.has_optimistic, chunk.pass_alive_under_suicide)
    except DamagedChunk:
        raise _damaged(chunk.path) from None


def read_samples(path: Path) -> Samples:
    """Read all samples of a file that has samples of one canvas. Raises TrainingError."""
    parts = [with_optimistic(read_chunk(chunk)) for chunk in read_chunks(path)]
    if len({part.canvas for part in parts}) != 1:
        raise TrainingError(f"{path}: it has no samples, or samples of several canvases")
    return concatenate(parts)


class SampleSources:
    """The chunks of some folders and files of samples. Folders are looked through again each time."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        self._sources = [Path(source) for source in sources]
        self._known: dict[Path, list[Chunk]] = {}

    def chunks(self, canvas: int | None = None) -> list[Chunk]:
        """List the chunks, of one canvas or of all. Raises TrainingError where a file is damaged."""
        found = []
        for source in self._sources:
            for path in [source] if source.is_file() else sample_files(source, canvas):
                if path not in self._known:  # what was written never changes
                    self._known[path] = read_chunks(path)
                found += [chunk for chunk in self._known[path] if canvas in (None, chunk.canvas)]
        return found


def _damaged(path: Path) -> TrainingError:
    return TrainingError(f"{path}: a damaged sample file")
