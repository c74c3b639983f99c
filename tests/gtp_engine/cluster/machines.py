"""A cluster of processes on this machine, for tests: a scheduler, and workers that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.systems import PATIENCE

TTL = 10
"""Seconds after which the scheduler gives up a worker that it does not hear of."""
SCHEDULER = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL}s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20",  # tests kill without regard to what is being done
}


class Machines:
    """A scheduler, and workers that come and go."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        self.scheduler = self._started("-m", "distributed.cli.dask_scheduler", *self._where(), **SCHEDULER)
        self.address = ""
        until = time.monotonic() + PATIENCE
        while not self.address and time.monotonic() < until:
            time.sleep(0.05)
            with contextlib.suppress(OSError, ValueError):  # it is not there yet, or not whole
                self.address = json.loads((folder / "scheduler.json").read_text())["address"]

    def _where(self) -> list[str]:
        file = str(self._folder / "scheduler.json")
        return ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", file, "--no-dashboard", "--no-jupyter"]

    def worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        module = "tests.gtp_engine.cluster.trial_worker"
        return self._started("-m", module, self.address, "--threads", "1", *options, **environment)

    def _started(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *words], cwd=REPOSITORY, env={**os.environ, **environment}, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(PATIENCE)
