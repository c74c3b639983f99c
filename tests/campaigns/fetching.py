"""`nobi networks get` for real: a published network from where this machine can reach it.

    python -m tests.campaigns.fetching [--name b10c384h6nbttflrs] [--breaks 2]

In an empty data folder the command is ended again and again in the middle of the transfer, then left alone: what was
fetched must stay and be gone on with, and the file must be the published one. Then it is fetched once more without a
break. Sources are those of the command: where KataGo has published the network, and the index that pip is set up for.
Prints a line for each step with seconds and bytes, and exits with 1 if one failed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nets.at_hand import FOR_PROCESSORS, published_as

LONGEST = 3600.0
"""Seconds after which a transfer counts as hung."""
POLL_SECONDS = 0.002


def main() -> int:
    parser = argparse.ArgumentParser(prog="make campaign-fetching", description=__doc__)
    parser.add_argument("--name", default=FOR_PROCESSORS, help="a published network")
    parser.add_argument("--breaks", type=int, default=2, help="how often the transfer is ended in the middle")
    arguments = parser.parse_args()
    network = published_as(arguments.name)
    assert network is not None, "no published network of this name"
    passed = True
    with tempfile.TemporaryDirectory() as name:
        for breaks in (arguments.breaks, 0):
            data = Path(name, f"breaks-{breaks}")
            held = 0
            for number in range(breaks):
                held = _ended(network.name, data, held + (network.size - held) // 4)
                print(f"ended after {held:,} bytes" if held else "not ended: it was too fast", flush=True)
                passed &= number == 0 or held > 0
            started = time.monotonic()
            done = _start(network.name, data)
            _, said = done.communicate(timeout=LONGEST)
            seconds, target = time.monotonic() - started, data / "networks" / network.file_name
            content = target.read_bytes() if target.exists() else b""
            is_right = done.returncode == 0 and hashlib.sha256(content).hexdigest() == network.sha256
            others = [path.name for path in target.parent.glob("*") if path != target]
            passed &= is_right and not others
            print(
                f"{'ok  ' if is_right and not others else 'FAIL'} {len(content):,} bytes, the last "
                f"{len(content) - held:,} of them in {seconds:.1f} s; beside them: {others or 'nothing'}",
                flush=True,
            )
            print("\n".join(f"     {line}" for line in said.splitlines()), flush=True)
    return int(not passed)


def _start(name: str, data: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gtp_engine.cli", "networks", "get", name],
        env={**os.environ, "NOBI_DATA_DIR": str(data)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(name: str, data: Path, size: int) -> int:
    """Start the command, end it when it has so many bytes, and return how many there are; 0 if it was faster."""
    process = _start(name, data)
    held = 0
    while process.poll() is None:
        held = max((path.stat().st_size for path in data.glob("networks/*.part")), default=0)
        if held >= size:
            process.kill()
        time.sleep(POLL_SECONDS)
    process.communicate()
    return max((path.stat().st_size for path in data.glob("networks/*.part")), default=0)


if __name__ == "__main__":
    sys.exit(main())
