"""After warm-up nothing is compiled or loaded while a clock runs, whatever the rules and whatever is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.search.searches import RECORD

PLAY = """
import go_rules.game
from go_rules.game import Game
from go_rules.rule_names import preset
from nets.evaluator import ConstantEvaluator
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.nobi.player import PuctPlayer
from search.textbook.players import TextbookPlayer

def new_player(name):
    if name == "nobi":
        return PuctPlayer(ConstantEvaluator())
    return TextbookPlayer(name, None if name in ("rave", "mc") else ConstantEvaluator())

go_rules.game.warm_up()
player = new_player({name!r})
player.warm_up(7, 7)
assert asked
asked.clear()
everything = ReportRequest(lambda result: None, every=0.01, ownership=True, moves_ownership=True)
for rules in ("chinese", "tromp-taylor", "japanese", "aga-button"):
    game = Game(7, 7, preset(rules)[0], 7.5)
    for _ in range(4):
        result = player.search(SearchRequest(game, game.to_play, Limits(visits=60)))
        game.play(game.to_play, max(0, player.choose(game, result)))
    player.search(SearchRequest(game, game.to_play, Limits(visits=60), report=everything, analysis=True))
    for _ in range(2):
        game.play(game.to_play, 0)
        player.choose(game, player.search(SearchRequest(game, game.to_play, Limits(visits=60))))
    player.search(SearchRequest(game, 3 - game.to_play, Limits(visits=60)))
    no_pass = MoveFilter(avoid={{game.to_play: ((frozenset({{0}}), 3),)}})
    player.search(SearchRequest(game, game.to_play, Limits(visits=60), filter=no_pass))
    player.search(SearchRequest(Game(9, 9, preset(rules)[0]), 1, Limits(visits=60)))
    game.score()
player.close()
print(sorted(set(asked)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nobi", "rave", "alphago", "gumbel", "value", "mc"])
def test_nothing_is_compiled_after_warm_up(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", RECORD + PLAY.format(name=name)], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["[]"]
