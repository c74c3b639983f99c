"""A run whose process is killed, in the middle of whatever it does, goes on from its last checkpoint."""

# ruff: noqa: E402
from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.training.games import random_games, write_records
from tests.training.run.test_loop import config
from training.config import describe, read_config
from training.files import CHECKPOINT
from training.run.checkpoint import load_checkpoint
from training.run.loop import open_run

TRAIN = """
import sys
from pathlib import Path
from training.config import read_config
from training.run.loop import open_run
open_run(Path(sys.argv[1]), read_config(Path(sys.argv[2]))).train(budget=1e5)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "training.toml"
    settings = config(write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2)))
    always = replace(settings.run, save_every=1e-4)
    file.write_text(describe(replace(settings, run=always)))
    process = subprocess.Popen([sys.executable, "-c", TRAIN, run, file], stderr=subprocess.DEVNULL)
    while not (run / CHECKPOINT).exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)  # it saves nearly all of the time
    process.kill()
    assert process.wait() == -signal.SIGKILL
    saved = load_checkpoint(run / CHECKPOINT, torch.device("cpu")).progress
    assert saved.step > 0
    assert open_run(run, read_config(file)).progress.step == saved.step
