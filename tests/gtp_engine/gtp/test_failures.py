"""What goes wrong costs one reply, and leaves the engine as it was: hostile parameters, bugs, what cannot be done."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from go_rules.game import RuleViolation
from go_rules.points import BLACK
from go_rules.rules import Rules
from gtp_engine.configuration.settings import EngineSettings
from search.request import SearchRequest
from search.result import SearchResult
from tests.conftest import REPOSITORY
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.systems import PATIENCE


@pytest.mark.parametrize(
    "values",
    [
        '{"maxVisits": ' + "1" * 400 + "}",
        '{"maxVisits": ' + "1" * 5_000 + "}",
        '{"maxVisits": 1e400}',
        '{"lagBuffer": NaN}',
        '{"lagBuffer": Infinity}',
        '{"lagBuffer": 0.1, "lagBuffer": 0.2}',
        '{"maxVisits": 5, "visits": 6}',
        '{"maxVisits": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"maxVisits": ' + "[" * 500 + "]" * 500 + "}",
        '{"playoutDoublingAdvantage": ' + "[" * 500 + "]" * 500 + "}",
        '{"' + "x" * 100_000 + '": 1}',
    ],
    ids=lambda values: values[:40],
)
def test_hostile_parameters(values: str) -> None:
    dialogue = Dialogue()
    before = dialogue.ask("kata-get-params")
    reply = dialogue.refuse(f"kata-set-params {values}")
    assert "internal" not in reply
    assert len(reply) < 300
    assert "internal" not in dialogue.refuse(f"kata-set-rules {values}")
    assert dialogue.ask("kata-get-params") == before


@pytest.mark.parametrize("name", ["memory", "cache_memory"])
def test_memory_that_the_machine_lacks_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nobi_machine.parameters.memory_for_search", lambda: 2 << 30)
    dialogue = Dialogue()
    before = dialogue.ask("kata-get-params")
    assert f"{name} must be at most" in dialogue.refuse(f"kata-set-param {name} 1048576")
    assert f"{name} must be at most" in dialogue.refuse(f'kata-set-params {{"maxVisits": 7, "{name}": 1048576}}')
    assert dialogue.ask("kata-get-params") == before
    dialogue.ask(f"kata-set-param {name} 200")


class BrokenPlayer(FakePlayer):
    def search(self, request: SearchRequest) -> SearchResult:
        raise ZeroDivisionError("a bug\nwith a second line")


def test_a_bug_costs_one_reply(tmp_path: Path) -> None:
    log = tmp_path / "log"
    dialogue = Dialogue(BrokenPlayer(), EngineSettings(size="9", log=str(log)))
    assert dialogue.refuse("genmove b").startswith("internal error: ZeroDivisionError: a bug")
    assert dialogue.ask("name") == "Nobi"
    assert dialogue.ask("showboard").startswith("Moves: 0")
    assert "Traceback" in log.read_text()


def test_a_log_that_cannot_be_written_is_given_up(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    dialogue = Dialogue(BrokenPlayer(), EngineSettings(size="9", log=str(tmp_path / "no" / "log")))
    dialogue.refuse("genmove b")
    dialogue.refuse("genmove b")
    assert capsys.readouterr().err.count("cannot write the log") == 1


def test_waiting_ends_when_the_session_does() -> None:
    ready = threading.Event()

    class SlowPlayer(FakePlayer):
        def warm_up(self, width: int, height: int) -> None:
            ready.wait(PATIENCE)

    dialogue = Dialogue(SlowPlayer())
    dialogue.session.loader.await_rules()
    replies: list[str] = []
    asking = threading.Thread(target=lambda: replies.append(dialogue.send("genmove b")))
    asking.start()
    time.sleep(0.05)
    dialogue.session.begin_shutdown()
    asking.join(PATIENCE / 2)
    ready.set()
    assert replies == ["? interrupted while the engine was being loaded\n\n"]
    # Nothing to wait for: the board is there.
    assert dialogue.ask("boardsize 5") == ""


def test_a_game_that_the_player_cannot_play_leaves_the_one_before() -> None:
    class Small(FakePlayer):
        def warm_up(self, width: int, height: int) -> None:
            if width > 19:
                raise MemoryError("no room")

    dialogue = Dialogue(Small())
    dialogue.ask("boardsize 9", "komi 3.5", "time_settings 60 0 0", "play b c3", "time_left b 30 0")
    board = dialogue.ask("showboard")
    assert dialogue.refuse("boardsize 25") == "out of memory"
    assert dialogue.ask("showboard") == board
    assert dialogue.session.clock.left[BLACK].main == 30
    assert dialogue.ask("boardsize 13") == ""


def test_rules_that_make_a_move_impossible_are_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue = Dialogue()
    dialogue.ask("boardsize 9")

    def refuse(rules: Rules) -> None:
        raise RuleViolation("occupied")

    monkeypatch.setattr(dialogue.session.game, "set_rules", refuse)
    for line in ("kata-set-rules chinese", "kata-set-rule ko SIMPLE", "kgs-rules japanese"):
        assert dialogue.refuse(line) == "the moves so far are impossible under these rules: occupied"


def test_an_analysis_that_fails_says_so_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a reply that has begun nothing can be taken back. Any other reply has the error, and stderr does not."""
    dialogue = Dialogue(BrokenPlayer())
    for line in ("kata-analyze b 10", "lz-analyze b 10"):
        assert "a bug" not in dialogue.send(line)
        assert "ZeroDivisionError: a bug" in capsys.readouterr().err
    assert "a bug" in dialogue.refuse("genmove b")
    assert "a bug" not in capsys.readouterr().err


NO_THREADS = """
import threading
from gtp_engine import cli

class Thread(threading.Thread):
    def start(self):
        if self.name == "pondering":
            raise RuntimeError("can't start new thread")
        super().start()

threading.Thread = Thread
cli.main()
"""


def test_where_pondering_cannot_begin_the_dialogue_goes_on() -> None:
    options = ["gtp", "--ponder", "--net", "none", "--player", "random", "--size", "5"]
    done = subprocess.run(
        [sys.executable, "-c", NO_THREADS, *options],
        cwd=REPOSITORY, input="genmove b\nname\ngenmove w\nquit\n", capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert done.stdout.count("= ") == 4
    assert "= Nobi\n" in done.stdout
    assert "nobi: the system gives this process no more threads" in done.stderr
    assert "Traceback" not in done.stderr
