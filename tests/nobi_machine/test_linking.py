"""Kernels that call large ones find them again, in whatever process and order they were compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nobi_machine.test_jit import run

BOUND = 50
KERNELS = f"""
from nobi_machine.jit import kernel
@kernel
def other(x):
    return x + 1
@kernel
def large(x):
    {"".join(f"x = (x ^ {number}) * (x + 7) if x % {number} == 1 else x * {number}; " for number in range(3, BOUND))}
    return x % 1000003
@kernel
def small(x):
    return large(x) - 1
@kernel
def caller(x):
    return small(x) + small(x + 1)
"""
PROGRAM = """
from nobi_machine import jit
from the_kernels import caller, large, other
print(caller(5), jit.compilations)
"""


def files(cache: Path, kernel: str) -> list[Path]:
    return list((cache / "kernels").glob(f"the_kernels.{kernel}-*.kernel"))


GONE = {"": 0, "large": 1, "small": 0, "large small": 1, "caller": 1, "small caller": 2}
"""How many kernels are compiled for a caller, by those whose files are gone."""


@pytest.mark.parametrize(("gone", "compiled"), GONE.items())
def test_callers_find_large_kernels_again(tmp_path, gone, compiled):
    (tmp_path / "the_kernels.py").write_text(KERNELS.replace("; ", "\n    "))
    value, all_three = run(tmp_path, PROGRAM, PYTHONPATH=str(tmp_path))
    assert all_three == "3"
    for kernel in gone.split():
        (file,) = files(tmp_path, kernel)
        file.unlink()
    first = PROGRAM.replace("print", "other(1)\nprint")  # so that what is compiled now is named otherwise
    again = run(tmp_path, first, PYTHONPATH=str(tmp_path))
    assert again == [value, str(1 + compiled)]
    assert run(tmp_path, first, PYTHONPATH=str(tmp_path)) == [value, "0"]


def test_python_may_call_what_was_compiled_for_kernels(tmp_path):
    (tmp_path / "the_kernels.py").write_text(KERNELS.replace("; ", "\n    "))
    value, _ = run(tmp_path, PROGRAM, PYTHONPATH=str(tmp_path))
    direct = PROGRAM.replace("caller(5)", "large(5) - 1 + large(6) - 1")
    assert run(tmp_path, direct, PYTHONPATH=str(tmp_path)) == [value, "1"]
    assert run(tmp_path, direct, PYTHONPATH=str(tmp_path)) == [value, "0"]
    both = PROGRAM.replace("caller(5)", "caller(5) + large(6) - large(6)")
    assert run(tmp_path, both, PYTHONPATH=str(tmp_path)) == [value, "0"]


def test_the_code_of_large_kernels_is_not_in_their_callers(tmp_path):
    (tmp_path / "the_kernels.py").write_text(KERNELS.replace("; ", "\n    "))
    code = """
print(*[line for line in next(iter(caller.inspect_llvm().values())).splitlines() if line.startswith("define")])
"""
    defined = " ".join(run(tmp_path, PROGRAM + code, PYTHONPATH=str(tmp_path)))
    assert "the_kernels::caller" in defined or "the_kernels6caller" in defined
    assert "large" not in defined
