"""The networks that come with the engine: their files, and their calibration for int16.

    fast      the usual one
    strong    a larger one, for those who give it time

`make weights RUN=folder AS=fast` puts another one there; nets/weights/README.md says what they are and how they were
made. Imports nothing heavy: the command line asks whether they are there.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nets.native.calibrate import Verdict

WEIGHTS = Path(__file__).resolve().parent / "weights"
FAST, STRONG = "fast", "strong"
EMBEDDED = (FAST, STRONG)
"""The names of the networks; the first is the usual one."""


def network_file(name: str) -> Path:
    """The path of an embedded network in KataGo's format, fp32."""
    return WEIGHTS / f"nobi-{name}.bin.gz"


def int16_file(name: str) -> Path:
    """The path of the result of calibrating a network for our own kernels (nets/native/calibrate.py)."""
    return WEIGHTS / f"nobi-{name}-int16.npz"


def facts_file(name: str) -> Path:
    """The path of a description, for programs: where a network comes from and how it measured."""
    return WEIGHTS / f"nobi-{name}.json"


def embedded_network(name: str = FAST) -> Path | None:
    """The file of an embedded network, or None where the installation lacks it."""
    path = network_file(name)
    return path if path.is_file() else None


def ready_made_int16(sha256: str) -> Verdict | None:
    """The calibration, made on another machine, that ships of the network file with this hash; None for every other
    network."""
    for name in EMBEDDED:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # files that are missing or damaged
            if json.loads(facts_file(name).read_bytes())["sha256"] == sha256:
                from nets.native.calibrate import from_bytes

                return from_bytes(int16_file(name).read_bytes())
    return None
