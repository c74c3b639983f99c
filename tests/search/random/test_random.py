"""The player of random moves: legal ones, each as likely as the others, and never into an own eye."""

from __future__ import annotations

from collections import Counter

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, to_vertex
from go_rules.rule_names import PRESETS
from search.random.player import RandomPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from tests.go_rules.diagrams import game_from, play_all


def draw(player: RandomPlayer, game: Game) -> int:
    return player.choose(game, player.search(SearchRequest(game, game.to_play, Limits(seconds=5.0))))


EYES = """
    . X . X .
    X X X X O
    . O O O .
    O . . O O
"""


def test_moves_are_uniform() -> None:
    """By chi-square over the moves that are legal and fill no eye, listed by hand."""
    player = RandomPlayer(workers=1, seed=1)
    game = game_from(EYES, BLACK)
    n = 4000
    counts = Counter(to_vertex(draw(player, game), 4) for _ in range(n))
    # A4 and C4 are black's eyes; E4 joins nothing but is free; A2, E2, B1 and C1 are white's.
    assert set(counts) == {"E4", "A2", "B1", "C1"}
    chi_square = sum((count - n / 4) ** 2 / (n / 4) for count in counts.values())
    assert chi_square < 16.3  # three degrees of freedom: exceeded once in a thousand seeds


ALIVE = """
    . X . X O
    X X X X O
    X O O O O
    O O . O .
"""


def test_it_passes_only_where_nothing_is_left() -> None:
    """Both sides have two eyes, and nothing else is empty: whoever is to play, there is no move but the pass."""
    player = RandomPlayer(workers=1, seed=1)
    for colour in (BLACK, WHITE):
        assert draw(player, game_from(ALIVE, colour)) == PASS
    assert all(draw(player, Game(3, 3)) != PASS for _ in range(200))


@pytest.mark.parametrize("rules", ["chinese-ogs", "japanese", "tromp-taylor", "new-zealand"])
def test_whole_games_are_legal(rules: str) -> None:
    player = RandomPlayer(workers=1, seed=3)
    for side in (1, 2, 5, 9):
        game = Game(side, side, *PRESETS[rules])
        passes = 0
        while passes < 2 and len(game.moves) < 5 * side * side + 5:
            point = draw(player, game)
            assert game.violation(game.to_play, point) is None
            game.play(game.to_play, point)
            passes = passes + 1 if point == PASS else 0


def test_superko_is_respected() -> None:
    game = game_from(". X O .\n X . X O\n . X O .", WHITE, PRESETS["chinese-ogs"][0])
    play_all(game, "W B2")
    player = RandomPlayer(workers=1, seed=1)
    assert all(game.is_legal(BLACK, draw(player, game)) for _ in range(100))


def test_it_knows_who_owns_what() -> None:
    """For final_status_list and analysis, games are played out."""
    player = RandomPlayer(workers=1, seed=1)
    request = SearchRequest(game_from(ALIVE, BLACK), BLACK, Limits(visits=50), report=OWNERSHIP_AT_THE_END)
    result = player.search(request)
    assert result.ownership is not None
    assert result.ownership.tolist()[:4] == [1.0] * 4
    assert result.visits == 50


def test_a_draw_knows_nothing_of_an_earlier_analysis() -> None:
    player = RandomPlayer(workers=1, seed=1)
    player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=50), analysis=True))
    result = player.search(SearchRequest(Game(3, 3), BLACK, Limits()))
    assert result.score_stdev == 0.0
    assert result.ownership is not None
    assert not result.ownership.any()
