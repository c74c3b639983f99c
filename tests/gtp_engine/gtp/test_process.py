"""The engine as a process: every way to end it, whatever it is doing; and that stdout carries nothing but GTP."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.gtp_engine.gtp.processes import Process, engine, run
from tests.systems import IS_WINDOWS, PATIENCE

FOREVER = 100 * PATIENCE
BLOCKED: dict[str, Any] = {"player": {"thinks": FOREVER}, "tells": True}
PONDERING: dict[str, Any] = {"settings": {"ponder": True}, "tells": True}


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """What `nohup` starts ignores SIGHUP, and so would its children."""
    number = getattr(signal, "SIGHUP", signal.SIGINT)
    before = signal.signal(number, signal.SIG_DFL)
    yield
    signal.signal(number, before)


# --- Scripts ------------------------------------------------------------------------------------------------------


def test_script_without_quit() -> None:
    done = run("boardsize 9\ngenmove b\n1 genmove w")
    assert done.stdout == "= \n\n= A9\n\n=1 B9\n\n"
    assert done.returncode == 0
    assert done.stderr == "nobi: GTP ready\n"  # LizGoban waits for these words


def test_script_with_quit_is_played_at_full_strength() -> None:
    """The end that is there before a search starts does not shorten it."""
    done = run("boardsize 9\ngenmove b\nquit\nname\n", player={"thinks": 0.5})
    assert done.stdout == "= \n\n= A9\n\n= \n\n"
    assert done.returncode == 0


def test_script_with_windows_line_ends() -> None:
    assert run("name\r\nquit\r\n").stdout == "= Nobi\n\n= \n\n"


def test_analysis_in_a_script_reports_once() -> None:
    lines = run("boardsize 5\nkata-analyze b 1\nname\n").stdout.split("\n")
    assert lines[:3] == ["= ", "", "="]
    assert lines[3].startswith("info move A5 ")
    assert lines[4:] == ["", "= Nobi", "", ""]


# --- Loading ------------------------------------------------------------------------------------------------------


def test_administrative_commands_do_not_wait_for_loading() -> None:
    with engine(load=FOREVER) as process:
        assert process.ask("name") == "= Nobi\n"
        assert process.ask("7 known_command genmove") == "=7 true\n"
        assert process.ask("time_left b 10 0") == "= \n"
        assert process.ask("quit") == "= \n"
        assert process.wait() == 0


def test_commands_before_a_quit_are_answered_though_the_engine_is_still_being_loaded() -> None:
    with engine(load=2) as process:
        assert process.ask("name") == "= Nobi\n"
        process.say("boardsize 9\ngenmove b\n")
        time.sleep(0.5)
        process.say("quit\n")
        assert process.rest() == "= \n\n= A9\n\n= \n\n"
        assert process.wait() == 0


def test_loading_that_fails_ends_the_process_with_one_line() -> None:
    with engine(fails="net.bin.gz: not a network") as process:
        assert process.wait() == 1
        assert process.errors().splitlines() == ["nobi: GTP ready", "nobi: net.bin.gz: not a network"]
        assert process.rest() == ""


def test_an_engine_whose_stderr_nobody_reads_goes_on() -> None:
    """Each move writes a line of the chat, all of them more than a pipe holds."""
    reading, writing = os.pipe()
    options = {"settings": {"size": "9", "ogs_chat": True}}
    done = subprocess.run(
        [sys.executable, "-m", "tests.gtp_engine.fake_engine", json.dumps(options)],
        input=b"genmove b\nundo\n" * 1500 + b"quit\n",
        stdout=subprocess.PIPE,
        stderr=writing,
        cwd=REPOSITORY,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writing)
    os.close(reading)
    assert done.returncode == 0
    assert done.stdout.count(b"= ") == 3001


def test_stray_output_goes_to_stderr() -> None:
    done = run("boardsize 5\nquit\n", prints=True)
    assert done.stdout == "= \n\n= \n\n"
    assert "from Python" in done.stderr
    assert "from C" in done.stderr


# --- The end ------------------------------------------------------------------------------------------------------

ENDS = ("quit", "eof", "SIGTERM", "SIGINT", "SIGHUP", "broken pipe")
UNTOLD = (("quit", "analysis"), ("broken pipe", "loading"), ("broken pipe", "genmove"))
STATES = ("start", "loading", "genmove", "analysis", "pondering")
ALIKE = ("SIGINT", "SIGHUP")
"""They are heard as SIGTERM is, and tried in one state."""


@pytest.mark.parametrize(
    ("state", "end"), [(state, end) for state in STATES for end in ENDS if state == "genmove" or end not in ALIKE]
)
def test_end(state: str, end: str) -> None:
    if IS_WINDOWS and (end.startswith("SIG") or (end, state) in UNTOLD):
        pytest.skip("signals are POSIX, and pipes are longer and tell more there")
    options = {
        "loading": {"load": FOREVER, "grace": 0.5},
        "genmove": {**BLOCKED, "reply": PATIENCE},
        "pondering": PONDERING,
    }.get(state, {})
    with engine(**options) as process:
        bring_to(process, state)
        code = bring_to_an_end(process, end)
        if end == "quit":
            assert process.rest().endswith("\n\n= \n\n" if state in ("genmove", "analysis") else "= \n\n")
        if end in ("eof", "SIGTERM", "SIGINT", "SIGHUP") and state == "genmove":
            assert process.rest() == "= A9\n\n", "the reply was not completed"
        errors = process.errors()
        # A signal may come before any code of ours runs: then Python says so in its own way.
        assert "Traceback" not in errors or (state == "start" and errors.startswith("Could not import runpy module"))
        expected = {"SIGTERM": {143}, "SIGINT": {130}, "SIGHUP": {129}, "broken pipe": {0, 1}}.get(end, {0})
        if state != "start":
            assert code in expected


def bring_to(process: Process, state: str) -> None:
    if state == "start":
        return
    assert process.ask("name") == "= Nobi\n"
    if state == "loading":
        process.say("boardsize 9\n")
    else:
        assert process.ask("boardsize 9") == "= \n"
    if state == "genmove":
        process.say("genmove b\n")
        process.await_search()
    elif state == "analysis":
        process.say("kata-analyze 1\n")
        assert process.popen.stdout.readline() == b"=\n"
        assert process.popen.stdout.readline().startswith(b"info ")
    elif state == "pondering":
        assert process.ask("genmove b") == "= A9\n"
        process.await_search()
        process.await_search()
    time.sleep(0.5)  # an end that follows at once would be that of a script, which is waited for


def bring_to_an_end(process: Process, end: str) -> int:
    if end == "quit":
        process.say("quit\n")
    elif end == "eof":
        process.close_input()
    elif end == "broken pipe":
        process.close_output()
        with contextlib.suppress(BrokenPipeError):
            process.say("name\n")
    else:
        process.popen.send_signal(getattr(signal, end))
    return process.wait()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system's signals name no thread")
def test_a_signal_that_another_thread_gets_ends_the_session() -> None:
    """It does not wake the main thread. On a busy machine about one SIGTERM in twenty was lost in a similar way."""
    with engine(signalled=int(signal.SIGTERM)) as process:
        assert process.wait() == 143


@pytest.mark.skipif(not hasattr(select, "poll"), reason="this system does not tell")
def test_an_idle_engine_notices_that_nobody_listens() -> None:
    with engine() as process:
        assert process.ask("boardsize 5") == "= \n"
        process.close_output()
        process.wait()


def test_end_while_the_controller_does_not_read() -> None:
    """A full pipe must not keep the process alive."""
    with engine() as process:
        assert process.ask("boardsize 19") == "= \n"
        process.say("kata-analyze 1 ownership true\n")
        time.sleep(1.0)
        process.popen.send_signal(signal.SIGTERM)
        process.wait()


# --- Input while a search runs ------------------------------------------------------------------------------------


def test_input_ends_analysis_and_is_answered() -> None:
    with engine() as process:
        process.ask("boardsize 5")
        process.say("12 kata-analyze 1\n")
        assert process.popen.stdout.readline() == b"=12\n"
        assert process.popen.stdout.readline().startswith(b"info move A5 ")
        process.say("13 stop\n")
        lines = []
        while (line := process.popen.stdout.readline()) != b"=13 \n":
            lines.append(line)
        assert lines[-1] == b"\n"
        assert all(line.startswith(b"info ") for line in lines[:-1])
        assert process.popen.stdout.readline() == b"\n"


def test_input_does_not_shorten_genmove() -> None:
    with engine(player={"thinks": 0.6}) as process:
        process.ask("boardsize 5")
        started = time.monotonic()
        process.say("genmove b\n")
        time.sleep(0.1)
        process.say("protocol_version\n")
        assert process.reply() == "= A5\n"
        assert time.monotonic() - started > 0.55
        assert process.reply() == "= 2\n"


def test_gogui_interrupt() -> None:
    with engine(**BLOCKED) as process:
        process.ask("boardsize 5")
        process.say("genmove b\n")
        process.await_search()
        process.say("#interrupt ok\n  # Interrupt\r\n")  # the first is some other comment
        assert process.reply() == "= A5\n"
        assert process.ask("name") == "= Nobi\n"


def test_a_search_that_any_input_cancels() -> None:
    with engine(**BLOCKED) as process:
        process.ask("boardsize 5")
        for command, answer in (("kata-search_cancellable b", "cancelled"), ("kata-search_cancellable w", "cancelled")):
            process.say(command + "\n")
            process.await_search()
            process.say("\n" if command.endswith("b") else "name\n")
            assert process.reply() == f"= {answer}\n"
        assert process.reply() == "= Nobi\n"
    with engine() as process:
        process.ask("boardsize 5")
        assert process.ask("kata-search_cancellable b") == "= A5\n"
        assert process.ask("genmove b") == "= A5\n"  # nothing was played


def test_a_line_without_end() -> None:
    """It is cut, answered once, and forgotten."""
    with engine() as process:
        process.say("x" * (3 << 20) + "\nname\n")
        assert process.reply() == "? syntax error\n"
        assert process.reply() == "= Nobi\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
@pytest.mark.parametrize("flood", [b"name\n", b" \n"])
def test_a_flood_during_a_search_takes_little_memory_and_quit_is_seen(flood: bytes) -> None:
    """5 MB of lines once took 343 MB."""
    with engine(**BLOCKED) as process:
        process.ask("boardsize 9")
        process.say("genmove b\n")
        process.await_search()
        before = peak_memory(process.popen.pid)
        for _ in range(80):
            process.say((flood * (65536 // len(flood))).decode())
        time.sleep(0.3)
        process.say("quit\n")
        threading.Thread(target=process.rest, daemon=True).start()
        while process.popen.poll() is None and (now := peak_memory(process.popen.pid)):
            assert now - before < 60 << 20
            time.sleep(0.02)
        assert process.wait() == 0


def peak_memory(pid: int) -> int:
    """The most bytes that the process has had; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
