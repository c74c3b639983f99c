"""Puts compiled kernels into a wheel: `make wheel`.

    python -m gtp_engine.tools.wheel dist/nobi-0.1.0-py3-none-any.whl [NETWORK...]

The wheel is unpacked, and what lies there plays and analyses with an empty cache, with the embedded network and with
others that are named. That compiles all kernels for the family of this processor (nobi_machine/shipped.py).
Then the same is done once more, without cached networks: the kernels that are loaded this time are those that a first
start needs, and an archive of them is added. A last run, of the finished packages on an empty cache, must compile
nothing. For the other families the same kernels are compiled without being run, by processes with numba's variables of
such a processor: the kernels come to their caches under the keys that it will ask for. All that decides what is
compiled depends on these variables, and nothing on this machine.

    NUMBA_CPU_NAME=... NUMBA_CPU_FEATURES=... NOBI_CACHE_DIR=... python -m gtp_engine.tools.wheel --compile KERNEL...

The new wheel lies beside the plain one. It is for this Python and this system only, and it asks for numba and llvmlite
in the versions that are installed here, because kernels fit no others. On processors of no family it compiles like the
plain one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from gtp_engine.errors import UserError, explain
from nobi_machine.jit import compile_again, shippable
from nobi_machine.launch import ROOT, python_command
from nobi_machine.shipped import FAMILIES, SHIPPED, Family, archive_name, write_archive
from nobi_machine.streams import show_everything

KERNELS = SHIPPED.relative_to(ROOT).as_posix()
"""Where shipped kernels lie in a wheel."""
COMPILERS = ("numba", "llvmlite")
COMPILE = "--compile"
"""What the command line has before kernels that are to be compiled for another processor."""
GTP = """boardsize 19
genmove b
genmove w
undo
kata-raw-nn 0
kata-genmove_analyze w 10 ownership true
final_score
final_status_list dead
boardsize 9
place_free_handicap 2
genmove w
kata-set-rules japanese
genmove b
undo
quit
"""
QUERY = {"id": "a", "moves": [["B", "Q16"]], "rules": "chinese", "komi": 7, "boardXSize": 19, "boardYSize": 19}
HOUR = 3600.0


class CompilingSession(NamedTuple):
    """A run of one of our modules, by which its kernels are compiled."""

    arguments: tuple[str, ...]
    text: str = ""
    """What it reads."""
    module: str = "gtp_engine.cli"


SESSIONS = (
    CompilingSession(("gtp", "--visits", "50"), GTP),
    CompilingSession(("analysis",), json.dumps({**QUERY, "maxVisits": 50, "includeOwnership": True}) + "\n"),
)
"""What a user's first start may be."""


def add_kernels(plain: Path, networks: Sequence[Path]) -> Path:
    """Write a wheel with compiled kernels beside a plain one. Returns its path. Raises UserError and OSError.

    It has the kernels of the embedded network, and those of these files' kinds of networks.
    """
    with tempfile.TemporaryDirectory() as name:
        installed = Path(name).resolve() / "installed"
        try:
            with zipfile.ZipFile(plain) as wheel:
                wheel.extractall(installed)
        except zipfile.BadZipFile:
            raise UserError(f"{plain}: this is no wheel") from None
        if (installed / KERNELS).exists():
            raise UserError(f"{plain}: it has kernels already")
        others = [CompilingSession(("gtp", "--visits", "50", "--net", str(path.resolve())), GTP) for path in networks]
        ship_kernels(installed, [*SESSIONS, *others])
        return pack_again(plain, installed)


def ship_kernels(installed: Path, sessions: Sequence[CompilingSession]) -> None:
    """Put the kernels that these sessions need, compiled for every family, into packages that lie in a folder.

    Raises UserError, if a session fails too, and OSError.
    """
    found = shippable()
    if found is None:
        raise UserError("kernels can be compiled ahead only for x86-64 processors with AVX2, and this one is another")
    own, _name = found
    (installed / KERNELS).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        kernels = _add_own(installed, place, own, sessions)
        for other in FAMILIES:
            if other != own:
                _add_other(installed, place, kernels, other)


def _add_own(installed: Path, place: Path, family: Family, sessions: Sequence[CompilingSession]) -> list[Path]:
    """Compile for this processor's family what first starts need, and add it. Returns its files. Raises UserError."""
    cache = place / "cache"

    def play() -> None:
        _play(installed, cache, family.target(), sessions)

    play()
    shutil.rmtree(cache / "networks", ignore_errors=True)  # a session without a network leaves none
    kernels = _loaded_by(play, cache)
    _add(installed, family, kernels)
    _play(installed, place / "another", {}, sessions)
    anew = [path.name for path in (place / "another" / "kernels").glob("*.kernel")]
    if anew:
        raise UserError(f"what was packed does not serve: {len(anew)} kernels were compiled anew, {anew[0]} first")
    return kernels


