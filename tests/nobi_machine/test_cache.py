"""Where files of Nobi's own go, also without a home; and the cache: which folders and entries in it are trusted, and
what becomes of those that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nobi_machine.cache import (
    NOWHERE,
    cache_root,
    config_root,
    expand_home,
    problem,
    read_entry,
    trusted_folder,
    usable_folder,
    write_entry,
)
from tests.conftest import REPOSITORY

needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system tells no owners")


def keep(path: Path, key: str = "key", content: bytes = b"content") -> None:
    write_entry(path, key, content, unused_days=30)


def test_an_entry_is_read_under_its_own_key_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "too" / "entry"
    keep(path)
    assert read_entry(path, "key") == b"content"
    assert read_entry(path, "ke") is None
    assert read_entry(path, "keyc") is None
    assert read_entry(path.with_name("other"), "key") is None
    assert path.parent.stat().st_mode & 0o777 == 0o700 or os.name == "nt"
    assert [each.name for each in path.parent.iterdir()] == ["entry"]


@pytest.mark.parametrize("damage", ["folder", "full folder", "link", "dangling", "fifo", "empty", "short", "bit"])
def test_whatever_lies_in_an_entrys_place_is_replaced(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "entry"
    keep(path)
    whole = path.read_bytes()
    path.unlink()
    if "folder" in damage:
        path.mkdir()
        if damage == "full folder":
            (path / "file").touch()
    elif damage in ("link", "dangling"):
        if damage == "link":
            (tmp_path / "elsewhere").write_bytes(whole)
        path.symlink_to(tmp_path / "elsewhere")
    elif damage == "fifo":
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no FIFOs")
        os.mkfifo(path)
    else:
        path.write_bytes({"empty": b"", "short": whole[:-1], "bit": whole[:-1] + b"T"}[damage])
    assert read_entry(path, "key") is None
    keep(path)
    assert read_entry(path, "key") == b"content"


@needs_owners
@pytest.mark.parametrize(("mode", "trusted"), [(0o700, True), (0o755, True), (0o757, False), (0o1777, False)])
def test_a_folder_that_others_may_write_is_not_trusted(tmp_path: Path, mode: int, trusted: bool) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    if trusted:
        assert trusted_folder(folder) == folder.resolve()
    else:
        with pytest.raises(PermissionError, match="other users may write there"):
            trusted_folder(folder)


@needs_owners
@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o1777, True), (0o777, False)])
def test_nor_one_that_others_may_replace(tmp_path: Path, mode: int, trusted: bool) -> None:
    """In a sticky folder, as /tmp is, nobody can rename what belongs to somebody else."""
    above, folder = tmp_path / "above", tmp_path / "above" / "folder"
    folder.mkdir(parents=True, mode=0o700)
    above.chmod(mode)
    link = tmp_path / "link"
    link.symlink_to(folder)
    for path in (folder, link):
        if trusted:
            assert trusted_folder(path) == folder.resolve()
        else:
            with pytest.raises(PermissionError):
                trusted_folder(path)


@needs_owners
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can make others the owners")
def test_nor_one_that_belongs_to_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(PermissionError):
        trusted_folder(folder)


def test_a_missing_folder_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    assert usable_folder(folder, create=False) is None
    keep(folder / "entry")
    (folder / "entry").unlink()
    folder.rmdir()
    keep(folder / "entry")
    assert read_entry(folder / "entry", "key") == b"content"


# --- Where files go -----------------------------------------------------------------------------------------------

HOMELESS = """
import pwd
def nobody(_): raise KeyError("no entry for this user")
pwd.getpwuid = pwd.getpwnam = nobody
"""
"""Makes a process one of a user without an entry in the password file."""

needs_a_password_file = pytest.mark.skipif(sys.platform == "win32", reason="there is no password file")


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


@needs_a_password_file
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
    assert cache_root() == NOWHERE


@needs_a_password_file
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
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(errors)
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
