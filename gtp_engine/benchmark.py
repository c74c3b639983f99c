"""`nobi benchmark`: how fast this machine searches, and how much of the network's speed the search leaves.

What a busy machine gives changes from second to second, so searches and bare network calls take turns and medians are
reported; the ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import dataclasses
import platform
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from gtp_engine.config import Configuration, load
from gtp_engine.doctor import package_versions, usable_cores
from gtp_engine.match.openings import openings
from gtp_engine.options import config_options, parameter_options
from gtp_engine.parameters import parse_size
from gtp_engine.players import PLAYERS, chosen_player, make_player, open_evaluator
from gtp_engine.version import VERSION
from search.limits import Limits
from search.parameters import SearchParameters

if TYPE_CHECKING:
    from nets.evaluator import Evaluation, Evaluator
    from search.result import SearchResult
    from search.search import Search

ROUND_SECONDS = 2.5
"""Wanted length of one measurement; there are at least MIN_ROUNDS of each kind."""
MIN_ROUNDS = 3
TRIAL_SHARE = 0.5
"""What the recommendation's trials take of the main measurement's time, in all."""
MIN_TRIAL_SECONDS = 0.6
NEARLY_AS_FAST = 0.97
"""Of several settings this close to the fastest the one with the fewest positions under way is recommended: each of
them is chosen without knowing the others' results."""
SAMPLE = 64
"""Positions kept from the search as input for the bare loop."""

Tick = Callable[[float], None]
"""Told the seconds of work that were done."""


class Recorder:
    """An evaluator that counts the batches that go through it and keeps some positions; the work is another's."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._lock = threading.Lock()
        self.batches: Counter[int] = Counter()
        self.spatial: list[NDArray[np.float32]] = []
        self.global_: list[NDArray[np.float32]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.evaluator, name)

    def evaluate(self, spatial: NDArray[np.float32], global_: NDArray[np.float32], *more: Any) -> Evaluation:
        with self._lock:
            self.batches[len(spatial)] += 1
            if len(self.spatial) < SAMPLE:
                self.spatial += [plane.copy() for plane in spatial]
                self.global_ += [row.copy() for row in global_]
        return self.evaluator.evaluate(spatial, global_, *more)

    def sample(self, batch: int, offset: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A batch of positions seen."""
        chosen = [(offset + i) % len(self.spatial) for i in range(batch)]
        return np.stack([self.spatial[i] for i in chosen]), np.stack([self.global_[i] for i in chosen])


@click.command()
@parameter_options("net", "player", "precision", "device", "human_profile", "workers", "batch", "size")
@click.option(
    "--seconds", type=click.FloatRange(1, 3600), default=30.0, show_default=True, help="How long to measure, about."
)
@click.option("--advice/--no-advice", default=True, show_default=True, help="Try other numbers of workers and batches.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@config_options
def benchmark(
    config_file: Path | None,
    settings: tuple[str, ...],
    seconds: float,
    advice: bool,
    as_json: bool,
    **options: object,
) -> None:
    """Measure how fast this machine searches.

    With a network: evaluations and visits a second in a real search, and of the same network called in a bare loop by
    as many threads with the same batches. Without one: playouts a second of the net-free player.
    """
    configuration = load(config_file, settings, options)
    name = chosen_player(configuration)
    with_network = PLAYERS[name].needs_network
    total = seconds * (1 + TRIAL_SHARE if advice and with_network else 1)
    with progress_bar(total) as tick:
        if with_network:
            report = measure_network(configuration, seconds, advice, tick)
        else:
            report = measure_playouts(configuration, seconds, tick)
    report = {"player": name, **report, **surroundings()}
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(report).decode())
    else:
        click.echo(for_people(report))


def measure_network(configuration: Configuration, seconds: float, advice: bool, tick: Tick) -> dict[str, Any]:
    """The report on a network in a search."""
    from search.search import Search

    recorder = Recorder(open_evaluator(configuration))
    parameters = configuration.search_parameters()
    width, height = parse_size(configuration["size"])
    rounds = max(MIN_ROUNDS, round(seconds / 2 / ROUND_SECONDS))
    slice_ = seconds / 2 / rounds
    search = Search(recorder, parameters)
    workers, batch = search.workers, parameters.batch
    searched: list[float] = []
    visited: list[float] = []
    bare: list[float] = []
    _warm_up(search, _position(0, width, height))
    recorder.batches.clear()
    for i in range(rounds):
        result = _search_once(search, _position(i, width, height), slice_)
        searched.append(result.evaluations / result.seconds)
        visited.append(result.new_visits / result.seconds)
        tick(slice_)
        bare.append(bare_rate(recorder, workers, batch, slice_))
        tick(slice_)
    search.close()
    report = {
        "network": recorder.name,
        "net": str(configuration.net),
        "precision": recorder.precision,
        "provider": recorder.provider,
        "size": configuration["size"],
        "workers": workers,
        "batch": batch,
        "evals_per_second": round(statistics.median(searched), 1),
        "visits_per_second": round(statistics.median(visited), 1),
        "bare_evals_per_second": round(statistics.median(bare), 1),
        "ratio": round(statistics.median(s / b for s, b in zip(searched, bare, strict=True)), 4),
        "batch_sizes": {str(size): count for size, count in sorted(recorder.batches.items())},
        "rounds": rounds,
        "seconds": seconds,
    }
    if advice:
        report["advice"] = recommend(recorder, parameters, (width, height), seconds * TRIAL_SHARE, tick)
    return report


