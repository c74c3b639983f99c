"""Our kernels on emulated 64-bit ARM processors: the same integers as on this machine, and whole games.

    python -m tests.campaigns.arm64 [--folder FOLDER] [--processors cortex-a72 cortex-a76 apple-m1] [--parts PART ...]

On a Debian or Ubuntu machine with x86, without root. FOLDER gets a QEMU that emulates programs, a Python for ARM64 with
what it needs from Debian, and the packages that this Python has, as wheels for ARM64 (700 MB in all); it is kept, with
the kernels compiled there, for the next time. Parts: `products` (16-bit and 8-bit products, scores), `arithmetic`
(rounding, shares, tiles, activations), `networks` (random ones), `embedded` (the embedded network as `auto` opens it),
`tests` (those of nets/native) and `genmove` (a game by the whole engine). The first four are compared with this
machine's own kernels. Kernels compile ten times slower there: all parts take an hour or two for each processor.
Prints what was compared, and exits with 1 if anything failed. Speed cannot be measured this way.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from tests.campaigns.debian import Debian, run
from tests.campaigns.kernel_outputs import PARTS
from tests.campaigns.short_game import GAME, MOVES, moves
from tests.conftest import REPOSITORY

SUITE, PYTHON = "bookworm", "python3.11"
"""A release of Debian, and the Python that it has."""
WHEELS = ("numpy", "numba", "llvmlite", "onnxruntime", "onnx", "sgfmill", "click", "rich", "msgspec", "tomlkit",
          "platformdirs", "pytest", "hypothesis")  # fmt: skip
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
TESTS = tuple(
    f"tests/nets/native/test_{name}.py" for name in ("transformer_parts", "transformers", "convolutions", "mixed")
)
LEFT_OUT = "narrower or calibrat or golden or people or file"
"""Tests that are of other processors, or that take hours there."""


@dataclass(frozen=True)
class Processor:
    """What is emulated, and how programs find out."""

    emulated: str
    """QEMU's name for it."""
    part: str
    """Its number in /proc/cpuinfo, where LLVM looks it up."""
    features: str
    """Its features there."""
    environment: Mapping[str, str] = field(default_factory=dict)


PLAIN = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"
DOT = f"{PLAIN} atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp"
PROCESSORS = {
    "cortex-a72": Processor("cortex-a72", "0xd08", PLAIN),  # Raspberry Pi 4: no products of bytes
    "cortex-a76": Processor("cortex-a76", "0xd0b", DOT),  # Raspberry Pi 5
    "neoverse-n1": Processor("neoverse-n1", "0xd0c", DOT),  # in the cloud
    # Where LLVM cannot list any feature, as on macOS, and knows the name alone.
    "apple-m1": Processor("max", "0xd0b", DOT, {"NUMBA_CPU_NAME": "apple-m1", "NUMBA_CPU_FEATURES": ""}),
}


# --- What it needs --------------------------------------------------------------------------------------------------


