"""`kata-raw-nn` against what KataGo itself printed for the same network and position."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.gtp.commands.analysis import raw_text
from search.nobi.parameters import SearchParameters
from tests.gtp_engine.fakes import FakePlayer
from tests.nets.golden import game_of

NETWORKS = {
    "g170-b6c96": "g170-b6c96-s175395328-d26788732.bin.gz",
    "b7c96h3tfrs-test5": "b7c96h3tfrs-test5-cnorm.bin.gz",
}
"""By the name of their golden file. The first has no error estimates; the second has an optimistic policy, too."""
EVERY = 12
"""Of the golden positions; all are the business of the evaluator's own test."""


def player_with(network: Path) -> FakePlayer:
    from nets.open import open_network

    player: Any = FakePlayer()
    player.evaluator = open_network(network, "fp32")
    return player


@pytest.fixture(scope="module")
def player(shared: Callable[[str], Path]) -> FakePlayer:
    return player_with(shared(f"nets/{NETWORKS['g170-b6c96']}"))


def colour_of(letter: str) -> int:
    return BLACK if letter.lower() == "b" else WHITE


def parse(text: str, height: int) -> dict[str, Any]:
    """As LizzieYzy reads it."""
    lines = text.split("\n")
    values: dict[str, Any] = {}
    while lines:
        key, *rest = lines.pop(0).split()
        if rest:
            values[key] = float(rest[0])
        else:
            values[key] = [[float(cell) for cell in lines.pop(0).split()] for _ in range(height)]
    return values


@pytest.mark.parametrize("golden_name", NETWORKS)
def test_raw_network_agrees_with_katago(shared: Callable[[str], Path], golden_name: str) -> None:
    player = player_with(shared(f"nets/{NETWORKS[golden_name]}"))
    lines = gzip.decompress(shared(f"golden/{golden_name}.jsonl.gz").read_bytes()).decode().splitlines()
    for line in lines[::EVERY]:
        golden = json.loads(line)
        game = game_of(golden)
        ours = parse(raw_text(player, game, colour_of(golden["to_play"]), 0), game.height)
        raw = golden["raw"]
        for key in ("whiteWin", "whiteLoss", "noResult"):
            assert ours[key] == pytest.approx(raw[key], abs=2e-4), golden
        assert ours["whiteLead"] == pytest.approx(raw["whiteLead"], abs=0.02)
        assert ours["whiteScoreSelfplay"] == pytest.approx(raw["whiteScoreSelfplay"], abs=0.02)
        assert ours["whiteScoreSelfplaySq"] == pytest.approx(raw["whiteScoreSelfplaySq"], rel=2e-3, abs=0.05)
        for key in ("varTimeLeft", "shorttermWinlossError", "shorttermScoreError"):
            assert ours[key] == pytest.approx(raw[key], rel=1e-3, abs=0.01)
        policy = np.array([[np.nan if cell is None else cell for cell in row] for row in raw["policy"]])
        assert np.allclose(ours["policy"], policy, atol=3e-4, equal_nan=True)
        assert ours["policyPass"] == pytest.approx(raw["policyPass"], abs=3e-4)
        assert np.allclose(ours["whiteOwnership"], raw["ownership_white"], atol=2e-3)


def test_shape_of_the_text(player: FakePlayer) -> None:
    game = Game(5, 4)
    game.play(BLACK, from_vertex("C3", 5, 4))
    lines = raw_text(player, game, WHITE, 0).split("\n")
    assert lines[0] == "symmetry 0"
    assert lines[10] == "policy"
    assert lines[12][18:26] == "    NAN "
    assert lines[15].startswith("policyPass 0.")
    assert lines[16] == "whiteOwnership"
    assert len(lines) == 21
    assert all(len(line.split()) == 5 for line in lines[11:15] + lines[17:])


def test_symmetries_look_at_the_same_position(player: FakePlayer) -> None:
    """On an empty square board all eight are the same; with a stone they differ but agree roughly."""
    game = Game(9, 9)
    texts = {raw_text(player, game, BLACK, symmetry).split("\n", 1)[1].split("policy")[0] for symmetry in range(8)}
    wins = [float(text.split()[1]) for text in texts]
    assert max(wins) - min(wins) < 0.01
    game.play(BLACK, from_vertex("C4", 9, 9))
    maps = [parse(raw_text(player, game, WHITE, s), 9)["whiteOwnership"] for s in range(8)]
    strongest = {int(np.argmin(ownership)) for ownership in maps}
    assert strongest == {5 * 9 + 2}


@pytest.mark.parametrize(("colour", "sign"), [(BLACK, -1), (WHITE, 1)])
def test_playout_doublings_are_told_to_the_network(player: FakePlayer, colour: int, sign: int) -> None:
    """The side to move has them, or another if the parameters name one."""
    wins = {}
    for doublings, side in ((0.0, "root"), (2.0, "root"), (2.0, "white"), (-2.0, "black")):
        player.parameters = SearchParameters(playout_doublings=doublings, playout_doublings_side=side)
        text = raw_text(player, Game(9, 9, komi=-7.0 * sign), colour, 0)
        wins[doublings, side] = parse(text, 9)["whiteWin"]
    player.parameters = SearchParameters()
    assert sign * (wins[2.0, "root"] - wins[0.0, "root"]) > 0.1
    assert wins[2.0, "white"] - wins[0.0, "root"] > 0.1
    assert wins[2.0, "white"] == wins[-2.0, "black"]
