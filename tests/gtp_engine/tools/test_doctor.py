"""`nobi doctor`: what it says of what is right, what it remarks, what fails, and what to do then."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.tools import doctor
from gtp_engine.tools.doctor import CHECKS, Check
from nets.at_hand import PUBLISHED
from nobi_machine.cache import NOWHERE
from nobi_machine.shipped import Archive
from tests.conftest import SMALL_NETWORK


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(monkeypatch, capsys)


class Doctor:
    """The command with some of its checks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def says(self, wanted: tuple[Check, ...], *arguments: str, code: int = 0) -> str:
        self._monkeypatch.setattr("gtp_engine.tools.doctor.CHECKS", wanted)
        assert command_line.run(["doctor", *arguments]) == code
        return self._capsys.readouterr().out


def named(*names: str) -> tuple[Check, ...]:
    return tuple(check for check in CHECKS if check.name in names)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system tells no owners")
def test_a_cache_that_others_may_write(only: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor, "FREE_BYTES", 0)
    assert "ok      cache is writable, and only by this user" in only.says(named("cache"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "shared"))
    said = only.says(named("cache"), code=1)
    assert "FAILED  cache: Nobi plays without its cache" in said
    assert "\n        -> let NOBI_CACHE_DIR name a folder" in said


def test_a_full_disk_is_a_remark(only: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(doctor, "FREE_BYTES", 1 << 80)
    said = only.says(named("cache"))
    assert "note    cache: " in said
    assert "-> make room there" in said
    assert said.endswith("Nobi can play here.\n")


def test_the_data_folder(only: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = tmp_path / "data"
    monkeypatch.setenv("NOBI_DATA_DIR", str(data))
    monkeypatch.setattr(doctor, "FREE_BYTES", 0)
    assert f"ok      data folder is writable, and its networks are whole: {data}\n" in only.says(named("data"))
    assert not data.exists(), "it is made when something is kept"
    monkeypatch.setattr(doctor, "FREE_BYTES", 1 << 80)
    assert f"note    data: {data}; " in only.says(named("data"))
    data.touch()
    said = only.says(named("data"), code=1)
    assert f"FAILED  data: {data}: " in said
    assert "; neither games nor networks are kept\n" in said
    assert "\n        -> let NOBI_DATA_DIR name a folder" in said
    monkeypatch.setattr("nobi_machine.cache.data_root", lambda: NOWHERE)
    assert "FAILED  data: no home is known, " in only.says(named("data"), code=1)


def test_a_damaged_network_in_the_data_folder(only: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOBI_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(doctor, "FREE_BYTES", 0)
    published = PUBLISHED[-1]
    network = tmp_path / "networks" / published.file_name
    network.parent.mkdir()
    network.write_bytes(SMALL_NETWORK.read_bytes())
    other = f"not the published file, which has {published.size:,} bytes"
    for size, wrong in ((network.stat().st_size, other), (published.size, "damaged")):
        os.truncate(network, size)
        said = only.says(named("data"))
        assert f"note    data: {network}: {wrong}\n        -> nobi networks get {published.name}\n" in said
    network.unlink()
    (tmp_path / "networks" / "of_mine.bin.gz").touch()
    assert "of_mine.bin.gz: no network of KataGo's, or damaged\n        -> remove it\n" in only.says(named("data"))


def test_kernels_of_the_installation(only: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("nobi_machine.shipped.SHIPPED", tmp_path / "kernels")
    assert "ok      kernels of the rules: " in only.says(named("kernels"))
    archive = tmp_path / "kernels" / "x86-64-v9.tar.xz"
    archive.parent.mkdir()
    archive.touch()
    said = only.says(named("kernels"))
    assert "the installation has some that do not serve here: for x86-64-v9\n" in said
    assert "-> a wheel that `make wheel` makes on this computer" in said
    monkeypatch.setattr("nobi_machine.jit.shipped_kernels", Archive(archive))
    assert "; the installation has compiled ones for x86-64-v9\n" in only.says(named("kernels"))


def test_devices(only: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ok      devices: " in only.says(named("device"))
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CUDAExecutionProvider"])
    assert "devices: cuda, cpu; auto is chosen" in only.says(named("device"))
    said = only.says(named("device", "network"), "--device", "directml", code=1)
    assert "FAILED  device: device directml is not here (there is: cuda, cpu)" in said
    assert "-> leave out --device" in said
    assert said.count("FAILED") == 1


def test_waits_that_end_late(only: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "WAITS", 2)
    monkeypatch.setattr(doctor, "LATE", 1e6)
    assert "ok      clock: short waits end at most " in only.says(named("clock"))
    monkeypatch.setattr(doctor, "LATE", -1.0)
    said = only.says(named("clock"))
    assert "note    clock: short waits end at most " in said
    assert "give Nobi --set lag=1" in said


def test_the_command_that_a_gui_starts(only: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NAME_IS_SLOW", 1e6)
    assert " gtp; it starts, says its name and ends in " in only.says(named("command"))
    monkeypatch.setattr(doctor, "NAME_IS_SLOW", 0.0)
    assert "-> that is slow for a GUI" in only.says(named("command"))
    monkeypatch.setattr(doctor, "python_command", lambda *_: [sys.executable, "-c", "1 / 0"])
    assert "FAILED  command: ZeroDivisionError: division by zero" in only.says(named("command"), code=1)


def test_the_network_the_move_and_the_speed(only: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SPEED_SECONDS", 0.2)
    monkeypatch.setattr(doctor, "SLOW", 0.0)
    wanted = named("network", "move", "speed")
    said = only.says(wanted)
    assert "note    network: nobi-" in said
    assert "\n        -> for stronger play: nobi networks get b10c384h6nbttflrs\n" in said
    assert "ok      a move: " in said
    assert " visits a second on 19x19" in said
    monkeypatch.setattr(doctor, "SLOW", 1e9)
    monkeypatch.setattr(doctor, "SPEED_SECONDS", 1e-3)  # enough for a visit: a search all the same
    assert "-> analysis will be slow; `nobi tune`" in only.says(wanted)
    assert "this player does not search" in only.says(wanted, "--player", "policy")


def test_nothing_follows_a_check_that_the_others_need(only: Doctor, tmp_path: Path) -> None:
    (tmp_path / "broken.bin.gz").write_bytes(b"hello")
    said = only.says(named("network", "move", "speed"), "--net", str(tmp_path / "broken.bin.gz"), code=1)
    assert said.count("FAILED") == 1
    assert "-> let --net and --human-net name whole networks" in said
    assert said.endswith("1 of the checks failed.\n")


def test_a_configuration_that_is_wrong(only: Doctor, tmp_path: Path) -> None:
    (tmp_path / "nobi.toml").write_text("nonsense = 1\n")
    said = only.says((), "--config", str(tmp_path / "nobi.toml"))
    assert said.startswith("note    configuration: ")
    assert "-> mend it in the file" in said
    said = only.says((), "--set", "nonsense=1", code=1)
    assert said.startswith("FAILED  configuration: --set: ")
    assert "-> mend what it names" in said


def test_every_check_that_can_fail_has_a_remedy() -> None:
    assert {check.name for check in CHECKS if not check.remedy} == {"system", "clock"}
    assert {"cache", "network", "device", "speed", "clock"} <= {check.name for check in CHECKS}
