"""Writes SGF files (FF[4], https://www.red-bean.com/sgf/): one game with its setup and its moves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sgfmill import sgf_grammar

from go_rules.game import Game, captured_before
from go_rules.points import COLOUR_LETTERS, PASS, WHITE, column_of, row_of
from go_rules.rule_names import rules_to_sgf
from go_rules.rules import Rules
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.komi import komi_text
from go_rules.sgf.reader import CAPTURED
from nobi_machine.files import create_whole
from nobi_machine.text import printable_path


def to_sgf(
    game: Game,
    *,
    black: str = "",
    white: str = "",
    result: str = "",
    comments: Mapping[int, str] | None = None,
    komi: float | None = None,
    application: str = "Nobi",
) -> str:
    """Write a game with its setup and all its moves as SGF text.

    `comments` are as in SgfGame, `result` is for RE. `komi` is for KM, where somebody asked for more than a game may
    have; None stands for the game's.
    """
    terms = root_terms(game.width, game.height, game.rules, game.komi if komi is None else komi, application)
    root = {name: [text] for name, text in {**terms, "PB": black, "PW": white, "RE": result}.items() if text}
    if game.handicap:
        root["HA"] = [str(len(game.handicap))]
    for stone in game.setup:
        root.setdefault("A" + COLOUR_LETTERS[stone.colour], []).append(coordinates(stone.point))
    captured = captured_before(game.stack[0])
    if any(captured):
        root[CAPTURED] = ["{}:{}".format(*captured)]
    first = int(game.stack[0]["to_play"])
    if game.setup or first == WHITE:
        root["PL"] = [COLOUR_LETTERS[first]]
    nodes = [root]
    nodes += [{COLOUR_LETTERS[move.colour]: [coordinates(move.point)]} for move in game.moves]
    for played, comment in (comments or {}).items():
        if 0 <= played < len(nodes):
            nodes[played]["C"] = [comment]
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence = [{name: [escaped(text) for text in texts] for name, texts in node.items()} for node in nodes]
    return sgf_grammar.serialise_game_tree(tree).decode("utf-8")


def root_terms(width: int, height: int, rules: Rules, komi: float, application: str = "Nobi") -> dict[str, str]:
    """Return what the root of every game in UTF-8 says: the texts by the names of the properties."""
    return {
        "FF": "4",
        "GM": "1",
        "CA": "UTF-8",
        "AP": application,
        "SZ": str(width) if width == height else f"{width}:{height}",
        "KM": komi_text(komi),
        "RU": rules_to_sgf(rules),
    }


def write_sgf(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to a new file, which appears whole or not at all. Raises SgfError if that cannot be done, or if the
    name is taken, be it by a file, a folder, a device or a link."""
    try:
        create_whole(Path(path), text.encode("utf-8"))
    except OSError as error:
        raise SgfError(f"cannot write {printable_path(path)}: {error.strerror}") from None


def coordinates(point: int) -> str:
    """Return a point as SGF writes it, an empty text for a pass."""
    if point == PASS:
        return ""
    return chr(ord("a") + column_of(point)) + chr(ord("a") + row_of(point))


def escaped(text: str) -> bytes:
    """Return a text as the value of a property, in UTF-8."""
    return sgf_grammar.escape_text(text.encode("utf-8", "replace"))
