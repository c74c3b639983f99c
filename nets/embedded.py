"""The network that comes with the engine: its file, and its calibrations for int16.

`make weights RUN=folder` puts another one there; nets/weights/README.md says what it is and how it was made. Imports
nothing heavy: the command line asks whether it is there.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nets.katago.model import Model
    from nets.native.calibrate import Verdict

WEIGHTS = Path(__file__).resolve().parent / "weights"
EMBEDDED = "strong"
"""The name of the network, which plays where nobody has named one."""
DEPARTED = ("fast",)
"""Names of networks that came with earlier versions; the embedded one plays in place of them."""
NO_NETWORK = "none"
"""The name that means no network."""


def network_file() -> Path:
    """Return the path of the network in KataGo's format, fp32. The installation may lack the file."""
    return WEIGHTS / f"nobi-{EMBEDDED}.bin.gz"


def int16_file(products: str = "") -> Path:
    """Return the path of the network's calibration for our own kernels (`Verdict` in nets/native/calibrate.py).

    Those of transformers are for processors with one kind of `products` (PRODUCTS in transformers/products.py)."""
    return WEIGHTS / f"nobi-{EMBEDDED}-int16{products and '-'}{products}.npz"


def facts_file() -> Path:
    """Return the path of the description, in JSON for programs: where the network comes from and how it measured."""
    return WEIGHTS / f"nobi-{EMBEDDED}.json"


def notice_file() -> Path:
    """Return the path of the notice of somebody else's licence, which is there if the network began as a part of
    theirs."""
    return WEIGHTS / f"LICENSE-nobi-{EMBEDDED}"


def embedded_network() -> Path | None:
    """Return the file of the embedded network, or None where the installation lacks it."""
    path = network_file()
    return path if path.is_file() else None


def ready_made_int16(sha256: str, model: Model) -> Verdict | None:
    """Read the calibration, made on another machine, that ships with the network file of this hash for processors like
    this one; `model` is that network, prepared.

    None for every other network, and where files are missing or damaged.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # files that are missing or damaged
        if json.loads(facts_file().read_bytes())["sha256"] == sha256:
            from nets.native.calibrate import depends_on_products, from_bytes
            from nets.native.transformers.products import PRODUCTS_HERE

            path = int16_file(PRODUCTS_HERE if depends_on_products(model) else "")
            return from_bytes(path.read_bytes(), model)
    return None
