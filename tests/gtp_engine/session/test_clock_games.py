"""The referee of the campaign of clocks: it counts what it should, with an engine that thinks as long as it is told."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator

import pytest

from tests.campaigns.clocks import OVERTIME, PLAIN, Controller, Terms, play_game, report


@pytest.fixture(params=[{"thinks": 0.0}, {"thinks": 60.0, "ends_late": 1.5}], ids=["quick", "late"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Controller, bool]]:
    """An engine, and whether it is in time. The late one takes a second and a half to end any search."""
    options = {"settings": {"size": "9"}, "player": request.param}
    controller = Controller([sys.executable, "-m", "tests.gtp_engine.fake_engine", json.dumps(options)])
    yield controller, request.param["thinks"] == 0.0
    controller.close()


def test_a_late_move_is_a_forfeit(engine: tuple[Controller, bool]) -> None:
    controller, in_time = engine
    period = 60 if in_time else 1
    terms = Terms(f"byoyomi:0:{period}:1", 9, ponder=False, told="whole", way=PLAIN, network_lag=0.0, moves=3)
    played = play_game(controller, terms, random.Random(1))
    assert (played.end == OVERTIME) is not in_time
    assert len(played.seconds) == (3 if in_time else 1)
    assert (max(played.shares) < 1) is in_time
    assert f"{0 if in_time else 1} forfeits" in report("all", [played])
