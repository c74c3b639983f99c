"""A network as KataGo's `kata-get-models` and `query_models` list it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nets.at_hand import read_header
from nets.evaluator import Evaluator
from nobi_machine.text import printable_path


def described(evaluator: Evaluator, path: Path, batch: int) -> dict[str, Any]:
    """Describe an opened network and its file. `batch`: the most positions that a thread has evaluated at a time."""
    attributes, header = evaluator.attributes, read_header(path)
    return {
        "name": printable_path(path),
        "internalName": attributes.name,
        "maxBatchSize": batch,
        "usesHumanSLProfile": attributes.profile is not None,
        "usingFP16": "true" if attributes.precision == "fp16" else "false",
        "version": header.version if header is not None else 0,
    }
