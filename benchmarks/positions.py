"""How many positions a core makes for training, and what it costs the main thread to pass them on.

A stand-in takes the place of the device: it computes nothing, and answers each batch of games with random policies.
So what shows is the pipeline alone: replayed records, games by policy, features, and Python's part in all of it. Times
are processor times, which other programs disturb little; `main` is the main thread's, `workers` that of all others.

python -m benchmarks.positions RECORDS [--batch 512] [--steps 60] [--threads 1] [--play 0.5]

RECORDS is a file of `nobi records`. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from training.config import DataConfig, RecordsConfig, RunConfig, TrainingConfig
from training.labels.batches import Batch, BatchLoader
from training.positions.canvas import PendingPolicy

WARM_UP = 12
"""Steps that are not counted: kernels are compiled in them, and the first games begun."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records")
    parser.add_argument("--batch", type=int, default=512, help="positions of 19x19; on smaller boards more")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--play", type=float, default=0.5, help="share of the games by policy; the rest are records")
    parser.add_argument("--canvas", default="", help="9, 13 or 19: only games on this canvas")
    options = parser.parse_args()

    data = DataConfig(
        teacher="a stand-in",
        records_share=1.0 - options.play,
        play_share=options.play,
        records=RecordsConfig(path=options.records),
        canvas_shares={options.canvas: 1.0} if options.canvas else DataConfig().canvas_shares,
    )
    config = TrainingConfig(run=RunConfig(batch=options.batch, threads=options.threads), data=data)
    loader = BatchLoader(config, pass_alive_under_suicide=False, has_teacher=True, pinned=False)
    made = 0
    began = processor = main_thread = 0.0
    for step in range(WARM_UP + options.steps):
        if step == WARM_UP:
            made, began, processor, main_thread = (
                loader.made,
                time.perf_counter(),
                time.process_time(),
                time.thread_time(),
            )
        batch = loader.next(step)
        if batch.play_on is not None:
            batch.play_on(random_policy(batch))
    seconds, made = time.perf_counter() - began, loader.made - made
    processor, main_thread = time.process_time() - processor, time.thread_time() - main_thread
    finished = loader.finished_games()
    loader.close()
    workers = processor - main_thread
    print(
        f"{made:,} positions on {options.threads} threads, {finished:,} games finished: {made / seconds:,.0f}/s; "
        f"workers {1e6 * workers / made:.1f} us a position ({made / workers:,.0f} a core and second), "
        f"main {1e6 * main_thread / made:.1f} us"
    )


def random_policy(batch: Batch) -> PendingPolicy:
    """Return random logits for a batch, as a network that knows nothing would."""
    count, _, canvas, _ = batch.spatial.shape
    logits = torch.randn(count, canvas * canvas + 1).numpy().astype(np.float32)
    return lambda: logits


if __name__ == "__main__":
    main()
