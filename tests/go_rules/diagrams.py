"""Boards as text for the tests: `.` empty, `X` black, `O` white, rows from the top, one a line or with `/` between."""

from __future__ import annotations

from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, WHITE, from_vertex, point_at
from go_rules.rule_names import DEFAULT_RULES
from go_rules.rules import BONUS_NONE, KO_SIMPLE, Rules


def rules_of(scoring: int, tax: int) -> Rules:
    """Rules with a simple ko and no bonus for handicaps."""
    return Rules(ko=KO_SIMPLE, scoring=scoring, tax=tax, white_handicap_bonus=BONUS_NONE)


def rows_of(diagram: str) -> list[str]:
    rows = ["".join(line.split()) for line in diagram.strip().replace("/", "\n").splitlines()]
    assert len({len(row) for row in rows}) == 1, "ragged diagram"
    return rows


def game_from(diagram: str, to_play: int = BLACK, rules: Rules = DEFAULT_RULES, komi: float = 0) -> Game:
    rows = rows_of(diagram)
    game = Game(len(rows[0]), len(rows), rules, komi)
    colours = {"X": BLACK, "O": WHITE}
    stones = [(colours[c], point_at(x, y)) for y, row in enumerate(rows) for x, c in enumerate(row) if c in colours]
    game.set_position(stones, to_play)
    return game


def diagram_of(game: Game) -> list[str]:
    board = game.position["board"]
    letters = {EMPTY: ".", BLACK: "X", WHITE: "O"}
    return ["".join(letters[int(board[point_at(x, y)])] for x in range(game.width)) for y in range(game.height)]


def play_all(game: Game, moves: str) -> None:
    """Play `B A1 W pass ...`."""
    words = moves.split()
    for letter, vertex in zip(words[::2], words[1::2], strict=True):
        game.play({"B": BLACK, "W": WHITE}[letter], from_vertex(vertex, game.width, game.height))
