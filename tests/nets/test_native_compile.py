"""What is compiled before there is a network is what a network calls, that is, for the same types."""

from __future__ import annotations

import subprocess
import sys

from tests.nets.test_native import needs_kernels
from tests.search.test_compile_ahead import RECORD

AHEAD = """
from nets.native.compile import compile_kernels
compile_kernels()
print("\\n".join(map(repr, asked)))
"""
NETWORK = """
from tests.nets.test_native import *
for version in (8, 15):
    network, _ = made(version)
    content = network.compressed()
    opened(load_model(content, "random"), content).evaluate(*inputs(9, 9))
print("\\n".join(map(repr, asked)))
"""


def kernels_asked_for(script: str) -> set[str]:
    run = subprocess.run([sys.executable, "-c", RECORD + script], capture_output=True, text=True, check=True)
    return {line for line in run.stdout.splitlines() if line.startswith("('nets.native.")}


@needs_kernels
def test_it_compiles_what_a_network_asks_for() -> None:
    wanted = kernels_asked_for(NETWORK)
    assert len(wanted) >= 3
    assert wanted <= kernels_asked_for(AHEAD)
