"""A fake engine as a process of its own, for tests of how a session runs and ends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.conftest import REPOSITORY
from tests.gtp_engine.fake_engine import SEARCHING
from tests.systems import PATIENCE


class Process:
    """A fake engine with pipes."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.popen: Any = subprocess.Popen(
            [sys.executable, "-m", "tests.gtp_engine.fake_engine", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=REPOSITORY,
            bufsize=0,
        )

    def say(self, text: str) -> None:
        self.popen.stdin.write(text.encode())

    def reply(self) -> str:
        """The next complete reply."""
        lines = []
        while (line := self.popen.stdout.readline()) not in (b"\n", b""):
            lines.append(line.decode())
        return "".join(lines)

    def ask(self, text: str) -> str:
        self.say(text + "\n")
        return self.reply()

    def await_search(self) -> None:
        """Wait until a search begins, of an engine that `tells`."""
        while (line := self.popen.stderr.readline()) != f"{SEARCHING}\n".encode():
            assert line, "it has ended"

    def close_input(self) -> None:
        self.popen.stdin.close()

    def close_output(self) -> None:
        self.popen.stdout.close()

    def wait(self) -> int:
        return self.popen.wait(timeout=PATIENCE)

    def rest(self) -> str:
        return self.popen.stdout.read().decode()

    def errors(self) -> str:
        return self.popen.stderr.read().decode()


@contextlib.contextmanager
def engine(**options: Any) -> Iterator[Process]:
    process = Process(options)
    try:
        yield process
    finally:
        process.popen.kill()
        process.popen.wait()
        for stream in (process.popen.stdin, process.popen.stdout, process.popen.stderr):
            with contextlib.suppress(OSError):
                stream.close()


def run(text: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.gtp_engine.fake_engine", json.dumps(options)],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        cwd=REPOSITORY,
        check=False,
    )