def _add_other(installed: Path, place: Path, kernels: Sequence[Path], family: Family) -> None:
    """Compile for another family what these files have, and add that. Raises UserError."""
    cache = place / family.name
    session = CompilingSession((COMPILE, *map(str, kernels)), module="gtp_engine.tools.wheel")

    def compile_all() -> None:
        _run(installed, cache, family.target(), session)

    compile_all()
    found = _loaded_by(compile_all, cache)
    if len(found) < len(kernels):  # more are large where vectors are shorter
        raise UserError(f"{family.name}: {len(found)} kernels were compiled, not as many as for this processor")
    _add(installed, family, found)


def _add(installed: Path, family: Family, kernels: Sequence[Path]) -> None:
    """Write the archive of a family's kernels into packages that lie in a folder. Raises OSError."""
    write_archive(installed / KERNELS / archive_name(family, *map(version, COMPILERS)), kernels)


def _loaded_by(run: Callable[[], None], cache: Path) -> list[Path]:
    """Return the files of the kernels that `run` loads from the cache."""
    before = time.time() - HOUR
    for path in (cache / "kernels").glob("*.kernel"):
        os.utime(path, (before, before))
    run()
    return [path for path in sorted((cache / "kernels").glob("*.kernel")) if path.stat().st_mtime > before + 1]


def _play(installed: Path, cache: Path, target: dict[str, str], sessions: Sequence[CompilingSession]) -> None:
    """Run all sessions with the packages in a folder. Raises UserError if one fails."""
    for session in sessions:
        answers = _run(installed, cache, target, session)
        if not answers or re.search(r'^\?|"error"', answers, re.MULTILINE):
            raise UserError(f"{session.module} {' '.join(session.arguments)} failed: {answers[-300:]}")


def _run(installed: Path, cache: Path, target: dict[str, str], session: CompilingSession) -> str:
    """Run a session with the packages in a folder. Returns what it prints. Raises UserError if it fails."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "NOBI_"))}
    variables |= {"NOBI_CACHE_DIR": str(cache), "NOBI_CONFIG_DIR": str(cache.parent / "config"), **target}
    command = python_command(session.module, *session.arguments, root=str(installed))
    done = subprocess.run(
        command, input=session.text, capture_output=True, text=True, errors="replace", env=variables, cwd=cache.parent
    )
    if done.returncode != 0:
        told = done.stdout[-300:] + done.stderr[-1000:]
        raise UserError(f"{session.module} {' '.join(session.arguments)} failed: {told}")
    return done.stdout


def pack_again(plain: Path, unpacked: Path) -> Path:
    """Write the wheel of what was unpacked, with tags and requirements for this Python, beside `plain`.

    Returns its path. Raises UserError if the wheel's own files are not as expected, and OSError.
    """
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}{getattr(sys, 'abiflags', '')}-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    (about,) = unpacked.glob("*.dist-info")
    _rewrite(about / "WHEEL", "^Tag: .*$", f"Tag: {tag}")
    _rewrite(about / "WHEEL", "^Root-Is-Purelib: .*$", "Root-Is-Purelib: false")
    needed = "\n".join(f"Requires-Dist: {name}=={version(name)}" for name in COMPILERS)
    _rewrite(about / "METADATA", rf"^Requires-Dist: {COMPILERS[0]}\b.*$", needed)
    record = about / "RECORD"
    record.unlink()
    # Bytecode is what running these packages left there; pip makes it when it installs them.
    found = [path for path in sorted(unpacked.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    files = {path.relative_to(unpacked).as_posix(): path for path in found}
    lines = [f"{name},{_hash(path)},{path.stat().st_size}\n" for name, path in files.items()]
    own = record.relative_to(unpacked).as_posix()
    record.write_text("".join([*lines, f"{own},,\n"]), encoding="utf-8")
    made = plain.with_name("-".join([*plain.stem.split("-")[:2], tag]) + ".whl")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, path in {**files, own: record}.items():
            wheel.write(path, name)
    return made


def _rewrite(path: Path, pattern: str, text: str) -> None:
    """Replace the one line of a file that matches."""
    changed, count = re.subn(pattern, text, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise UserError(f"{path.name}: {count} lines match {pattern}")
    path.write_text(changed, encoding="utf-8")


def _hash(path: Path) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def main() -> int:
    """Do what the command line asks for, and return the exit code."""
    show_everything()
    try:
        if len(sys.argv) < 2:
            raise UserError("usage: python -m gtp_engine.tools.wheel WHEEL [NETWORK...]")
        if sys.argv[1] == COMPILE:
            for name in sys.argv[2:]:
                compile_again(Path(name).read_bytes())
            return 0
        plain, *networks = map(Path, sys.argv[1:])
        print(add_kernels(plain, networks))
    except (UserError, OSError) as error:
        print(f"nobi: {explain(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
