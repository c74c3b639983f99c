"""Records what the parts of a network read in fp32, as calibration needs it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from nets.conversion.to_onnx import TAP, to_onnx
from nets.katago.model import FloatArray, Model
from nets.native.profiles import metadata
from nets.onnx.evaluator import open_recorder
from nets.precision.calibration_games import Positions


def recorded(
    model: Model, positions: Sequence[Positions], batch: int, wanted: Collection[str]
) -> Iterator[tuple[str, FloatArray]]:
    """Evaluate a prepared network, `batch` boards at once, and yield the names of the wanted taps with their values.

    Values are [boards, C, H, W] or, of transformer blocks, [boards, H * W, C]. HumanSL networks imitate all kinds of
    players in turn.
    """
    if not wanted:  # onnxruntime answers a request for nothing with everything
        return
    names = {f"{TAP}{name}" for name in wanted}
    record = open_recorder(to_onnx(model, with_taps=True).SerializeToString(), model.name, names)
    is_human, turn = model.trunk.metadata is not None, 0
    for spatial, global_ in positions:
        for start in range(0, len(spatial), batch):
            part = spatial[start : start + batch], global_[start : start + batch]
            meta = metadata(turn, len(part[0]), spatial[0, 0].size) if is_human else None
            turn += 1
            for name, values in record(*part, meta).items():
                yield name.removeprefix(TAP), values
