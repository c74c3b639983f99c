"""The cache's entries and folders: whose are trusted, and what becomes of those that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nobi_machine.cache import read_entry, trusted_folder, usable_folder, write_entry

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
