"""What a worker of a cluster is asked to do, by name, with bytes as arguments; and the engines that it keeps open.

A job is what many units have in common: what is to be done, its settings, and the files that it needs, which the
cluster has sent before. Each kind of job has a function `open_job` in the module that also does such work at home.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import UserError, explain
from gtp_engine.version import VERSION
from nets.embedded import embedded_network
from nobi_machine.inputs import Inputs
from nobi_machine.units import Unit

KINDS = {"review": "gtp_engine.review.search", "match": "gtp_engine.match.play"}
KINDS |= {"selfplay": "training.selfplay", "label": "training.labels.in_advance"}
"""The module of each kind of job. It is imported where such a job is opened."""
NOBI = "nobi "
VERSIONS, OWN_CORES, PYTORCH = f"{NOBI}version ", f"{NOBI}own cores", f"{NOBI}PyTorch"
"""What workers offer, in Dask's words their resources: a version; cores that nobody else uses; a library."""
OURS = VERSIONS + VERSION
MOST_OPEN = 2
"""Jobs that a worker keeps open, if it works for several at a time."""
HASH = 32
OF_THE_MACHINE = ("workers", "memory", "cache_memory", "device", "log")
"""Parameters that are the worker's own, whatever they are at home."""


class Job(msgspec.Struct, frozen=True):
    """What many units have in common."""

    task: str
    """The task of its units, one of KINDS."""
    settings: bytes
    """What `open_job` of that kind reads."""
    files: dict[str, str]
    """The files that it needs, by what they are for: their names in the worker's folder, which begin with the first
    HASH digits of their hashes."""


@dataclass(frozen=True)
class Here:
    """The machine that does the work."""

    threads: int
    """Units that are done at a time."""
    configuration: Configuration
    """The worker's own parameters: those that belong to a machine count."""
    stop: threading.Event
    """Set when the worker ends."""
    name: str
    kernels: str
    """What networks are computed with, as `kernels_of` says."""

    def configured(self, values: Mapping[str, Any], files: Mapping[str, Path]) -> Configuration:
        """Return the configuration of a job: the values from home, and the networks that came from there, with what
        belongs to this machine."""
        own = self.configuration.values
        given = {name: value for name, value in values.items() if name not in OF_THE_MACHINE}
        given |= {name: own[name] for name in OF_THE_MACHINE if name in own}
        given["workers"] = self.threads
        return Configuration({**given, **{name: str(path) for name, path in files.items()}})


def sendable(configuration: Configuration) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the values of a configuration that hold on other machines, and the files that have to travel, by the names
    of their parameters."""
    files = {"net": configuration.net if configuration.has_own_net else None, "human_net": configuration.human_net}
    values = {name: value for name, value in configuration.values.items() if name not in OF_THE_MACHINE}
    return values, {name: path for name, path in files.items() if path is not None}


def kernels_of(device: str) -> str:
    """Name what networks are computed with on this machine: a device, or the instructions of the processor.

    Where the names are equal, so are results: the limits of precision are decided alike, and integers are the same."""
    if device not in ("auto", "cpu"):
        return device
    from nets.native.simd.processor import features, is_arm, target

    order = ("sdot", "dotprod") if is_arm() else ("amx-bf16", "avx512vnni", "avx512bw", "avxvnni", "avx2")
    best = next((each for each in order if each in features()), "plain")
    return f"{target()[0].split('-')[0]} {best}"


class Work(Protocol):
    """An opened job, as a worker holds it from one unit to the next."""

    def do(self, unit: Unit) -> bytes | None:
        """Do a unit in the calling thread, one of several. Return None if it was stopped."""

    def close(self) -> None:
        """Free what it holds."""


@dataclass
class _Open:
    work: tuple[Work, Inputs] | None = None
    """None until the first unit has opened it."""
    used: int = 0
    """How many units are being done."""


class Desk:
    """Carries units out on a worker, and keeps what it opened for them."""

    def __init__(self, here: Here, folder: Path) -> None:
        self.here = here
        self.folder = folder
        """Where the files are that the cluster has sent."""
        self._jobs: dict[bytes, _Open] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        """Held while a job is opened: msgspec crashes where two threads are the first that decode a type."""

    def carry_out(self, job: bytes, unit: Unit) -> bytes | None:
        """Do a unit of a job. Raises whatever the work raises."""
        with self._lock:
            opened = self._jobs.pop(job, None) or _Open()
            self._jobs[job] = opened  # the latest comes last
            opened.used += 1
            old = [key for key, each in self._jobs.items() if not each.used][: max(0, len(self._jobs) - MOST_OPEN)]
            done_with = [self._jobs.pop(key).work for key in old]
        for done in filter(None, done_with):
            done[0].close()
        try:
            work, inputs = opened.work or self._open(opened, job)
            inputs.check()
            result = work.do(unit)
            inputs.check()
            return result
        finally:
            with self._lock:
                opened.used -= 1

    def _open(self, opened: _Open, job: bytes) -> tuple[Work, Inputs]:
        """Open a job, unless another thread has done so meanwhile."""
        with self._opening:
            if opened.work is None:
                asked = msgspec.msgpack.decode(job, type=Job)
                inputs = self._inputs(asked.files)
                module = importlib.import_module(KINDS[asked.task])
                opened.work = module.open_job(asked.settings, inputs.files, self.here), inputs
            return opened.work

    def _inputs(self, names: Mapping[str, str]) -> Inputs:
        """Find the files of a job. Raises UserError where this worker does not have one as it was sent."""
        sent = {name: self.folder / file for name, file in names.items()}
        inputs = Inputs({name: path if path.exists() else embedded_network() or path for name, path in sent.items()})
        for name, file in names.items():
            if not inputs.hashes[name].startswith(file[:HASH]):
                raise UserError(f"{file[HASH + 1 :]}: this worker has another file, or none")
        return inputs

    def close(self) -> None:
        """End the units that are being done, and close all jobs."""
        self.here.stop.set()
        for opened in self._jobs.values():
            if opened.work is not None:
                with suppress(Exception):
                    opened.work[0].close()


desk: Desk | None = None
"""That of this process, where it is a worker."""


def carry_out(job: bytes, name: str, task: str, arguments: bytes) -> dict[str, Any]:
    """Do a unit of work. Return its result, or an error in one line; and who did it, how, and in how many seconds. Has
    Dask give the unit to another worker if this one is ending."""
    assert desk is not None, "this process is no `nobi worker`"
    here, started = desk.here, time.monotonic()
    answer: dict[str, Any] = {"worker": here.name, "kernels": here.kernels, "error": ""}
    try:
        answer["result"] = desk.carry_out(job, Unit(name, task, arguments))
    except Exception as error:
        answer["result"], answer["error"] = None, explain(error, "")
    if answer["result"] is None and here.stop.is_set():
        from distributed import Reschedule

        raise Reschedule
    return {**answer, "seconds": time.monotonic() - started}
