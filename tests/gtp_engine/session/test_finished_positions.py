"""Finished positions under Japanese rules and the network that ships: a campaign in short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from search.nobi.player import PuctPlayer
from tests.campaigns.finished_positions import fault, network, new_player, positions, searching


@pytest.fixture(scope="module")
def player() -> Iterator[PuctPlayer]:
    opened = new_player(network("strong", "auto"))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "wanted",
    [
        "a lone dead stone, 9x9, Black to move",
        "a lone dead stone, 9x9, White to move",
        "a seki with an eye each, 9x9, Black to move",
        "dead stones on both sides, and dame, 9x9, Black to move",
        "a dame that Black alone can fill, 9x9, White to move",
        "end of game 8, 9x9, Black to move",
    ],
)
def test_a_finished_game_is_ended(wanted: str, player: PuctPlayer) -> None:
    position = next(position for position in positions() if str(position) == wanted)
    assert fault(player.evaluator, searching(player, 50), position) == ""
