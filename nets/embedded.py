"""The networks that come with the engine: their files, and their calibration for int16.

    strong    the usual one
    fast      a small one, for moves in a moment on small boards, and for old processors

`make weights RUN=folder AS=fast` puts another one there; nets/weights/README.md says what they are and how they were
made. Imports nothing heavy: the command line asks whether they are there.
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
STRONG, FAST = "strong", "fast"
USUAL = STRONG
"""The name of the network that plays where nobody has named one."""
EMBEDDED = (STRONG, FAST)
"""The names of the networks."""
NO_NETWORK = "none"
"""The name that means no network."""


def network_file(name: str) -> Path:
    """Return the path of an embedded network in KataGo's format, fp32. The installation may lack the file."""
    return WEIGHTS / f"nobi-{name}.bin.gz"


def int16_file(name: str, products: str = "") -> Path:
    """Return the path of a network's calibration for our own kernels (`Verdict` in nets/native/calibrate.py).

    Those of transformers are for processors with one kind of `products` (PRODUCTS in transformers/products.py)."""
    return WEIGHTS / f"nobi-{name}-int16{products and '-'}{products}.npz"


def facts_file(name: str) -> Path:
    """Return the path of a description, in JSON for programs: where a network comes from and how it measured."""
    return WEIGHTS / f"nobi-{name}.json"


def notice_file(name: str) -> Path:
    """Return the path of the notice of somebody else's licence, which a network has that began as a part of theirs."""
    return WEIGHTS / f"LICENSE-nobi-{name}"


def embedded_network(name: str = USUAL) -> Path | None:
    """Return the file of an embedded network, or None where the installation lacks it."""
    path = network_file(name)
    return path if path.is_file() else None


def ready_made_int16(sha256: str, model: Model) -> Verdict | None:
    """Read the calibration, made on another machine, that ships with the network file of this hash for processors like
    this one; `model` is that network, prepared.

    None for every other network, and where files are missing or damaged.
    """
    for name in EMBEDDED:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # files that are missing or damaged
            if json.loads(facts_file(name).read_bytes())["sha256"] == sha256:
                from nets.native.calibrate import depends_on_products, from_bytes
                from nets.native.transformers.products import PRODUCTS_HERE

                path = int16_file(name, PRODUCTS_HERE if depends_on_products(model) else "")
                return from_bytes(path.read_bytes(), model)
    return None
