"""Games with variations: SGF in, SGF out, and the board at each node."""

from __future__ import annotations

import random

import numpy as np
import pytest

from go_rules.game import Game, Move, RuleViolation
from go_rules.points import BLACK, PASS, WHITE, board_points, opponent
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import Setup
from gtp_engine.errors import Refused
from gtp_engine.web.tree import MOST_NODES, GameTree, Node


def read(content: bytes | str) -> GameTree:
    data = content.encode() if isinstance(content, str) else content
    return GameTree.read(data, DEFAULT_RULES, DEFAULT_KOMI)


def naive_board(tree: GameTree, node: Node) -> Game:
    """The slow truth: the game played from its beginning, each time."""
    game = Game(tree.width, tree.height, tree.rules, tree.komi)
    for each in node.line():
        if isinstance(each.step, Move):
            game.play_lenient(each.step.colour, each.step.point)
        elif each.step is not None:
            board = game.position["board"]
            stones = {p: int(board[p]) for p in board_points(tree.width, tree.height) if board[p] in (BLACK, WHITE)}
            for point in each.step.cleared:
                stones.pop(point, None)
            stones |= {stone.point: stone.colour for stone in each.step.stones}
            game.set_position([(colour, point) for point, colour in stones.items()], game.to_play)
    return game


def test_the_board_at_any_node_is_that_of_the_game_played_up_to_there() -> None:
    draw = random.Random(5)
    tree = GameTree(5, 4, DEFAULT_RULES, DEFAULT_KOMI)
    for _ in range(400):
        node = draw.choice(list(tree.nodes.values()))
        choice = draw.random()
        try:
            if choice < 0.05 and node is not tree.root:
                tree.remove(node)
            elif choice < 0.15:
                point = draw.choice(board_points(5, 4))
                tree.set_up(node, Setup((Move(draw.choice((BLACK, WHITE)), point),), (), None))
            else:
                tree.play(node, node.to_play, draw.choice([*board_points(5, 4), PASS]))
        except Refused:
            continue
        node = draw.choice(list(tree.nodes.values()))
        assert (tree.board(node).position["board"] == naive_board(tree, node).position["board"]).all()
    assert len(tree.nodes) > 100
    for node in tree.nodes.values():
        if node.move is not None and node.parent is not None:
            before, after = (naive_board(tree, each).position["board"] for each in (node.parent, node))
            gone = np.flatnonzero(np.isin(before, (BLACK, WHITE)) & ~np.isin(after, (BLACK, WHITE)))
            assert node.taken == [tree.on_page(int(point)) for point in gone]
            assert node.to_play == opponent(node.move.colour)


@pytest.mark.parametrize(
    "text",
    [
        "(;FF[4]GM[1]SZ[9]EV[a\\]b]XX[1][2];B[aa]C[x\n\\\\]LB[bb:1];W[](;B[cc];W[dd])(;B[ee](;W[ff])(;W[gg])))",
        "(;SZ[9]AB[aa:bb]AW[cc]PL[W];W[dd];AE[aa]AB[ee];N[name];B[ff])",
        "(;SZ[9];B[aa];W[bb];B[aa]C[impossible](;W[cc])(;AB[dd]))",
        "(;SZ[13:9]HA[2]AB[dd][jd];W[ee])",
        "(;SZ[9];B[aa]B[aa]W[bb];AB[cc]W[dd]C[mixed])",
        "(;SZ[9]TR[zz]LB[zz:a][aa];B[aa]TR[bb:cc])",
    ],
)
def test_what_is_written_says_all_that_was_read(text: str) -> None:
    once = read(text).write()
    again = read(once)
    assert again.write() == once
    for word in ("XX[1][2]", "C[x\n\\\\]", "LB[bb:1]", "N[name]", "C[impossible]", "TR[zz]", "EV[a\\]b]"):
        assert word not in text or word.encode() in once
    first = read(text)
    assert [first.told(node) for node in first.in_order()] == [again.told(node) for node in again.in_order()]


def test_the_encoding_becomes_utf8_where_the_file_is_in_the_one_that_it_names() -> None:
    text = "(;CA[Shift_JIS]SZ[9]PB[表];B[aa]C[ソ]])".replace("ソ]]", "ソ]")
    tree = read(text.encode("cp932"))
    assert tree.text("PB") == "表"
    assert "CA[UTF-8]" in tree.write().decode()
    assert "C[ソ]" in tree.write().decode()


def test_bytes_in_no_known_encoding_stay_as_they_are() -> None:
    tree = read(b"(;CA[UTF-8]SZ[9]PB[half \xe3];B[aa])")
    tree.write_text(tree.node(1), "C", "né")
    assert b"PB[half \xe3]" in tree.write()
    assert b"C[n\\\\xe9]" in tree.write()


def test_a_handicap_that_is_only_said_stands_on_the_board() -> None:
    tree = read("(;SZ[19]HA[4];W[cf];B[fc])")
    assert sorted(tree.told(tree.root)["setup"]["black"]) == [60, 72, 288, 300]
    assert tree.told(tree.root)["to_play"] == WHITE
    assert tree.board(tree.root).handicap_stones == 4


def test_a_move_that_is_there_is_no_new_one_and_one_that_is_forbidden_is_refused() -> None:
    tree = read("(;SZ[9];B[ee];W[cc])")
    assert tree.play(tree.root, BLACK, tree.from_page(40)) is tree.node(1)
    with pytest.raises(Refused, match="illegal: E5"):
        tree.play(tree.node(1), WHITE, tree.from_page(40))
    assert len(tree.nodes) == 3
    assert tree.board(tree.node(2)).length == 3


def test_a_game_has_a_largest_size() -> None:
    with pytest.raises(SgfError, match="more than 300 setups"):
        read("(;SZ[19]" + "(;AB[aa])" * 301 + ")")
    with pytest.raises(SgfError, match="more than 20000 positions"):
        read("(;SZ[19]" + "(;B[];W[])" * (MOST_NODES // 2) + ")")


def test_of_a_removed_node_nothing_is_left() -> None:
    tree = read("(;SZ[9];B[aa];W[ba](;B[ee])(;B[ab];W[bb]))")
    assert sorted(tree.remove(tree.node(2))) == [2, 3, 4, 5]
    assert tree.write() == b"(\n;SZ[9]CA[UTF-8]\n;B[aa])\n"
    with pytest.raises(Refused, match="no such position"):
        tree.node(2)


def test_the_slow_truth_can_fail() -> None:
    tree = read("(;SZ[9];B[aa])")
    with pytest.raises((RuleViolation, AssertionError)):
        assert naive_board(tree, tree.node(1)).length == 1
