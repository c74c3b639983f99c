"""Notes written into an SGF file: where they stand, and that all else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sgfmill import sgf

from go_rules.game import Move
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.sgf.annotation import Note, Variation, annotated, annotated_branches, branches
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import parse_sgf

GAME = b"(;SZ[9]CA[UTF-8]EV[Cup]XX[a][b];B[ee]C[good]TE[1];W[gc](;B[cg];W[gg](;B[cc])(;B[dd]))(;B[aa]C[other]))"


def line(*points: int, first: int = BLACK) -> tuple[Move, ...]:
    return tuple(Move(first if index % 2 == 0 else 3 - first, point) for index, point in enumerate(points))


def test_comments_follow_others_and_all_else_stays() -> None:
    written = annotated(GAME, {0: Note("Root]\\"), 1: Note("First.", {"SBKV": "51.5"}), 4: Note("Fourth.")})
    game = sgf.Sgf_game.from_bytes(written)
    root, *nodes = game.get_main_sequence()
    assert (root.get("C"), root.get("EV"), root.get_raw_list("XX")) == ("Root]\\", "Cup", [b"a", b"b"])
    comments = [node.get("C") if node.has_property("C") else None for node in nodes]
    assert comments == ["good\n\nFirst.", None, None, "Fourth.", None]
    assert nodes[0].get_raw("SBKV") == b"51.5"
    assert [child.get("C") for child in nodes[1] if child.has_property("C")] == ["other"]
    assert len(nodes[3]) == 2


def test_a_judgement_of_the_files_own_stays() -> None:
    notes = {number: Note(properties={"BM": "2", "SBKV": "1"}) for number in (1, 2)}
    first, second = list(sgf.Sgf_game.from_bytes(annotated(GAME, notes)).get_main_sequence())[1:3]
    assert first.has_property("TE")
    assert not first.has_property("BM")
    assert second.get("BM") == 2


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_variations_stand_beside_the_move_and_behind_those_of_the_file(number: int) -> None:
    colour = BLACK if number % 2 else WHITE
    better = Variation(line(point_at(0, 8), PASS, point_at(8, 8), first=colour), "better")
    game = sgf.Sgf_game.from_bytes(annotated(GAME, {number: Note("here", variations=(better, better))}))
    before = list(game.get_main_sequence())[number - 1]
    letter = "bw"[colour - BLACK]
    *others, added, again = before
    assert others[0].get("C").endswith("here")
    assert added.get("C") == again.get("C") == "better"
    assert game.get_main_sequence_below(before)[0] is others[0]
    assert added.get_move() == (letter, (0, 0))
    assert added[0].get_move() == ("wb"[colour - BLACK], None)
    assert added[0][0].get_move() == (letter, (0, 8))
    expected = {1: 3, 2: 3, 3: 4, 4: 3, 5: 4}[number]
    assert len(before) == expected


@given(st.dictionaries(st.integers(0, 9), st.sampled_from(["", "x", "]", "\\", "本"])), st.sets(st.integers(1, 9)))
def test_the_main_line_stays(comments: dict[int, str], varied: set[int]) -> None:
    notes = {
        number: Note(comments.get(number, ""), {}, (Variation(line(point_at(1, 1)), "v"),) if number in varied else ())
        for number in {*comments, *varied}
    }
    before, after = parse_sgf(GAME), parse_sgf(annotated(GAME, notes))
    assert after.steps == before.steps
    told = {number: text for number, text in comments.items() if text and number in {0, 2, 3, 4, 5}}
    assert {number: after.comments.get(number) for number in told} == told


@pytest.mark.parametrize(("encoding", "name"), [("Shift_JIS", "表 能"), ("ISO-8859-1", "Müller"), ("GBK", "猎]豟")])
def test_texts_stay_in_their_encoding_and_notes_are_in_ascii(encoding: str, name: str) -> None:
    """Half a character before a note swallows none of it."""
    text = f"(;SZ[9]CA[{encoding}]PB[{name.replace(']', chr(92) + ']')}];B[ee]C[x".encode(encoding) + b"\x83];W[cc])"
    written = annotated(text, {1: Note("note 囲"), 2: Note("W", variations=(Variation(line(PASS), "v 碁"),))})
    assert text[: text.index(b";W")].removesuffix(b"]") in written
    read = parse_sgf(written)
    assert (read.black, len(read.moves)) == (name, 2)
    assert read.comments[1].endswith("\n\nnote \\u56f2")
    assert b"C[v \\\\u7881]" in written


@pytest.mark.parametrize("start", ["(;SZ[9]", "(;SZ[9]CA[US-ASCII]", "(;CA[ no such ]SZ[9]", "(;CA[utf-8]SZ[9]"])
def test_a_game_in_utf8_says_so(start: str) -> None:
    written = annotated(f"{start}PB[古力];B[ee])".encode(), {1: Note("囲碁")})
    game = sgf.Sgf_game.from_bytes(written)
    assert game.get_root().get_raw_list("CA") in ([b"UTF-8"], [b"utf-8"])
    assert (game.get_player_name("b"), game.get_last_node().get("C")) == ("古力", "囲碁")


def test_bytes_between_notes_stay() -> None:
    game = b"( ; GM [1]\nAddBlack[aa] [bb]\r\nSBKV[1]\tXX[\xff];W[cc] ; B[dd]C[ ]\n ( ;W[ee] ) (;W[ff])  )"
    written = annotated(b"junk " + game + b" more", {0: Note(properties={"SBKV": "2"}), 2: Note("said")})
    noted = game.replace(b"SBKV[1]", b"").replace(b"\xff];", b"\xff]SBKV[2];").replace(b"C[ ", b"C[ said")
    assert written == noted + b"\n"


def test_nodes_that_are_no_single_move_get_no_notes() -> None:
    text = b"(;SZ[9]B[ee];W[cc]B[dd];AB[aa];W[gg])"
    notes = {number: Note(f"note {number}", variations=(Variation(line(PASS), ""),)) for number in range(6)}
    read = parse_sgf(annotated(text, notes))
    assert read.comments == {1: "note 0\n\nnote 1", 4: "note 4"}
    with pytest.raises(SgfError, match="no SGF game"):
        annotated(b"nothing", notes)


def test_the_value_of_a_move_in_the_root_is_that_after_it() -> None:
    notes = {0: Note("game", {"SBKV": "40"}), 1: Note("move", {"SBKV": "60"})}
    assert b"SBKV[60]" in annotated(b"(;SZ[9]B[ee];W[cc])", notes)


def test_all_comments_of_a_node_stay() -> None:
    read = parse_sgf(annotated(b"(;SZ[9];B[ee]C[one]C[two])", {1: Note("three")}))
    assert read.comments == {1: "one\n\ntwo\n\nthree"}


# --- Variations ---------------------------------------------------------------------------------------------------

BRANCHED = (
    b"(;SZ[9]PB[\x8e\x52\x93\x63\x97\x5c] ;B[ee]\n(;W[cc]C[a)(;b\\]] ;B[gg])\n(;W[dd](;B[gc]TE[1])(;B[cg];W[];B[ff])))"
)


def test_each_variation_is_a_game_whose_new_moves_are_known() -> None:
    found = branches(BRANCHED)
    assert [len(parse_sgf(branch.text).moves) for branch in found] == [3, 5]
    assert [(branch.first, len(branch.nodes)) for branch in found] == [(1, 2), (2, 3)]
    assert branches(b"(;SZ[9];B[aa];W[bb])") == []
    assert branches(b"(;SZ[9](;B[aa])(;C[no move]))")[0].first == 0


def test_notes_stand_in_the_nodes_of_their_variation_and_nothing_else_changes() -> None:
    first, second = branches(BRANCHED)
    notes = {1: Note("never"), 2: Note("two", {"BM": "1"}), 3: Note("three", {"DO": ""}), 5: Note("five")}
    written = annotated_branches(BRANCHED, [(first, notes), (second, notes)])
    assert written == (
        BRANCHED.replace(b";W[dd]", b";W[dd]BM[1]C[two]")
        .replace(b"TE[1]", b"TE[1]C[three]")
        .replace(b";B[cg]", b";B[cg]DO[]C[three]")
        .replace(b";B[ff]", b";B[ff]C[five]")
    )


def test_too_many_variations_are_refused() -> None:
    with pytest.raises(SgfError, match="more than 1000 variations"):
        branches(b"(;SZ[9]" + b"(;B[aa])" * 1002 + b")")
