"""Random games played by the kernels and by the naive rules at once, and what the two disagree on."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sgfmill.boards import Board

from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, MAX_SIZE, PASS, STRIDE, WHITE, board_points, column_of, point_at, row_of
from go_rules.position import MARK_KO_RECAPTURE_BLOCKED, STONE_KEYS
from go_rules.rule_names import PRESETS
from go_rules.rules import Rules
from go_rules.superko import situation_key
from tests.go_rules.naive import MAIN, NaiveGame, Point

PROBES = 3
"""Empty points per move whose legality is compared, besides those the kernels call illegal."""

ALL_RULES = [
    Rules(ko=ko, scoring=scoring, suicide=suicide, has_button=scoring == 0 and button, cleanup=True)
    for ko in range(3)
    for scoring in range(2)
    for suicide in (False, True)
    for button in (False, True)
    if not (scoring and button)
] + [rules for rules, _ in PRESETS.values()]


def xy(point: int) -> Point | None:
    return None if point == PASS else (column_of(point), row_of(point))


def random_game_differences(
    seed: int, width: int, height: int, rules: Rules, moves: int, told: float = 0.0
) -> Iterator[str]:
    """Play `moves` random moves and yield one line for each thing the kernels and the naive rules differ in.

    A share `told` of them are moves that the rules forbid and Game.play_lenient takes, where there are such.
    """
    rng = random.Random(seed)
    game = Game(width, height, rules)
    naive = NaiveGame(width, height, rules)
    # sgfmill knows square boards from 2x2, and nothing of the moves that pass for a ko in the clean-up phases.
    sgfmill = Board(width) if width == height >= 2 else None
    for number in range(moves):
        colour = game.to_play if rng.random() < 0.97 else 3 - game.to_play
        where = f"seed {seed}, {width}x{height}, {rules}, move {number + 1}"
        legal = set(game.legal_moves(colour))
        yield from (f"{where}: {text}" for text in _legality(rng, game, naive, colour, legal))
        point = PASS if rng.random() < 0.03 else _choose(rng, naive, colour, sorted(legal))
        # What is illegal and yet taken where somebody tells of it.
        only_told = (p for p in board_points(width, height) if naive.violation(colour, xy(p)) not in (None, "occupied"))
        forbidden = list(only_told) if told else []
        if forbidden and rng.random() < told:
            point = rng.choice(forbidden)
            game.play_lenient(colour, point)
        else:
            game.play(colour, point)
        naive.play(colour, xy(point))
        if sgfmill is not None and naive.phase != MAIN:
            sgfmill = None
        if sgfmill is not None and point != PASS:
            sgfmill.play(row_of(point), column_of(point), "bw"[colour - BLACK])
            if _of_sgfmill(sgfmill, width) != naive.now.stones:
                yield f"{where}: sgfmill's board differs from the naive one"
        thorough = width * height <= 81 or number % 8 == 0
        yield from (f"{where}: {text}" for text in state_differences(game, naive, thorough))
    yield from (f"seed {seed}, {width}x{height}, {rules}: undo: {text}" for text in _undo_differences(game))


def _choose(rng: random.Random, naive: NaiveGame, colour: int, legal: list[int]) -> int:
    """A legal move; captures and moves into narrow places more often than by chance, for kos and suicides."""
    candidates = [rng.choice(legal) for _ in range(3)]
    places = map(xy, candidates)
    crowded = [-1 if place is None else sum(q in naive.now.stones for q in naive.neighbours[place]) for place in places]
    return candidates[int(np.argmax(crowded))] if rng.random() < 0.5 else candidates[0]


def _legality(rng: random.Random, game: Game, naive: NaiveGame, colour: int, legal: set[int]) -> Iterator[str]:
    points = board_points(game.width, game.height)
    empty = [point for point in points if game.position["board"][point] == EMPTY]
    illegal = [point for point in points if point not in legal]
    probes = rng.sample(empty, min(PROBES, len(empty))) + rng.sample(illegal, min(PROBES, len(illegal)))
    probes += [point_at(x, y) for x, y in naive.now.blocked]
    for point in probes:
        fast, slow = game.violation(colour, point), naive.violation(colour, xy(point))
        if fast != slow or (point in legal) != (slow is None):
            yield f"{colour} at {xy(point)}: kernels say {fast}, naive rules {slow}"


def state_differences(game: Game, naive: NaiveGame, thorough: bool) -> Iterator[str]:
    """What the position says that the naive game does not. `thorough`: recompute chains and liberties too."""
    position = game.position
    grid = _grid(game, "board")
    stones = {(x, y): int(grid[y, x]) for y, x in np.argwhere(grid != EMPTY).tolist()}
    if stones != naive.now.stones:
        yield "boards differ"
        return
    expected = np.uint64(0)
    for (x, y), colour in stones.items():
        expected ^= STONE_KEYS[colour, point_at(x, y)]
    if position["hash"] != expected:
        yield "the hash is not that of the stones"
    for name, fast, slow in (
        ("captures", [int(n) for n in position["captured"][1:]], [naive.captured[BLACK], naive.captured[WHITE]]),
        ("phase", int(position["phase"]), naive.now.phase),
        ("side to move", game.to_play, naive.now.to_play),
        ("button", bool(position["button"]), naive.now.button),
        ("bonus", float(position["white_bonus"]), naive.white_bonus),
        ("no result", game.is_no_result, naive.no_result),
        ("blocked stones", _blocked(game), naive.now.blocked),
    ):
        if fast != slow:
            yield f"{name}: kernels say {fast}, naive rules {slow}"
    if thorough:
        yield from _chain_differences(game, naive)


def _blocked(game: Game) -> frozenset[Point]:
    marked = np.argwhere(_grid(game, "marks") & MARK_KO_RECAPTURE_BLOCKED)
    return frozenset((x, y) for y, x in marked.tolist())


def _grid(game: Game, name: str) -> NDArray[np.int8]:
    """A per-point field of the present position as [height, width]."""
    rows = game.position[name][: (MAX_SIZE + 2) * STRIDE].reshape(MAX_SIZE + 2, STRIDE)
    return rows[1 : game.height + 1, 1 : game.width + 1]


def _chain_differences(game: Game, naive: NaiveGame) -> Iterator[str]:
    position = game.position
    seen: set[Point] = set()
    for point in naive.now.stones:
        if point in seen:
            continue
        chain, _ = naive.chain(naive.now.stones, point)
        seen |= chain
        heads = {int(position["chain"][point_at(*p)]) for p in chain}
        if len(heads) != 1:
            yield f"the chain at {point} has the heads {heads}"
            continue
        head = heads.pop()
        ring, stone = {xy(head)}, int(position["next"][head])
        while stone != head and len(ring) <= len(chain):
            ring.add(xy(stone))
            stone = int(position["next"][stone])
        if ring != chain or position["stones"][head] != len(chain):
            yield f"the chain at {point} links other stones than its own"
        if position["liberties"][head] != len(naive.liberties(naive.now.stones, point)):
            yield f"the chain at {point} has {position['liberties'][head]} liberties by the kernels"


def _undo_differences(game: Game) -> Iterator[str]:
    """Take half the moves back and play them again: everything must come out as before."""
    stack, keys, moves = game.stack[: game.length].copy(), game.keys.copy(), list(game.moves)
    for _ in range(len(moves) // 2):
        game.undo()
    for i in range(game.length):
        if situation_key(game.stack[i], game.record) != situation_key(stack[i], game.record):
            yield f"position {i} changed"
    for move in moves[len(game.moves) :]:
        game.play_lenient(move.colour, move.point)
    if not np.array_equal(game.stack[: game.length], stack) or not np.array_equal(game.keys, keys):
        yield "replayed positions differ"


def _of_sgfmill(board: Board, side: int) -> dict[Point, int]:
    rows = board.board
    return {(x, y): BLACK if rows[y][x] == "b" else WHITE for y in range(side) for x in range(side) if rows[y][x]}


def undo_differences(seed: int, width: int, height: int, rules: Rules, steps: int) -> Iterator[str]:
    """Play and take back moves at random, and yield one line for each thing that undo does not restore.

    At the end the moves that are left are played in a new game, which must be the same.
    """
    rng = random.Random(seed)
    game = Game(width, height, rules)
    known = [_state(game)]
    where = f"seed {seed}, {width}x{height}, {rules}"
    forward = 0.7
    for number in range(steps):
        if rng.random() < 0.01:
            forward = rng.choice([0.1, 0.5, 0.9])
        if game.moves and rng.random() >= forward:
            game.undo()
            known.pop()
            if _state(game) != known[-1]:
                yield f"{where}: undo {number + 1} does not restore the game"
                return
            continue
        colour = game.to_play if rng.random() < 0.97 else 3 - game.to_play
        game.play(colour, PASS if rng.random() < 0.1 else rng.choice(game.legal_moves(colour)))
        known.append(_state(game))
    again = Game(width, height, rules)
    for move in game.moves:
        again.play(move.colour, move.point)
    if _state(again) != _state(game) or not np.array_equal(again.keys, game.keys):
        yield f"{where}: the same moves make another game"


def _state(game: Game) -> tuple[object, ...]:
    legal = tuple(game.legal_moves(game.to_play)), tuple(game.legal_moves(3 - game.to_play))
    counts = (game.handicap_stones, float(game.record["handicap_bonus"]), game.most_stones, game.line_key())
    return (game.position.tobytes(), *legal, *counts, len(game.passes), game.is_over, game.is_no_result)
