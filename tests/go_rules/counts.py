"""Known counts of move sequences and of games, counted by three implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from go_rules.game import Game
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE, KO_SITUATIONAL, Rules
from tests.go_rules.counting import complete_games, perft
from tests.go_rules.naive import OVER, NaiveGame

POSITIONAL = Rules(ko=KO_POSITIONAL, suicide=False)
SUICIDE = Rules(ko=KO_POSITIONAL, suicide=True)
SITUATIONAL = Rules(ko=KO_SITUATIONAL, suicide=False)
NO_SUPERKO = Rules(ko=KO_SIMPLE, suicide=False)

# (width, height, rules, depth of the first count, counts)
PERFT = [
    (4, 1, POSITIONAL, 1, [5, 19, 54, 120, 224, 418, 714, 1300]),
    (4, 1, SUICIDE, 6, [592, 1086, 2018]),
    (2, 2, POSITIONAL, 1, [5, 21, 68, 156, 316, 604, 1088, 2184, 4184, 8024, 13800, 23560]),
    (2, 3, POSITIONAL, 1, [7, 43, 222, 934, 3242, 8666, 20760]),
    (3, 2, SUICIDE, 6, [9834, 26504]),
    (3, 3, POSITIONAL, 1, [10, 91, 738, 5281, 33384, 179712]),
    (3, 3, SUICIDE, 6, [180768]),
    (3, 3, NO_SUPERKO, 6, [179712]),  # 179744 without any ko rule: 32 sequences retake a ko at once
    (4, 4, POSITIONAL, 1, [17, 273, 4112, 57984, 764016]),
    (5, 5, POSITIONAL, 1, [26, 651, 15650, 361041]),
    (9, 9, POSITIONAL, 1, [82, 6643, 531522]),
]

GAMES = [
    (1, 1, POSITIONAL, 1),
    (2, 1, POSITIONAL, 9),
    (3, 1, POSITIONAL, 907),
    (1, 3, SUICIDE, 907),
    (3, 1, SITUATIONAL, 959),
]
"""(width, height, rules, complete games)"""

SLOW = 30_000
"""Counts above this take the slow implementations too long."""


def naive_perft(game: NaiveGame, depth: int) -> int:
    if game.now.phase == OVER:
        return 0
    moves = game.moves()
    if depth == 1:
        return len(moves)
    return sum(naive_perft(game.after_move(game.now.to_play, move), depth - 1) for move in moves)


def game_perft(game: Game, depth: int) -> int:
    if game.is_over:
        return 0
    moves = game.legal_moves(game.to_play)
    if depth == 1:
        return len(moves)
    total = 0
    for move in moves:
        game.play(game.to_play, move)
        total += game_perft(game, depth - 1)
        game.undo()
    return total


def naive_games(game: NaiveGame) -> int:
    """How many games there are from here to two passes."""
    if game.now.phase == OVER:
        return 1
    return sum(naive_games(game.after_move(game.now.to_play, move)) for move in game.moves())


def count_differences() -> Iterator[tuple[str, str | None]]:
    """Each count of the tables by each implementation that is fast enough: its name, and what is wrong if anything."""
    ways: list[tuple[str, Callable[[int, int, Rules, int], int], int]] = [
        ("kernels", perft, 10**9),
        ("Game and undo", lambda width, height, rules, depth: game_perft(Game(width, height, rules), depth), SLOW),
        ("naive rules", lambda width, height, rules, depth: naive_perft(NaiveGame(width, height, rules), depth), SLOW),
    ]
    for width, height, rules, first, counts in PERFT:
        for depth, expected in enumerate(counts, first):
            for name, count, most in ways:
                if expected <= most:
                    found = count(width, height, rules, depth)
                    what = f"perft {depth} of {width}x{height} by {name}, {rules}"
                    yield what, None if found == expected else f"{found}, not {expected}"
    for width, height, rules, expected in GAMES:
        for name, found in (
            ("kernels", complete_games(width, height, rules)),
            ("naive rules", naive_games(NaiveGame(width, height, rules))),
        ):
            what = f"games on {width}x{height} by {name}, {rules}"
            yield what, None if found == expected else f"{found}, not {expected}"
