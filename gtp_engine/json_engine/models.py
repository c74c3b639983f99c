"""The networks of the JSON engine: the one that searches, and the one that imitates people if there is one."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from go_rules.machine.files import opened_regular, printable_path
from gtp_engine.json_engine.human import HumanModel
from nets.evaluator import Evaluator
from nets.human_profile import HumanProfile

HEADER = 400
"""Bytes in which a KataGo network's name and version are."""


@dataclass(frozen=True)
class Models:
    """The opened networks, with where they come from."""

    evaluator: Evaluator
    path: Path
    batch: int
    """Positions that a thread has evaluated at a time, at most."""
    human: HumanModel | None = None
    human_path: Path | None = None

    def reason_against(self, profile: HumanProfile) -> str:
        """Why a query cannot ask for this profile; empty if it can."""
        own = self.evaluator.attributes.profile
        if self.human is not None or own == profile:
            return ""
        if own is not None:
            return f"humanSLProfile can only be {own.name} here; give the network with -human-model to choose by query"
        return (
            "WARNING: humanSLProfile is specified as config param but model(s) don't use it: "
            f"{printable_path(self.path)}\n"
        )

    def described(self) -> list[dict[str, Any]]:
        """The networks as `query_models` lists them."""
        models = [self._describe(self.evaluator, self.path)]
        if self.human is not None and self.human_path is not None:
            models.append(self._describe(self.human.evaluator, self.human_path))
        return models

    def _describe(self, evaluator: Evaluator, path: Path) -> dict[str, Any]:
        attributes = evaluator.attributes
        return {
            "name": printable_path(path),
            "internalName": attributes.name,
            "maxBatchSize": self.batch,
            "usesHumanSLProfile": attributes.profile is not None,
            "usingFP16": "true" if attributes.precision == "fp16" else "false",
            "version": model_version(path),
        }


def model_version(path: Path) -> int:
    """The version of a KataGo network's format, from the second line of its file; 0 of any other file."""
    try:
        with opened_regular(path) as file:
            start = file.read(2)
            file.seek(0)
            header = gzip.GzipFile(fileobj=file).read(HEADER) if start == b"\x1f\x8b" else file.read(HEADER)
    except (OSError, EOFError, zlib.error):
        return 0
    words = header.split(maxsplit=2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) <= 4 else 0
