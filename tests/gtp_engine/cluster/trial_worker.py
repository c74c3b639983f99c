"""A worker whose units do what tests tell them: sleep, fail, or end the worker.

python -m tests.gtp_engine.cluster.trial_worker ADDRESS [options of nobi worker]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from gtp_engine import cli
from gtp_engine.cluster import tasks
from nobi_machine.units import Unit

TASK = "trial"


class Trial:
    """Does units whose arguments are a verb and more, such as `sleep 0.5`."""

    def __init__(self, settings: bytes, files: Mapping[str, Path]) -> None:
        self._settings, self._files = settings, files

    def do(self, unit: Unit) -> bytes | None:
        verb, _, rest = unit.arguments.decode().partition(" ")
        if verb == "sleep":
            time.sleep(float(rest.split()[0]))
        elif verb == "fail":
            raise ValueError("no such thing")
        elif verb == "die":
            os._exit(1)
        elif verb == "read":
            return b" ".join([self._settings, *(path.read_bytes() for path in self._files.values())])
        return str(os.getpid()).encode()

    def close(self) -> None: ...


def open_job(settings: bytes, files: Mapping[str, Path], _here: tasks.Here) -> Trial:
    return Trial(settings, files)


if __name__ == "__main__":
    tasks.KINDS[TASK] = "tests.gtp_engine.cluster.trial_worker"
    if version := os.environ.get("TRIAL_VERSION"):
        tasks.OURS = tasks.VERSIONS + version
    cli.main(["worker", *sys.argv[1:]])
