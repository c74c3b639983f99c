"""Our kernels on emulated x86-64 processors with other instructions than this one: the same integers, and a whole game.

    python -m tests.campaigns.x86 [--folder FOLDER] [--processors skylake icelake arrowlake ...] [--parts PART ...]

On a Debian or Ubuntu machine with x86-64 and AVX2, without root. FOLDER gets from Debian: Bochs, which emulates
computers with AVX-512, VNNI and AVX-VNNI, as QEMU does not; Linux; and what a CD to start it from takes. Python and its
packages are copies of those that run this. Compiling there would take hours, so all kernels come along compiled for
every family of processors, as in a wheel of `make wheel`: what is tried is also whether such a wheel's kernels are
right, and whether they suffice. Parts: those of kernel_outputs.py, compared with this processor's, and `genmove` (moves
of the whole engine). Prints what was compared, and exits with 1 if anything failed. Speed cannot be measured this way.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import pty
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from gtp_engine.tools.wheel import SESSIONS, CompilingSession, ship_kernels
from tests.campaigns.debian import Debian, run
from tests.campaigns.kernel_outputs import PARTS
from tests.campaigns.short_game import GAME, MOVES, moves
from tests.conftest import REPOSITORY

SUITE = "trixie"
"""A release of Debian whose Bochs knows AVX-VNNI."""
PACKAGES = (
    "bochs",
    "bochs-term",
    "busybox-static",
    "cpio",
    "isolinux",
    "linux-image-cloud-amd64",
    "syslinux-common",
    "xorriso",
)
PROCESSORS = {
    "haswell": "corei7_haswell_4770",  # x86-64-v3
    "ryzen": "ryzen",  # x86-64-v3
    "arrowlake": "arrow_lake",  # x86-64-v3-vnni
    "skylake": "corei7_skylake_x",  # x86-64-v4
    "icelake": "corei7_icelake_u",  # x86-64-v4-vnni
    "sapphirerapids": "sapphire_rapids",  # x86-64-v4-vnni
}
"""Bochs' names of processors."""
NEEDED = ("nobi", "pytest", "hypothesis")
LEFT_OUT = {"tests", "test", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo", "site-packages"}
"""Folders of Python and of packages that nothing here needs, nor what config-* has."""
MEGABYTES = 2048
HERE = "/nobi"
"""Where our packages lie in the emulated machine."""
COMPUTER = """plugin_ctrl: unmapped=0, biosdev=0, speaker=0, gameport=0, parallel=0, iodebug=0, serial=1
display_library: term
memory: guest={megabytes}, host={megabytes}
romimage: file="{share}/bochs/BIOS-bochs-latest"
vgaromimage: file="{share}/vgabios/vgabios.bin"
ata0-master: type=cdrom, path="{cd}", status=inserted
boot: cdrom
cpu: model={model}, count=1, ips=100000000, reset_on_triple_fault=0
clock: sync=none
com1: enabled=1, mode=file, dev="{said}"
log: "{log}"
error: action=ignore
info: action=ignore
panic: action=fatal
"""
START = """default linux
label linux
 kernel /linux
 append initrd=/files console=ttyS0 quiet nokaslr mitigations=off
"""
FIRST = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc; $B mount -t devtmpfs dev /dev; $B mount -t sysfs sys /sys
exec >/dev/ttyS0 2>&1 </dev/null
export {variables}
{commands}
$B poweroff -f
"""
"""The emulated machine's first program."""


class Computer:
    """A folder with an emulator, and the CD from which it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._debian = folder, Debian(folder / "debian", SUITE, "amd64")
        self._files, self._installed = folder / "files", folder / "installed"

    def make_ready(self) -> None:
        """Download what is missing. Ends the program with one line if that cannot be done."""
        self._debian.unpack(*PACKAGES)

    def compile(self, parts: Sequence[str]) -> None:
        """Compile for all families what the parts and a game need, and compute on this processor what is expected.

        That takes minutes, so it is done once for the same sources and parts.
        """
        names = run(["git", "-C", str(REPOSITORY), "ls-files"], "git").splitlines()
        sources = [REPOSITORY / name for name in names if (REPOSITORY / name).exists()]
        contents = [(path.relative_to(REPOSITORY), path.read_bytes()) for path in sources]
        digest = hashlib.sha256(repr((parts, contents)).encode()).hexdigest()
        done = self.folder / "compiled"
        if done.exists() and done.read_text() == digest:
            return
        done.unlink(missing_ok=True)
        shutil.rmtree(self._installed, ignore_errors=True)
        for path in sources:
            copy(path, self._installed / path.relative_to(REPOSITORY))
        expected = self.folder / "expected"
        shutil.rmtree(expected, ignore_errors=True)
        expected.mkdir()
        outputs = [part for part in parts if part in PARTS]
        session = CompilingSession((str(expected), *outputs), module="tests.campaigns.kernel_outputs")
        sessions = [session] if outputs else []
        print("compiling for all families of processors; this takes some minutes", flush=True)
        ship_kernels(self._installed, [*SESSIONS, *sessions])
        done.write_text(digest)

    def make_cd(self, parts: Sequence[str]) -> None:
        """Write the CD: Linux, and all files of the emulated machine, which it keeps in memory."""
        shutil.rmtree(self._files, ignore_errors=True)
        libraries = copy_python(self._files)
        copy(self._debian.root / "usr/bin/busybox", self._files / "bin/busybox")
        shutil.copytree(self._installed, self._files / HERE[1:])
        compileall.compile_dir(self._files / HERE[1:], quiet=1)
        shutil.copytree(self.folder / "expected", self._files / "expected")
        for name in ("proc", "sys", "dev", "tmp", "root"):
            (self._files / name).mkdir(exist_ok=True)
        variables = {
            "HOME": "/root", "PATH": "/bin", "TMPDIR": "/tmp", "PYTHONPATH": ":".join([HERE, *libraries]),
            "NOBI_CACHE_DIR": "/root/cache",
        }  # fmt: skip
        first = self._files / "init"
        first.write_text(
            FIRST.format(
                variables=" ".join(f"{name}={value}" for name, value in variables.items()),
                commands="\n".join(commands(parts)),
            )
        )
        first.chmod(0o755)
        (self._files / "game").write_text(GAME)
        disc = self.folder / "disc"
        for name, source in (
            ("linux", next((self._debian.root / "boot").glob("vmlinuz-*"))),
            ("isolinux/isolinux.bin", self._debian.root / "usr/lib/ISOLINUX/isolinux.bin"),
            ("isolinux/ldlinux.c32", self._debian.root / "usr/lib/syslinux/modules/bios/ldlinux.c32"),
        ):
            copy(source, disc / name)
        (disc / "isolinux/isolinux.cfg").write_text(START)
        with open(disc / "files", "wb") as file:
            names = "\n".join(str(path.relative_to(self._files)) for path in sorted(self._files.rglob("*")))
            archive = self._debian.command("cpio", "--create", "--format=newc", "--owner=0:0", "--quiet")
            subprocess.run(archive, input=names.encode(), stdout=file, cwd=self._files, check=True)
        options = ["-quiet", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]
        boot = ["-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat"]
        command = self._debian.command("xorriso", "-as", "mkisofs", *options, *boot, "-o", self.folder / "cd.iso", disc)
        run(command, "xorriso")

    def run(self, name: str, parts: Sequence[str], limit: float) -> list[str]:
        """Start the machine with a processor and wait until it ends. Prints what it says; returns what failed."""
        share = self._debian.root / "usr/share"
        said, log, told = (self.folder / f"{name}.{kind}" for kind in ("txt", "log", "bochs"))
        said.unlink(missing_ok=True)
        told.write_text(
            COMPUTER.format(
                megabytes=MEGABYTES, share=share, cd=self.folder / "cd.iso", model=PROCESSORS[name], said=said, log=log
            )
        )
        plugins = next((self._debian.root / "usr/lib").glob("*-linux-gnu/bochs/plugins"))
        places = {"LTDL_LIBRARY_PATH": str(plugins), "BXSHARE": str(share / "bochs")}
        environment = {**os.environ, **places, "TERM": "linux"}
        ours, its = pty.openpty()  # the emulated screen wants a terminal
        command = self._debian.command("bochs-bin", "-q", "-f", told)
        emulator = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True)
        os.close(its)
        threading.Thread(target=drain, args=(ours,), daemon=True).start()
        try:
            emulator.wait(limit)
        except subprocess.TimeoutExpired:
            pass
        finally:
            emulator.kill()
            emulator.wait()
        lines = said.read_text(errors="replace").splitlines() if said.exists() else []
        print("\n".join(f"  {name}: {line}" for line in lines), flush=True)
        return [f"{name}: {line}" for line in failures(lines, parts)]


def commands(parts: Sequence[str]) -> Iterator[str]:
    """Lines of the first program, which say how each of two programs ended."""
    python = f"/bin/python {HERE}/nobi_machine/launch.py"
    outputs = " ".join(part for part in parts if part in PARTS)
    yield "/bin/busybox grep -m1 'model name' /proc/cpuinfo"
    yield '/bin/python -c "from nobi_machine import jit; print(jit.shipped_kernels)"'
    if outputs:
        yield f"{python} tests.campaigns.kernel_outputs /tmp/outputs {outputs} --against /expected"
        yield "echo OUTPUTS $?"
    if "genmove" in parts:
        yield f"{python} gtp_engine.cli gtp --visits 20 </game"
        yield "echo GENMOVE $?"
    yield "echo ENDED 0"


def failures(lines: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Return what did not end well, by what an emulated machine said."""
    ends = {"OUTPUTS": any(part in PARTS for part in parts), "GENMOVE": "genmove" in parts, "ENDED": True}
    wrong = [f"no line {name} 0" for name, is_wanted in ends.items() if is_wanted and f"{name} 0" not in lines]
    if not any(line.startswith(f"{HERE}/") for line in lines):
        wrong.append("no compiled kernels are for this processor")
    wrong += [f"not all kernels came along: {line}" for line in lines if re.search(r"[1-9]\d* kernels compiled", line)]
    if "genmove" in parts and len(moves("\n".join(lines))) != MOVES:
        wrong.append(f"it did not play {MOVES} moves")
    return wrong


def copy_python(to: Path) -> list[str]:
    """Copy Python, the packages that are needed, and the libraries of both. Returns the folders of the packages."""
    files = list(walked(Path(sysconfig.get_path("stdlib"))))
    packages = [path for found in needed(NEEDED) for path in found]
    executable = Path(os.path.realpath(sys.executable))
    for path in [*files, *packages, executable]:
        copy(path, to / str(path)[1:])
    (to / "bin").mkdir(exist_ok=True)
    (to / "bin/python").symlink_to(executable)
    compiled = [str(path) for path in [*files, *packages, executable] if ".so" in path.name or path == executable]
    found = subprocess.run(["ldd", *compiled], capture_output=True, text=True).stdout
    for name in {os.path.normpath(each) for each in re.findall(r"(?:=>)?\s(/\S+) \(0x", found)}:
        copy(Path(name), to / name[1:])
    return [path for path in sys.path if path.endswith("-packages")]


def walked(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that are needed to run."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith("config-")]
        yield from (Path(here, name) for name in names)


def needed(names: Sequence[str]) -> Iterator[list[Path]]:
    """Yield the files of installed distributions, and of all that they need."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found: Distribution = distribution(name)
        except PackageNotFoundError:  # for another system, or another Python
            continue
        files = [path for path in found.files or () if LEFT_OUT.isdisjoint(path.parts)]
        places = (Path(os.path.normpath(str(found.locate_file(path)))) for path in files)
        yield [path for path in places if path.is_file()]
        for line in found.requires or ():
            if "extra ==" not in line:
                waiting.append(re.split(r"[^\w.-]", line, maxsplit=1)[0])


def copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, to)  # with its time, by which Python knows whether what it compiled is up to date


def drain(screen: int) -> None:
    """Read what an emulated screen shows, so that it can go on."""
    try:
        while os.read(screen, 1 << 16):
            pass
    except OSError:  # the emulator has ended
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / ".venv-x86")
    parser.add_argument("--processors", nargs="+", choices=PROCESSORS, default=["arrowlake", "skylake", "icelake"])
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, "genmove"], default=[*PARTS, "genmove"])
    parser.add_argument("--limit", type=float, default=7200.0, help="the most seconds for a processor")
    options = parser.parse_args()
    computer = Computer(options.folder.resolve())
    computer.folder.mkdir(parents=True, exist_ok=True)
    computer.make_ready()
    computer.compile(options.parts)
    computer.make_cd(options.parts)
    wrong = []
    for name in options.processors:
        started = time.monotonic()
        wrong += computer.run(name, options.parts, options.limit)
        print(f"{name}: {(time.monotonic() - started) / 60:.0f} minutes", flush=True)
    for line in wrong:
        print(f"FAILED {line}")
    print(f"{len(options.parts)} parts on {len(options.processors)} processors, {len(wrong)} failures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
