"""Mutated network files, KataGo's and ONNX: each is either a network or refused with one line.

    python -m tests.campaigns.networks [--files 20000] [--seed N] [--keep DIRECTORY]

A child process opens the files and evaluates positions with those that are networks, in limited memory. What kills it,
takes long, prints anything or raises anything but an EvaluatorError is a failure, and the file is kept. Now and then a
refused file is given to `nobi gtp`, which must print that line alone and exit with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tests.campaigns.mutated_networks import Samples
from tests.campaigns.stopping import until_stopped
from tests.conftest import REPOSITORY

MEMORY = 6 << 30
"""Bytes of address space for the child; its libraries take about one of them."""
SECONDS = 60
"""For one file."""
COMMAND_EVERY = 500


def work() -> int:
    """The child: for every path on stdin a line of JSON on stdout."""
    import resource
    import traceback

    from nets.evaluator import EvaluationRequest, EvaluatorError
    from nets.human_profile import parse_profile
    from nets.open import open_network

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        path, verdict, text = line.strip(), "network", ""
        try:
            try:
                evaluator = open_network(path, "fp32")
            except EvaluatorError as error:
                if "imitates people" not in str(error):
                    raise
                evaluator = open_network(path, "fp32", profile=parse_profile("rank_5k"))
            for count, height, width in ((1, 9, 9), (3, 5, 7)):
                evaluator.evaluate(
                    EvaluationRequest(np.ones((count, 22, height, width), np.float32), np.ones((count, 19), np.float32))
                )
        except EvaluatorError as error:
            verdict, text = "refused", str(error)
            if not (text.isprintable() and text.startswith(f"{path}: ") and len(text) < 400 + len(path)):
                verdict = "failed"
        except BaseException:
            verdict, text = "failed", traceback.format_exc()
        print(json.dumps([verdict, text]), flush=True)
    return 0


class Child:
    """A process that opens files; a new one where the last was lost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.process: subprocess.Popen[str] | None = None
        self._stderr = folder / "stderr"

    def verdict(self, path: Path) -> tuple[str, str]:
        """`network`, `refused` or `failed`, and the text."""
        process = self.process = self.process if self.process and self.process.poll() is None else self._start()
        before = self._stderr.stat().st_size
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            reply = process.stdout.readline() if selector.select(SECONDS) else "took too long"
        printed = self._stderr.read_bytes()[before:].decode(errors="replace")
        if not reply.startswith("["):
            process.kill()
            return "failed", f"{reply} exit status {process.wait()}: {printed}"
        verdict, text = json.loads(reply)
        return ("failed", f"printed {printed}") if printed else (verdict, text)

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _start(self) -> subprocess.Popen[str]:
        with self._stderr.open("wb") as stderr:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.campaigns.networks", "--work"],
                cwd=REPOSITORY,
                env={**os.environ, "NOBI_CACHE_DIR": str(self._folder / "cache")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )


def complaint_of_command(path: Path, text: str, folder: Path) -> str:
    """What is wrong with how `nobi gtp` refuses a file; empty where nothing is."""
    done = subprocess.run(
        [sys.executable, "-m", "gtp_engine.cli", "gtp", "--net", str(path), "--precision", "fp32"],
        cwd=REPOSITORY,
        env={**os.environ, "NOBI_CACHE_DIR": str(folder / "cache")},
        input="name\nquit\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    good = (done.returncode, done.stdout, done.stderr) == (1, "", f"nobi: {text}\n")
    return "" if good else f"nobi gtp: exit status {done.returncode}, {done.stdout!r}, {done.stderr!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("failed-networks"), help="where files that fail are put")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work()
    rng = random.Random(options.seed)
    samples, counts, reasons = Samples(), Counter[str](), Counter[str]()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        child = Child(folder)
        with until_stopped():
            for number in range(options.files):
                ending, content = samples.mutated(rng)
                path = folder / f"file{number}{ending}"
                path.write_bytes(content)
                started = time.perf_counter()
                verdict, text = child.verdict(path)
                slowest = max(slowest, time.perf_counter() - started)
                if verdict == "refused":
                    reasons[re.sub(r"[\d.]+|'.*?'|\[.*?\]", "#", text.removeprefix(f"{path}: "))[:60]] += 1
                    if counts["refused"] % COMMAND_EVERY == 0 and "evaluation failed" not in text:
                        complaint = complaint_of_command(path, text, folder)
                        verdict, text = ("failed", complaint) if complaint else (verdict, text)
                counts[verdict] += 1
                if verdict == "failed":
                    options.keep.mkdir(exist_ok=True)
                    (options.keep / f"{options.seed}-{path.name}").write_bytes(content)
                    print(f"{options.keep / f'{options.seed}-{path.name}'}: {text}", flush=True)
                path.unlink()
        child.close()
    for reason, count in reasons.most_common(25):
        print(f"{count:6} {reason}")
    print(f"{sum(counts.values())} files: {dict(counts)}, slowest {slowest:.1f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
