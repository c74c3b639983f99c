"""The reference search: what it finds in three games, and what its pieces do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from random import Random

import pytest

from search.reference.formulas import Gumbel, evenly, puct, rave, ucb1, widening
from search.reference.games import CONNECT_FOUR, TIC_TAC_TOE, Board, InARow
from search.reference.go import Go
from search.reference.mcts import FIRST, SECOND, Game, Node, Pieces, Played, Prior, State, search, statistics
from tests.conftest import REPOSITORY

Searching = Callable[[InARow, Board, Random], str]


def by(rule: Callable[[Node, Node], float], simulations: int, **pieces: object) -> Searching:
    return lambda game, state, random: search(game, state, simulations, Pieces(rule, **pieces), random)[0]  # type: ignore[arg-type]


@cache
def solved_result(game: InARow, state: Board) -> float:
    result = game.result(state)
    if result is not None:
        return result
    best = max if game.player(state) == FIRST else min
    return best(solved_result(game, game.play(state, move)) for move in game.moves(state))


def solved(game: InARow, state: Board, random: Random) -> tuple[float, Played]:
    """What FIRST wins with best play from here: an evaluation without errors."""
    return solved_result(game, state), ()


def solved_policy(game: InARow, state: Board) -> dict[str, Prior]:
    """Nearly all for the moves that keep the result."""
    kept = [
        move
        for move in game.moves(state)
        if solved(game, game.play(state, move), Random())[0] == solved_result(game, state)
    ]
    return {move: Prior(0.9 / len(kept) if move in kept else 0.02) for move in game.moves(state)}


def after(game: InARow, moves: str) -> Board:
    state = game.start()
    for move in moves.split():
        assert move in game.moves(state)
        state = game.play(state, move)
    return state


# --- The games ------------------------------------------------------------------------------------------------------


def count(game: InARow, state: Board, depth: int) -> int:
    if depth == 0 or game.result(state) is not None:
        return depth == 0
    return sum(count(game, game.play(state, move), depth - 1) for move in game.moves(state))


def test_the_number_of_games() -> None:
    """Tic-tac-toe: known numbers of games that last so many moves. Connect four: positions by move order."""
    assert [count(TIC_TAC_TOE, TIC_TAC_TOE.start(), depth) for depth in range(7)] == [1, 9, 72, 504, 3024, 15120, 54720]
    assert [count(CONNECT_FOUR, CONNECT_FOUR.start(), depth) for depth in range(5)] == [1, 7, 49, 343, 2401]


@pytest.mark.parametrize(
    ("game", "moves", "result"),
    [
        (TIC_TAC_TOE, "A1 B1 A2 B2 A3", 1.0),
        (TIC_TAC_TOE, "A1 C1 A2 B2 C3 A3", 0.0),
        (TIC_TAC_TOE, "A1 B1 B2 C3 A2", None),
        (TIC_TAC_TOE, "B2 A1 A3 C1 B1 B3 A2 C2 C3", 0.5),
        (CONNECT_FOUR, "1 2 1 2 1 2 1", 1.0),
        (CONNECT_FOUR, "1 1 2 2 3 3 4", 1.0),
        (CONNECT_FOUR, "1 2 2 3 3 4 3 4 4 6 4", 1.0),
        (CONNECT_FOUR, "7 6 6 5 5 4 5 4 4 2 4", 1.0),
        (CONNECT_FOUR, "4 5 4 6 5 7 7 2 6 3", None),
        # Six in a column and one beside the top: no row leaves the board.
        (CONNECT_FOUR, "1 2 1 2 2 1 2 1 1 2 1 2", None),
    ],
)
def test_rows(game: InARow, moves: str, result: float | None) -> None:
    assert game.result(after(game, moves)) == result


def test_boards_as_text() -> None:
    assert TIC_TAC_TOE.show(after(TIC_TAC_TOE, "A1 B2 C3")) == ". . X\n. O .\nX . ."
    assert CONNECT_FOUR.show(after(CONNECT_FOUR, "1 1 7")).splitlines()[-2:] == ["O . . . . . .", "X . . . . . X"]


# --- Playing --------------------------------------------------------------------------------------------------------

SOLVED = Gumbel(value_scale=1.0)
DRAWING: dict[str, Searching] = {
    "ucb1": by(ucb1, 1000),
    "rave": by(rave, 1000),
    "puct": by(puct, 1000),
    "widening": by(ucb1, 1000, widening=partial(widening, factor=3)),
    # Fewer visits, and an evaluation that knows the result.
    "puct by values": by(puct, 40, evaluate=solved),
    "gumbel by values and policy": lambda game, state, random: SOLVED.search(
        game, state, 20, Pieces(SOLVED.rule, evaluate=solved, priors=solved_policy), random
    )[0],
}


@pytest.mark.parametrize("name", DRAWING)
def test_tic_tac_toe_is_a_draw(name: str) -> None:
    random, state = Random(1), TIC_TAC_TOE.start()
    while TIC_TAC_TOE.result(state) is None:
        state = TIC_TAC_TOE.play(state, DRAWING[name](TIC_TAC_TOE, state, random))
    assert TIC_TAC_TOE.result(state) == 0.5, TIC_TAC_TOE.show(state)


CONNECTING: dict[str, Searching] = {
    name: by(rule, 400) for name, rule in {"ucb1": partial(ucb1, exploration=0.7), "rave": rave, "puct": puct}.items()
}


@pytest.mark.parametrize(
    ("moves", "answer"),
    [
        ("4 1 4 1 4 2", "4"),  # up a column
        ("1 1 2 2 4 4", "3"),  # into a gap
        ("4 1 4 1 4", "4"),  # block a column
        ("1 7 2 7 3", "4"),  # block a row
        ("1 7 1 7 2 7", "7"),  # block, though it is the first player's turn
    ],
)
@pytest.mark.parametrize("name", CONNECTING)
def test_connect_four_wins_at_once_and_blocks(name: str, moves: str, answer: str) -> None:
    state = after(CONNECT_FOUR, moves)
    assert CONNECTING[name](CONNECT_FOUR, state, Random(1)) == answer, CONNECT_FOUR.show(state)


def test_gumbel_takes_the_best_of_few() -> None:
    """With 8 simulations and true values it never plays into a loss, whatever the noise."""
    state = after(TIC_TAC_TOE, "A1")
    assert {
        SOLVED.search(TIC_TAC_TOE, state, 8, Pieces(SOLVED.rule, evaluate=solved), Random(i))[0] for i in range(8)
    } == {"B2"}


# --- The pieces -----------------------------------------------------------------------------------------------------


def test_the_same_seed_searches_alike() -> None:
    texts = [
        statistics(search(TIC_TAC_TOE, TIC_TAC_TOE.start(), 100, Pieces(ucb1), Random(seed))[1]) for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_flat_monte_carlo_visits_all_alike_and_goes_no_deeper() -> None:
    _, root = search(TIC_TAC_TOE, TIC_TAC_TOE.start(), 90, Pieces(evenly, deepest=1), Random(1))
    assert [child.visits for child in root.children] == [10] * 9
    assert not any(child.children for child in root.children)


def test_every_result_is_backed_up_once() -> None:
    def check(node: Node) -> None:
        if node.children:
            assert node.visits == sum(child.visits for child in node.children) + (node is not root)
            lost = sum(child.visits - child.wins for child in node.children)
            assert node.wins == lost + (node.own if node is not root else 0.0)
        for child in node.children:
            check(child)

    _, root = search(TIC_TAC_TOE, TIC_TAC_TOE.start(), 300, Pieces(ucb1), Random(1))
    assert root.visits == 300
    check(root)


def test_all_moves_as_first() -> None:
    """One playout whose moves are known: who was first to play where, in the tree or after it."""

    def fixed(game: Game, state: State, random: Random) -> tuple[float, Played]:
        return 1.0, [(SECOND, "B2"), (FIRST, "C3"), (SECOND, "A2")]

    _, root = search(TIC_TAC_TOE, TIC_TAC_TOE.start(), 1, Pieces(ucb1, evaluate=fixed), Random(1))
    credited = {child.move: (child.amaf_visits, child.amaf_wins) for child in root.children if child.amaf_visits}
    assert credited == {"A1": (1, 1.0), "C3": (1, 1.0)}


def test_widening_begins_with_the_likeliest_moves() -> None:
    def centre_first(game: Game, state: State) -> dict[str, Prior]:
        return {move: Prior(0.6 if move == "B2" else 0.05) for move in game.moves(state)}

    pieces = Pieces(ucb1, priors=centre_first, widening=partial(widening, factor=1, power=0.5))
    for simulations, looked_at in ((1, 1), (4, 2), (9, 3), (40, 7)):
        _, root = search(TIC_TAC_TOE, TIC_TAC_TOE.start(), simulations, pieces, Random(1))
        assert sum(child.visits > 0 for child in root.children) == looked_at
        assert root.children[0].move == "B2"


def test_rave_goes_from_all_moves_as_first_to_visits() -> None:
    def child(visits: int) -> Node:
        return Node(None, FIRST, visits=visits, wins=visits * 0.25, amaf_visits=1000, amaf_wins=750.0)

    values = [rave(Node(None, SECOND, visits=10000), child(n), equivalence=100, exploration=0) for n in (1, 100, 10000)]
    assert values[0] > 0.74
    assert 0.25 < values[2] < 0.26 < values[1] < values[0]


def test_the_table_of_moves() -> None:
    state = after(CONNECT_FOUR, "4 1 4 1 4 2")
    _, root = search(CONNECT_FOUR, state, 400, Pieces(ucb1), Random(1))
    head, best, *others = statistics(root).splitlines()
    assert head.split() == ["move", "visits", "wins", "%", "depth"]
    move, visits, wins, percent, depth = best.split()
    assert (move, percent, depth) == ("4", "100.0", "1")
    assert float(visits) == float(wins)
    assert len(others) == 6


@pytest.mark.parametrize(("size", "komi", "move", "wins"), [(3, 8.5, "B2", True), (2, 1.5, None, False)])
def test_go_on_solved_boards(size: int, komi: float, move: str | None, wins: bool) -> None:
    """3x3 is black's by 9 from the centre; 2x2 is black's by 1 under positional superko."""
    game = Go(size, komi)
    best, root = search(game, game.start(), 700, Pieces(partial(ucb1, exploration=0.5)), Random(1))
    assert move in (None, best), statistics(root)
    value = max(root.children, key=lambda child: child.visits).value
    assert (value > 0.5) == wins, statistics(root)


# --- The text -------------------------------------------------------------------------------------------------------


def test_it_is_short_and_needs_no_package() -> None:
    folder = REPOSITORY / "search" / "reference"
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")) < 400
    code = (
        "import sys, search.reference.formulas, search.reference.games\n"
        "print(*{'numpy', 'numba', 'onnxruntime'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
