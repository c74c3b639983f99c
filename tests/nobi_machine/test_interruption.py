"""Signals to long work: the first one asks it to end, a later one ends it at once."""

from __future__ import annotations

import signal

import pytest

from nobi_machine import interruption as module
from nobi_machine.interruption import REQUESTS, interruptible
from tests.clocks import Clock
from tests.systems import PATIENCE


@pytest.mark.parametrize("number", REQUESTS)
def test_signals_within_a_moment_are_one_request(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock, raising=False)
    with interruptible() as interrupted:
        assert not interrupted.is_set()
        for clock.now in (5.0, 5.0, 5.9):
            signal.raise_signal(number)
            assert interrupted.is_set()
            assert interrupted.wait(PATIENCE)
        clock.now = 6.1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_what_is_ignored_stays_ignored() -> None:
    """As under `nohup`, and in the background jobs of scripts."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interruptible() as interrupted:
            signal.raise_signal(signal.SIGTERM)
            assert not interrupted.is_set()
    finally:
        signal.signal(signal.SIGTERM, before)
