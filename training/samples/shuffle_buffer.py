"""A shuffle buffer: batches are drawn at random from the sample files in memory, which others replace by and by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from nets.symmetry import SYMMETRIES
from training.errors import TrainingError
from training.positions.canvas import CANVASES
from training.samples.sample_files import FULL, SUFFIX, Chunk, SampleSources, read_chunk
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    concatenate,
    turned,
    unpack_probabilities,
)
from training.status_line import StatusLine
from training.student.losses import Targets

FIRST_READ = 8
"""How many files of a canvas are read before the first batch."""
SAMPLES_HELD = 24 * FULL
"""How many samples of each canvas are in memory at once."""
PASSES = 2.0
"""How often a sample is drawn, on average, before another file takes its file's place, if there are more."""


class ShuffleBuffer:
    """Draws batches from sample files and folders of them. It notices new files."""

    def __init__(self, setting: str, sources: tuple[str, ...]) -> None:
        """`setting` is the one that names the sources.

        A folder that is missing may come later, and is noted. Raises TrainingError where a file is missing, or where
        there are no samples.
        """
        self._sources = SampleSources(sources)
        self._held: dict[int, list[tuple[Chunk, Samples]]] = {canvas: [] for canvas in CANVASES}
        self._drawn = dict.fromkeys(CANVASES, 0)
        for source in sources:
            if not Path(source).exists():
                if source.endswith(SUFFIX):
                    raise TrainingError(f"{source}: there is no such file, which data.{setting} names")
                StatusLine().note(f"{source}: there is no such folder yet, which data.{setting} names")
        if not self._sources.chunks():
            raise TrainingError(f"no sample files in {', '.join(sources) or f'data.{setting}'}")

    def counts(self) -> dict[int, int]:
        """Count the samples of each canvas."""
        counts = dict.fromkeys(CANVASES, 0)
        for chunk in self._sources.chunks():
            counts[chunk.canvas] += chunk.length
        return counts

    def draw(self, canvas: int, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Targets]:
        """Return planes uint8[N, 22, S, S], global features [N, 19] and targets of N = `count` samples, each turned at
        random. Raises TrainingError where a file is damaged."""
        self._refresh(canvas, generator)
        held = self._held[canvas]
        if not held:
            raise TrainingError(f"no sample files for boards of {canvas} lines")
        lengths = np.cumsum([samples.length for _, samples in held])
        places = generator.integers(0, lengths[-1], count)
        parts = []
        for number, (_, samples) in enumerate(held):
            first = lengths[number] - samples.length
            inside = places[(places >= first) & (places < lengths[number])] - first
            if len(inside):
                parts.append(samples.chosen(inside))
        # In any order: parts of a batch, each with gradients of its own, should know as much as the others.
        joined = concatenate(parts).chosen(generator.permutation(count))
        self._drawn[canvas] += count
        spatial, labels = turned(joined, generator.integers(0, SYMMETRIES, count))
        return spatial, joined.global_, targets_from_samples(labels)

    def _refresh(self, canvas: int, generator: np.random.Generator) -> None:
        """Read the first files; later one more whenever as many samples were drawn as the oldest has PASSES times."""
        held = self._held[canvas]
        if held and self._drawn[canvas] < PASSES * held[0][1].length:
            return
        self._drawn[canvas] = 0
        known = {chunk for chunk, _ in held}
        waiting = [chunk for chunk in self._sources.chunks(canvas) if chunk not in known]
        generator.shuffle(waiting)
        for chunk in waiting[: 1 if held else FIRST_READ]:
            while len(held) > 1 and sum(samples.length for _, samples in held) + chunk.length > SAMPLES_HELD:
                held.pop(0)
            held.append((chunk, read_chunk(chunk)))


def targets_from_samples(samples: Samples) -> Targets:
    """Convert the labels of samples to targets on the CPU."""

    def weight(bit: int) -> torch.Tensor:
        return torch.from_numpy((samples.known & bit != 0).astype(np.float32))

    return Targets(
        policy=torch.from_numpy(unpack_probabilities(samples.policy)),
        policy_weight=weight(HAS_POLICY),
        optimistic=torch.from_numpy(unpack_probabilities(samples.optimistic)),
        optimistic_weight=weight(HAS_OPTIMISTIC),
        reply=torch.from_numpy(samples.reply.astype(np.int64)),
        value=torch.from_numpy(samples.value),
        value_weight=weight(HAS_VALUE),
        score=torch.from_numpy(samples.score),
        score_weight=weight(HAS_SCORE),
        errors_weight=weight(HAS_ERRORS),
        ownership=torch.from_numpy(samples.ownership.astype(np.float32) / 127.0),
        ownership_weight=weight(HAS_OWNERSHIP),
    )
