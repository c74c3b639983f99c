"""What GoGui is told to draw: each mark at its point, in the colour that it stands for."""

from __future__ import annotations

import re

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.gtp.commands.pictures import influence_picture, policy_picture
from nets.bare_evaluation import evaluate
from tests.search.evaluators import FancifulEvaluator


def drawn(picture: str, keyword: str) -> dict[str, float]:
    """The values by vertex of the line with this keyword."""
    line = next(line for line in picture.splitlines() if line.startswith(keyword + " "))
    words = line.split()[1:]
    assert all(re.fullmatch("[A-E][1-5]", vertex) for vertex in words[::2])
    return {vertex: float(value) for vertex, value in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.parametrize(("colour", "sign"), [(BLACK, 1), (WHITE, -1)])
def test_policy(colour: int, sign: int) -> None:
    game = Game(5, 5)
    game.play(BLACK, from_vertex("C3", 5, 5))
    picture = policy_picture(FancifulEvaluator(), game, colour)
    labels, shades = drawn(picture, "LABEL"), drawn(picture, "INFLUENCE")
    assert labels.keys() == shades.keys()
    assert "C3" not in labels
    assert max(shades.values(), key=abs) == sign
    assert labels[max(shades, key=lambda vertex: abs(shades[vertex]))] == max(labels.values())
    passing = float(re.findall("TEXT pass ([0-9.]+) %", picture)[0])
    assert sum(labels.values()) + passing == pytest.approx(100, abs=len(labels) / 2 + 3)


def test_influence_is_blacks_view() -> None:
    game, evaluator = Game(5, 5), FancifulEvaluator()
    own = evaluate(evaluator, game, WHITE).ownership[0]
    shades = drawn(influence_picture(evaluator, game, WHITE), "INFLUENCE")
    assert shades["A5"] == pytest.approx(-own[0], abs=0.006)
