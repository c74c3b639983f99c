"""The curves of a run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `train`)")

from training.run.training_log import draw_plots


def test_an_entry_without_losses_is_drawn_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_plots([{"samples": 0, "loss": {}}], tmp_path)
    assert (tmp_path / "losses.png").stat().st_size > 1000
