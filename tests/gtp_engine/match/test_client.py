"""The GTP client: framing, time-outs, and engines that do not want to leave."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from gtp_engine.match import client
from gtp_engine.match.client import CHUNK, EngineDied, EngineError, EngineGarbled, EngineTimeout, GtpClient, GtpFailure
from tests.gtp_engine.match.conftest import stub_command
from tests.gtp_engine.match.zoo import processes_with
from tests.systems import IS_WINDOWS, needs_no_launcher, needs_signals, no_program


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


def test_lines_that_belong_to_no_reply_are_counted_once() -> None:
    """Blank ones do not count, wherever they are."""
    code = r"""
import os
for reply in (b'\n \nloading\n= one\n\n', b'= two\n\n\nafter two\n', b'\n= three\n\n', b'? four\n\n'):
    sys.stdin.readline()
    os.write(1, reply)
"""
    engine = GtpClient(scripted(code))
    found = []
    for answer in ("one", "two", "three"):
        assert engine.send("name", 60) == answer
        found.append(engine.stray_lines)
    with pytest.raises(GtpFailure, match="four"):
        engine.send("name", 60)
    assert found == [1, 1, 2]
    assert engine.stray_lines == 2
    engine.kill()


def test_what_an_engine_knows_is_asked_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = GtpClient(stub_command("--log", str(log), "--lists", "time_left"))
    assert [engine.knows(name, 60) for name in ("play", "undo", "time_left", "tim")] == [True, False, True, False]
    engine.close()
    assert log.read_text().splitlines() == ["list_commands", "quit"]
    engine = GtpClient(stub_command("--bad", "refuse-list_commands@1"))
    assert not engine.knows("play", 60)
    assert not engine.knows("list_commands", 60)
    engine.kill()


def test_time_out() -> None:
    engine = GtpClient(scripted("time.sleep(600)"))
    with pytest.raises(EngineTimeout, match=r"no reply to 'name' within 0\.25 s"):
        engine.send("name", 0.25)
    engine.kill()
    assert not engine.is_running


@pytest.mark.parametrize(
    ("ending", "how"),
    [
        ("sys.exit(0)", r"exited \(0\)"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "was killed by signal 9", marks=needs_signals),
        pytest.param("import os; os.close(1); time.sleep(60)", "closed its stdout", marks=needs_no_launcher),
    ],
)
def test_every_end_of_an_engine_has_its_words(ending: str, how: str) -> None:
    engine = GtpClient(scripted(f"sys.stdin.readline(); {ending}"))
    with pytest.raises(EngineDied, match=f"^{how} at 'name'$"):
        engine.send("name", 60)
    engine.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_an_engine_whose_child_keeps_its_stdout_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no supervisor ends the child, the pipe stays open for as long as that lives."""
    monkeypatch.setattr(client, "SUPERVISED", False)
    code = "import subprocess; subprocess.Popen(['sleep', '600']); sys.stdin.readline(); sys.exit(3)"
    engine = GtpClient(scripted(code))
    with pytest.raises(EngineDied, match=r"^exited \(3\) at 'name'$"):
        engine.send("name", 60)
    engine.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_a_ctrl_c_for_the_referee_is_none_for_the_engine() -> None:
    engine = GtpClient(
        scripted("import os; sys.stdin.readline(); print('=', os.getpgrp(), os.getsid(0), '\\n', flush=True)")
    )
    group, session = map(int, engine.send("name", 60).split())
    assert group != os.getpgrp()
    assert session != os.getsid(0)
    engine.kill()


FLOODS = {"text": "print('x' * 99)", "newlines": "print()", "one line": "print('x' * 999, end='')"}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_flood_is_neither_kept_nor_followed(flood: str) -> None:
    engine = GtpClient(scripted(f"while True: {flood}"))
    with pytest.raises(EngineGarbled, match=r"endless|flooded"):
        engine.send("name", 60)
    engine.kill()


