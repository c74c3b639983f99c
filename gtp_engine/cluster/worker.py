"""`nobi worker`: this machine does units of work for whoever has some."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import signal
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from go_rules.points import MAX_SIZE
from gtp_engine.cluster.options import checked_address
from gtp_engine.configuration.parameters import Count, config_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.version import VERSION
from nets.evaluator import EvaluatorError
from nobi_machine.interruption import EXIT_INTERRUPTED
from nobi_machine.memory import usable_cores
from nobi_machine.streams import note
from nobi_machine.terminal import amount
from nobi_machine.text import printable

if TYPE_CHECKING:
    from distributed import Worker

    from gtp_engine.cluster.tasks import Desk, Here
    from gtp_engine.configuration.configuration import Configuration

RETRY_SECONDS = 2.0
"""Between two attempts to reach the scheduler."""
LOWEST = 19
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""Settings of Dask's: how it watches itself at work costs more than 2 % of a core otherwise."""


@click.command()
@click.argument("address", metavar="ADDRESS")
@click.option("--threads", type=Count(1, 1024), metavar="N",
              help="Units of work at the same time.  [default: one for each core]")  # fmt: skip
@click.option("--memory", type=Count(64, 1 << 30), metavar="MB",
              help="Of the trees of all searches together.  [default: what there is]")  # fmt: skip
@click.option("--device", metavar="NAME", help="What computes networks, as for `nobi gtp`.")
@click.option("--nice", is_flag=True, help="Give way to all other work on this machine.")
@click.option("--own-cores", is_flag=True,
              help="Nothing else works on this machine's cores: games with a clock may be played here.")  # fmt: skip
@config_options
def worker(
    address: str,
    threads: int | None,
    memory: int | None,
    device: str | None,
    nice: bool,
    own_cores: bool,
    config_file: Path | None,
    settings: tuple[str, ...],
) -> int:
    """Let this machine do units of work: join the Dask cluster whose scheduler is at ADDRESS, `dask scheduler` says it.

    Whoever can reach the scheduler can run programs here: use it among machines that you trust (docs/cluster.md).
    It waits for a scheduler that is not there yet or is gone, until Ctrl-C.
    """
    checked_address(address)
    configuration = load(config_file, settings, {"memory": memory, "device": device})
    if nice and hasattr(os, "nice"):
        os.nice(LOWEST)
    from gtp_engine.cluster import tasks

    with tempfile.TemporaryDirectory(prefix="nobi-worker-", ignore_cleanup_errors=True) as folder:
        tasks.desk = desk = _desk(configuration, threads or usable_cores(), Path(folder))
        note(f"worker {desk.here.name}: version {VERSION}, {amount(desk.here.threads, 'thread')}, {desk.here.kernels}")
        try:
            asyncio.run(serve(address, desk, own_cores))
        finally:
            desk.close()
    os._exit(EXIT_INTERRUPTED)  # a unit that is not done yet would be waited for


async def dask_setup(dask_worker: Worker) -> None:
    """Make a worker that Dask has started one of ours: `dask worker ADDRESS --preload gtp_engine.cluster.worker`."""
    from gtp_engine.cluster import tasks

    tasks.desk = _desk(load(None, (), {}), dask_worker.state.nthreads, Path(dask_worker.local_directory))
    offered = _offered(tasks.desk.here, own_cores=False)
    dask_worker.state.total_resources.update(offered)
    dask_worker.state.available_resources.update(offered)


def _desk(configuration: Configuration, threads: int, folder: Path) -> Desk:
    """Get ready to do units of work. What most of them need is opened once, while nobody waits for it."""
    from gtp_engine.cluster.tasks import Desk, Here, kernels_of
    from gtp_engine.players import compile_beside, make_player
    from gtp_engine.session.loading import warm_up_rules

    warm_up_rules(lambda: compile_beside(configuration))
    with contextlib.suppress(EvaluatorError):  # a job brings its own network
        player = make_player(configuration)
        player.warm_up(MAX_SIZE, MAX_SIZE)
        player.close()
    name = f"{platform.node() or 'machine'}-{os.getpid()}"
    kernels = kernels_of(configuration.engine.device)
    return Desk(Here(threads, configuration, threading.Event(), name, kernels), folder)


def _offered(here: Here, own_cores: bool) -> dict[str, float]:
    """What a worker offers, as Dask's resources."""
    from gtp_engine.cluster.tasks import OURS, OWN_CORES, PYTORCH

    there = {OURS: True, OWN_CORES: own_cores, PYTORCH: find_spec("torch") is not None}
    return {name: here.threads for name, is_there in there.items() if is_there}


async def serve(address: str, desk: Desk, own_cores: bool) -> None:
    """Be a worker until SIGINT or SIGTERM. Raises UserError."""
    import dask
    from distributed import Worker

    from gtp_engine.cluster.client import reach

    dask.config.set(UNWATCHED)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    name, folder, resources = desk.here.name, str(desk.folder), _offered(desk.here, own_cores)
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # on Windows, where Ctrl-C ends the process at once
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
    was_there = None
    while not ended.is_set():
        try:
            await reach(address, "worker")
            dask_worker = Worker(
                address, nthreads=desk.here.threads, name=name, resources=resources, memory_limit=0,
                local_directory=folder, dashboard=False, dashboard_address=None, death_timeout=30,
            )  # fmt: skip
            desk.folder = Path(dask_worker.local_directory)
            async with dask_worker:
                note(f"worker {name}: at work for {printable(address)}")
                was_there = True
                waits = [asyncio.create_task(each) for each in (dask_worker.finished(), ended.wait())]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if ended.is_set():  # others take what is not done
                    desk.here.stop.set()
                    await dask_worker.close(executor_wait=False)
        except (ValueError, TypeError, RuntimeError) as error:
            why = error.__cause__ if isinstance(error, RuntimeError) else None
            if not isinstance(why, (OSError, ValueError)):  # it went just now, or has our name still
                raise UserError(printable(f"{address}: {why or error}")) from None
        except (OSError, asyncio.TimeoutError):
            pass
        if was_there is not False and not ended.is_set():
            note(f"worker {name}: not connected to {printable(address)}; trying again")
            was_there = False
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), RETRY_SECONDS)
