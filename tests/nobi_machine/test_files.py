"""Files that somebody names: which are read, which are refused and in what words, and that none is written in part."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nobi_machine import files
from nobi_machine.files import append_regular, create_whole, read_owned, read_regular, write_new, write_whole
from tests.conftest import REPOSITORY
from tests.systems import IS_WINDOWS


def reason(action: Callable[[], object]) -> str:
    """In what words an action is refused."""
    with pytest.raises(OSError) as caught:
        action()
    assert caught.value.strerror
    return caught.value.strerror


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    if IS_WINDOWS:
        pytest.skip("FIFOs are POSIX")
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "file"
    for size in (0, 1, 65_536, 65_537, 300_000):
        path.write_bytes(b"x" * size)
        assert read_regular(path, size) == b"x" * size
        if size:
            assert reason(lambda most=size - 1: read_regular(path, most)).startswith("larger than")
    if not IS_WINDOWS:  # where links need rights
        link = tmp_path / "link"
        link.symlink_to(path)
        assert len(read_regular(link, 300_000)) == 300_000
    assert reason(lambda: read_regular(path, 10)) == "larger than 10 bytes"
    assert reason(lambda: read_regular(path, 1 << 18)) == "larger than 262144 bytes"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert reason(lambda: read_regular(path, 1 << 20)) == "larger than 1 MB"


def test_what_is_no_regular_file_is_refused_at_once(tmp_path, fifo):
    assert reason(lambda: read_regular(fifo, 10)) == "not a regular file"
    assert reason(lambda: read_regular("/dev/zero", 10)) == "not a regular file"
    assert reason(lambda: read_regular(tmp_path, 10)) == "a folder, not a file"
    assert reason(lambda: read_regular(tmp_path / "none", 10)) == "No such file or directory"
    assert reason(lambda: read_regular("a\0b", 10)) == "not a name that a file can have"
    assert reason(lambda: read_regular("\ud800", 10)) == "not a name that a file can have"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "symbolic links" in reason(lambda: read_regular(loop, 10))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_files_without_a_size():
    assert read_regular("/proc/self/maps", 1 << 24)
    assert reason(lambda: read_regular("/proc/self/maps", 100)) == "larger than 100 bytes"


def test_a_file_that_yields_nothing_or_trickles_is_given_up(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def nothing(_descriptor: int, _size: int) -> bytes:
        raise BlockingIOError

    monkeypatch.setattr(os, "read", nothing)  # as /proc/kmsg does
    assert reason(lambda: read_regular(path, 100)) == "yields nothing"
    monkeypatch.setattr(os, "read", lambda _descriptor, _size: b"x")
    monkeypatch.setattr(files, "READ_SECONDS", 0.0)
    assert reason(lambda: read_regular(path, 1 << 40)) == "takes too long to read"


@pytest.mark.skipif(IS_WINDOWS, reason="files have no owners there")
def test_trusted_files_are_their_owners_alone(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"own")
    assert read_owned(path, 10) == b"own"
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        assert reason(lambda: read_owned(path, 10)) == "others may have written it"
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    assert reason(lambda: read_owned(link, 10))
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert reason(lambda: read_owned(path, 10)) == "others may have written it"


def test_new_files_never_replace_anything(tmp_path, fifo):
    path = tmp_path / "new"
    create_whole(path, b"first")
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    for taken in (path, fifo, tmp_path, dangling):
        assert reason(lambda path=taken: create_whole(path, b"second")) == "File exists"
    assert path.read_bytes() == b"first"
    assert not (tmp_path / "nowhere").exists()
    names = iter([path, tmp_path / "other"])
    write_new(lambda: next(names), b"third")
    assert (tmp_path / "other").read_bytes() == b"third"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fifo", "link", "new", "other"]


def test_where_there_are_no_hard_links(tmp_path, monkeypatch):
    def no_links(_source: Path, _target: Path) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    create_whole(tmp_path / "new", b"text")
    assert reason(lambda: create_whole(tmp_path / "new", b"other")) == "File exists"
    assert (tmp_path / "new").read_bytes() == b"text"
    assert len(list(tmp_path.iterdir())) == 1


def test_files_are_replaced_whole_and_only_files(tmp_path, fifo):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert not link.is_symlink()
    assert (target.read_bytes(), link.read_bytes()) == (b"old", b"new")
    assert reason(lambda: write_whole(fifo, b"new")) == "not a regular file"
    assert reason(lambda: write_whole(tmp_path, b"new")) == "a folder, not a file"
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.skipif(IS_WINDOWS, reason="there is no umask")
def test_the_umask_is_heeded(tmp_path):
    before = os.umask(0o077)
    try:
        create_whole(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_appending_never_waits(tmp_path, fifo):
    path = tmp_path / "log"
    append_regular(path, b"a")
    append_regular(path, b"b")
    assert path.read_bytes() == b"ab"
    assert reason(lambda: append_regular(fifo, b"x"))
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    assert reason(lambda: append_regular(fifo, b"x")) == "not a regular file"
    os.close(reader)
    assert reason(lambda: append_regular(tmp_path, b"x"))
    assert reason(lambda: append_regular(Path("/dev/null"), b"x")) == "not a regular file"


@pytest.mark.skipif(IS_WINDOWS, reason="limits the size of files the POSIX way")
def test_a_full_disk_leaves_nothing_behind(tmp_path):
    """The largest file that the process may write stands for the end of the disk. Errors name the file meant."""
    (tmp_path / "old").write_bytes(b"old")
    code = f"""if True:
        import resource, signal
        from pathlib import Path
        from nobi_machine.files import append_regular, create_whole, write_whole
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        for write, name in ((create_whole, "new"), (write_whole, "old"), (append_regular, "log")):
            try:
                write(Path({str(tmp_path)!r}, name), b"x" * 5000)
            except OSError as error:
                print(error.strerror, Path(error.filename).name)
        """
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "File too large new\nFile too large old\nFile too large log\n"
    assert {each.name for each in tmp_path.iterdir()} == {"old", "log"}
    assert (tmp_path / "old").read_bytes() == b"old"


def test_what_a_killed_process_left_behind_is_removed(tmp_path):
    """Our own temporary files alone, and none that may still be written."""
    old, new, other = (tmp_path / name for name in (".new-" + 16 * "0", ".new-" + 16 * "f", ".new-game.sgf"))
    for path, age in ((old, 2 * files.LEFT_BEHIND_SECONDS), (new, 10.0), (other, 1e6)):
        path.touch()
        os.utime(path, 2 * (time.time() - age,))
    write_whole(tmp_path / "game.sgf", b"(;)")
    assert {path.name for path in tmp_path.iterdir()} == {new.name, other.name, "game.sgf"}


def test_a_missing_folder_is_told_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "nowhere" / "file"
    for write in (create_whole, write_whole, append_regular):
        with pytest.raises(FileNotFoundError) as caught:
            write(path, b"x")
        assert caught.value.filename == str(path)
