"""Searches as tests ask for them."""

from __future__ import annotations

from collections.abc import Callable

from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits

SMALL = SearchParameters(workers=1, batch=1, memory=32, cache_memory=1, seed=7)

Maker = Callable[..., PuctPlayer]
"""The fixture `make`: a player with this evaluator and these changes of SMALL."""


def visits(count: int) -> Limits:
    return Limits(visits=count, may_stop_early=False)
