"""A network as KataGo's `kata-get-models` and `query_models` list it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

from go_rules.machine.files import opened_regular
from go_rules.machine.printable import printable_path
from nets.evaluator import Evaluator

HEADER = 400
"""Bytes in which a KataGo network's name and version are."""


def described(evaluator: Evaluator, path: Path, batch: int) -> dict[str, Any]:
    """Describe an opened network and its file. `batch`: the most positions that a thread has evaluated at a time."""
    attributes = evaluator.attributes
    return {
        "name": printable_path(path),
        "internalName": attributes.name,
        "maxBatchSize": batch,
        "usesHumanSLProfile": attributes.profile is not None,
        "usingFP16": "true" if attributes.precision == "fp16" else "false",
        "version": model_version(path),
    }


def model_version(path: Path) -> int:
    """Read the version of a KataGo network's format from the second line of its file; 0 for any other file."""
    try:
        with opened_regular(path) as file:
            start = file.read(2)
            file.seek(0)
            header = gzip.GzipFile(fileobj=file).read(HEADER) if start == b"\x1f\x8b" else file.read(HEADER)
    except (OSError, EOFError, zlib.error):
        return 0
    words = header.split(maxsplit=2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) <= 4 else 0
