"""Stones that an SGF file sets up, handicap stones that it leaves out, and whose turn it says that it is."""

from __future__ import annotations

import pytest

from go_rules.points import BLACK, NO_POINT, WHITE, from_vertex, point_at, to_vertex
from go_rules.rule_names import preset
from go_rules.sgf.reader import parse_sgf
from go_rules.sgf.writer import to_sgf
from tests.go_rules.diagrams import diagram_of


@pytest.mark.parametrize(
    ("text", "rows", "to_play"),
    [
        (b"(;SZ[3]AB[aa][bb]AW[cc])", ["X..", ".X.", "..O"], BLACK),
        (b"(;SZ[3]AB[aa:cb]AW[cc]PL[W])", ["XXX", "XXX", "..O"], WHITE),
        (b"(;SZ[3]AB[aa][bb]AW[ca];AE[bb];W[cc])", ["X.O", "...", "..O"], BLACK),
        (b"(;SZ[3];B[aa];W[bb];AE[aa]AB[cc]PL[B])", ["...", ".O.", "..X"], BLACK),
        (b"(;SZ[3]AB[cb:ac])", ["...", "XXX", "XXX"], WHITE),
        (b"(;SZ[3];AddBlack[aa];White[cc])", ["X..", "...", "..O"], BLACK),
    ],
)
def test_setup(text, rows, to_play):
    game = parse_sgf(text).to_game()
    assert diagram_of(game) == rows
    assert game.to_play == to_play


def test_handicap_stones():
    game = parse_sgf(b"(;SZ[9]HA[2]AB[cg][gc]KM[0.5];W[ee])").to_game()
    assert len(game.handicap) == 2
    assert game.handicap_stones == 2
    assert game.to_play == BLACK
    unsaid = parse_sgf(b"(;SZ[19]HA[4]KM[0];W[jj])").to_game()
    assert sorted(unsaid.handicap) == sorted(from_vertex(v, 19, 19) for v in ("D4", "Q16", "D16", "Q4"))
    elsewhere = parse_sgf(b"(;SZ[19]HA[3]KM[0.5];W[pd];B[qf])").to_game()
    assert elsewhere.handicap == ()
    assert [to_vertex(move.point, 19) for move in elsewhere.moves] == ["Q16", "R14"]
    black_plays_them = parse_sgf(b"(;SZ[9]HA[2];B[cg];B[gc];W[ee])").to_game()
    assert black_plays_them.handicap == ()
    assert black_plays_them.handicap_stones == 2


@pytest.mark.parametrize(
    ("moves", "before_move", "points"),
    [
        (b";W[ee];B[ff];W[de]", None, 4),
        (b";W[ee];B[ff];W[de];B[ee];W[aa]", 4, 4),  # illegal with and without the handicap
        (b"PL[W];W[ee];B[ff]", 2, 4),
        (b";PL[W];PL[W];W[ee]", 2, 4),
        (b";W[gc];B[ff];W[ff];B[aa]", 2, 0),  # without the handicap more can be played
        (b";W[gc];B[ff]", None, 0),
        (b"PL[B];B[ee]", None, 0),
    ],
)
def test_the_handicap_that_a_file_leaves_out_stays_whatever_else_is_illegal(moves, before_move, points):
    game = parse_sgf(b"(;SZ[9]HA[4]KM[0.5]" + moves + b")").to_game(before_move)
    assert len(game.handicap) == len(game.setup) == points


@pytest.mark.parametrize(
    ("said", "sides"),
    [
        ("AP[foxwq]DT[2017-05-01]", {"K4", "K16"}),
        ("AP[GNU Go:3.8]GN[]DT[2016]", {"K4", "K16"}),
        ("AP[foxwq]DT[2018-05-01]", {"D10", "Q10"}),
        ("DT[2017-05-01]", {"D10", "Q10"}),
    ],
)
def test_the_handicap_of_foxwq_until_2017(said, sides):
    game = parse_sgf(f"(;SZ[19]HA[6]{said};W[jj])".encode()).to_game()
    assert {to_vertex(point, 19) for point in game.handicap} == {"D4", "Q16", "D16", "Q4", *sides}


PRISONER = b"(;SZ[9]RU[Japanese]KM[6.5];B[ba];W[aa];B[ab];W[ee];B[ef];W[gg]"


@pytest.mark.parametrize(
    ("rest", "score"),
    [(b"", 5.5), (b";AB[cc];B[hh];W[ii]", 5.5), (b";AE[gg]", 5.5), (b";AB[cc];AW[dd]", 5.5), (b";PL[W]", 5.5)],
)
def test_prisoners_outlast_a_setup(rest, score):
    game = parse_sgf(PRISONER + rest + b")").to_game()
    assert game.score() == score
    assert game.position["captured"].tolist() == [0, 0, 1]
    for name in ("chinese", "japanese"):
        game.set_rules(preset(name)[0])
    assert game.score() == score
    again = parse_sgf(to_sgf(game).encode()).to_game()
    assert (again.score(), again.position["captured"].tolist()) == (score, [0, 0, 1])


def test_whose_turn_it_is_in_the_middle_of_a_game():
    record = parse_sgf(b"(;SZ[9];B[dd];PL[B];B[ee];PL[B];W[ff];PL[W])")
    turns = [record.to_game(before_move).to_play for before_move in (1, 2, 3, None)]
    assert turns == [BLACK, BLACK, WHITE, WHITE]
    game = record.to_game()
    assert len(game.moves) == 3
    assert game.position["recent"][0] == NO_POINT
    assert record.to_game(3).position["recent"][0] == point_at(4, 4)
