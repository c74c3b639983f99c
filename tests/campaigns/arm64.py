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
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.campaigns.arm64_outputs import PARTS
from tests.conftest import REPOSITORY

SUITE, PYTHON = "bookworm", "python3.11"
"""A release of Debian, and the Python that it has."""
SOURCE = f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {SUITE} main\n"
WHEELS = ("numpy", "numba", "llvmlite", "onnxruntime", "onnx", "sgfmill", "click", "rich", "msgspec", "tomlkit",
          "platformdirs", "pytest", "hypothesis")  # fmt: skip
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
TESTS = tuple(
    f"tests/nets/native/test_{name}.py" for name in ("transformer_parts", "transformers", "convolutions", "mixed")
)
LEFT_OUT = "narrower or calibrat or golden or people or file"
"""Tests that are of other processors, or that take hours there."""
GAME = "boardsize 9\nkomi 7\ngenmove b\ngenmove w\nshowboard\nquit\n"
ABSOLUTE, RELATIVE = 0.02, 0.02
"""How far numbers may differ that come from sums of floats, which may tip a level over."""


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
        self.folder, self.root, self.site = folder, folder / "root", folder / "site"
        self.python, self._qemu = folder / "python", folder / "qemu"

    def make_ready(self) -> None:
        """Download and unpack what is missing. Ends the program with one line if that cannot be done."""
        done = self.folder / "ready"
        if done.exists():
            return
        for program in ("apt-get", "dpkg"):
            if shutil.which(program) is None:
                raise SystemExit(f"{program} is missing: this campaign needs Debian, or a system made of it")
        print(f"downloading to {self.folder}", flush=True)
        self._unpack_debian()
        wheels = self.folder / "wheels"
        names = [f"{name}=={version(name)}" for name in WHEELS]
        platforms = [f"--platform={name}" for name in PLATFORMS]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *platforms]
        run([*command, "--only-binary=:all:", f"--python-version={PYTHON[6:]}", f"--dest={wheels}", *names], "pip")
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(self.site)
        # Named so in the emulated Python, which starts others as `sys.executable`.
        emulator = self._qemu / "usr/bin/qemu-aarch64-static"
        self.python.write_text(
            "#!/bin/sh\n"
            f"export PYTHONHOME={self.root}/usr PYTHONPATH={self.site}:{REPOSITORY}\n"
            f'exec {emulator} -L {self.root} -0 {self.python} {self.root}/usr/bin/{PYTHON} "$@"\n'
        )
        self.python.chmod(0o755)
        done.touch()

    def _unpack_debian(self) -> None:
        """Have apt work in a folder of ours, as if no package were installed."""
        here = self.folder / "apt"
        for name in ("lists/partial", "archives/partial"):
            (here / name).mkdir(parents=True, exist_ok=True)
        ours = subprocess.run(
            ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
        ).stdout.strip()
        (here / "sources.list").write_text(SOURCE)
        (here / "status").touch()
        (here / "apt.conf").write_text(
            f'APT::Architecture "arm64"; APT::Architectures {{ "arm64"; "{ours}"; }};\n'
            f'Dir::Etc::sourcelist "{here}/sources.list"; Dir::Etc::sourceparts "-"; Dir::State "{here}";\n'
            f'Dir::State::status "{here}/status"; Dir::Cache "{here}";\n'
        )
        environment = {**os.environ, "APT_CONFIG": str(here / "apt.conf")}
        run(["apt-get", "-qq", "update"], "apt-get", env=environment)
        options = ["-qq", "-y", "--download-only", "--no-install-recommends"]
        run(["apt-get", *options, "install", PYTHON, "libstdc++6"], "apt-get", env=environment)
        run(["apt-get", "-qq", "download", f"qemu-user-static:{ours}"], "apt-get", cwd=here, env=environment)
        for package in sorted((here / "archives").glob("*.deb")):
            run(["dpkg", "-x", str(package), str(self.root)], "dpkg")
        for package in sorted(here.glob("*.deb")):
            run(["dpkg", "-x", str(package), str(self._qemu)], "dpkg")

    def environment(self, processor: Processor) -> dict[str, str]:
        """Set the processor that is emulated next, and return the environment for it."""
        (self.root / "proc").mkdir(exist_ok=True)
        lines = f"Features\t: {processor.features}\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
        lines += f"CPU variant\t: 0x1\nCPU part\t: {processor.part}\nCPU revision\t: 1\n\n"
        (self.root / "proc/cpuinfo").write_text(
            "".join(f"processor\t: {n}\n{lines}" for n in range(os.cpu_count() or 1))
        )
        kept = {"NOBI_CACHE_DIR": str(self.folder / "cache"), "PYTHONPYCACHEPREFIX": str(self.folder / "pycache")}
        return {**os.environ, **kept, "QEMU_CPU": processor.emulated, **processor.environment}


