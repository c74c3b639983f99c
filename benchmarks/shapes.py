"""How fast networks of different shapes run, before any of them is trained: evaluations a second.

Every shape is a student with random weights, opened as users would open it, one session of one thread called from as
many threads as there are cores, in small batches: what a search does, without the search. Shapes take turns in several
rounds and the best round of each counts, since other programs only ever slow things down.

python -m benchmarks.shapes [--shapes b6c96,b10c64,...] [--precision fp32,int16,int8] [--sizes 9,13,19] [--batch N]
                            [--threads N] [--seconds S] [--rounds N] [--json]

`b10c64` is 10 blocks of 64 channels; `b10c64p0` has no pooling blocks. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from go_rules.machine.cores import usable_cores
from nets.conversion.convert import load_model
from nets.evaluator import EvaluationRequest, Evaluator
from nets.katago.writer import encode_model
from nets.native.convolutions.calibrate import calibrate
from nets.native.convolutions.pack import pack
from nets.native.evaluator import NativeEvaluator
from nets.onnx.evaluator import OnnxEvaluator
from nets.open import open_network
from nets.precision.calibration import SMALL_SERIES
from nets.precision.int8 import quantize
from training.config import NetworkConfig
from training.student.export import to_model
from training.student.network import Student

SHAPES = "b8c48,b6c64,b10c64,b15c64,b6c96,b10c96,b15c96,b6c128,b8c128,b10c128,b6c192"
NAME = re.compile(r"b(\d+)c(\d+)(?:p(\d+))?")


@dataclass(frozen=True)
class Shape:
    """One network to measure."""

    name: str
    config: NetworkConfig

    @property
    def macs(self) -> float:
        """Billions of multiplications and additions for one evaluation on 19×19."""
        return Student(self.config).macs() / 1e9


def parse_shape(name: str) -> Shape:
    """Return the shape of that name, and exit with a message if there is none."""
    match = NAME.fullmatch(name)
    if match is None:
        sys.exit(f"shapes: {name} is no shape like b10c64 or b10c64p0")
    blocks, channels, pooling = (int(number) if number else None for number in match.groups())
    assert blocks is not None
    assert channels is not None
    pooled = max(8, channels // 4 // 8 * 8)
    config = NetworkConfig(blocks, channels, 3 if pooling is None else pooling, pooled)
    return Shape(name, config)


def write_network(shape: Shape, folder: Path) -> Path:
    """Write a network of that shape with random weights, none of them zero, and return its path."""
    torch.manual_seed(1)
    student = Student(shape.config)
    with torch.no_grad():
        for block in student.blocks:
            block.second.weight.normal_(std=0.3 / (9 * shape.config.channels) ** 0.5)
    path = folder / f"{shape.name}.bin.gz"
    path.write_bytes(encode_model(to_model(student, shape.name, has_optimistic=True)))
    return path


def opened(path: Path, precision: str) -> Evaluator:
    """Open a network as users do, but calibrate it on a few positions only, since these do not change its speed."""
    plain = open_network(path, "fp32", "cpu")
    if precision == "fp32":
        return plain
    model = load_model(path.read_bytes(), path.name)
    if precision == "int16":
        ranges = calibrate(model, plain, SMALL_SERIES).highest
        return NativeEvaluator(model, pack(model, ranges), path.name, lambda: plain)
    return OnnxEvaluator(quantize(model, plain, series=SMALL_SERIES), path.name)


def evaluations_a_second(evaluator: Evaluator, size: int, batch: int, threads: int, seconds: float) -> float:
    """Count the evaluations a second of all threads together."""
    generator = np.random.default_rng(1)
    spatial = (generator.random((batch, 22, size, size)) > 0.8).astype(np.float32)
    spatial[:, 0] = 1
    request = EvaluationRequest(spatial, generator.random((batch, 19)).astype(np.float32))
    evaluator.evaluate(request)
    counts = [0] * threads
    start = threading.Barrier(threads + 1)
    end = [0.0]

    def work(number: int) -> None:
        start.wait()
        while time.monotonic() < end[0]:
            evaluator.evaluate(request)
            counts[number] += batch

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    began = time.monotonic()
    end[0] = began + seconds
    start.wait()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--precision", default="fp32,int16,int8")
    parser.add_argument("--sizes", default="9,13,19")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    shapes = [parse_shape(name) for name in options.shapes.split(",")]
    sizes = [int(size) for size in options.sizes.split(",")]
    best: dict[tuple[str, str, int], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        networks = {}
        for shape in shapes:
            path = write_network(shape, Path(folder))
            for precision in options.precision.split(","):
                networks[shape.name, precision] = opened(path, precision)
        for _ in range(options.rounds):
            for (name, precision), network in networks.items():
                for size in sizes:
                    rate = evaluations_a_second(network, size, options.batch, options.threads, options.seconds)
                    best[name, precision, size] = max(rate, best.get((name, precision, size), 0.0))
    if options.json:
        rows = [{"shape": n, "precision": p, "size": s, "evaluations_a_second": r} for (n, p, s), r in best.items()]
        print(json.dumps(rows))
        return
    columns = [(size, precision) for size in sizes for precision in options.precision.split(",")]
    print("| shape | GMAC 19×19 | " + " | ".join(f"{size}×{size} {precision}" for size, precision in columns) + " |")
    print("| --- | --- |" + " --- |" * len(columns))
    for shape in shapes:
        texts = [f"{best[shape.name, precision, size]:,.0f}" for size, precision in columns]
        print(f"| {shape.name} | {shape.macs:.2f} | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    main()
