"""SGF texts that would cost a careless reader time or memory, and what one costs ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.conftest import REPOSITORY

HOSTILE = {
    "nested openings": b"(;" * 100_000,
    "nested variations": b"(;B[aa]" * 100_000 + b")" * 100_000,
    "100 MB": b"(;C[" + b"a" * 100_000_000,
    "nodes": b"(" + b";" * 9_000_000,
    "names": b"(;" + b"A " * 4_900_000,
    "long name": b"(;" + b"A" * 9_900_000 + b")",
    "values": b"(;AB" + b"[aa]" * 2_400_000 + b")",
    "escapes": b"(;C[" + b"\\]" * 4_900_000,
    "openings": b"(;" + b"[" * 9_900_000,
    "parentheses": b"(" * 9_900_000,
    "spaces": b"( " * 4_900_000,
    "rules": b"(;RU[ko" + b"score" * 10_000 + b"tax" * 10_000 + b"])",
    "junk": b"(;" + b"1 " * 4_900_000 + b")",
    "setups": b"(;SZ[25]" + b";AB[aa:yy]" * 99_000 + b")",
    "rectangles": b"(;SZ[25]" + (b";AB" + b"[aa:yy]" * 625) * 125 + b")",
    "moves": b"(;SZ[25]" + b";B[]" * 99_000 + b")",
    "moves on stones": b"(;SZ[25]" + b";B[aa]" * 9_900 + b")",
    "doubtful brackets": b"(;" + b"\xe9]" * 4_900_000,
    "doubtful values": b"(;" + b"C[\xe9]" * 1_900_000 + b")",
    "long characters": b"(;C[" + b"\xe9" * 9_900_000 + b"])",
    "backslashes": b"(;C[" + b"\xe9" + b"\\" * 9_900_000 + b"])",
    "shifted": b"(;C[" + b"\x1b$B" * 3_300_000 + b"])",
    "long shifted": b"(;C[\x1b$B" + b"a" * 9_900_000 + b"])",
    "wide": b"\xff\xfe" + "(;C[本".encode("utf-16-le") * 900_000,
}


ACCEPTED = ("rules", "moves on stones", "long characters", "shifted", "long shifted")
"""These can be read, but must not cost more than others."""

ADDRESS_SPACE = 3 << 30
"""Bytes that the reading process may address: numpy and numba take most of them."""


class Cost(NamedTuple):
    """What reading a file came to."""

    refusal: str
    """Empty if the file is a game."""
    seconds: float
    """Of processor time."""
    megabytes: int
    """By how much the process grew, at most."""


def cost(path: Path) -> Cost:
    """Read a file in a process of its own."""
    code = f"""if True:
        import json, resource, sys, time
        from go_rules.sgf.grammar import SgfError
        from go_rules.sgf.reader import read_sgf
        def peak():  # getrusage's would be that of the process that started this one, if that was larger
            with open("/proc/self/status") as lines:
                return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
        before, started, refusal = peak(), time.process_time(), ""
        try:
            read_sgf(sys.argv[1])
        except SgfError as error:
            refusal = str(error)
        print(json.dumps([refusal, time.process_time() - started, (peak() - before) // 1024]))
        """
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return Cost(*json.loads(done.stdout))
