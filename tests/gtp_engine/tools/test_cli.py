"""The command line: help, versions, exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gtp_engine import command_line
from gtp_engine.errors import USER_ERRORS
from gtp_engine.tools.doctor import package_versions
from gtp_engine.version import GTP_VERSION, VERSION
from tests.conftest import REPOSITORY
from tests.systems import native

NOBI = [sys.executable, "-m", "gtp_engine.cli"]


def nobi(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*NOBI, *arguments], cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=60, **options
    )


def test_alone_it_explains_itself() -> None:
    done = nobi()
    assert done.returncode == 0
    for name in command_line.SUBCOMMANDS:
        assert f"\n  {name} " in done.stdout
    assert done.stderr == ""


def test_version() -> None:
    done = nobi("--version")
    assert (done.returncode, done.stdout) == (0, f"nobi {VERSION}\n")


def test_version_as_katagoanal_asks_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["version"]) == 0
    assert capsys.readouterr().out == f"Nobi v{VERSION}, which speaks the protocols of KataGo v{GTP_VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["frobnicate"], 2, "No such command 'frobnicate'"),
        (["trian"], 2, "No such command 'trian'. Did you mean train?"),
        (["--frobnicate"], 2, "No such option"),
        (["gtp", "--visits", "many"], 2, "visits must be a whole number, not many"),
        (["gtp", "--size", "26"], 2, "26 is no board size"),
        (["gtp", "--komi", "nan"], 2, "komi must be a number, not nan"),
        (["gtp", "--rules", "chess"], 2, "rules: unknown rules: chess (known: tromp-taylor, chinese"),
        (["gtp", "--set", "cpuct=1", "--set", "cpuct=2"], 1, "--set: cpuct is given twice"),
        (["gtp", "--set", "nonsense"], 1, "--set: nonsense is not name=value"),
        (["gtp", "--net", "/no/such/net.bin.gz"], 1, "/no/such/net.bin.gz: No such file or directory"),
        (
            ["gtp", "--device", "abacus"],
            2,
            "device: unknown device 'abacus' (known: auto, cpu, cuda, tensorrt, directml, coreml, openvino, migraphx)",
        ),
        (["gtp", "--device", "directml"], 1, "device directml is not here (there is: "),
        (["gtp", "--precision", "fp16", "--device", "cpu"], 1, "precision fp16 is not to be had: cpu computes in "),
        (["doctor", "--device", "simulated:1"], 2, "device: a simulated device is simulated:SECONDS:"),
        (["gtp", "--player", "deep-blue"], 1, "unknown player deep-blue (known: nobi, "),
        (["gtp", "--player", "uct", "--set", "cpuct=2"], 1, "the player uct has no parameter cpuct"),
        (["gtp", "--player", "uct", "--net", "x"], 1, "the player uct uses no network, so net means nothing to it"),
        (["gtp", "--net", "none", "--player", "network"], 1, "the player network needs a network: --net FILE"),
        (["gtp", "--net", "none", "--player", "puct"], 1, "the player puct needs a network: --net FILE"),
        (["gtp", "--player", "puct", "--set", "puct.c_init=-1"], 1, "puct.c_init must be 0 to 100, not -1"),
        (["gtp", "--config", "/no/such.toml"], 1, "/no/such.toml: No such file or directory"),
        (["convert", "/no/such.bin.gz", "x.onnx"], 1, "/no/such.bin.gz: No such file or directory"),
        (["export"], 2, "Missing argument 'RUN'"),
        (["export", "a"], 2, "Missing argument 'OUT'"),
        (["export", "a", "b", "./a", "c.bin.gz"], 1, "a run is named twice"),
        (["convert", "a", "b"], 1, "b: the converted network's name must end in .onnx"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command_line.run(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert native(message) in err
    assert len(err.splitlines()) == 1
    assert err.startswith("nobi: ")


def test_without_a_compiler_no_player_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert command_line.run(["gtp"]) == 1
    assert "NUMBA_DISABLE_JIT=1 turns numba's compiler off" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [("NUMBA_NUM_THREADS", "0"), ("NUMBA_NUM_THREADS", "x"), ("NUMBA_OPT", "4"), ("NUMBA_CPU_FEATURES", "+avx2,fma")],
)
def test_values_that_numba_cannot_read(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert command_line.run(["gtp"]) == 1
    assert capsys.readouterr().err.startswith(f"nobi: {name}={value}: numba takes ")


def test_values_that_numba_cannot_read_are_one_line_of_every_command() -> None:
    done = nobi("review", "none.sgf", env={**os.environ, "NUMBA_OPT": "abc"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nobi: NUMBA_OPT=abc: numba takes 0, 1, 2, 3 or max\n"


@pytest.mark.parametrize("command", ["gtp", "analysis"])
def test_too_little_address_space(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nobi_machine.memory.process_limits", lambda: (200e6, float("inf")))
    assert command_line.run([command]) == 1
    assert capsys.readouterr().err.startswith("nobi: this process may use 191 MB of addresses (ulimit -v); ")


@pytest.mark.parametrize(
    ("ending", "content"), [(".bin.gz", b"\x1f\x8b broken"), (".onnx", b"\x1f\x8b" + b"\0" * 100), (".doc", b"")]
)
def test_a_broken_network_is_reported_before_any_reply(tmp_path: Path, ending: str, content: bytes) -> None:
    net = tmp_path / f"net{ending}"
    net.write_bytes(content)
    done = nobi("gtp", "--net", str(net), input="name\nquit\n", env={**os.environ, "NOBI_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"nobi: {net}: ")
    assert len(done.stderr.splitlines()) == 1


def test_what_it_writes_is_utf8() -> None:
    """Elsewhere than on a terminal Python would take another encoding on Windows."""
    done = subprocess.run([*NOBI, "config", "--markdown"], cwd=REPOSITORY, capture_output=True, timeout=60)
    assert "widening × √visits" in done.stdout.decode("utf-8")


@pytest.mark.parametrize(("module", "name"), USER_ERRORS)
def test_the_errors_fit_for_users_exist(module: str, name: str) -> None:
    """Another module may import them too; an error is known by the one that defines it."""
    error = getattr(importlib.import_module(module), name)
    assert issubclass(error, Exception)
    assert error.__module__ == module


def test_internal_errors_leave_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(command_line.LazyGroup, "get_command", lambda self, ctx, name: broken)
    assert command_line.run(["players"]) == 1
    assert capsys.readouterr().err == ("nobi: internal error: RuntimeError: two lines (NOBI_DEBUG=1 shows where)\n")
    monkeypatch.setenv("NOBI_DEBUG", "1")
    with pytest.raises(RuntimeError):
        command_line.run(["players"])


def test_interrupting(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def slow() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.LazyGroup, "get_command", lambda self, ctx, name: slow)
    assert command_line.run(["players"]) == command_line.EXIT_INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["train", "run"], ["label", "out"], ["learn", "run"], ["export", "run", "a.onnx"]]
)
def test_training_without_torch_says_what_to_install(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert command_line.run(arguments) == 1
    assert capsys.readouterr().err == "nobi: training needs PyTorch: pip install torch, or pipx inject nobi torch\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="closes a pipe the POSIX way")
def test_a_reader_who_leaves_is_no_reason_to_complain() -> None:
    done = subprocess.run(
        f"{sys.executable} -m gtp_engine.cli config | true", shell=True, cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.stderr == ""


def test_another_package_of_onnxruntime_is_no_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name.startswith("onnxruntime") and name not in ("onnxruntime-gpu", "onnxruntime-openvino"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.20"

    monkeypatch.setattr("importlib.metadata.version", version)
    assert package_versions()["onnxruntime"] == "1.20 (onnxruntime-gpu) and 1.20 (onnxruntime-openvino)"
    assert package_versions()["numpy"] == "1.20"
