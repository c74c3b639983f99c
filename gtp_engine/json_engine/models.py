"""The networks of the JSON engine: the one that searches, and the one that imitates people if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtp_engine.model_list import described
from nets.bare_evaluation import HumanNetwork
from nets.evaluator import Evaluator
from nets.human_profile import HumanProfile
from nobi_machine.text import printable_path


@dataclass(frozen=True)
class Models:
    """The opened networks, with where they come from."""

    evaluator: Evaluator
    path: Path
    batch: int
    """Positions that a thread has evaluated at a time, at most."""
    human: HumanNetwork | None = None
    human_path: Path | None = None

    def reason_against(self, profile: HumanProfile) -> str:
        """Say why a query cannot ask for this profile; empty if it can."""
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
        """Describe the networks as `query_models` lists them, the human network last."""
        models = [described(self.evaluator, self.path, self.batch)]
        if self.human is not None and self.human_path is not None:
            models.append(described(self.human.evaluator, self.human_path, self.batch))
        return models