def run(command: Sequence[str], name: str, **options: object) -> None:
    """Run a program that has to work. Ends this one with its last line if it does not."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SystemExit(f"{name} ended with {done.returncode}: {' '.join(last)}")


# --- What is tried --------------------------------------------------------------------------------------------------


def outputs(python: Path, part: str, to: Path, environment: Mapping[str, str]) -> dict[str, NDArray[np.generic]]:
    """Let a Python compute a part of what is compared. Returns nothing if it cannot."""
    command = [str(python), "-m", "tests.campaigns.arm64_outputs", str(to), part]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr[-2000:], flush=True)
        return {}
    with np.load(to, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def differences(ours: Mapping[str, NDArray[np.generic]], theirs: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Compare two processors' outputs, and print how far what may differ does. Returns what differs too much."""
    wrong = [f"{name}: only on one of the two" for name in sorted(set(ours) ^ set(theirs))]
    most, mean = 0.0, 0.0
    for name in sorted(set(ours) & set(theirs)):
        expected, found = ours[name].astype(np.float64), theirs[name].astype(np.float64)
        if expected.shape != found.shape or (name.startswith("exact") and not (expected == found).all()):
            wrong.append(f"{name}: other integers")
        elif not name.startswith("exact"):
            difference, largest = np.abs(expected - found), max(1.0, float(np.abs(expected).max()))
            most, mean = max(most, float(difference.max()) / largest), max(mean, float(difference.mean()) / largest)
            if not np.allclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE * largest):
                wrong.append(f"{name}: differs by up to {difference.max():.2g} where the largest is {largest:.2g}")
    exact = sum(name.startswith("exact") for name in ours)
    print(
        f"  {exact} arrays bit for bit, {len(ours) - exact} of floats within {most:.1e} (mean {mean:.1e})", flush=True
    )
    return wrong


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
    answers = [line[2:] for line in done.stdout.splitlines() if line.startswith("= ") and len(line) > 2]
    print(f"  played {' '.join(answers[:2])}, said: {done.stderr.strip()[-300:] or 'nothing'}", flush=True)
    moved = len(answers) >= 2 and done.stdout.count("X") > 1
    return [] if done.returncode == 0 and moved and "?" not in done.stdout else [f"genmove: {done.stdout[-300:]!r}"]


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
    failures = []
    for part in options.parts:
        here = (
            outputs(Path(sys.executable), part, machine.folder / f"{part}-here.npz", os.environ)
            if part in PARTS
            else {}
        )
        for name in options.processors:
            print(f"{name}: {part}", flush=True)
            environment = machine.environment(PROCESSORS[name])
            if part in PARTS:
                there = outputs(machine.python, part, machine.folder / f"{part}-there.npz", environment)
                found = differences(here, there) if here and there else [f"{part} ended with an error"]
            else:
                found = tested(machine, environment) if part == "tests" else played(machine, environment)
            failures += [f"{name}: {each}" for each in found]
    for line in failures:
        print(f"FAILED {line}")
    print(f"{len(options.parts)} parts on {len(options.processors)} processors, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
