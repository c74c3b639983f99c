"""The games that our own kernels are calibrated with: what is written is read again, and what ships is of all kinds."""

from __future__ import annotations

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.rule_names import PRESETS
from nets.constant import ConstantEvaluator
from nets.features import scratch_for
from nets.precision.calibration import Series, new_games, own_positions, play
from nets.precision.calibration_games import RecordedGame, positions_of, read_games, recorded_positions


def test_a_line_is_read_as_it_was_written() -> None:
    game = Game(7, 5, PRESETS["japanese"][0], -3.5)
    for colour, point in ((BLACK, point_at(6, 0)), (WHITE, PASS), (BLACK, point_at(0, 4))):
        game.play(colour, point)
    line = RecordedGame(game, 4).to_line()
    assert line == "7x5 4 japanese -3.5 G5 pass A1"
    (back,) = read_games(["# a remark", line])
    assert (back.interval, back.game.rules, back.game.komi) == (4, game.rules, -3.5)
    assert back.game.moves == game.moves


def test_positions_are_those_of_the_turns_when_the_games_were_played() -> None:
    evaluator = ConstantEvaluator()
    series = (Series(5, 5, games=3, moves=30, interval=4), Series(4, 6, games=2, moves=9, interval=2))
    random, scratch = np.random.default_rng(3), scratch_for(evaluator)
    lines = []
    for each in series:
        games = new_games(each, random)
        for _ in play(games, each.moves, evaluator, random, scratch):
            pass
        lines += [RecordedGame(game, each.interval).to_line() for game in games]
    kept = positions_of(read_games(lines), scratch)
    for ours, expected in zip(kept, own_positions(evaluator, series, seed=3), strict=True):
        np.testing.assert_array_equal(ours[0], expected[0])
        np.testing.assert_array_equal(ours[1], expected[1])


def test_what_ships_is_of_all_kinds() -> None:
    kept = recorded_positions(scratch_for(ConstantEvaluator()))
    shapes = {spatial.shape[2:]: len(spatial) for spatial, _ in kept}
    assert min(shapes.values()) >= 20
    assert set(shapes) == {(19, 19), (13, 13), (9, 9), (11, 7), (15, 15), (5, 5)}
    assert all(len(np.unique(spatial, axis=0)) > 0.9 * len(spatial) for spatial, _ in kept)
