"""`nobi analysis`: which of its options, files and parameters decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from go_rules.points import BLACK
from gtp_engine.json_engine.command import analysis
from gtp_engine.json_engine.options import SIDE_TO_MOVE, Options
from nets.evaluator import ConstantEvaluator
from nets.human_profile import parse_profile

Start = Callable[..., Options]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts `nobi analysis` with these arguments; returns what holds for its queries."""
    found: list[Options] = []

    def run_session(make_engine: Callable[..., object], *_: object) -> int:
        make_engine(lambda reply: None, lambda: False)
        return 0

    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path / "user"))
    monkeypatch.setattr("gtp_engine.players.check", lambda configuration, _: configuration)
    monkeypatch.setattr("gtp_engine.networks.open_evaluator", lambda *_, **__: ConstantEvaluator())
    monkeypatch.setattr("gtp_engine.session.loading.warm_up_rules", lambda _: None)
    monkeypatch.setattr("gtp_engine.json_engine.server.run_session", run_session)
    monkeypatch.setattr("gtp_engine.json_engine.engine.JsonEngine", lambda _models, options, *_: found.append(options))

    def start(*arguments: str) -> Options:
        result = CliRunner().invoke(analysis, arguments)
        assert result.exit_code == 0, result.output
        return found[-1]

    return start


@pytest.mark.parametrize(
    ("setting", "given", "value_of", "theirs", "ours"),
    [
        ("visits=10", "maxVisits = 30", lambda options: options.engine.visits, 30, 10),
        ("maxPlayouts=10", "maxPlayouts = 30", lambda options: options.engine.playouts, 30, 10),
        ("time=1", "maxTime = 3", lambda options: options.engine.time, 3.0, 1.0),
        ("analysis_pv=1", "analysisPVLen = 3", lambda options: options.engine.analysis_pv, 3, 1),
        ("cpuct=1", "cpuctExploration = 3", lambda options: options.parameters.cpuct, 3.0, 1.0),
        (
            "analysis_wide_root_noise=1", "wideRootNoise = 3",
            lambda options: options.parameters.analysis_wide_root_noise, 3.0, 1.0,
        ),
        (
            "human_profile=rank_1d", "humanSLProfile = rank_3d",
            lambda options: options.profile, parse_profile("rank_3d"), parse_profile("rank_1d"),
        ),
    ],
)  # fmt: skip
def test_set_wins_over_katagos_settings(
    setting: str,
    given: str,
    value_of: Callable[[Options], Any],
    theirs: object,
    ours: object,
    start: Start,
    tmp_path: Path,
) -> None:
    config, human = tmp_path / "analysis.cfg", ("-human-model", "human.bin.gz")
    config.write_text(given + "\n", encoding="utf-8")
    for option in (("-config", str(config)), ("-override-config", given)):
        assert value_of(start(*human, *option)) == theirs
        assert value_of(start(*human, *option, "--set", setting)) == ours
    assert value_of(start(*human, "--set", setting)) == ours


def test_katagos_settings_win_over_the_users_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "config.toml").write_text("visits = 10\nplayouts = 20\n", encoding="utf-8")
    options = start("-override-config", "maxVisits=30")
    assert (options.engine.visits, options.engine.playouts) == (30, 20)


def test_without_a_file_of_katagos_winrates_are_blacks(start: Start, tmp_path: Path) -> None:
    """Every file that comes with KataGo says BLACK, so scripts assume it; where one says nothing, KataGo does not."""
    silent = tmp_path / "silent.cfg"
    silent.write_text("maxVisits = 30\n", encoding="utf-8")
    assert start().perspective == BLACK
    assert start("-override-config", "maxVisits=3").perspective == BLACK
    assert start("-override-config", "ReportAnalysisWinratesAs=SIDETOMOVE").perspective == SIDE_TO_MOVE
    assert start("-config", str(silent)).perspective == SIDE_TO_MOVE
