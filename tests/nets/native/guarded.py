"""Evaluations in memory that tells who writes beside it, and who reads what nobody has written.

Kernels of networks load and store by address, where numba checks no bounds. Here every array that the steps of an
evaluation know, by itself or by its address in a record, is a copy between two zones of one byte, and holds that byte
itself where it is there to be written first. A store into a zone is found as such; a load from one, or of what was not
written, by outputs that depend on the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import Evaluation, EvaluationRequest
from nets.native.convolutions.layers import CONVOLUTION_SPACE
from nets.native.evaluator import NativeEvaluator
from nets.native.packed import ALIGNMENT, Packed
from nobi_machine.fused_call import fuse

ZEROS, NANS, LARGE, LEAST = 0x00, 0xFF, 0x7F, 0x80
"""Bytes to fill memory with. As floats they are 0, NaN, 3.4e38 and -1e-38; as integers 0, -1, large ones, and the most
negative ones."""
BYTES = ZEROS, NANS, LARGE, LEAST
ZONE = 8192
"""Bytes of a zone: more than any row of any kernel."""


class Guarded:
    """Copies of arrays, each between two zones."""

    def __init__(self, byte: int) -> None:
        """Fill zones, and what is to be written, with `byte`."""
        self.byte = byte
        self._kept: list[tuple[NDArray[np.uint8], int, int]] = []

    def copy(self, array: NDArray[Any], is_written_first: bool = False) -> NDArray[Any]:
        """Return a copy between zones, which ends where its end zone begins; without its content if that is not read
        before it is written."""
        size = array.nbytes
        memory = np.full(ZONE + ALIGNMENT + size + ZONE, self.byte, np.uint8)
        start = ZONE + -(memory.ctypes.data + ZONE) % ALIGNMENT
        self._kept.append((memory, start, start + size))
        result = memory[start : start + size].view(array.dtype).reshape(array.shape)
        if not is_written_first:
            result[...] = array
        return result

    def breaches(self) -> list[str]:
        """Say of each array beside which something was written, how large it is and how far off the first such byte."""
        found = []
        for memory, start, end in self._kept:
            for zone, name in ((memory[:start][::-1], "before"), (memory[end:], "behind")):
                for at in np.flatnonzero(zone != self.byte)[:1]:
                    found.append(f"{at + 1} bytes {name} an array of {end - start} bytes")
        return found


def evaluated(evaluator: NativeEvaluator, request: EvaluationRequest, byte: int) -> tuple[Evaluation, list[str]]:
    """Evaluate all positions of a request in guarded memory that holds `byte`; return what was written beside it too.

    Raises FloatingPointError where an output is not finite.
    """
    count, _, height, width = request.spatial.shape
    answer = Evaluation.zeros(count, height, width)
    evaluation = evaluator.steps(request, answer, count)
    assert evaluation is not None
    guarded = Guarded(byte)
    held: Any = evaluation.steps[0].memory
    moved = _moved(guarded, held, _keep_their_content(evaluation.steps[0].arguments, held[0]))
    copies: dict[int, Any] = {}

    def put(value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [put(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, int):
            return moved.get(value, value)
        if not isinstance(value, np.ndarray):
            return value
        if id(value) not in copies:
            copies[id(value)] = copy = guarded.copy(value, any(value is each for each in answer))
            _redirect(copy, moved)
        return copies[id(value)]

    steps = [step._replace(arguments=put(step.arguments), memory=guarded) for step in evaluation.steps]
    fuse(steps)()
    return Evaluation(*(copies[id(each)].copy() for each in answer)), guarded.breaches()


def differences(evaluator: NativeEvaluator, request: EvaluationRequest) -> Iterator[str]:
    """Yield what is wrong with an evaluation: what it writes beside its arrays, and outputs that depend on what nobody
    has written, or are not finite for that."""
    first: Evaluation | None = None
    for byte in BYTES:
        try:
            found, breaches = evaluated(evaluator, request, byte)
        except FloatingPointError as error:
            yield f"{error} where memory holds {byte:#x}"
            continue
        yield from breaches
        first = first or found
        for name, ours, theirs in zip(found._fields, found, first, strict=True):
            if not (ours == theirs).all():
                yield f"{name} differs by {np.abs(ours - theirs).max()} where memory holds {byte:#x}"


def _keep_their_content(run: Iterable[Any], packed: Packed) -> set[int]:
    """The addresses of the workspaces that must hold zeros: levels with a frame, which is never written."""
    spaces = [each for each in run if isinstance(each, np.ndarray) and each.dtype == CONVOLUTION_SPACE]
    return {
        int(address)
        for space in spaces
        for address, (_, is_framed) in zip(space["levels"][0], packed.buffers, strict=False)
        if is_framed
    }


def _moved(guarded: Guarded, held: Iterable[Any], kept: set[int]) -> dict[int, int]:
    """New addresses by those of the arrays that an evaluation holds, which are in records."""
    result = {}
    *workspaces, constant = (each for each in held if isinstance(each, np.ndarray))
    for array in workspaces:
        address = array.ctypes.data
        result[address] = guarded.copy(array, address not in kept).ctypes.data
    (packed,) = (each for each in held if isinstance(each, Packed))
    for array in (constant, packed.parameters):
        result[array.ctypes.data] = guarded.copy(array).ctypes.data
    return result


def _redirect(array: NDArray[Any], moved: dict[int, int]) -> None:
    """Put the new addresses in the place of the old ones, in whatever fields of a record they are."""
    if array.dtype == np.int64 or array.dtype.names:
        words = array.reshape(-1).view(np.int64)
        for at, word in enumerate(words.tolist()):
            words[at] = moved.get(word, word)
