"""The network that comes with the engine: its files, and its calibration for int16.

`make weights RUN=folder` puts another one there; nets/weights/README.md says what it is and how it was made. Imports
nothing heavy: the command line asks whether it is there.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nets.native.calibrate import Verdict

WEIGHTS = Path(__file__).resolve().parent / "weights"
NETWORK = "nobi.bin.gz"
"""KataGo's format, fp32."""
INT16 = "nobi-int16.npz"
"""The result of calibrating it for our own kernels (nets/native/calibrate.py)."""
FACTS = "nobi.json"
"""Where it comes from and how it measured."""


def embedded_network() -> Path | None:
    """The embedded network's file, or None where the installation lacks it."""
    path = WEIGHTS / NETWORK
    return path if path.is_file() else None


def ready_made_int16(sha256: str) -> Verdict | None:
    """The calibration, made on another machine, that ships of the network file with this hash; None for every other
    network."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # files that are missing or damaged
        if json.loads((WEIGHTS / FACTS).read_bytes())["sha256"] == sha256:
            from nets.native.calibrate import from_bytes

            return from_bytes((WEIGHTS / INT16).read_bytes())
    return None