class Machine:
    """A folder with an emulator and a Python for ARM64."""

    def __init__(self, folder: Path) -> None:
        ours = run(["dpkg", "--print-architecture"], "dpkg").strip()
        self.folder, self.site, self.python = folder, folder / "site", folder / "python"
        self._here, self._there = Debian(folder / "here", SUITE, ours), Debian(folder / "there", SUITE, "arm64")

    def make_ready(self) -> None:
        """Download and unpack what is missing. Ends the program with one line if that cannot be done."""
        self._here.unpack("qemu-user-static")
        self._there.unpack(PYTHON, "libstdc++6")
        if self.python.exists():
            return
        wheels = self.folder / "wheels"
        names = [f"{name}=={version(name)}" for name in WHEELS]
        platforms = [f"--platform={name}" for name in PLATFORMS]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *platforms]
        run([*command, "--only-binary=:all:", f"--python-version={PYTHON[6:]}", f"--dest={wheels}", *names], "pip")
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(self.site)
        # Named so in the emulated Python, which starts others as `sys.executable`.
        emulator, root = self._here.root / "usr/bin/qemu-aarch64-static", self._there.root
        self.python.write_text(
            "#!/bin/sh\n"
            f"export PYTHONHOME={root}/usr PYTHONPATH={self.site}:{REPOSITORY}\n"
            f'exec {emulator} -L {root} -0 {self.python} {root}/usr/bin/{PYTHON} "$@"\n'
        )
        self.python.chmod(0o755)

    def environment(self, processor: Processor) -> dict[str, str]:
        """Set the processor that is emulated next, and return the environment for it."""
        root = self._there.root
        (root / "proc").mkdir(exist_ok=True)
        lines = f"Features\t: {processor.features}\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
        lines += f"CPU variant\t: 0x1\nCPU part\t: {processor.part}\nCPU revision\t: 1\n\n"
        (root / "proc/cpuinfo").write_text("".join(f"processor\t: {n}\n{lines}" for n in range(os.cpu_count() or 1)))
        kept = {"NOBI_CACHE_DIR": str(self.folder / "cache"), "PYTHONPYCACHEPREFIX": str(self.folder / "pycache")}
        return {**os.environ, **kept, "QEMU_CPU": processor.emulated, **processor.environment}


# --- What is tried --------------------------------------------------------------------------------------------------


def computed(python: Path, parts: Sequence[str], to: Path, environment: Mapping[str, str], *more: str) -> list[str]:
    """Let a Python compute parts of what is compared. Returns what failed."""
    command = [str(python), "-m", "tests.campaigns.kernel_outputs", str(to), *parts, *more]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE, text=True)
    return [] if done.returncode == 0 else [f"{' '.join(parts)}: ended with {done.returncode}: {done.stderr[-2000:]}"]


def tested(machine: Machine, environment: Mapping[str, str]) -> list[str]:
    """Run the tests of the kernels. Returns what failed."""
    options = ["-q", "-p", "no:cacheprovider", "-k", f"not ({LEFT_OUT})", "-rs"]
    command = [str(machine.python), "-m", "pytest", *options, *TESTS]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    print("\n".join(f"  {line}" for line in lines[-6:]), flush=True)
    return [] if done.returncode == 0 else [f"tests: pytest ended with {done.returncode}"]


def played(machine: Machine, environment: Mapping[str, str]) -> list[str]:
    """Let the whole engine play two moves. Returns what failed."""
    command = [str(machine.python), "-m", "gtp_engine.cli", "gtp", "--visits", "30"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, input=GAME, capture_output=True, text=True)
    played_moves = moves(done.stdout)
    print(f"  played {' '.join(played_moves)}, said: {done.stderr.strip()[-300:] or 'nothing'}", flush=True)
    has_played = done.returncode == 0 and len(played_moves) == MOVES and "?" not in done.stdout
    return [] if has_played else [f"genmove: {done.stdout[-300:]!r}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / ".venv-arm64")
    parser.add_argument("--processors", nargs="+", choices=PROCESSORS, default=["cortex-a72", "cortex-a76", "apple-m1"])
    parser.add_argument(
        "--parts", nargs="+", choices=[*PARTS, "tests", "genmove"], default=[*PARTS, "tests", "genmove"]
    )
    options = parser.parse_args()
    machine = Machine(options.folder.resolve())
    machine.folder.mkdir(parents=True, exist_ok=True)
    machine.make_ready()
    parts = [part for part in options.parts if part in PARTS]
    here, there = machine.folder / "outputs-here", machine.folder / "outputs-there"
    print("this machine", flush=True)
    failures = computed(Path(sys.executable), parts, here, os.environ) if parts else []
    for name in options.processors:
        print(name, flush=True)
        environment = machine.environment(PROCESSORS[name])
        found = computed(machine.python, parts, there, environment, "--against", str(here)) if parts else []
        found += tested(machine, environment) if "tests" in options.parts else []
        found += played(machine, environment) if "genmove" in options.parts else []
        failures += [f"{name}: {each}" for each in found]
    for line in failures:
        print(f"FAILED {line}")
    print(f"{len(options.parts)} parts on {len(options.processors)} processors, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
