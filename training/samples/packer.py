"""Packing: many sample files become a single small one, which outlives the machine and can be learned from as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from training.errors import TrainingError
from training.files import write_whole
from training.positions.canvas import CANVASES
from training.samples.compact import MAX_SAMPLES
from training.samples.older_files import older_files, read_older_samples
from training.samples.origin import Origin, first_line, read_origin
from training.samples.sample_files import (
    SUFFIX,
    SampleSources,
    encode_samples,
    read_chunk,
    require_read,
)
from training.samples.samples import Samples, concatenate, with_optimistic


def pack(out: Path, sources: tuple[Path, ...]) -> int:
    """Gather the samples of folders and files in the file `out`, in full chunks, and return how many they are.

    Folders may have files of the earlier version. Raises TrainingError.
    """
    if out.suffix != SUFFIX:
        raise TrainingError(f"{out}: a packed file ends in {SUFFIX}")
    if any(source.resolve() == out.resolve() for source in sources):
        raise TrainingError(f"{out}: it is to be packed itself: name another file")
    if out.resolve().parent in {source.resolve() for source in sources}:
        raise TrainingError(
            f"{out}: its folder is packed itself, and would have the samples twice: name another folder"
        )
    require_read(sources)
    origin = Origin()
    for source in sources:
        origin = origin.joined_with(read_origin(source))
    content, waiting, count = [first_line(origin)], {canvas: list[Samples]() for canvas in CANVASES}, 0

    def write(canvas: int, least: int) -> None:
        if sum(part.length for part in waiting[canvas]) < least:
            return
        samples = concatenate(waiting[canvas])
        full = samples.length // least * least
        content.append(encode_samples(Samples._make(array[:full] for array in samples), origin))
        waiting[canvas] = [Samples._make(array[full:] for array in samples)]

    for source in sources:
        for samples in _samples_of(source):
            waiting[samples.canvas].append(with_optimistic(samples))
            count += samples.length
            write(samples.canvas, MAX_SAMPLES)
    for canvas in CANVASES:
        write(canvas, 1)
    if count == 0:
        raise TrainingError(f"no sample files in {', '.join(map(str, sources))}")
    write_whole(out, b"".join(content))
    return count


def _samples_of(source: Path) -> Iterator[Samples]:
    for chunk in SampleSources((str(source),)).chunks():
        yield read_chunk(chunk)
    if source.is_dir():
        for path in older_files(source):
            yield read_older_samples(path)
