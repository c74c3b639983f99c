"""The clean-up phases as KataGo plays them: golden answers of its own rules."""

from __future__ import annotations

from pathlib import Path

from go_rules.game import Game
from go_rules.phases import live_phase
from go_rules.points import PASS, board_points, point_at
from go_rules.position import MARK_KO_RECAPTURE_BLOCKED
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, BONUS_NONE, Rules

GOLDEN = Path(__file__).with_name("cleanup_by_katago.txt")

BONUSES = (BONUS_NONE, BONUS_N, BONUS_N_MINUS_1)
"""By KataGo's numbers."""


def started(words: list[str]) -> Game:
    width, height, ko, scoring, tax, suicide, button, bonus, friendly, cleanup = map(int, words[:10])
    flags = bool(suicide), bool(button), BONUSES[bonus], bool(friendly), bool(cleanup)
    return Game(width, height, Rules(ko, scoring, tax, *flags), float(words[10]))


def answer(game: Game) -> list[str]:
    """What katago_rules.cpp prints first."""
    position, points = game.position, board_points(game.width, game.height)
    legal = set(game.legal_moves(game.to_play))
    ends = [game.is_over, game.is_no_result, live_phase(position, game.record), game.to_play]
    blocked = [position["marks"][p] & MARK_KO_RECAPTURE_BLOCKED != 0 for p in points]
    numbers = [position["white_bonus"], game.record["handicap_bonus"], game.score()]
    maps = ["".join(str(int(flag)) for flag in flags) for flags in ([p in legal for p in points], blocked)]
    return [*(str(int(value)) for value in ends), *maps, *(f"{float(value):.6g}" for value in numbers)]


def test_cleanup_as_katago_plays_it() -> None:
    game = Game(1, 1)
    on_stones = 0
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        question, expected = line.split(" | ")
        kind, *words = question.split()
        if kind == "game":
            game = started(words)
        else:
            colour, x, y = map(int, words)
            point = PASS if x < 0 else point_at(x, y)
            if game.position["board"][point] == 3 - colour:
                on_stones += 1
                stones = game.position["board"].copy()
                game.play(colour, point)
                assert (game.position["board"] == stones).all()
                game.undo()
            game.play(colour, point)
        assert answer(game) == expected.split(), line
    assert on_stones >= 4
