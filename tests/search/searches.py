"""Searches as tests ask for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits
from search.result import SearchResult

SMALL = SearchParameters(workers=1, batch=1, memory=32, cache_memory=1, seed=7)

Maker = Callable[..., PuctPlayer]
"""The fixture `make`: a player with this evaluator and these changes of SMALL."""


def visits(count: int) -> Limits:
    return Limits(visits=count, may_stop_early=False)


Numbers = NDArray[Any]


def numbers_of(result: SearchResult) -> Iterator[tuple[str, Numbers]]:
    """All that a search found, but how long it took: arrays and the names of their fields."""
    for item in (result, result.raw, *result.moves):
        for field in dataclasses.fields(item) if item is not None else ():
            value = getattr(item, field.name)
            if field.name not in ("seconds", "moves") and isinstance(value, (int, float, tuple, np.ndarray)):
                yield f"{type(item).__name__}.{field.name}", np.asarray(value)
