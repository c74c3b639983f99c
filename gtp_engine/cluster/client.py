"""A Dask cluster as seen from the machine that has work for it: the second of two ways to do units of work.

A unit is a task of Dask's. It is told by the name of a function of ours and by bytes, and answered by bytes, so nothing
of ours is pickled, and a scheduler needs no Nobi. Dask chooses a worker that offers what the unit asks for, our version
among it, and gives the units of a lost worker to others. Only so many tasks are with it as the workers have threads.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import operator
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import msgspec
from dask._task_spec import Task
from distributed import Client, KilledWorker, Security
from distributed.comm import connect
from distributed.diagnostics.plugin import UploadFile

from gtp_engine.cluster.tasks import HASH, NOBI, OURS, VERSIONS, Job
from gtp_engine.errors import UserError, explain
from gtp_engine.version import VERSION
from nets.embedded import embedded_network
from nobi_machine.inputs import Inputs
from nobi_machine.progress import duration
from nobi_machine.streams import note
from nobi_machine.terminal import amount
from nobi_machine.text import printable, printable_path
from nobi_machine.units import POLL_SECONDS, Batch, Unit

MODULE = "gtp_engine.cluster.tasks"
CONNECT_SECONDS = 10
WATCH_SECONDS = 2.0
"""Between two looks at who is there."""
TRIES = 3
"""A unit that has failed so often is set aside."""
MOST_SET_ASIDE = 20
"""When so many units are, the work ends: something is wrong with all of them."""


async def reach(address: str, role: str) -> None:
    """Connect to a scheduler once, as a `client` or a `worker`, before Dask does: its Client would be left half open,
    and its Worker would keep a wrong address of its own where the scheduler's name is not known yet.

    Raises OSError and asyncio.TimeoutError where no scheduler answers, others where Dask's settings are at fault."""
    connecting = connect(address, CONNECT_SECONDS, **Security().get_connection_args(role))
    (await asyncio.wait_for(connecting, 2 * CONNECT_SECONDS)).abort()


class Cluster:
    """A connection to a cluster, and what its workers have done."""

    def __init__(self, address: str) -> None:
        """Connect. Raises UserError where no scheduler of Dask's answers at the address."""
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self.address = printable(address)
        try:
            asyncio.run(reach(address, "client"))
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, asyncio.TimeoutError, ValueError, TypeError, RuntimeError) as error:
            reason = str(error).split("\n")[0][:200] or "it says nothing"
            raise UserError(f"--cluster {self.address}: no scheduler of Dask's answers there ({reason})") from None
        self._started = time.monotonic()
        self._done = defaultdict[str, Counter[str]](Counter)
        """Units and milliseconds of each machine."""
        self._evaluations = 0
        self.workers, self.threads = 0, 0
        """How many can do our units, at the last look."""
        self._others = ""
        """What was said of workers that cannot."""

    def job(self, task: str, settings: bytes, inputs: Inputs, needed: Iterable[str] | None = None) -> Job:
        """Send the files of a job, those of `inputs` that are `needed`, to all workers, unless they have them, and to
        those that come later. Raises UserError and OSError, also where a file has changed."""
        names = inputs.files if needed is None else needed
        return Job(task, settings, {name: self._send(inputs, name) for name in names})

    def _send(self, inputs: Inputs, name: str) -> str:
        path = inputs.files[name]
        file = f"{inputs.hashes[name][:HASH]}-{path.name}"
        if path == embedded_network():  # which workers have
            return file
        plugin = UploadFile(os.devnull, load=False)  # not of the path, whose content may change meanwhile
        plugin.filename, plugin.data = file, inputs.content(name)
        try:
            if not self._client.get_metadata(["nobi", file], False):
                self._client.register_plugin(plugin, name=file)
                self._client.set_metadata(["nobi", file], True)
        except Exception as error:
            raise UserError(f"{printable_path(path)}: a worker cannot take it: {printable(str(error))}") from None
        return file

    def pool(
        self,
        job: Job,
        stop: threading.Event | None = None,
        needs: Sequence[str] = (),
        evaluations: Callable[[Unit], int] = lambda _unit: 0,
    ) -> ClusterPool:
        """Return what does units of a job. `needs`: OWN_CORES, PYTORCH. `evaluations`: how many a unit takes, where
        that is known."""
        return ClusterPool(self, self._client, job, dict.fromkeys((OURS, *needs), 1), stop, evaluations)

    def words(self) -> str:
        """Say in a few words who is at work, and how fast."""
        rate = self._evaluations / (time.monotonic() - self._started)
        speed = f", {rate:,.0f} evaluations/s" if self._evaluations else ""
        return f"{amount(self.workers, 'worker')}{speed}"

    def count(self, answer: Mapping[str, Any], evaluations: int) -> None:
        """Count a unit that was done."""
        machine = self._done[f"{answer['worker'].rpartition('-')[0]} ({answer['kernels']})"]
        machine["units"] += 1
        machine["milliseconds"] += int(1000 * answer["seconds"])
        self._evaluations += evaluations

    def see(self, workers: Iterable[Mapping[str, Any]], wanted: Mapping[str, int]) -> None:
        """Look at the workers that there are: how many offer what is wanted. Says on stderr what others lack."""
        offered = [(each["resources"], each["nthreads"]) for each in workers]
        suitable = [threads for has, threads in offered if all(has.get(name, 0) for name in wanted)]
        self.workers, self.threads = len(suitable), sum(suitable)
        names = sorted({name for has, _ in offered for name in has if name.startswith(VERSIONS)} - {OURS})
        others = f"workers of version {', '.join(name.removeprefix(VERSIONS) for name in names)} are left out"
        said = f"{self.address}: {others}; this is version {VERSION}" if names else ""
        if self.workers == 0:
            lacking = ", ".join(name.removeprefix(NOBI) for name in wanted)
            left_out = f"{others}; " if names else ""
            said = f"{self.address}: {left_out}waiting for `nobi worker {self.address}` with {lacking}"
        if said and said != self._others:
            note(said)
        self._others = said

    def close(self) -> None:
        """Say on stderr who did how much, and end the connection."""
        for machine, done in sorted(self._done.items()):
            note(f"{machine}: {done['units']:,} units, {duration(done['milliseconds'] / 1000)} of work")
        self._client.close(timeout=2)


class ClusterPool:
    """Does units on a cluster; it has `run` and `stopped` like nobi_machine's Pool."""

    def __init__(
        self,
        cluster: Cluster,
        client: Client,
        job: Job,
        resources: Mapping[str, int],
        stop: threading.Event | None,
        evaluations: Callable[[Unit], int],
    ) -> None:
        self._cluster, self._client, self._resources = cluster, client, dict(resources)
        self._job, self._group = msgspec.msgpack.encode(job), f"nobi-{job.task}"
        self._evaluations = evaluations
        self._run = os.urandom(4).hex()
        """So that tasks of this run are no other's."""
        self._set_aside: list[str] = []
        self._failure: BaseException | None = None
        self.stopped = stop or threading.Event()

    def run(self, batches: Iterable[Batch], keep: Callable[[Unit, bytes], None]) -> None:
        """Do all units, as Pool.run does. A unit that fails is tried again elsewhere, and in the end set aside; the
        others are done all the same. Raises what `keep` raises, and UserError for units that were set aside and for a
        cluster that is lost."""
        work = self._work(chain.from_iterable(batch.units for batch in batches), keep)
        running = asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)
        try:
            while not running.done():
                concurrent.futures.wait([running], POLL_SECONDS)
        except BaseException:
            self.stopped.set()
            concurrent.futures.wait([running])
            raise
        running.result()
        if self._set_aside:
            names = "; ".join(self._set_aside)
            raise UserError(f"not done: {names}; the others are kept, and the same command tries these again")

    async def _work(self, units: Iterator[Unit], keep: Callable[[Unit, bytes], None]) -> None:
        """Keep as many units on the way as the workers have threads."""
        ready = asyncio.Event()
        running = set[asyncio.Task[None]]()
        # Of a group of tasks that was empty once, Dask's scheduler keeps 5 KB for ever: so one stays in it.
        keeper = self._client.submit(bytes, key=(self._group, self._run), resources=self._resources, pure=False)

        def ended(task: asyncio.Task[None]) -> None:
            running.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self._failure = self._failure or task.exception()
            ready.set()

        looked, more = 0.0, True
        try:
            while not self.stopped.is_set() and self._failure is None and (more or running):
                if time.monotonic() - looked >= WATCH_SECONDS:
                    await self._look()
                    looked = time.monotonic()
                while more and len(running) < max(1, self._cluster.threads):
                    unit = next(units, None)
                    if unit is None:
                        more = False
                        break
                    task = asyncio.create_task(self._do(unit, keep))
                    running.add(task)
                    task.add_done_callback(ended)
                ready.clear()
                if running:
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(ready.wait(), POLL_SECONDS)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            keeper.release()
        if self._failure is not None and not self.stopped.is_set():
            raise self._failure

    async def _look(self) -> None:
        """See who is there, unless the scheduler is too busy to say it."""
        try:
            info = await asyncio.wait_for(self._client.scheduler.identity(n_workers=-1), CONNECT_SECONDS)
            self._cluster.see(info["workers"].values(), self._resources)
        except asyncio.TimeoutError:
            pass
        except OSError:
            raise self._lost() from None

    def _lost(self) -> UserError:
        where = self._cluster.address
        return UserError(f"the scheduler at {where} is gone; what was done is kept, and the same command goes on")

    async def _do(self, unit: Unit, keep: Callable[[Unit, bytes], None]) -> None:
        """Have a unit done, and keep its result."""
        ask = operator.methodcaller("carry_out", self._job, unit.name, unit.task, unit.arguments)
        error = ""
        for number in range(TRIES):
            future = self._client.submit(
                ask,
                Task(None, import_module, MODULE),
                key=(self._group, unit.key, self._run, number),
                resources=self._resources,
                pure=False,
            )
            try:
                answer = await future
            except KilledWorker as killed:
                error = f"workers that died meanwhile: {killed.allowed_failures + 1}"
                break
            except concurrent.futures.CancelledError:
                raise self._lost() from None
            except Exception as failure:  # of Dask's, or where another version calls itself the same
                answer = {"worker": "Dask", "error": explain(failure, "")}
            finally:
                future.release()
            error = f"{answer['error']} ({answer['worker']})"
            if not answer["error"]:
                keep(unit, answer["result"])
                self._cluster.count(answer, self._evaluations(unit))
                return
            note(printable(f"{unit.name}: {error}"))
        self._set_aside.append(printable(f"{unit.name}: {error}"))
        if len(self._set_aside) >= MOST_SET_ASIDE:
            self._failure = UserError(f"{len(self._set_aside)} units failed, the last one: {self._set_aside[-1]}")
