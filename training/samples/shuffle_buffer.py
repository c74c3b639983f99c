"""A shuffle buffer: batches are drawn at random from some sample files in memory, which others replace by and by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from training.errors import TrainingError
from training.positions.canvas import CANVASES
from training.positions.encoding import SYMMETRIES
from training.samples.sample_files import read_samples, sample_files
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
from training.student.losses import Targets

FILES_HELD = 24
"""How many files of each canvas are in memory at once; each takes about 25 MB."""
PASSES = 1.0
"""How often a sample is drawn, on average, before another file takes its file's place, if there are more files."""


class ShuffleBuffer:
    """Draws batches from folders of sample files. It notices new files."""

    def __init__(self, source: str, folders: tuple[str, ...]) -> None:
        """`source` is the setting that names the folders. Raises TrainingError where there are no sample files."""
        self._folders = [Path(folder) for folder in folders]
        self._held: dict[int, list[tuple[Path, Samples]]] = {canvas: [] for canvas in CANVASES}
        self._drawn = dict.fromkeys(CANVASES, 0)
        if not any(self._files(canvas) for canvas in CANVASES):
            raise TrainingError(f"no sample files in {', '.join(folders) or f'data.{source}'}")

    def counts(self) -> dict[int, int]:
        """Count the files of each canvas."""
        return {canvas: len(self._files(canvas)) for canvas in CANVASES}

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
                parts.append(_with_optimistic(samples.chosen(inside)))
        joined = concatenate(parts)
        self._drawn[canvas] += count
        spatial, labels = turned(joined, generator.integers(0, SYMMETRIES, count))
        return spatial, joined.global_, targets_from_samples(labels)

    def _files(self, canvas: int) -> list[Path]:
        return [path for folder in self._folders for path in sample_files(folder, canvas)]

    def _refresh(self, canvas: int, generator: np.random.Generator) -> None:
        """Read files up to FILES_HELD, and replace the oldest when its samples were drawn PASSES times."""
        held = self._held[canvas]
        typical = held[0][1].length if held else 1
        is_due = self._drawn[canvas] >= PASSES * typical
        if held and not is_due:
            return
        self._drawn[canvas] = 0
        known = {path for path, _ in held}
        waiting = [path for path in self._files(canvas) if path not in known]
        generator.shuffle(waiting)
        free = FILES_HELD - len(held)
        if free <= 0 and waiting:
            held.pop(0)
            free = 1
        held += [(path, read_samples(path)) for path in waiting[:free]]


def _with_optimistic(samples: Samples) -> Samples:
    """Give samples without an optimistic policy the column, so that they can be joined with others; it is not known."""
    if samples.optimistic.shape[1]:
        return samples
    return samples._replace(optimistic=np.zeros_like(samples.policy))


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
