"""The match process of a generation: it ends with the command that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from training.config import LearnConfig
from training.run import matches as module
from training.run.matches import play_match

MATCH = """
import os, signal, sys, time
from pathlib import Path
def end(number, frame):
    time.sleep(0.2)
    Path(sys.argv[1], "ended").touch()
    sys.exit(130)
signal.signal(signal.SIGTERM, end)
Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(module, "OWN_END", 0.1)
    monkeypatch.setattr(module, "python_command", lambda *words: [sys.executable, "-c", MATCH, str(tmp_path)])

    def interrupt() -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.02)
        time.sleep(0.1)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a failure is one, and no end of pytest
    try:
        with pytest.raises(KeyboardInterrupt):
            play_match(tmp_path / "a", tmp_path / "b", 9, LearnConfig(), tmp_path / "match", threads=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (tmp_path / "ended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
