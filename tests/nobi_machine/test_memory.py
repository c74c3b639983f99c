"""How much memory there is for a search: the machine's, a container's, and the limits of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nobi_machine import memory
from nobi_machine.memory import LEAST, container_limits, memory_for_search

GIGABYTE = 1 << 30


def test_a_machine_has_memory() -> None:
    assert LEAST <= memory_for_search() < 1 << 50


@pytest.mark.parametrize(
    ("groups", "files", "limits"),
    [
        ("0::/user/nobi\n", {"user/memory.max": "2147483648\n", "user/nobi/memory.max": "max\n"}, [2 * GIGABYTE]),
        ("0::/../../elsewhere\n", {"memory.max": "1073741824\n"}, [GIGABYTE]),
        (
            "5:memory:/box\n0::/\n",
            {"memory/box/memory.limit_in_bytes": "3221225472", "memory/memory.limit_in_bytes": "4294967296"},
            [3 * GIGABYTE, 4 * GIGABYTE],
        ),
        ("1:cpu,memory:/\n", {"memory/memory.limit_in_bytes": "not a number"}, []),
        ("nonsense\n\n:\n", {}, []),
        (None, {}, []),
    ],
)
def test_limits_of_containers(tmp_path: Path, groups: str | None, files: dict[str, str], limits: list[int]) -> None:
    own, mounts = tmp_path / "cgroup", tmp_path / "mounts"
    if groups is not None:
        own.write_text(groups)
    for name, text in files.items():
        (mounts / name).parent.mkdir(parents=True, exist_ok=True)
        (mounts / name).write_text(text)
    assert container_limits(own, mounts) == limits


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_a_group_whose_name_is_no_text_has_limits(tmp_path: Path) -> None:
    group = tmp_path / os.fsdecode(b"caf\xe9")
    group.mkdir()
    (group / "memory.max").write_text("1073741824\n")
    (tmp_path / "own").write_bytes(b"0::/caf\xe9\n")
    assert container_limits(tmp_path / "own", tmp_path) == [GIGABYTE]


def test_threads_and_libraries_need_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "process_limits", lambda: (float("inf"), float("inf")))
    assert memory.thread_bytes() == 0
    assert memory.most_threads() == 1 << 30
    assert memory.lacking_addresses(memory.LEAST_ADDRESSES) is None
    monkeypatch.setattr(memory, "process_limits", lambda: (1.5 * GIGABYTE, float("inf")))
    assert memory.thread_bytes() > 0
    assert memory.most_threads() == 10
    assert memory.lacking_addresses(memory.LEAST_ADDRESSES) is None
    monkeypatch.setattr(memory, "process_limits", lambda: (0.25 * GIGABYTE, float("inf")))
    assert memory.most_threads() == 0
    lacking = "this process may use 256 MB of addresses (ulimit -v); 560 MB are needed"
    assert memory.lacking_addresses(memory.LEAST_ADDRESSES) == lacking


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process(limit: str) -> None:
    resource = pytest.importorskip("resource")
    if not hasattr(resource, limit) or sys.platform == "darwin":
        pytest.skip("this system does not keep the limit")
    program = f"""
import resource
from nobi_machine.memory import memory_for_search
resource.setrlimit(resource.{limit}, (1 << 30, resource.RLIM_INFINITY))
print(memory_for_search())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert LEAST <= int(done.stdout) < GIGABYTE
