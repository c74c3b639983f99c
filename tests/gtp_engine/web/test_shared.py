"""The game that all pages see: which of its nodes are on the board."""

from __future__ import annotations

from pathlib import Path

from go_rules.points import BLACK, WHITE, point_at
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES
from gtp_engine.web.game import OpenGame
from gtp_engine.web.games import Games
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.streams import Streams
from gtp_engine.web.tree import GameTree


def opened() -> OpenGame:
    tree = GameTree(5, 5, DEFAULT_RULES, DEFAULT_KOMI)
    tree.play(tree.root, BLACK, point_at(2, 2))
    return OpenGame("20261129-120000", tree, tree.root)


def test_a_node_that_has_left_the_board_has_no_position(data: Path) -> None:
    """What has thought about it meanwhile finds nothing to do there."""
    game, other = opened(), opened()
    shared = SharedGame(Streams(), Games(), game)
    node, stranger = game.tree.end(), other.tree.end()
    position = shared.position(game, node)
    assert position is not None
    position.play(WHITE, point_at(1, 1))
    assert len(game.tree.board(node).moves) == 1, "a copy"
    assert shared.position(game, None) is None
    assert shared.position(game, stranger) is None, "another node of this id"
    assert shared.position(other, stranger) is None, "another game"
    game.tree.remove(node)
    assert shared.position(game, node) is None
    assert shared.position(game, game.tree.root) is not None
