"""Self-play: games of a network against itself, in several threads, written to sample files."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from go_rules.machine.interruption import interruptible
from nets.evaluator import Evaluator
from training.config import DataConfig
from training.errors import TrainingError
from training.positions.records import load_records
from training.samples.sample_files import Origin, SampleWriter
from training.selfplay.worker import Reanalysis, SelfPlayWorker
from training.status_line import StatusLine
from training.teacher.hard_examples import HardExampleFilter

SAMPLES_A_FILE = 2048
"""Samples in a file: fewer than labelling writes, since they take minutes to make."""


def selfplay(
    folder: Path,
    evaluator: Evaluator,
    config: DataConfig,
    games: int,
    threads: int,
    seed: int,
    reanalysis: Reanalysis | None = None,
) -> int:
    """Play `games` games in `threads` threads and write their samples to `folder`. Return the number of samples.

    Raises TrainingError, EvaluatorError, and, once what was played until Ctrl-C is written, KeyboardInterrupt.
    """
    network = (evaluator if reanalysis is None else reanalysis.evaluator).attributes
    screen = None if reanalysis is None else reanalysis.screen
    for other in (evaluator, screen):
        if other is not None and other.attributes.pass_alive_under_suicide != network.pass_alive_under_suicide:
            name = other.attributes.name
            raise TrainingError(f"{network.name} cannot label what {name} saw: pass-alive groups are other features")
    origin = Origin((network.name,), pass_alive_under_suicide=network.pass_alive_under_suicide)
    writer = SampleWriter(folder, origin, SAMPLES_A_FILE)
    status = StatusLine()
    hard_examples = None if reanalysis is None else HardExampleFilter(reanalysis.share)
    records = load_records(config.records) if config.selfplay.records else None
    workers = [
        SelfPlayWorker(evaluator, config, seed * 1009 + number, reanalysis, records) for number in range(threads)
    ]
    started = time.monotonic()
    count = done = 0
    try:
        with interruptible() as stop, ThreadPoolExecutor(threads) as pool:
            begun = min(games, threads)
            waiting = {pool.submit(worker.play_and_pick, stop, hard_examples): worker for worker in workers[:begun]}
            try:
                while waiting:
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        worker, samples = waiting.pop(future), future.result()
                        done += 1
                        if samples is not None and samples.length:
                            count += samples.length
                            writer.add(samples)
                        if begun < games and not stop.is_set():
                            begun += 1
                            waiting[pool.submit(worker.play_and_pick, stop, hard_examples)] = worker
                    speed = done / (time.monotonic() - started) * 60
                    status.show(f"{done} of {games} games, {count:,} samples, {speed:.1f} games a minute")
            except BaseException:
                stop.set()
                raise
    finally:
        writer.close()
        for worker in workers:
            worker.close()
    status.show(f"{done} games, {count:,} samples in {time.monotonic() - started:,.0f} s", final=True)
    if hard_examples is not None:
        status.note(hard_examples.line())
    if stop.is_set():
        raise KeyboardInterrupt
    return count
