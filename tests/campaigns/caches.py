"""The cache attacked: starts at once on an empty one, kills at random moments, every file damaged and swapped once.

    python -m tests.campaigns.caches --starts 12 --kills 100 --folder FOLDER [-- ARGUMENTS OF nobi gtp ...]

FOLDER is a cache that is filled first, where it is empty, and copied for each part. After everything that is done to a
copy an engine starts with it, and must play the moves that a fixed seed gives, end with 0, and say at most one line
beside that GTP may begin.
Prints counts, and exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HANGS = 3600.0
"""Seconds after which a start counts as hung. Twelve at once on two busy cores take long."""
FIXED = ("--visits", "24", "--set", "seed=5", "--set", "workers=1", "--set", "batch=1")
GAME = "boardsize 9\ngenmove b\ngenmove w\nboardsize 7\ngenmove b\nquit\n"


@dataclass(frozen=True)
class Program:
    """What is started again and again, with NOBI_CACHE_DIR naming the cache."""

    command: Sequence[str]
    input: str = ""
    expected: str = ""
    """What it writes to stdout with a clean cache; empty as long as nobody knows."""

    def start(self, cache: Path) -> subprocess.Popen[str]:
        """Start it without waiting, as the leader of a process group of its own."""
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NOBI_CACHE_DIR": str(cache)},
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(self.input)
            process.stdin.flush()
        return process

    def outcome(self, process: subprocess.Popen[str]) -> str:
        """Wait for its end. Returns what went wrong, or an empty text."""
        try:
            out, err = process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "hangs"
        if process.returncode != 0:
            return f"ended with {process.returncode}: {err.strip()[-300:]}"
        if out != self.expected:
            return f"answered {out!r} instead of {self.expected!r}: {err.strip()[-300:]}"
        said = [line for line in err.splitlines() if "GTP ready" not in line]
        return "" if len(said) <= 1 else f"said more than a line: {err!r}"

    def problem(self, cache: Path) -> str:
        """What goes wrong with one run, or an empty text."""
        return self.outcome(self.start(cache))


def engine(arguments: Sequence[str]) -> Program:
    """Nobi itself, told to play a few moves that are the same each time."""
    return Program((sys.executable, "-m", "gtp_engine.cli", "gtp", *FIXED, *arguments), GAME)


def learn(program: Program, cache: Path) -> Program:
    """The same program with the answer that it gives on this cache, which is filled if it is empty."""
    process = program.start(cache)
    out, err = process.communicate(timeout=HANGS)
    if process.returncode != 0 or not out:
        raise SystemExit(f"the program does not run: {err}")
    return Program(program.command, program.input, out)


# --- What is done to a cache ----------------------------------------------------------------------------------------


def starts_at_once(program: Program, cache: Path, number: int) -> Iterator[str]:
    """Start so many processes at once on an empty cache. Yields what went wrong with each, or an empty text."""
    processes = [program.start(cache) for _ in range(number)]
    for process in processes:
        yield program.outcome(process)


def killed(program: Program, cache: Path, rng: random.Random, longest: float, forgotten: int) -> str:
    """Delete some files, start, kill the process at a random moment of its work, and then run it to its end."""
    for path in rng.sample(entries(cache), min(forgotten, len(entries(cache)))):
        path.unlink()
    process = program.start(cache)
    time.sleep(rng.uniform(0.0, longest))
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
    return program.problem(cache)


def truncated(path: Path, rng: random.Random) -> None:
    """Cut the file off somewhere."""
    os.truncate(path, rng.randrange(path.stat().st_size))


def bits_flipped(path: Path, rng: random.Random) -> None:
    """Flip a few bits of the file."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 3)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def emptied(path: Path, _: random.Random) -> None:
    """Leave nothing in the file."""
    path.write_bytes(b"")


def replaced_by_folder(path: Path, _: random.Random) -> None:
    """Put a folder with a file in its place."""
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def replaced_by_fifo(path: Path, _: random.Random) -> None:
    """Put a FIFO in its place, which nobody ever writes to."""
    path.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)


