"""Random games and their images under the board's eight symmetries and the exchange of colours: all must agree."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, N_POINTS, PASS, WHITE, board_points, point_at
from go_rules.rules import BONUS_NONE, Rules
from go_rules.tactics.life import new_life_work, pass_alive_area
from nets.features import AT_ROOT, Scratch, encode
from tests.go_rules.differences import xy

CHECKED = 16
"""Every so many moves life and features are compared, too."""


def transformed(point: int, side: int, symmetry: int) -> int:
    """`symmetry`: bit 0 mirrors left and right, bit 1 top and bottom, bit 2 exchanges x and y."""
    place = xy(point)
    if place is None:
        return PASS
    x, y = place
    x = side - 1 - x if symmetry & 1 else x
    y = side - 1 - y if symmetry & 2 else y
    return point_at(y, x) if symmetry & 4 else point_at(x, y)


def symmetry_differences(
    seed: int, side: int, symmetry: int, swap: bool, rules: Rules, moves: int, scratch: Scratch
) -> Iterator[str]:
    """Play `moves` random moves and their images; yield one line for each thing that differs."""
    rng = random.Random(seed)
    rules = dataclasses.replace(rules, white_handicap_bonus=BONUS_NONE)  # which is for one colour only
    game, image = Game(side, side, rules, komi=0), Game(side, side, rules, komi=0)
    if swap:
        image.set_position([], WHITE)
    where = f"seed {seed}, {side}x{side}, symmetry {symmetry}, colours {'exchanged' if swap else 'kept'}, {rules}"
    for number in range(moves):
        colour = game.to_play
        image_colour = 3 - colour if swap else colour
        legal = game.legal_moves(colour)
        if {transformed(p, side, symmetry) for p in legal} != set(image.legal_moves(image_colour)):
            yield f"{where}, move {number + 1}: legal moves"
            return
        point = rng.choice(legal) if rng.random() < 0.9 else PASS
        game.play(colour, point)
        image.play(image_colour, transformed(point, side, symmetry))
        if image.score() != (-game.score() if swap else game.score()):
            yield f"{where}, move {number + 1}: score"
        if (image.is_over, image.is_no_result) != (game.is_over, game.is_no_result):
            yield f"{where}, move {number + 1}: end"
        if number % CHECKED == 0:
            yield from (f"{where}, move {number + 1}: {what}" for what in _maps(game, image, symmetry, swap, scratch))


def _maps(game: Game, image: Game, symmetry: int, swap: bool, scratch: Scratch) -> Iterator[str]:
    side = game.width
    if not np.array_equal(_turned(_life(game, swap)[None], side, symmetry)[0], _life(image, False)):
        yield "pass-alive areas"
    planes, numbers = _features(game, scratch)
    image_planes, image_numbers = _features(image, scratch)
    if not np.array_equal(_turned(planes, side, symmetry), image_planes):
        yield "planes"
    if not np.array_equal(numbers, image_numbers):
        yield "numbers"


def _turned(planes: NDArray[np.float32], side: int, symmetry: int) -> NDArray[np.float32]:
    """The planes [n, side, side] with each point where `transformed` puts it."""
    out = np.empty_like(planes)
    for point in board_points(side, side):
        x, y = xy(point) or (0, 0)
        to_x, to_y = xy(transformed(point, side, symmetry)) or (0, 0)
        out[:, to_y, to_x] = planes[:, y, x]
    return out


def _life(game: Game, swap: bool) -> NDArray[np.float32]:
    work = new_life_work()
    pass_alive_area(game.position, game.rules.suicide, work[0])
    owned = np.array([work[0]["owned"][p] for p in board_points(game.width, game.height)], np.float32)
    if swap:
        owned = np.where(owned == BLACK, WHITE, np.where(owned == WHITE, BLACK, owned)).astype(np.float32)
    return owned.reshape(game.height, game.width)


def _features(game: Game, scratch: Scratch) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    planes, numbers = np.zeros((22, game.height, game.width), np.float32), np.zeros(19, np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        ban[point] = game.violation(game.to_play, point) == "superko"
    encode(game.stack, game.length - 1, game.to_play, game.record, 0.0, AT_ROOT, ban, scratch, planes, numbers)
    return planes, numbers
