"""The players without a network under GTP: their parameters while the engine runs, analysis, and the end of a game."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from search.textbook.parameters import PURE_UCT
from search.textbook.players import RandomPlayer, TextbookPlayer
from tests.gtp_engine.fakes import Dialogue

MAKERS = {
    "uct": lambda: TextbookPlayer("uct", workers=1, seed=1),
    "rave": lambda: TextbookPlayer("rave", workers=1, seed=1),
    "mc": lambda: TextbookPlayer("mc", workers=1, seed=1),
    "random": lambda: RandomPlayer(workers=1, seed=1),
}


@pytest.fixture(params=MAKERS)
def dialogue(request: pytest.FixtureRequest) -> Iterator[Dialogue]:
    player = MAKERS[request.param]()
    yield Dialogue(player)
    player.close()


def test_parameters_change_while_the_engine_runs() -> None:
    """Those of the tree, those that all players without a network share, and the engine's own, at once too."""
    dialogue = Dialogue(TextbookPlayer("uct", workers=1, seed=1))
    assert dialogue.ask("kata-get-param uct.exploration") == str(PURE_UCT.exploration)
    dialogue.ask("kata-set-param UCT.exploration 0.75")
    dialogue.ask('kata-set-params {"widening": 4, "virtual_loss": 3, "playouts.score_weight": 0.25, "maxVisits": 50}')
    found = [
        dialogue.ask(f"kata-get-param {name}")
        for name in ("uct.exploration", "widening", "playouts.score_weight", "visits")
    ]
    assert found == ["0.75", "4.0", "0.25", "50"]
    assert "widening must be 0 to 1000" in dialogue.refuse('kata-set-params {"uct.exploration": 0.1, "widening": -1}')
    assert dialogue.ask("kata-get-param uct.exploration") == "0.75"
    assert dialogue.refuse("kata-set-param cpuct 1") == "unknown parameter: cpuct"
    gone = "unknown parameter: exploration (gone: write uct.exploration)"
    assert dialogue.refuse("kata-set-param exploration 1") == gone
    dialogue.ask("genmove b")
    assert dialogue.session.player.parameters.virtual_loss == 3


def test_a_player_without_a_tree_has_no_exploration() -> None:
    dialogue = Dialogue(TextbookPlayer("mc", workers=1, seed=1))
    assert dialogue.refuse("kata-set-param uct.exploration 1") == "unknown parameter: uct.exploration"
    assert dialogue.ask("kata-set-param early_stop false") == ""
    assert "uct.exploration" not in dialogue.ask("kata-list-params").split()


def test_the_end_of_a_game(dialogue: Dialogue) -> None:
    """Two walls with a dead stone behind one: who plays by playouts knows it from them, `random` too."""
    dialogue.ask("boardsize 5", "kata-set-rules chinese-ogs")
    for row in range(1, 6):
        dialogue.ask(f"play b C{row}", f"play w D{row}")
    dialogue.ask("play w B3", "play b pass", "play w pass")
    assert dialogue.ask("final_status_list dead").split() == ["B3"]


def test_a_move_and_an_analysis(dialogue: Dialogue) -> None:
    dialogue.ask("boardsize 5", "kata-set-param maxVisits 60", "time_settings 0 5 1")
    assert dialogue.ask("genmove b") != "resign"
    reply = dialogue.ask("kata-genmove_analyze w 1 ownership true")
    assert reply.splitlines()[-1].startswith("play ")
