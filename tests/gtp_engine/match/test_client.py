"""The GTP client: framing, time-outs, and engines that do not want to leave."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from gtp_engine.match import client
from gtp_engine.match.client import EngineDied, EngineError, EngineGarbled, EngineTimeout, GtpClient, GtpFailure
from tests.gtp_engine.match.conftest import stub_command


def scripted(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", "import sys, time\n" + code]


def test_replies() -> None:
    engine = GtpClient(stub_command("--name", "Some Engine", "--lists", "time_left"))
    assert engine.send("name", 5) == "Some Engine"
    assert engine.send("komi 7.5", 5) == ""
    assert engine.knows("time_left", 5)
    assert not engine.knows("undo", 5)
    with pytest.raises(GtpFailure, match="unknown command"):
        engine.send("frobnicate", 5)
    engine.close()
    assert not engine.is_running


def test_reply_of_several_lines_with_an_id_carriage_returns_and_tabs() -> None:
    engine = GtpClient(scripted("sys.stdin.readline(); print('\\r\\n=12 one\\r\\ntwo\\tthree  \\r\\n\\r', flush=True)"))
    assert engine.send("anything", 5) == "one\ntwo\tthree"
    engine.close()


def test_bytes_that_are_no_text() -> None:
    engine = GtpClient(
        scripted("sys.stdin.readline(); sys.stdout.buffer.write(b'= \\xff\\xfe\\n\\n'); sys.stdout.flush()")
    )
    assert engine.send("name", 5) == "\ufffd\ufffd"
    engine.close()


def test_time_out() -> None:
    engine = GtpClient(scripted("time.sleep(60)"))
    started = time.monotonic()
    with pytest.raises(EngineTimeout, match=r"no reply to 'name' within 0\.2 s"):
        engine.send("name", 0.2)
    engine.kill()
    assert time.monotonic() - started < 2
    assert not engine.is_running


def test_an_engine_that_ends_says_how() -> None:
    engine = GtpClient(scripted("sys.stdin.readline(); sys.exit(3)"))
    with pytest.raises(EngineDied, match=r"exited \(3\) at 'name'"):
        engine.send("name", 5)
    with pytest.raises(EngineDied):
        engine.send("name", 5)
    engine.close()


def test_an_endless_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_REPLY_BYTES", 10_000)
    engine = GtpClient(scripted("print('=', flush=True)\nwhile True: print('x' * 100)"))
    with pytest.raises(EngineGarbled, match="endless"):
        engine.send("name", 5)
    engine.kill()


def test_a_command_that_cannot_be_started() -> None:
    with pytest.raises(EngineError, match="cannot start no-such-engine: No such file"):
        GtpClient(["no-such-engine"])


def test_an_engine_that_ignores_quit_is_made_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "QUIT_GRACE", 0.3)
    engine = GtpClient(stub_command("--deaf"))
    assert engine.send("name", 5) == "Stub"
    started = time.monotonic()
    engine.close()
    assert time.monotonic() - started < 3
    assert not engine.is_running


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_children_of_a_wrapper_go_with_it(tmp_path: Path) -> None:
    survivor = tmp_path / "survivor"
    code = f"import subprocess; subprocess.run(['sh', '-c', 'sleep 1; touch {survivor}'])"
    engine = GtpClient(scripted(code))
    time.sleep(0.3)
    engine.kill()
    time.sleep(1.2)
    assert not survivor.exists()


def test_stderr_goes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "stderr.txt"
    engine = GtpClient(scripted("print('hello', file=sys.stderr)"), path)
    engine.close()
    assert path.read_text() == "hello\n"
