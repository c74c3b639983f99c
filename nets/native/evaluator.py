"""Networks of convolutions run by our own kernels, in integers of 16 bits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.evaluator import Evaluation, Evaluator, EvaluatorError
from nets.katago.model import FloatArray, Model
from nets.native.heads import run_heads
from nets.native.outputs import pass_logits, value_and_score
from nets.native.pack import Packed
from nets.native.products import OUTPUTS
from nets.native.tiling import SMALLEST
from nets.native.trunk import run_layers, write_stem
from nets.native.workspace import Workspace

PRECISION = "int16"
PROVIDER = "native"
MOST_IDLE = 8
"""Workspaces that wait for their next call; more than that many callers at once, or kinds of batches, allocate anew."""
BATCH_BYTES = 3 << 20
"""Of a workspace that is still read from the processor's caches: what larger batches are cut into."""


class NativeEvaluator:
    """Implements `Evaluator`. Any number of threads may evaluate at once, each computing its own call alone."""

    precision = PRECISION
    provider = PROVIDER
    needs_colours = False
    profile = None

    def __init__(
        self, model: Model, packed: Packed, source: str, open_other: Callable[[], Evaluator], optimism: float = 1.0
    ) -> None:
        """`packed` is `model`, a prepared network; `source` its name in errors, `optimism` the default share of the
        optimistic policy in networks that have one. Boards of a single line, which no tile fits, are left to what
        `open_other` opens, another evaluator of the same network."""
        self.name = model.name
        self.has_optimism = model.policy.channels > 1
        self.pass_alive_under_suicide = model.pass_alive_under_suicide
        self.only_safe_area = model.only_safe_area
        self._version = model.version
        self._value_channels = model.value.first.outputs
        self._pooled_channels = model.policy.pooled.outputs
        self._packed, self._source, self._optimism = packed, source, optimism
        self._open_other = open_other
        self._other: Evaluator | None = None
        self._idle: list[Workspace] = []
        self._lock = threading.Lock()

    def evaluate(
        self,
        spatial: NDArray[np.float32],
        global_: NDArray[np.float32],
        optimism: NDArray[np.float32] | None = None,
        colours: NDArray[np.int8] | None = None,
    ) -> Evaluation:
        """Evaluate `spatial` [N, 22, H, W] and `global_` [N, 19]; `optimism` [N] overrides the default share, `colours`
        change nothing. Raises EvaluatorError."""
        count, planes, height, width = spatial.shape
        shares = np.full(count, self._optimism, np.float32) if optimism is None else optimism.reshape(-1)
        if min(height, width) < SMALLEST:
            return self._evaluate_line(spatial, global_, shares)
        if planes != self._packed.planes or max(height, width) > MAX_SIZE:
            raise EvaluatorError(f"{self._source}: evaluation failed: {planes} planes of {height}x{width}")
        spatial, global_ = np.ascontiguousarray(spatial, np.float32), np.asarray(global_, np.float32)
        most = Workspace.boards_in(BATCH_BYTES, self._packed, height, width)
        calls = -(-count // most)
        parts = []
        for number in range(calls):
            part = slice(number * count // calls, (number + 1) * count // calls)
            parts.append(self._evaluate(spatial[part], global_[part], shares[part]))
        result = parts[0] if calls == 1 else Evaluation(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        if not all(np.isfinite(output).all() for output in result):
            raise EvaluatorError(f"{self._source}: an output is not finite")
        return result

    def _evaluate_line(self, spatial: FloatArray, global_: FloatArray, shares: FloatArray) -> Evaluation:
        with self._lock:
            if self._other is None:
                self._other = self._open_other()
        more = (shares,) if self.has_optimism else ()
        return self._other.evaluate(spatial, global_, *more)

    def _evaluate(self, spatial: FloatArray, global_: FloatArray, shares: FloatArray) -> Evaluation:
        count, _, height, width = spatial.shape
        packed = self._packed
        space = self._take(count, height, width)
        stem_weights, _, scale, bias = (packed.parameters.ctypes.data + offset for offset in packed.stem)
        biases = global_ @ packed.stem_global
        tiles, places, start = space.tiles[0], space.places[0], packed.parameters.ctypes.data
        write_stem(
            spatial, space.constant.ctypes.data, biases.ctypes.data, stem_weights, packed.stem_reach, scale, bias,
            tiles, places, packed.channels,
        )  # fmt: skip
        run_layers(packed.layers, start, tiles, places, space.finish[0], count, packed.channels)
        heads = packed.heads[0]
        pools = np.empty((count, int(heads["pooled_blocks"] + heads["value_blocks"]), 3, OUTPUTS), np.float32)
        policies = np.empty((count, int(heads["policies"]), height * width), np.float32)
        ownership = np.empty((count, height * width), np.float32)
        run_heads(heads, start, tiles, places, packed.channels, pools, policies, ownership)
        self._give_back(space)
        return self._finish(pools, policies, ownership, global_, shares)

    def _finish(
        self, pools: FloatArray, policies: FloatArray, ownership: FloatArray, global_: FloatArray, shares: FloatArray
    ) -> Evaluation:
        count, small = len(pools), self._packed.small
        blocks = int(self._packed.heads[0]["pooled_blocks"])
        pooled = pools[:, :blocks].transpose(0, 2, 1, 3).reshape(count, 3, -1)[:, :, : self._pooled_channels]
        passes = pass_logits(small, pooled.reshape(count, -1))
        means = pools[:, blocks:, 0].reshape(count, -1)[:, : self._value_channels]
        value, score = value_and_score(small, means, global_, ownership.shape[1], self._version)
        logits = np.concatenate([policies, passes[:, :, None]], axis=2)
        policy = logits[:, 0]
        if self.has_optimism:
            policy = policy + (logits[:, 1] - policy) * shares[:, None]
        return Evaluation(np.ascontiguousarray(policy), value, score, np.tanh(ownership))

    def _take(self, count: int, height: int, width: int) -> Workspace:
        kind = count, height, width
        with self._lock:
            for number in reversed(range(len(self._idle))):
                if self._idle[number].kind == kind:
                    return self._idle.pop(number)
        return Workspace(self._packed, *kind)

    def _give_back(self, space: Workspace) -> None:
        with self._lock:
            self._idle = [*self._idle, space][-MOST_IDLE:]