def bare_rate(recorder: Recorder, workers: int, batch: int, seconds: float) -> float:
    """Evaluations a second of `workers` threads that do nothing else."""
    inputs = [recorder.sample(batch, i * batch) for i in range(workers)]
    counts = [0] * workers
    evaluator = recorder.evaluator
    begin = threading.Barrier(workers + 1)
    end = [0.0]

    def call(number: int) -> None:
        spatial, global_ = inputs[number]
        evaluator.evaluate(spatial, global_)
        begin.wait()
        while time.perf_counter() < end[0]:
            evaluator.evaluate(spatial, global_)
            counts[number] += batch

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(workers)]
    for thread in threads:
        thread.start()
    end[0] = float("inf")
    begin.wait()
    started = time.perf_counter()
    end[0] = started + seconds
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


def recommend(
    recorder: Recorder, parameters: SearchParameters, size: tuple[int, int], seconds: float, tick: Tick
) -> dict[str, Any]:
    """Try some numbers of workers and batch sizes; the gentlest of the fast ones is recommended."""
    from search.search import Search

    cores = usable_cores()
    candidates = sorted({(w, b) for w in {max(1, cores // 2), cores, cores + 1, 2 * cores} for b in (1, 2, 4, 8)})
    slice_ = max(MIN_TRIAL_SECONDS, seconds / len(candidates))
    tried = []
    for workers, batch in candidates:
        search = Search(recorder, dataclasses.replace(parameters, workers=workers, batch=batch))
        _warm_up(search, _position(0, *size))
        result = _search_once(search, _position(0, *size), slice_)
        search.close()
        tried.append(
            {"workers": workers, "batch": batch, "evals_per_second": round(result.evaluations / result.seconds, 1)}
        )
        tick(seconds / len(candidates))
    fastest = max(each["evals_per_second"] for each in tried)
    good = [each for each in tried if each["evals_per_second"] >= NEARLY_AS_FAST * fastest]
    best = min(good, key=lambda each: (each["workers"] * each["batch"], -each["evals_per_second"]))
    return {"workers": best["workers"], "batch": best["batch"], "tried": tried}


def measure_playouts(configuration: Configuration, seconds: float, tick: Tick) -> dict[str, Any]:
    """The report on a player without a network."""
    width, height = parse_size(configuration["size"])
    player = make_player(configuration)
    player.warm_up(width, height)
    rounds = max(MIN_ROUNDS, round(seconds / ROUND_SECONDS))
    playouts, visits = [], []
    for i in range(rounds):
        game = _position(i, width, height)
        player.clear()
        result = player.search(game, game.to_play, Limits(seconds=seconds / rounds, may_stop_early=False))
        playouts.append(result.evaluations / result.seconds)
        visits.append(result.new_visits / result.seconds)
        tick(seconds / rounds)
    player.close()
    return {
        "network": None,
        "size": configuration["size"],
        "workers": configuration["workers"] or usable_cores(),
        "playouts_per_second": round(statistics.median(playouts), 1),
        "visits_per_second": round(statistics.median(visits), 1),
        "rounds": rounds,
        "seconds": seconds,
    }


def for_people(report: dict[str, Any]) -> str:
    """The report in a few lines."""
    lines = [f"machine    {report['machine']}, {report['cores']} cores; nobi {report['version']}"]
    if report["network"] is None:
        lines += [
            f"player     {report['player']}, {report['workers']} workers, board {report['size']}",
            f"search     {report['playouts_per_second']:,.0f} playouts/s",
        ]
        return "\n".join(lines)
    lines += [
        f"network    {report['network']}, {report['precision']}, {report['provider']}",
        f"settings   {report['workers']} workers, batch {report['batch']}, board {report['size']}",
        f"search     {report['evals_per_second']:,.0f} evaluations/s, {report['visits_per_second']:,.0f} visits/s",
        f"bare loop  {report['bare_evals_per_second']:,.0f} evaluations/s; in the search {report['ratio']:.1%} of it",
    ]
    if "advice" in report:
        advice = report["advice"]
        chosen = next(e for e in advice["tried"] if (e["workers"], e["batch"]) == (advice["workers"], advice["batch"]))
        lines.append(
            f"advice     --workers {advice['workers']} --batch {advice['batch']}"
            f" ({chosen['evals_per_second']:,.0f} evaluations/s; {len(advice['tried'])} settings tried)"
        )
    return "\n".join(lines)


def surroundings() -> dict[str, Any]:
    """What the figures depend on beside the engine's own settings."""
    return {
        "version": VERSION,
        "python": platform.python_version(),
        "versions": package_versions(),
        "cores": usable_cores(),
        "machine": processor(),
    }


def processor() -> str:
    """The processor's name as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@contextmanager
def progress_bar(total: float) -> Iterator[Tick]:
    """A bar on stderr that fills up over `total` seconds of work."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("measuring"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2) as progress:
        task = progress.add_task("", total=total)
        yield lambda seconds: progress.advance(task, seconds)


def _warm_up(search: Search, game: Game) -> None:
    """Have kernels, threads and the network's buffers ready: enough visits for every worker to take part."""
    search.run(game, game.to_play, Limits(visits=4 * search.workers * search.parameters.batch, may_stop_early=False))


def _search_once(search: Search, game: Game, seconds: float) -> SearchResult:
    """Search a position with an empty tree and an empty cache."""
    search.clear()
    return search.run(game, game.to_play, Limits(seconds=seconds, may_stop_early=False))


def _position(number: int, width: int, height: int) -> Game:
    """The position after one of the match openings."""
    choices = openings(width, height)
    game = Game(width, height)
    for i, point in enumerate(choices[number % len(choices)]):
        game.play(WHITE if i % 2 else BLACK, point)
    return game
