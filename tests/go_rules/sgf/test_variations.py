"""Variations as games of their own, and notes in their nodes."""

from __future__ import annotations

import pytest

from go_rules.sgf.annotation import Note
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import parse_sgf
from go_rules.sgf.variations import annotated_branches, branches

GAME = (
    b"(;SZ[9]PB[\x8e\x52\x93\x63\x97\x5c] ;B[ee]\n(;W[cc]C[a)(;b\\]] ;B[gg])\n(;W[dd](;B[gc]TE[1])(;B[cg];W[];B[ff])))"
)


def test_each_variation_is_a_game_whose_new_moves_are_known() -> None:
    found = branches(GAME)
    assert [len(parse_sgf(branch.text).moves) for branch in found] == [3, 5]
    assert [(branch.first, len(branch.nodes)) for branch in found] == [(1, 2), (2, 3)]
    assert branches(b"(;SZ[9];B[aa];W[bb])") == []
    assert branches(b"(;SZ[9](;B[aa])(;C[no move]))")[0].first == 0


def test_notes_stand_in_the_nodes_of_their_variation_and_nothing_else_changes() -> None:
    first, second = branches(GAME)
    notes = {1: Note("never"), 2: Note("two", {"BM": "1"}), 3: Note("three", {"DO": ""}), 5: Note("five")}
    written = annotated_branches(GAME, [(first, notes), (second, notes)])
    assert written == (
        GAME.replace(b";W[dd]", b";W[dd]BM[1]C[two]")
        .replace(b"TE[1]", b"TE[1]C[three]")
        .replace(b";B[cg]", b";B[cg]DO[]C[three]")
        .replace(b";B[ff]", b";B[ff]C[five]")
    )


def test_too_many_variations_are_refused() -> None:
    with pytest.raises(SgfError, match="more than 1000 variations"):
        branches(b"(;SZ[9]" + b"(;B[aa])" * 1002 + b")")
