"""The matches of generations: they end with the command that started them, and go on in their folders."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from training.config import LearnConfig
from training.run import learn as module
from training.run.learn import play_match

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


RESULT = {"wins": 1, "draws": 0, "losses": 1, "score_interval": [0.1, 0.9]}
RECORD = """
import sys
from pathlib import Path
folder = Path(sys.argv[sys.argv.index("--out") + 1])
folder.mkdir(parents=True, exist_ok=True)
with open(folder / "record.jsonl", "a") as file:
    print("a game", file=file)
print(sys.argv[1])
"""


def test_a_match_with_changed_settings_begins_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def command(module_name: str, *words: str) -> list[str]:
        return [sys.executable, "-c", RECORD, json.dumps(RESULT), *words]

    monkeypatch.setattr(module, "python_command", command)

    def games(config: LearnConfig) -> dict[str, int]:
        play_match(tmp_path / "a", tmp_path / "b", 9, config, tmp_path / "matches" / "1-9", threads=1)
        records = (tmp_path / "matches").glob("*/record.jsonl")
        return {path.parent.name: len(path.read_text().splitlines()) for path in records}

    first, changed = LearnConfig(), replace(LearnConfig(), match_visits=3)
    assert list(games(first).values()) == [1]
    assert list(games(replace(first, match_games=7)).values()) == [2]  # more games belong to the same match
    assert sorted(games(changed).values()) == [1, 2]
    assert sorted(games(changed).values()) == [2, 2]
    assert sorted(games(first).values()) == [2, 3]
