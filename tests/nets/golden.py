"""Positions with what KataGo's own engine made of them, and the same positions as games of ours."""

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
from nets.features import AS_IS, encode, new_scratch

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


def encoded(game: Game, colour: int, scratch: Any) -> tuple[np.ndarray, np.ndarray]:
    """V7 features [22, H, W] and [19] of the game's present position for `colour` to move."""
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        ban[point] = game.violation(colour, point) == "superko"
    spatial = np.zeros((22, game.height, game.width), np.float32)
    global_ = np.zeros(19, np.float32)
    encode(game.stack, game.length - 1, colour, game.record, 0.0, AS_IS, ban, scratch, spatial, global_)
    return spatial, global_


def probabilities(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Softmax over the legal moves; 0 elsewhere."""
    shares = np.where(legal, np.exp(logits.astype(np.float64) - logits[legal].max()), 0.0)
    return shares / shares.sum()


__all__ = ["COLOURS", "encoded", "game_of", "new_scratch", "positions", "probabilities"]
