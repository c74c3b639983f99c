"""Every system call of whole sessions, recorded by strace: what Nobi asks of the machine, by kind.

    python -m tests.campaigns.traced [--keep FOLDER]

The sessions are those of tests/gtp_engine/sessions.py: play, analysis, a match, a benchmark, the doctor and more, each
in a fresh home and in a current directory full of traps. Prints how many calls for the network were seen (sockets
inside the machine are counted apart), in which folders files were opened for writing, which programs were started, and
what was left behind. The exit code is 1 if anything reached the network, if a file was written outside of the cache,
the configuration, the folder for temporary files and what was named, or if a trap of the current directory was run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from nobi_machine.cache import cache_root
from tests.gtp_engine.sessions import MORE_SESSIONS, SESSIONS, Stage, is_inside

CALLS = "network,execve,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,chdir"
NETWORK = re.compile(r"(socket|connect|bind|listen|sendto|sendmsg|sendmmsg|recvfrom|recvmsg|getsockname|socketpair)\(")
LOCAL = re.compile(r"AF_UNIX|AF_LOCAL|socketpair\(")
WRITING = re.compile(r'(?:open|openat)\((?:[^",]*, )?"([^"]*)", [^,)]*O_(?:WRONLY|RDWR|CREAT|TMPFILE)|creat\("([^"]*)"')
MADE = re.compile(r'(?:mkdir|rename|link|symlink)\w*\(.*"([^"]*)"[^"]*\) = 0')
PROGRAM = re.compile(r'execve\("([^"]*)".*\) = 0')
ALWAYS = ("/dev/null", "/dev/tty", "/dev/shm")
"""Devices and memory, not files."""


def calls(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        with path.open(errors="replace") as file:
            yield from file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="folder for strace's own files, which are deleted otherwise")
    options = parser.parse_args()
    strace = shutil.which("strace")
    if strace is None:
        print("strace is missing")
        return 1
    with tempfile.TemporaryDirectory() as name:
        traces = options.keep or Path(name) / "traces"
        traces.mkdir(parents=True)
        (Path(name) / "stage").mkdir()
        stage = Stage(Path(name) / "stage")

        def traced(command: Sequence[str], session: str) -> list[str]:
            path = traces / session.replace(" ", "-")
            return [strace, "-f", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(path), *command]

        failures = [failure for session in (*SESSIONS, *MORE_SESSIONS) if (failure := stage.run(session, traced))]
        return report(stage, traces, failures)


def report(stage: Stage, traces: Path, failures: list[str]) -> int:
    """Print what the traces show; the exit code."""
    allowed = (cache_root(), stage.home / ".config", stage.temporary, stage.out)
    outside, network, local = [], [], 0
    written: Counter[str] = Counter()
    programs: Counter[str] = Counter()
    total = 0
    for line in calls(traces):
        total += 1
        if NETWORK.search(line):
            if LOCAL.search(line):
                local += 1
            else:
                network.append(line.strip())
        if found := PROGRAM.search(line):
            programs[found[1]] += 1
        if found := WRITING.search(line) or MADE.search(line):
            path = next(group for group in found.groups() if group is not None)
            path = path if path.startswith("/") else str(stage.planted.traps / path)
            if path in ALWAYS:
                continue
            folder = next((str(each) for each in allowed if is_inside(path, [each])), None)
            written[folder or "elsewhere"] += 1
            if folder is None:
                outside.append(line.strip())
    print(f"{len(SESSIONS + MORE_SESSIONS)} sessions, {total} system calls recorded")
    print(f"for the network: {len(network)}; inside the machine (AF_UNIX): {local}")
    print("files opened for writing, and folders and names made, by folder:")
    for folder, count in written.most_common():
        print(f"  {count:6} {folder}")
    print("programs started:")
    for program, count in programs.most_common():
        print(f"  {count:6} {program}")
    strays, sprung = stage.strays(), stage.planted.sprung()
    print(f"files left behind outside: {len(strays)}; traps of the current directory that were run: {len(sprung)}")
    wrong = [*failures, *network, *outside, *strays, *sprung]
    for each in wrong:
        print(f"WRONG: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
