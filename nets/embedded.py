"""The network that comes with the engine: its files, and its versions in integers ready-made.

`make weights RUN=folder` puts another one there; nets/weights/README.md says what it is and how it was made. Imports
nothing heavy: the command line asks whether it is there.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nets.precision.calibration import Positions

WEIGHTS = Path(__file__).resolve().parent / "weights"
NETWORK = "nobi.bin.gz"
"""KataGo's format, fp32."""
INT8 = "nobi-int8.onnx"
"""What `nobi quantize` made of it: calibrating would take longer than a first start may."""
INT16 = "nobi-int16.json"
"""What calibrating it for our own kernels found out (nets/native/convolutions/calibrate.py)."""
CHECK = "nobi-check.npz"
"""Positions on which each machine compares these with fp32."""
FACTS = "nobi.json"
"""Where it comes from and how it measured."""


class ReadyMade(NamedTuple):
    """A version in integers made elsewhere."""

    content: bytes
    positions: list[Positions]
    """To check it on."""


def embedded_network() -> Path | None:
    """The embedded network's file, or None where the installation lacks it."""
    path = WEIGHTS / NETWORK
    return path if path.is_file() else None


def ready_made_int8(sha256: str) -> ReadyMade | None:
    """The 8-bit version that ships of the network file with this hash; None for every other network."""
    return _ready_made(sha256, INT8)


def ready_made_int16(sha256: str) -> ReadyMade | None:
    """The calibration that ships of the network file with this hash; None for every other network."""
    return _ready_made(sha256, INT16)


def _ready_made(sha256: str, name: str) -> ReadyMade | None:
    with contextlib.suppress(OSError, ValueError, KeyError):
        if json.loads((WEIGHTS / FACTS).read_bytes())["sha256"] == sha256:
            from nets.precision.calibration import unpack_positions

            return ReadyMade((WEIGHTS / name).read_bytes(), unpack_positions((WEIGHTS / CHECK).read_bytes()))
    return None