def replaced_by_link(path: Path, rng: random.Random) -> None:
    """Put a symbolic link in its place: to itself, to nothing, or to an endless device."""
    path.unlink()
    path.symlink_to(rng.choice((str(path), "nowhere", "/dev/zero")))


def lengthened(path: Path, _: random.Random) -> None:
    """Append something."""
    path.write_bytes(path.read_bytes() + b"x")


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    truncated,
    bits_flipped,
    emptied,
    replaced_by_folder,
    replaced_by_fifo,
    replaced_by_link,
    lengthened,
)


def damaged(program: Program, paths: Sequence[Path], cache: Path, first: int, rng: random.Random) -> str:
    """Damage these files, each in the next way of all from number `first` on, and run the program."""
    for number, path in enumerate(paths, first):
        DAMAGES[number % len(DAMAGES)](path, rng)
    return program.problem(cache)


def swapped(program: Program, paths: Sequence[Path], cache: Path) -> str:
    """Give each of these files another one's content, and run the program."""
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)
    return program.problem(cache)


def entries(cache: Path) -> list[Path]:
    """The files of a cache, in an order that mixes the kinds."""
    files = [path for path in cache.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return sorted((path for path in files if path.suffix != ".lock"), key=lambda path: path.name[::-1])


def groups(paths: Sequence[Path], size: int) -> list[Sequence[Path]]:
    """Parts of at most `size` files, none of a single one if that can be avoided: one alone cannot be swapped."""
    parts = [paths[i : i + size] for i in range(0, len(paths), size)]
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [[*parts[-2], *parts[-1]]]
    return parts


# --- The campaign ---------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--longest", type=float, default=6.0, help="seconds until the latest kill")
    parser.add_argument("--forgotten", type=int, default=4, help="files deleted before each kill, to be made again")
    parser.add_argument("--at-once", type=int, default=25, help="files damaged or swapped before each start")
    parser.add_argument("--damages", type=int, default=1 << 30, help="the most files damaged, and the most swapped")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="a cache to be filled once and copied")
    parser.add_argument("arguments", nargs="*", help="of nobi gtp")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    failures = 0

    def count(what: str, number: int, problem: str) -> None:
        nonlocal failures
        failures += bool(problem)
        print(f"{time.strftime('%H:%M:%S')} {what} {number}: {problem or 'ok'}", flush=True)

    with tempfile.TemporaryDirectory() as scratch:
        base = (options.folder or Path(scratch) / "base").absolute()
        program = learn(engine(options.arguments), base)
        program = learn(program, base)  # from a full cache, as the copies are
        print(f"{len(entries(base))} files; the answer: {' '.join(program.expected.split())}", flush=True)
        for number, problem in enumerate(starts_at_once(program, Path(scratch) / "empty", options.starts), 1):
            count("start", number, problem)
        cache = Path(scratch) / "copy"
        shutil.copytree(base, cache)
        for number in range(1, options.kills + 1):
            count("kill", number, killed(program, cache, rng, options.longest, options.forgotten))
        chosen = [path.relative_to(base) for path in entries(base)][: options.damages]
        done = 0
        for group in groups([cache / path for path in chosen], options.at_once):
            refill(base, cache)
            count("damaged files, to", done + len(group), damaged(program, group, cache, done, rng))
            done += len(group)
        refill(base, cache)
        done = 0
        for group in groups([cache / path for path in chosen], options.at_once):
            count("swapped files, to", done + len(group), swapped(program, group, cache))
            done += len(group)
        count("last", 1, program.problem(cache))
    print(
        f"{options.starts} starts at once, {options.kills} kills, {done} files damaged and swapped: {failures} failures"
    )
    return 1 if failures else 0


def refill(base: Path, cache: Path) -> None:
    """Put back what is missing or damaged in a copy."""
    shutil.rmtree(cache)
    shutil.copytree(base, cache)


if __name__ == "__main__":
    sys.exit(main())
