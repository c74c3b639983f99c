"""SGF in and out: what files say, what hostile files are told, and that nothing is lost on the way."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from go_rules.game import Game, Move
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.rule_names import DEFAULT_RULES, preset, rules_from_sgf, rules_to_sgf
from go_rules.rules import KOMI_LIMIT
from go_rules.sgf.grammar import MAX_BYTES, MAX_DEPTH, SgfError, split_games
from go_rules.sgf.reader import MAX_MOVES, Setup, parse_sgf, read_sgf
from go_rules.sgf.writer import to_sgf, write_sgf
from tests.go_rules.diagrams import diagram_of, play_all
from tests.go_rules.differences import ALL_RULES
from tests.go_rules.sgf.hostile import ACCEPTED, HOSTILE, cost
from tests.systems import needs_fifos


def test_what_a_record_says():
    record = parse_sgf(
        b"(;GM[1]FF[4]CA[UTF-8]SZ[5:4]KM[6.5]RU[Japanese]PB[A \\] B]PW[\xe4\xbc\xb8]RE[B+3.5]C[start]"
        b";B[bb]C[first](;W[];B[ed])(;W[cc]))"
    )
    assert (record.width, record.height, record.komi) == (5, 4, 6.5)
    assert record.rules == preset("japanese")[0]
    assert (record.black, record.white, record.result) == ("A ] B", "伸", "B+3.5")
    assert record.comments == {0: "start", 1: "first"}
    assert record.steps == (Move(BLACK, point_at(1, 1)), Move(WHITE, PASS), Move(BLACK, point_at(4, 3)))
    game = record.to_game()
    assert diagram_of(game) == [".....", ".X...", ".....", "....X"]
    assert game.rules == preset("japanese")[0]


@pytest.mark.parametrize(("before_move", "played"), [(None, 3), (1, 0), (2, 1), (3, 2), (4, 3), (99, 3), (0, 0)])
def test_position_before_a_move(before_move, played):
    record = parse_sgf(b"(;SZ[9];B[aa];W[bb];B[cc])")
    assert len(record.to_game(before_move).moves) == played


def test_defaults_where_the_file_is_silent():
    game = parse_sgf(b"(;)").to_game(komi=1.5, rules=preset("aga")[0])
    assert (game.width, game.height, game.komi, game.rules) == (19, 19, 1.5, preset("aga")[0])


def test_a_move_on_a_stone_takes_its_place():
    """FF[4] has it executed."""
    record = parse_sgf(b"(;SZ[3];B[bb];W[ba];B[ba];W[bb])")
    assert diagram_of(record.to_game(4)) == [".X.", ".X.", "..."]
    assert diagram_of(record.to_game()) == [".X.", ".O.", "..."]
    assert len(record.moves) == 4
    with pytest.raises(SgfError, match="more than 300 moves on stones"):
        parse_sgf(b"(;SZ[3]" + b";B[aa]" * 302 + b")").to_game()


def test_points_as_smartgo_writes_them():
    assert parse_sgf(b"(;AB[D4][q16];W[Q4];B[])").to_game().moves == [Move(WHITE, point_at(15, 15)), Move(BLACK, PASS)]
    with pytest.raises(SgfError, match="is no point of a 9x9 board"):
        parse_sgf(b"(;SZ[9];B[Q16])")


def test_a_line_that_goes_on_behind_its_variations():
    """As FF[1] has it; and dashes between nodes."""
    record = parse_sgf(b"(;SZ[9];B[aa](;W[bb](;B[cc]);B[dd])(;W[ee]) - ;W[ff]-;B[gg](;W[hh](;B[ii]))(;W[ia]))")
    assert [move.point for move in record.moves] == [point_at(n, n) for n in (0, 5, 6, 7, 8)]
    assert len(parse_sgf(b"(;SZ[9];B[aa](;W[bb](;B[cc](;W[dd]));B[ee])(;W[ff]))").moves) == 3


def test_small_letters_in_names_say_nothing_beside_capital_ones():
    read = parse_sgf(b"(;sz[9];Black[aa];w[bb];B[cc]bL[99])")
    assert (read.width, len(read.moves)) == (9, 3)


def test_comments_of_nodes_without_a_move_follow_others():
    record = parse_sgf(b"(;SZ[9]C[a];N[x]C[];C[b];W[ee]C[move];N[x]C[later];B[aa];C[end])")
    assert record.comments == {0: "a\n\nb", 1: "move\n\nlater", 2: "end"}


def test_tt_is_a_pass_up_to_19():
    for size in (b"19", b"25:19", b"19:25", b"9"):
        assert parse_sgf(b"(;SZ[" + size + b"];B[tt])").moves == [Move(BLACK, PASS)]
    assert parse_sgf(b"(;SZ[21];B[tt])").moves == [Move(BLACK, point_at(19, 19))]


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        *(("6.5", 6.5), ("6,5", 6.5), ("0", 0), ("-3", -3), ("", None)),
        *(("375", 7.5), ("325", 6.5), ("750", 7.5), ("650", 6.5), ("999", 9.99), ("250", 5)),  # Foxwq's hundredths
        *(("375.5", 375.5), ("375.0", 375), ("375.", 375), ("-375", -375), ("249", 249), ("1000", 1000), ("0375", 375)),
    ],
)
def test_komi(text, komi):
    assert parse_sgf(f"(;KM[{text}])".encode()).komi == komi


@pytest.mark.parametrize(
    ("text", "rules", "komi"),
    [
        *((text, rules, 7.5) for text in ("3.75", "3,75") for rules in ("Chinese", "AGA", "NZ", "", "my own")),
        *(("2.75", "Chinese", 5.5), ("-3.25", "Chinese", -6.5), ("0.25", "Chinese", 0.5), (".25", "Chinese", 0.5)),
        *(("3.75", "Japanese", None), ("3.5", "Chinese", 3.5), ("3.5", "Japanese", 3.5)),
        *(("6.25", "Chinese", 6.25), ("6.25", "Japanese", 6.25), ("3.750", "Chinese", 3.75)),
    ],
)
def test_a_komi_in_chinese_stones(text, rules, komi):
    """No rules give quarters of points."""
    record = parse_sgf(f"(;SZ[9]KM[{text}]RU[{rules}])".encode())
    assert record.komi == komi
    assert ("KM[3.75]" in record.ignored) == (komi is None)


@pytest.mark.parametrize("text", ["1e39", "-1e39", "1e308", "9" * 300])
def test_a_ridiculous_komi_is_kept_and_the_game_has_as_much_as_it_may(text):
    record = parse_sgf(f"(;SZ[5]KM[{text}])".encode())
    assert record.komi == float(text)
    game = record.to_game()
    assert abs(game.komi) == KOMI_LIMIT
    assert abs(game.score()) == KOMI_LIMIT


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        *((text, 5.5) for text in ("5.5 moku", "5目半", "五目半", "黒5目半コミ出し", "黑贴5目半", "덤 5집반")),
        *((text, 5.5) for text in ("komi: 5.5", "５.5")),
        *((text, 7.5) for text in ("3又3/4子", "黑贴3又四分之三子", "3.75子", "3¾", "三又四分之三子", "7½")),
        *(("半目", 0.5), ("逆コミ5目半", -5.5), ("-5.5 points", -5.5), ("6 points", 6)),
        *((text, None) for text in ("nan", "inf", "much", "1e999", "1_0", "9" * 5_000)),
        *((text, None) for text in ("白6目半", "6 or 7", "1/0", "9子")),
    ],
)
def test_a_komi_in_words(text, komi):
    """One that is not understood is said, and does not stay that of the game before."""
    record = parse_sgf(f"(;CA[UTF-8]SZ[9]KM[{text}]RU[Chinese];B[ee])".encode())
    assert record.komi == komi
    assert record.to_game(komi=3.5).komi == (7.5 if komi is None else komi)
    assert [text[:3] for text in record.ignored] == ["KM["] * (komi is None)
    assert ("komi 7.5" in record.complaint(DEFAULT_RULES, 3.5)) == (komi is None)


def test_a_complaint_says_what_holds():
    assert parse_sgf(b"(;KM[]RU[my own])").complaint(preset("aga")[0], 3.5) == (
        "RU[my own] not understood: AGA rules, komi 3.5"
    )
    assert parse_sgf("(;CA[UTF-8]KM[多]RU[日本ルール])".encode()).complaint(DEFAULT_RULES, 3.5) == (
        "KM[多] not understood: Japanese rules, komi 6.5"
    )


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        *(("50", 0.5), ("25", 0.5), ("-375", -7.5), ("150", 1.5), ("375", 7.5), ("650", 6.5)),
        *(("0", 0), ("7", 7), ("6.5", 6.5)),
    ],
)
def test_the_komi_of_foxwq(text, komi):
    assert parse_sgf(f"(;AP[GNU Go:3.8]AP[foxwq]KM[{text}])".encode()).komi == komi


def test_the_komi_of_sina():
    for text, komi in (("KO[6.5]", 6.5), ("KM[]KO[黒6目半]", 6.5), ("KM[0.5]KO[6.5]", 0.5)):
        assert parse_sgf(f"(;CA[UTF-8]{text};KO[];B[aa]KO[])".encode()).komi == komi


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("Japanese Rules", "jp", "japan", "日本ルール", "日本规则", "일본 룰"), "japanese"),
        (("Korea", "korean rules", "한국 룰", "韩国规则", "韓国"), "korean"),
        (("Chinese Rules", "China", "cn", "中国规则", "中國規則", "Chinese, Pair Go"), "chinese"),
        (("AGA Rules", "American"), "aga"),
        (("Ing Goe", "ING rules", "应氏规则"), "ing"),
        (("New Zealand rules", "NZ rules"), "new-zealand"),
        (("Chinese or Japanese", "my own", "planning", "Rules", ""), None),
    ],
)
def test_rules_in_words(texts, name):
    for text in texts:
        record = parse_sgf(f"(;CA[UTF-8]RU[{text}])".encode())
        assert record.rules == (None if name is None else preset(name)[0]), text
        assert record.usual_komi == (None if name is None else preset(name)[1]), text


@pytest.mark.parametrize(
    ("root", "komi"),
    [
        ("RU[Japanese]", 6.5),
        ("RU[AGA]KM[]", 7.5),
        ("RU[koPOSITIONALscoreAREAkomi5.5]", 5.5),
        ("RU[koSIMPLEscoreTERRITORYtaxSEKI]", 6.5),
        ("RU[koSIMPLEscoreAREAbutton1]", 7.0),
        ("KM[0]RU[NZ]", 0.0),
        ("", 3.5),
        ("RU[my own]", 3.5),
    ],
)
def test_rules_without_a_komi_bring_their_usual_one(root, komi):
    """As in KataGo: the komi of the game before says nothing of this one. For training it counts as unknown."""
    record = parse_sgf(f"(;SZ[9]{root};B[ee])".encode())
    assert record.to_game(komi=3.5).komi == komi
    assert record.komi == (0.0 if "KM[0]" in root else None)


def test_moves_that_our_rules_forbid_are_played():
    """A ko retaken at once, and suicide of two stones under rules that forbid both."""
    ko = b"(;SZ[4]RU[Japanese]AB[ba][ab][bc]AW[ca][bb][db][cc];B[cb];W[bb];B[cb])"
    assert diagram_of(parse_sgf(ko).to_game()) == [".XO.", "X.XO", ".XO.", "...."]
    suicide = b"(;SZ[3]RU[Japanese]AB[aa]AW[ca][ab][bb][cb];B[ba])"
    assert diagram_of(parse_sgf(suicide).to_game()) == ["..O", "OOO", "..."]


def test_no_komi_is_minus_zero():
    assert str(parse_sgf(b"(;KM[-0])").komi) == "0.0"
    assert str(parse_sgf(b"(;KM[-0.0])").to_game().komi) == "0.0"


@pytest.mark.parametrize(
    ("komi", "text"), [(7, "7"), (6.5, "6.5"), (0, "0"), (-6.25, "-6.25"), (750, "750.0"), (3.75, "3.750")]
)
def test_a_komi_is_written_as_people_write_it(komi, text):
    """A number of SGF has digits behind its point; 750 and 3.75 would mean something else than points."""
    assert f"KM[{text}]" in to_sgf(Game(2, 2), komi=komi)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-4000, 4000).map(lambda n: n / 4))
def test_every_komi_survives_a_file(komi):
    text = to_sgf(Game(2, 2), komi=komi)
    assert parse_sgf(text.encode()).komi == komi
    game = Game(2, 2, komi=komi)
    assert parse_sgf(to_sgf(game).encode()).to_game().komi == game.komi


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no SGF game"),
        (b"hello", "no SGF game"),
        (b"(;", "unexpected end"),
        (b"(;B[aa]", "unexpected end"),
        (b"(;C[never closed)", "unexpected end"),
        (b"(;B)", "broken SGF"),
        (b"(;SZ[0])", "board size"),
        (b"(;SZ[26])", "too large"),
        (b"(;SZ[x])", "board size"),
        (b"(;SZ[9:9:9])", "board size"),
        (b"(;SZ[99999999999999999999])", "board size"),
        (b"(;GM[2]SZ[8];B[cc])", "GM\\[2\\] is not Go"),
        (b"(;SZ[9];B[zz])", "no point"),
        (b"(;SZ[9];B[a])", "no point"),
        (b"(;SZ[9]AB[aa:bb:cc])", "no list"),
        (b"(;SZ[9]AB[" + b"aa][" * 100 + b"aa])", "more points"),
    ],
)
def test_what_is_refused(data, message):
    with pytest.raises(SgfError, match=message) as error:
        parse_sgf(data)
    assert "\n" not in str(error.value)


def test_impossible_positions_are_named():
    with pytest.raises(SgfError, match="impossible: no liberties"):
        parse_sgf(b"(;SZ[3]AB[aa]AW[ab][ba])").to_game()


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_text_is_refused_fast(case):
    started = time.process_time()
    with contextlib.suppress(SgfError) if case in ACCEPTED else pytest.raises(SgfError):
        parse_sgf(HOSTILE[case]).to_game()
    assert time.process_time() - started < 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux tells it")
def test_hostile_files_cost_little_memory(tmp_path):
    """100 MB and 100,000 deep: refused within 200 MB, imports and all."""
    for case in ("nested variations", "100 MB", "nodes", "values", "names"):
        path = tmp_path / "hostile.sgf"
        path.write_bytes(HOSTILE[case])
        found = cost(path)
        assert found.refusal.isprintable()
        assert found.refusal
        assert found.seconds < 1
        assert found.megabytes < 100


def test_deep_and_long_games_within_the_limits():
    deep = b"(;SZ[19]" + b"(;B[];W[]" * (MAX_DEPTH // 2 - 1) + b")" * (MAX_DEPTH // 2)
    assert len(parse_sgf(deep).moves) == MAX_DEPTH - 2
    assert len(parse_sgf(b"(;" + b";B[]" * MAX_MOVES + b")").moves) == MAX_MOVES


# --- Files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "games"),
    [
        (b"(;B[aa])", [b"(;B[aa])"]),
        (b"x (;B[aa](;W[bb])(;W[cc]))\n( ;C[(;\\])])y", [b"(;B[aa](;W[bb])(;W[cc]))", b"( ;C[(;\\])])"]),
        (b"(;B[aa])(;B[bb]", [b"(;B[aa])", b"(;B[bb]"]),
        (b"no game", [b"no game"]),
        (b"", [b""]),
    ],
)
def test_a_collection_is_taken_apart(data, games):
    assert list(split_games(data)) == games


def test_a_hostile_collection_is_taken_apart_fast():
    started = time.process_time()
    assert sum(1 for _ in split_games(b"(;)" * 300_000)) == 300_000
    assert time.process_time() - started < 10


@needs_fifos
def test_only_regular_files_are_read(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, "/dev/zero", tmp_path, tmp_path / "missing", "a\0b"):
        with pytest.raises(SgfError) as error:
            read_sgf(path)
        assert str(error.value).isprintable()
    large = tmp_path / "large.sgf"
    with large.open("wb") as file:
        file.truncate(100 * MAX_BYTES)
    with pytest.raises(SgfError, match=r"large.sgf: larger than 10 MB"):
        read_sgf(large)


def test_writing_never_overwrites(tmp_path):
    path = tmp_path / "game.sgf"
    write_sgf(path, to_sgf(Game(9, 9)))
    assert read_sgf(path).width == 9
    with pytest.raises(SgfError, match="cannot write"):
        write_sgf(path, "other")
    with pytest.raises(SgfError, match="cannot write"):
        write_sgf(tmp_path / "no" / "folder.sgf", "other")


# --- Round trips --------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    width=st.integers(1, 25),
    height=st.integers(1, 25),
    rules=st.sampled_from(ALL_RULES),
    komi=st.sampled_from([0, 0.5, 7.5, -3, 6.5, 100.5]),
    setup=st.integers(0, 4),
)
def test_round_trip(seed, width, height, rules, komi, setup):
    rng = random.Random(seed)
    rules = dataclasses.replace(rules, cleanup=False)
    game = Game(width, height, rules, komi)
    spread = [point_at(x, y) for y in range(0, height, 2) for x in range(0, width, 2)]
    chosen = rng.sample(spread, min(setup, len(spread), width * height - 1))
    if rng.random() < 0.3 and len(chosen) > 1:
        game.place_handicap(chosen)
    elif chosen:
        game.set_position([(rng.choice((BLACK, WHITE)), p) for p in chosen], rng.choice((BLACK, WHITE)))
    for _ in range(rng.randrange(40)):
        game.play(game.to_play, rng.choice(game.legal_moves(game.to_play)))
    text = to_sgf(game, black="a]b\\c", white="白", result="W+0.5", comments={0: "x\\]", len(game.moves): "end"})
    record = parse_sgf(text.encode())
    again = record.to_game()
    assert (record.black, record.white, record.result) == ("a]b\\c", "白", "W+0.5")
    assert again.moves == game.moves
    assert again.rules == game.rules
    assert again.komi == game.komi
    assert sorted(again.setup, key=str) == sorted(game.setup, key=str)
    assert again.position == game.position
    assert to_sgf(again) == to_sgf(game)


@given(st.lists(st.text(st.sampled_from("a本é\\[](;)BC "), max_size=12), min_size=3, max_size=3))
def test_every_text_survives_a_file(texts):
    """What looks like a game, too."""
    game = Game(9, 9)
    game.play(BLACK, point_at(4, 4))
    black, white, comment = (text.strip() for text in texts)
    read = parse_sgf(to_sgf(game, black=black, white=white, comments={1: comment}).encode())
    assert (read.black, read.white, read.comments.get(1, ""), read.moves) == (black, white, comment, game.moves)


def refusal(data: bytes) -> str:
    """What a reader of `data` is told, empty if it is a game."""
    try:
        parse_sgf(data).to_game()
    except SgfError as error:
        return str(error)
    return ""


@given(st.binary(max_size=300))
def test_arbitrary_bytes(data):
    message = refusal(b"(;" + data)
    assert not message or message.isprintable()


PIECES = [b"(", b")", b";", b"[", b"]", b"\\", b":", b" ", b"\n", b"5", b"\xff"]
PIECES += [b"B", b"W", b"AB", b"AE", b"AW", b"PL", b"SZ", b"KM", b"HA", b"CA", b"RU", b"C"]
PIECES += [b"[aa]", b"[bb]", b"[ab:ba]", b"[9]", b"[]", b"[tt]", b"[W]", b"[2]"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_arbitrary_grammar(pieces):
    message = refusal(b"(;SZ[5]" + b"".join(pieces) + b")")
    assert not message or message.isprintable()


@pytest.mark.parametrize("rules", ALL_RULES, ids=str)
def test_rules_survive(rules):
    """All but whether clean-up phases are played, which no file says."""
    assert rules_from_sgf(rules_to_sgf(rules))[0] == dataclasses.replace(rules, cleanup=False)


def test_setup_steps_are_values():
    assert parse_sgf(b"(;SZ[3]AB[aa]AE[bb]PL[white])").steps == (
        Setup((Move(BLACK, point_at(0, 0)),), (point_at(1, 1),), WHITE),
    )


def test_moves_of_both_colours_in_a_row():
    game = parse_sgf(b"(;SZ[5];B[aa];B[bb];W[cc]W[dd])").to_game()
    assert [move.colour for move in game.moves] == [BLACK, BLACK, WHITE, WHITE]
    other = Game(5, 5)
    play_all(other, "B A5 B B4 W C3 W D2")
    assert other.moves == game.moves


@pytest.mark.parametrize("start", [b"(\r\nTE[Cup]\r\n", b"\xef\xbb\xbf (TE [Cup]", b"(TE[Cup (;x\\])]"])
def test_a_root_without_a_semicolon(start):
    """As Cyberoro writes it."""
    game = parse_sgf(start + b"KM[6.5]PB[Ann];B[qd];W[dd])")
    assert (game.komi, game.black, len(game.moves)) == (6.5, "Ann", 2)
    assert [parse_sgf(each).black for each in split_games(start + b"PB[A];B[qd])(;PB[B])")] == ["A", "B"]