def test_a_flood_between_questions_waits_in_the_pipe(tmp_path: Path) -> None:
    """The engine counts what it could write: that is what the pipe and the referee hold, whatever the time.

    The referee holds what came with the last reply, which on a busy machine is as much as may wait, and what waits.
    """
    written = tmp_path / "written"
    code = rf"""
import os
sys.stdin.readline()
os.write(1, b'= ready\n\n')
size = 0
with open({str(written)!r}, 'w') as file:
    while True:
        size += os.write(1, b'x' * 4096)
        file.seek(0)
        file.write(str(size))
        file.flush()
"""
    engine = GtpClient(scripted(code))
    assert engine.send("name", 60) == "ready"
    before = -1
    while (now := int((written.exists() and written.read_text()) or 0)) != before or now <= client.MAX_REPLY_BYTES:
        before = now
        time.sleep(0.3)
    assert now <= 2 * client.MAX_REPLY_BYTES + 3 * CHUNK
    with pytest.raises(EngineGarbled, match=r"flooded its stdout before 'genmove b'|endless"):
        engine.send("genmove b", 60)
    engine.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="FIONREAD is not everywhere the same")
def test_an_engine_that_answers_and_never_reads() -> None:
    """It sees in the pipe that a question has come, and answers in time until the pipe is full."""
    code = r"""
import array, fcntl, os, termios
seen = 0
while True:
    count = array.array('i', [0])
    fcntl.ioctl(0, termios.FIONREAD, count)
    if count[0] > seen:
        seen = count[0]
        os.write(1, b'=\n\n')
    time.sleep(0.001)
"""
    engine = GtpClient(scripted(code))
    with pytest.raises(EngineGarbled, match="does not read"):
        ask_for_ever(engine)
    engine.kill()


def ask_for_ever(engine: GtpClient) -> None:
    while True:
        engine.send("x" * 4000, 60)


def test_a_command_that_cannot_be_started(tmp_path: Path) -> None:
    missing = re.escape(no_program())
    with pytest.raises(EngineError, match=f"cannot start no-such-engine: {missing}"):
        GtpClient(["no-such-engine"])
    with pytest.raises(EngineError, match=rf"cannot start no-\\x1bengine: {missing}"):
        GtpClient(["no-\x1bengine"])
    if IS_WINDOWS:  # where no permission is needed
        return
    text = tmp_path / "text"
    text.write_text("no program")
    with pytest.raises(EngineError, match=r"cannot start .*text: Permission denied"):
        GtpClient([str(text)])


def test_an_engine_that_ignores_quit_is_made_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "QUIT_GRACE", 0.3)
    engine = GtpClient(stub_command("--deaf"))
    assert engine.send("name", 60) == "Stub"
    engine.close()
    monkeypatch.undo()
    engine.kill()  # which kills nothing any more, and waits longer
    assert not engine.is_running


@needs_signals
def test_an_engine_may_end_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of its input, or at SIGTERM; only one that does neither is killed."""
    done = tmp_path / "done"
    leave = f"open({str(done)!r}, 'w').close(); sys.exit(0)"
    at_the_end = f"sys.stdin.readline(); print('=\\n', flush=True); sys.stdin.read(); {leave}"
    at_a_signal = f"""
import signal
def leave(*_):
    {leave}
signal.signal(signal.SIGTERM, leave)
sys.stdin.readline()
print('=\\n', flush=True)
while True:
    time.sleep(1)
"""
    for code, grace in ((at_the_end, 30.0), (at_a_signal, 4.0)):
        monkeypatch.setattr(client, "QUIT_GRACE", grace)
        engine = GtpClient(scripted(code))
        engine.send("name", 60)
        monkeypatch.setattr(engine, "send", lambda *_: "")  # neither would answer `quit`
        engine.close()
        assert done.exists()
        done.unlink()


@pytest.mark.skipif(not client.SUPERVISED, reason="nothing stands between engine and referee here")
def test_a_supervisor_that_was_stopped_still_takes_all_descendants_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's child has left its process group, so that only the supervisor can find it."""
    monkeypatch.setattr(client, "QUIT_GRACE", 30.0)
    mark = f"mark-{os.getpid()}-stopped-supervisor"
    code = f"""
import os, signal, subprocess
sys.stdin.readline()
child = [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(600)', {mark!r}]
subprocess.Popen(child, start_new_session=True, stdout=subprocess.DEVNULL)
os.kill(os.getppid(), signal.SIGSTOP)
print('=\\n', flush=True)
time.sleep(600)
"""
    engine = GtpClient(scripted(code))
    engine.send("name", 60)
    engine.kill()
    left = processes_with(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []
