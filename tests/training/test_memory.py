"""Memory that was freed stays with the process, where the C library can be asked for it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

PROGRAM = """
import resource
import torch
from training.devices import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        pieces = [torch.ones(4_000_000) for _ in range(8)]  # 16 MB each, then all freed
        del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
before = faults()
assert keep_freed_memory()
faults()
print(before, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to keep memory")
def test_freed_memory_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    before, after = map(int, done.stdout.split())
    assert before > 10 * after, (before, after)
