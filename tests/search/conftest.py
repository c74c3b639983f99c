"""What tests of the whole search share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from nets.evaluator import Evaluator
from search.puct.player import NetworkPlayer
from tests.search.searches import SMALL, Maker


@pytest.fixture
def make() -> Iterator[Maker]:
    """Players that are closed at the end."""
    made: list[NetworkPlayer] = []

    def maker(evaluator: Evaluator, **changes: object) -> NetworkPlayer:
        made.append(NetworkPlayer(evaluator, dataclasses.replace(SMALL, **changes)))  # type: ignore[arg-type]
        return made[-1]

    yield maker
    for player in made:
        player.close()
