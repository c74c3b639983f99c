"""Where files of Nobi's own go, and that it starts for a user who has no home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nobi_machine import cache
from nobi_machine.cache import NOWHERE, cache_root, config_root, expand_home, problem, read_entry, write_entry
from tests.conftest import REPOSITORY

HOMELESS = """
import pwd
def nobody(_): raise KeyError("no entry for this user")
pwd.getpwuid = pwd.getpwnam = nobody
"""
"""Makes a process one of a user without an entry in the password file."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no password file")


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def nobody(_: object) -> pwd.struct_passwd:
        raise KeyError("no entry for this user")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in [*os.environ]:
        if name.startswith(("HOME", "XDG_", "NOBI_")):
            monkeypatch.delenv(name)


def test_folders_that_variables_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "a"))
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path / "b"))
    assert (cache_root(), config_root()) == (tmp_path / "a", tmp_path / "b")


@pytest.mark.usefixtures("homeless")
def test_without_a_home_nothing_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert cache_root() == config_root() == NOWHERE
    assert not (config_root() / "config.toml").is_file()
    assert expand_home("~/net.bin.gz") == Path("~/net.bin.gz")
    write_entry(cache_root() / "kernels" / "a", "key", b"content", 1.0)
    assert read_entry(cache_root() / "kernels" / "a", "key") is None
    assert problem() is not None


def test_a_home_that_is_no_whole_path_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older versions of platformdirs leave `~` as it is, which would be a folder of that name in the current one."""
    monkeypatch.delenv("NOBI_CACHE_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/.cache/nobi")
    assert cache.cache_root() == NOWHERE


@pytest.mark.parametrize(
    ("arguments", "code", "out", "errors"),
    [
        (["gtp"], 0, "= Nobi\n\n= \n\n", ""),
        (["gtp", "--net", "~/none.bin.gz"], 1, "", "nobi: ~/none.bin.gz: No such file or directory\n"),
        (
            ["config", "--write"],
            1,
            "",
            "nobi: no home is known: say with --config FILE, or with NOBI_CONFIG_DIR, where",
        ),
        (["players"], 0, "nobi", ""),
    ],
    ids=["gtp", "net", "config", "players"],
)
def test_without_a_home_nobi_starts(arguments: list[str], code: int, out: str, errors: str, tmp_path: Path) -> None:
    program = f"{HOMELESS}from gtp_engine.cli import main\nmain({arguments!r})"
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        input="name\nquit\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(errors)
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
