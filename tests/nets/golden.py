"""Positions with what KataGo's own engine made of them, the same positions as games of ours, and their features."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, N_POINTS, WHITE, board_points, from_vertex
from go_rules.rule_names import preset
from go_rules.rules import BONUS_NONE, KO_SIMPLE, SCORING_AREA, TAX_NONE, Rules
from nets.features import AS_IS, Scratch, encode, encode_symmetry

COLOURS = {"b": BLACK, "w": WHITE}


def positions(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of the reference data, in the form of its README."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def game_of(row: dict[str, Any]) -> Game:
    """The game that leads to the position, under its rules."""
    width, height = row["size"]
    game = Game(width, height, preset(row["rules"])[0], row["komi"])
    if row["handicap"]:
        game.place_handicap([from_vertex(vertex, width, height) for vertex in row["handicap"]])
    for colour, vertex in row["moves"]:
        game.play(COLOURS[colour], from_vertex(vertex, width, height))
    return game


PLAIN = Rules(KO_SIMPLE, SCORING_AREA, TAX_NONE, False, False, BONUS_NONE, False)


def encode_with(
    game: Game,
    scratch: Scratch,
    colour: int | None = None,
    view: int = AS_IS,
    advantage: float = 0.0,
    permutation: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """V7 features [22, H, W] and [19] of the game's present position, in arrays that held something else before.

    With `permutation`, a row of symmetry_permutations, the planes are turned, and flat."""
    colour = game.to_play if colour is None else colour
    spatial = np.full((22, game.height, game.width), 7, np.float32)
    global_ = np.full(19, 7, np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        ban[point] = game.violation(colour, point) == "superko"
    position = game.stack, game.length - 1, colour, game.record, advantage, view, ban, scratch
    if permutation is None:
        encode(*position, spatial, global_)
        return spatial, global_
    flat = spatial.reshape(22, -1)
    encode_symmetry(*position, permutation, flat, global_)
    return flat, global_


def probabilities(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Softmax over the legal moves; 0 elsewhere."""
    shares = np.where(legal, np.exp(logits.astype(np.float64) - logits[legal].max()), 0.0)
    return shares / shares.sum()
