"""What searches make of a device: evaluations a second beside those of batches in a loop and those of the processor.

    python -m benchmarks.devices [--devices NAME ...] [--net FILE ...] [--visits N ...] [--searches N]
                                 [--workers N] [--batch N ...] [--check]

`busy`, of simulated devices, is the share of the time in which they compute positions; 1 would be a device that never
waits and whose calls cost nothing besides. `--searches`: how many positions are searched at once, one thread each where
there are several, as `nobi analysis` does. The cores that are busy with `simulated:0:0`, which costs no time, say how
little the threads wait for each other. `--check` is for the day on which a GPU is at hand: loops, too, memory, how far
its answers are from fp32 on the processor, and of the first device and network a first move, with an empty cache and
again, and what `nobi doctor` says. On a quiet machine this takes about four minutes:

    python -m benchmarks.devices --check --devices cuda cpu --net FILE FILE --visits 2000 --batch 0 16 64
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from go_rules.points import BLACK
from gtp_engine.benchmark.trials import bare_rate, position
from nets.devices import CPU, driver, named_device, runtime_version
from nets.embedded import network_file
from nets.evaluator import Evaluator, RecordedPosition
from nets.features import scratch_for
from nets.graph.accelerator import SIZES
from nets.loss import compare, few_recorded, recorded_positions
from nets.open import open_network
from nobi_machine.launch import python_command
from search.nobi.parameters import SearchParameters
from search.nobi.search import Search
from search.request import Limits, SearchRequest
from search.result import SearchResult

DEVICES = ("simulated:0.0005:0.00014", "simulated:0.003:0.0004", "simulated:0.0003:0.00004")
SIDE = 19
SECONDS = 4.0
"""Of every search that is measured, at least."""
GAMES = 32
"""Positions that the searches take in turn."""
LOOP_SECONDS = 1.0


def measure(
    evaluator: Evaluator, visits: int, searches: int, parameters: SearchParameters
) -> tuple[float, float, float]:
    """Return the evaluations a second, the mean number of positions of a request, and the seconds of processor time for
    each position."""
    if searches > 1:
        parameters = dataclasses.replace(parameters, workers=1)
    elif parameters.workers == 0:
        parameters = dataclasses.replace(parameters, workers=evaluator.suited_workers)
    opened = [Search(evaluator, dataclasses.replace(parameters, memory=256, seed=1)) for _ in range(searches)]
    for search in opened:
        search.warm_up(SIDE, SIDE)
        few = Limits(min(visits, 2000), SECONDS)
        search.run(SearchRequest(position(0, SIDE, SIDE), BLACK, few, fresh=True))
    games = [position(1 + number, SIDE, SIDE) for number in range(GAMES)]
    began, cpu = time.perf_counter(), time.process_time()

    def work(number: int) -> list[SearchResult]:
        results: list[SearchResult] = []
        while not results or time.perf_counter() - began < SECONDS:
            game = games[(number + len(results)) % GAMES]
            limits = Limits(visits, 2 * SECONDS, may_stop_early=False)
            opened[number].clear()  # games come again, and the cache would answer in place of the device
            results.append(opened[number].run(SearchRequest(game, game.to_play, limits, fresh=True)))
        return results

    with ThreadPoolExecutor(searches) as threads:
        results = [each for some in threads.map(work, range(searches)) for each in some]
    cpu = time.process_time() - cpu
    for search in opened:
        search.close()
    evaluations = sum(each.evaluations for each in results)
    rate = evaluations / sum(each.seconds for each in results) * searches
    requests = sum(sum(each.batches.values()) for each in results)
    return rate, evaluations / requests, cpu / evaluations


def check(net: str, evaluator: Evaluator) -> None:
    """Print what else there is to know of a network on a device."""
    scratch = scratch_for(evaluator)
    boards = [batch for batch in recorded_positions(scratch) if batch[0].shape[2:] == (SIDE, SIDE)]
    positions = [RecordedPosition(*row) for batch in boards for row in zip(*batch, strict=True)]
    evaluator.warm_up(SIZES[-1], SIDE, SIDE)
    rates = (f"{bare_rate(evaluator, positions, 2, size, LOOP_SECONDS):,.0f} in {size}s" for size in SIZES)
    print(f"  loop: {', '.join(rates)}; memory {_memory()}", flush=True)
    loss, _ = compare(open_network(net, "fp32", "cpu"), evaluator, few_recorded(scratch))
    figures = (f"{name} {value:.5f}" for name, value in dataclasses.asdict(loss).items())
    print(f"  beside fp32 on the processor: {', '.join(figures)}", flush=True)


def first_moves(net: str, device: str) -> None:
    """Print what a first move takes with an empty cache and again, and what `nobi doctor` says."""
    with tempfile.TemporaryDirectory() as cache:
        gtp = ("gtp", "--net", net, "--visits", "1", "--set", f"device={device}")
        doctor = ("doctor", "--net", net)
        for what, arguments in (("cold", gtp), ("warm", gtp), ("cold", doctor), ("warm", doctor)):
            started = time.perf_counter()
            done = subprocess.run(
                python_command("gtp_engine.cli", *arguments),
                input="genmove b\nquit\n",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "NOBI_CACHE_DIR": cache},
                check=False,
            )
            print(f"  {arguments[0]}, {what}: {time.perf_counter() - started:.1f} s")
            print(*(f"    {line}" for line in done.stdout.splitlines() if line), sep="\n", flush=True)


def _memory() -> str:
    if shutil.which("nvidia-smi") is None:
        return "unknown"
    query = ["nvidia-smi", "--query-gpu=memory.used,memory.total,name", "--format=csv,noheader"]
    return subprocess.run(query, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", nargs="+", default=DEVICES)
    parser.add_argument("--visits", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--searches", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch", type=int, nargs="+", default=[0])
    parser.add_argument("--net", nargs="+", default=[str(network_file())])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    for net in options.net:
        for device in options.devices:
            evaluator = open_network(net, device=device)
            found, simulated = evaluator.attributes, named_device(device).simulated
            print(f"{found.name}, {found.precision}, {device}, onnxruntime {runtime_version()} {driver()}", flush=True)
            for batch in options.batch:
                parameters = SearchParameters(workers=options.workers, batch=batch)
                for visits in options.visits:
                    rate, size, cpu = measure(evaluator, visits, options.searches, parameters)
                    busy = f"busy {rate * simulated[1]:.3f}, " if simulated is not None else ""
                    print(
                        f"  {visits:7} visits, {options.searches:2} at once, batch {batch:2}: {rate:9,.1f}/s, {busy}"
                        f"{size:5.1f} positions a request, {1e6 * cpu:.0f} us of the processor a position, "
                        f"{rate * cpu:.2f} cores busy",
                        flush=True,
                    )
            if options.check and device != CPU.name:
                check(net, evaluator)
    if options.check:
        first_moves(options.net[0], options.devices[0])


if __name__ == "__main__":
    main()
