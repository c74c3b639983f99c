"""`nobi web` and `nobi-board` as processes: how they start, what they say where they cannot, and how they end."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from gtp_engine.web import command as web_command
from gtp_engine.web.command import wait_without_pages, web
from nobi_machine.interruption import EXIT_INTERRUPTED
from nobi_machine.launch import python_command
from tests.conftest import SMALL_NETWORK
from tests.gtp_engine.web.browser import Browser
from tests.systems import IS_WINDOWS

COMMAND = python_command("gtp_engine.cli", "web", "--no-browser", "--size", "5", "--net", str(SMALL_NETWORK))
ENDS = 120.0
"""Seconds that anything may take on a busy machine."""


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of `nobi web`, and its link."""
    environment = {**os.environ, "NOBI_DATA_DIR": str(data)}
    command = [*COMMAND, "--port", "0", *arguments]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:([0-9]+)/\?token=\S+", process.stdout.readline())
            assert found is not None
            yield process, found[0]
        finally:
            process.kill()


def entered(link: str) -> Browser:
    port, token = re.findall(r":([0-9]+)/\?token=(\S+)", link)[0]
    return Browser(int(port), token)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_the_middle_of_a_search_without_a_traceback(tmp_path: Path, number: int) -> None:
    with running(tmp_path) as (process, link):
        page = entered(link)
        page.ask("look", node=0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=ENDS)
        assert process.returncode in (EXIT_INTERRUPTED, -number)
    assert "Traceback" not in errors
    assert "internal error" not in errors


def test_a_game_outlives_the_process_that_was_killed(tmp_path: Path) -> None:
    with running(tmp_path) as (process, link):
        page = entered(link)
        page.ask("play", node=0, point=12)
        process.kill()
    (kept,) = (tmp_path / "games").iterdir()
    assert b";B[cc]" in kept.read_bytes()
    with running(tmp_path, str(kept)) as (process, link):
        page = entered(link)
        assert page.ask("play", node=1, point=12)["error"] == "illegal: C3"


def test_on_a_new_machine_moves_wait_for_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))
    with running(tmp_path) as (_, link):
        page = entered(link)
        node = page.ask("play", node=0, point=12)["node"]
        assert page.ask("play", node=node, point=12)["error"] == "illegal: C3"
        assert all(told["state"] != "ready" for name, told in page.events if name == "engine")
    assert not list((tmp_path / "cache" / "kernels").glob("search.*")), "nothing of the search is compiled yet"


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with running(tmp_path) as (_, link):
        port = re.findall(r":([0-9]+)/", link)[0]
        done = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, timeout=ENDS, check=False)
    assert done.returncode == 1
    assert re.fullmatch(rf"nobi: 127\.0\.0\.1, port {port}: another program listens there.*\n", done.stderr)


@pytest.mark.parametrize("content", [b"no game", b"(;SZ[9];B[zz])", None])
def test_a_game_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.sgf"
    if content is not None:
        path.write_bytes(content)
    command = [*COMMAND, "--port", "0", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDS, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"nobi: .*a\.sgf: .+\n", done.stderr)


def test_it_listens_to_this_machine_alone_unless_it_is_told_otherwise() -> None:
    (host,) = (each for each in web.params if each.name == "host")
    assert host.default == "127.0.0.1"


# --- `nobi-board`: one page after another, and its end -------------------------------------------------------------


WITHOUT_STREAMS = "import os, sys; os.closerange(0, 3); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
BOARD = "from gtp_engine.cli import board; board()"
LINGER = 4
"""Seconds that a board of ours stays without a page."""


class Desk:
    """A user's folder, and a browser that writes down what it is to open."""

    def __init__(self, folder: Path) -> None:
        self.opened = folder / "opened"
        script = f"import sys; open({str(self.opened)!r}, 'a').write(sys.argv[1] + chr(10))"
        browser = f"{shlex.quote(sys.executable)} -c {shlex.quote(script)} %s"
        self.environment = {
            **os.environ,
            "NOBI_DATA_DIR": str(folder),
            "NOBI_CONFIG_DIR": str(folder),
            "BROWSER": browser,
        }

    def start(self) -> subprocess.Popen[bytes]:
        """Start a board without stdin, stdout and stderr."""
        command = [sys.executable, "-c", WITHOUT_STREAMS, "-c", BOARD, "--linger", str(LINGER)]
        return subprocess.Popen(command, env=self.environment)

    def page(self, number: int) -> Browser:
        """Open the page that the browser was asked for in this place, once it was."""
        deadline = time.monotonic() + ENDS
        while not self.opened.exists() or len(links := self.opened.read_text().split()) < number:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return entered(links[number - 1])


@pytest.mark.parametrize(
    ("opened", "linger", "said", "looks"),
    [(range(0), 2.0, 60.0, 61), (range(0), 90.0, 90.0, 91), (range(9, 20), 2.0, 2.0, 22), (range(9, 20), 0.0, 0.0, 21)],
)
def test_how_long_no_page_was_open(
    opened: range, linger: float, said: float, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = count()
    monkeypatch.setattr(web_command, "POLL_SECONDS", 1.0)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    assert wait_without_pages(lambda: next(now) in opened, linger) == said
    assert next(now) == looks


@pytest.mark.skipif(IS_WINDOWS, reason="a browser of our own cannot be named there")
def test_it_needs_no_terminal_and_ends_when_its_pages_have_left(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first = desk.start()
    try:
        one = desk.page(1)
        second = desk.start()
        two = desk.page(2)
        assert second.wait(ENDS) == 0, "it has opened a page of the first"
        assert two.port == one.port
        one.leave()
        time.sleep(LINGER + 1)
        assert "error" not in two.ask("play", node=0, point=0), "a page is still open"
        two.leave()
        assert first.wait(ENDS) == 0
    finally:
        first.kill()
    log = tmp_path / "board" / "log.txt"
    assert f"no page was open for {LINGER} seconds" in log.read_text()
    assert not log.stat().st_mode & 0o077, "its links let others in"
    third = desk.start()
    try:
        desk.page(3).leave()
        assert third.wait(ENDS) == 0
    finally:
        third.kill()
