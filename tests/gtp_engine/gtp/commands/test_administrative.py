"""Commands about the engine itself and for servers: answered at once, and true."""

from __future__ import annotations

import importlib
import time

import pytest

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp import commands
from gtp_engine.version import GTP_VERSION, VERSION
from tests.gtp_engine.fakes import Dialogue
from tests.search.evaluators import FancifulEvaluator


def test_processor_time_is_that_of_this_process() -> None:
    dialogue = Dialogue()
    for command in ("cputime", "gomill-cpu_time"):
        before = time.process_time()
        told = float(dialogue.ask(command))
        assert before - 0.001 <= told <= time.process_time() + 0.001


def test_the_version_may_be_another() -> None:
    assert Dialogue().ask("version") == GTP_VERSION
    assert Dialogue(settings=EngineSettings(gtp_version="0.17")).ask("version") == "0.17"


def test_quit_ends_the_dialogue_and_nothing_else_does() -> None:
    dialogue = Dialogue()
    for line in ("name", "stop", "no_such_command", "genmove x"):
        dialogue.send(line)
        assert not dialogue.ended
    assert dialogue.send("7 quit") == "=7 \n\n"
    assert dialogue.ended


def test_kgs_chat_is_known_and_not_listed() -> None:
    dialogue = Dialogue()
    listed = dialogue.ask("list_commands").split("\n")
    assert "kgs-chat" not in listed
    assert {"genmove", "cgos-gameover", "nobi-policy"} <= set(listed)
    assert dialogue.ask("known_command kgs-chat") == "true"


def test_every_entry_of_goguis_dialog_is_a_command_that_is_carried_out() -> None:
    dialogue = Dialogue()
    dialogue.player.evaluator = FancifulEvaluator()
    dialogue.ask("boardsize 5")
    entries = [line.split("/") for line in dialogue.ask("gogui-analyze_commands").split("\n")]
    assert len({label for _, label, *_ in entries}) == len(entries) >= 12
    for kind, _, line, *_ in entries:
        assert kind in ("gfx", "string", "plist", "none")
        dialogue.ask(line)


@pytest.mark.parametrize("group", ["administrative", "clocks"])
def test_what_needs_no_rules_waits_for_none(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller asks these at once; a GUI gives up on an engine that loads its network first."""

    class Loading:
        def await_rules(self) -> None:
            raise AssertionError("waits for the rules")

        await_player = await_rules

    dialogue = Dialogue()
    monkeypatch.setattr(dialogue.session, "loader", Loading())
    for name, of in commands.GROUP_OF.items():
        if of == group and name != "quit":
            assert "waits" not in dialogue.send(f"{name} b 10 1"), name


def test_the_modules_of_a_game_are_imported_before_its_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    import_module = importlib.import_module

    def spy(name: str) -> object:
        imported.append(name)
        return import_module(name)

    monkeypatch.setattr(importlib, "import_module", spy)
    Dialogue().ask("clear_board")
    assert {"gtp_engine.gtp.commands.play", "gtp_engine.gtp.commands.clocks"} <= set(imported)


def test_what_is_said_on_kgs_and_who_speaks() -> None:
    """Black, which has made its move, is ahead."""
    dialogue = Dialogue(settings=EngineSettings(size="9", gtp_name="Somebody"))
    assert dialogue.ask("kgs-chat game someone hello") == f"I am Somebody {VERSION}, a Go program."
    dialogue.ask("genmove b")
    assert dialogue.ask("kgs-chat game someone hello") == ("After 10 visits I expect to win with 52 %, by +0.8 points.")
    dialogue.ask("clear_board")
    assert dialogue.ask("kgs-chat game someone hello").startswith("I am Somebody")
