"""How busy searches keep an accelerator, measured with simulated ones: evaluations a second times seconds a position.

1 would be a device that never waits and whose calls cost nothing besides their positions.

    python -m benchmarks.devices [--devices SECONDS:SECONDS_PER_POSITION ...] [--visits N ...] [--searches N]
                                 [--workers N] [--batch N] [--net NAME]

`--searches`: how many positions are searched at once, one thread each where there are several, as `nobi analysis` does.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor

from go_rules.points import BLACK
from gtp_engine.benchmark.trials import position
from nets.embedded import network_file
from nets.open import open_network
from search.nobi.parameters import SearchParameters
from search.nobi.search import Search
from search.request import Limits, SearchRequest
from search.result import SearchResult

DEVICES = ("0.0005:0.00014", "0.003:0.0004", "0.0003:0.00004")
SIDE = 19
SECONDS = 4.0
"""Of every measurement, at least."""
GAMES = 32
"""Positions that the searches take in turn."""


def measure(
    device: str, visits: int, searches: int, parameters: SearchParameters, net: str
) -> tuple[float, float, float]:
    """Return the share of the time that the device computes positions, the mean number of positions of a request, and
    the seconds of processor time for each position."""
    evaluator = open_network(net, device=f"simulated:{device}")
    if searches > 1:
        parameters = dataclasses.replace(parameters, workers=1)
    elif parameters.workers == 0:
        parameters = dataclasses.replace(parameters, workers=evaluator.suited_workers)
    opened = [Search(evaluator, dataclasses.replace(parameters, memory=256, seed=1)) for _ in range(searches)]
    for search in opened:
        search.warm_up(SIDE, SIDE)
        search.run(SearchRequest(position(0, SIDE, SIDE), BLACK, Limits(min(visits, 2000)), fresh=True))
    games = [position(number, SIDE, SIDE) for number in range(GAMES)]
    began, cpu = time.perf_counter(), time.process_time()

    def work(number: int) -> list[SearchResult]:
        results: list[SearchResult] = []
        while not results or time.perf_counter() - began < SECONDS:
            game = games[(number + len(results)) % GAMES]
            limits = Limits(visits, may_stop_early=False)
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
    return rate * float(device.split(":")[1]), evaluations / requests, cpu / evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", nargs="+", default=DEVICES)
    parser.add_argument("--visits", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--searches", type=int, default=1)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--net", default=str(network_file()))
    options = parser.parse_args()
    parameters = SearchParameters(workers=options.workers, batch=options.batch)
    for device in options.devices:
        for visits in options.visits:
            busy, size, cpu = measure(device, visits, options.searches, parameters, options.net)
            print(
                f"{device:16} {visits:7} visits, {options.searches:2} at once: busy {busy:.3f},"
                f" {size:5.1f} positions a request, {1e6 * cpu:.0f} us of the processor a position"
            )


if __name__ == "__main__":
    main()
