"""What tests of the whole search share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from nets.evaluator import Evaluator
from search.nobi.player import PuctPlayer
from tests.search.searches import SMALL, Maker


@pytest.fixture
def make() -> Iterator[Maker]:
    """Players that are closed at the end."""
    made: list[PuctPlayer] = []

    def maker(evaluator: Evaluator, **changes: object) -> PuctPlayer:
        made.append(PuctPlayer(evaluator, dataclasses.replace(SMALL, **changes)))  # type: ignore[arg-type]
        return made[-1]

    yield maker
    for player in made:
        player.close()
