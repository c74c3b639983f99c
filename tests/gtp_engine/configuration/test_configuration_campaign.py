"""The campaign of mutated configurations: a few of its cases, and that it sees what it is there to see."""

from __future__ import annotations

import pytest

from nobi_machine.parameters import ParameterError
from tests.campaigns import configurations
from tests.campaigns.configurations import run


def test_a_few_cases() -> None:
    counts, slowest, refusals = run(180, seed=7)
    assert sum(counts.values()) == 180
    assert {key.split()[1] for key in counts} == {"taken", "refused"}
    assert len(refusals) > 10
    assert slowest < configurations.SECONDS


@pytest.mark.parametrize("error", [ValueError("x"), ParameterError("two\nlines"), ParameterError("x" * 2000)])
def test_failures_are_seen(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(configurations, "load", fail)
    counts, _, _ = run(1, seed=1)
    assert counts == {"file failed": 1}
    assert "seed 1, case 0, file" in capsys.readouterr().out
