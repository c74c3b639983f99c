"""The games that networks are calibrated with: what is written is read again, and what ships is of all kinds."""

from __future__ import annotations

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.rule_names import PRESETS
from nets.evaluator import ConstantEvaluator
from nets.features import GLOBAL_ADVANTAGE, GLOBAL_HAS_ADVANTAGE, scratch_for
from nets.loss import RecordedGame, encoded, positions_of, recorded_positions, with_doublings

SCRATCH = scratch_for(ConstantEvaluator())


def test_a_line_is_read_as_it_was_written() -> None:
    game = Game(7, 5, PRESETS["japanese"][0], -3.5)
    for colour, point in ((BLACK, point_at(6, 0)), (WHITE, PASS), (BLACK, point_at(0, 4))):
        game.play(colour, point)
    recorded = RecordedGame.of(game, 4)
    assert recorded.to_line() == "7x5 4 japanese -3.5 G5 pass A1"
    assert RecordedGame.from_line(recorded.to_line()) == recorded


def test_positions_are_those_of_the_turns_when_the_games_were_played() -> None:
    random = np.random.default_rng(3)
    games = [Game(6, 5, PRESETS[name][0], komi) for name, komi in (("aga", 7.0), ("japanese", 2.5), ("chinese", 0.0))]
    lengths, kept = (20, 12, 7), []
    for turn in range(max(lengths)):
        going_on = [game for game, length in zip(games, lengths, strict=True) if turn < length]
        if turn % 4 == 3:
            kept.append(encoded(going_on, SCRATCH))
        for game in going_on:
            moves = game.legal_moves(game.to_play)
            game.play(game.to_play, int(moves[random.integers(len(moves))]))
    (found,) = positions_of([RecordedGame.of(game, 4) for game in games], SCRATCH)
    for ours, expected in zip(found, zip(*kept, strict=True), strict=True):
        np.testing.assert_array_equal(ours, np.concatenate(expected))


def test_what_ships_is_of_all_kinds() -> None:
    kept = recorded_positions(SCRATCH)
    shapes = {spatial.shape[2:]: len(spatial) for spatial, _ in kept}
    assert min(shapes.values()) >= 20
    assert set(shapes) == {(19, 19), (13, 13), (9, 9), (11, 7), (15, 15), (5, 5)}
    assert all(len(np.unique(spatial, axis=0)) > 0.9 * len(spatial) for spatial, _ in kept)


def test_one_in_four_is_shown_with_doublings_on_either_side() -> None:
    games = [Game(6, 5, komi=komi) for komi in (0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5)]
    spatial, global_ = encoded(games, SCRATCH)
    ((planes, told),) = with_doublings([(spatial, global_)])
    np.testing.assert_array_equal(planes, spatial[::4])
    assert told[:, GLOBAL_HAS_ADVANTAGE].tolist() == [1.0, 1.0, 1.0]
    assert told[:, GLOBAL_ADVANTAGE].tolist() == [1.375, -1.375, 1.375]
    told[:, [GLOBAL_HAS_ADVANTAGE, GLOBAL_ADVANTAGE]] = 0.0
    np.testing.assert_array_equal(told, global_[::4])
