"""`nobi-board` as a process without a terminal: one page after another, and its end."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.gtp_engine.web.browser import Browser
from tests.systems import IS_WINDOWS

pytestmark = pytest.mark.skipif(IS_WINDOWS, reason="a browser of our own cannot be named there")

WITHOUT_STREAMS = "import os, sys; os.closerange(0, 3); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
BOARD = "from gtp_engine.cli import board; board()"
LINGER = 4
"""Seconds that a board of ours stays without a page."""
ENDS = 120.0
"""Seconds that anything may take on a busy machine."""


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
        port, token = re.findall(r":([0-9]+)/\?token=(\S+)", links[number - 1])[0]
        return Browser(int(port), token)


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
