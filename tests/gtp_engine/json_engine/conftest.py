"""An engine for each test of this folder that wants one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gtp_engine.json_engine.spoken import Spoken


@pytest.fixture(scope="module")
def engine() -> Iterator[Spoken]:
    spoken = Spoken()
    yield spoken
    spoken.end()
