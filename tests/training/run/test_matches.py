"""The matches of generations: they end with the command that started them, and go on in their folders."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.gtp_engine.match.conftest import stub_command
from tests.gtp_engine.match.zoo import processes_with
from training.config import LearnConfig
from training.run import learn as module
from training.run.learn import play_match


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    mark = f"mark-{os.getpid()}-learn-{number}"
    hangs = stub_command("--name", mark, "--bad", "hang@1")
    monkeypatch.setattr(module, "engine_command", lambda _text: hangs)

    def interrupt() -> None:
        while not list(tmp_path.glob("match-*/stderr/*-1.txt")):
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a failure is one, and no end of pytest
    try:
        with pytest.raises(KeyboardInterrupt):
            play_match(tmp_path / "a", tmp_path / "b", 9, LearnConfig(), tmp_path / "match", threads=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert processes_with(mark) == []


def test_a_match_with_changed_settings_begins_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def resigner(command: str) -> list[str]:
        return stub_command("--moves", "resign", "--name", command.split()[-1])

    monkeypatch.setattr(module, "engine_command", resigner)

    def games(config: LearnConfig) -> list[int]:
        result = play_match(tmp_path / "a", tmp_path / "b", 9, config, tmp_path / "matches" / "1-9", threads=1)
        assert result.wins + result.losses == config.match_games
        assert not result.is_stronger, "white has won all games"
        records = sorted((tmp_path / "matches").glob("1-9-*/record.jsonl"), key=os.path.getctime)
        return [len(path.read_text().splitlines()) - 1 for path in records]

    first, changed = (replace(LearnConfig(), match_games=2, match_visits=visits) for visits in (1, 3))
    assert games(first) == [2]
    assert games(replace(first, match_games=4)) == [4]  # more games belong to the same match
    assert sorted(games(changed)) == [2, 4]
    assert sorted(games(replace(changed, match_games=3))) == [3, 4]
