"""SGF files in other encodings than UTF-8: nothing in them is lost, whatever bytes their characters have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf_grammar

from go_rules.game import Move
from go_rules.points import BLACK, point_at
from go_rules.sgf.annotation import Note, Variation, annotated
from go_rules.sgf.grammar import SgfError, parse_game, split_games
from go_rules.sgf.reader import parse_sgf, read_sgf
from tests.go_rules.sgf.foreign import ENCODINGS, WRITERS, Foreign, foreign_game


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        *(("Shift_JIS", name) for name in ("ソ", "表 能", "ゾノ", "十]段\\")),
        *(("GBK", name) for name in ("乚", "乗", "猎]豟")),
        *(("GB2312", "乚"), ("Big5", "許"), ("cp949", "갂"), ("ISO-2022-JP", "ソ表")),
    ],
)
def test_characters_with_a_bracket_or_a_backslash_in_them(encoding, name):
    escaped = name.replace("\\", "\\\\").replace("]", "\\]")
    codec = {"GB2312": "gbk"}.get(encoding, encoding)
    text = f"(;SZ[9]CA[{encoding}]PB[{escaped}]PW[abc]C[{escaped}];B[ee];W[cc]C[{escaped}])".encode(codec)
    for data in (text, b"a note " + text):
        record = parse_sgf(data)
        assert (record.black, record.white, record.comments) == (name, "abc", {0: name, 2: name})
        assert len(record.moves) == 2
    games = list(split_games(text + b"\n" + text))
    assert [parse_sgf(game).black for game in games] == [name, name]


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("Shift_JIS", "本因".encode("shift_jis") + b"\x83"),
        *((each, "本".encode()) for each in ("GB2312", "GBK", "Shift_JIS")),
    ],
)
def test_a_name_that_is_cut_in_the_middle_of_a_character_or_in_another_encoding(encoding, name):
    rest = b"];B[ee];W[cc])"
    for last in (b"]SZ[9]KM[0.5", b"]KM[0.5]SZ[9", b"]HA[0"):
        start = b"(;" + (b"SZ[9]KM[0.5]" if b"SZ" not in last else b"")
        record = parse_sgf(start + b"CA[" + encoding.encode() + b"]PB[" + name + last + rest)
        assert (record.width, record.komi, len(record.moves)) == (9, 0.5, 2)


@pytest.mark.parametrize(
    ("encoding", "stated"),
    [("GBK", "GBK"), ("Shift_JIS", "Shift_JIS"), ("Big5", "Big5"), ("UTF-8", ""), ("UTF-8", "GBK"), ("UTF-8", "UTF-8")],
)
def test_a_comment_may_quote_points_and_properties(encoding, stated):
    in_utf8 = ["黑];W[dd];B[dd] [x"] if encoding == "UTF-8" else []
    for comment in ("見[表] A[1] B[2]", "見 [好]W[3]", "表] AB[好] [白];B[好", *in_utf8):
        escaped = comment.replace("]", "\\]")
        charset = f"CA[{stated}]" if stated else ""
        data = f"(;{charset}SZ[9];B[ee]C[{escaped}];W[cc]C[{escaped}];B[gc])".encode(encoding)
        assert [node.properties.get("C", [])[:1] for node in parse_game(data).nodes] == [
            *([], [escaped.encode(encoding)], [escaped.encode(encoding)], [])
        ]
        assert list(split_games(data + data)) == [data, data]


def test_a_collection_of_several_encodings():
    games = [f"(;CA[{each}]PB[本]KM[0.5];B[ee])".encode(each) for each in ("GB2312", "UTF-8", "UTF-8")]
    found = [parse_sgf(game) for game in split_games(b"\n".join(games))]
    assert [(game.black, game.komi) for game in found] == [("本", 0.5)] * 3


@pytest.mark.parametrize(
    "encoding", ["GB18030", "Shift_JIS", "EUC-KR", "ISO-8859-1", "punycode", "hex", "no such", "\xff"]
)
def test_encodings(encoding):
    name = encoding.encode("latin-1")
    assert parse_sgf(b"(;CA[" + name + b"]PB[Bob])").black == "Bob"


MOVES = [Move(BLACK, point_at(4, 4)), Move(3 - BLACK, point_at(2, 2)), Move(BLACK, point_at(6, 2))]
NAMES = {
    "Shift_JIS": ("山田表", "ソ", "ゾ", "本因ー", "予想[1]"),
    "Big5": ("成功", "許", "功]", "蓋\\", "么("),
    "GBK": ("乗", "乚", "猎]豟", "乗]", "[乗]", "(乚);"),
    "GB18030": ("㐂㐃乗", "乚"),
    "EUC-KR": ("이창호", "[박]"),
    "ISO-8859-1": ("René", "Jérôme é"),
    "windows-1251": ("Шикшин", "[да]"),
}


@pytest.mark.parametrize("stated", [None, "own", "UTF-8", "Big5", "Shift_JIS", "GBK", "ISO-8859-1", "no such"])
@pytest.mark.parametrize("encoding", NAMES)
def test_no_move_is_lost_whatever_the_file_says_of_its_encoding(encoding, stated):
    for name in NAMES[encoding]:
        raw = name.replace("\\", "\\\\").replace("]", "\\]").encode(encoding)
        stating = b"" if stated is None else b"CA[%b]" % (encoding if stated == "own" else stated).encode()
        for text in (
            b"(;SZ[9]%bPB[%b];B[ee];W[cc];B[gc])",
            b"(;%bPB[%b]SZ[9];B[ee];W[cc];B[gc])",
            b"(;%bPB[%b]PW[\x8e]SZ[9];B[ee];W[cc];B[gc])",
            b"(;SZ[9]%b;B[ee]C[%b];W[cc];B[gc])",
            b"(;SZ[9]%b;B[ee]C[%b]\r\n(;W[cc];B[gc])(;W[dd]))",
            b"(;SZ[9]%b;B[ee];W[cc];B[gc]C[%b]\n)\n",
            b"(;SZ[9]%b;B[ee]LB[aa:%b][bb:2];W[cc];B[gc])",
        ):
            game = text % (stating, raw)
            assert parse_sgf(game).moves == MOVES, game
            assert [parse_sgf(each).moves for each in split_games(game + b"\n" + game)] == [MOVES] * 2


@pytest.mark.parametrize(
    "text", ["本因坊".encode("shift_jis"), "成功".encode("big5"), "柯洁".encode("gbk"), b"R\xe9my"]
)
def test_a_text_that_was_cut_loses_no_more_than_was_cut(text):
    for length in range(len(text)):
        for escaped in (b"", b"[9d\\]"):
            game = b"(;PB[%b]SZ[9];B[ee]C[%b%b];W[cc](;B[gc])(;B[aa]))" % (text[:length], escaped, text[:length])
            read = parse_sgf(game)
            assert (read.width, read.moves) == (9, MOVES)


def test_a_comment_may_look_like_a_game():
    """Where brackets within a text are escaped, as they have to be."""
    for encoding in ("utf-8", "gbk", "shift_jis"):
        comment = "[白];B[ee];W[cc] (白)(;B[ee]) 白\\"
        raw = comment.replace("\\", "\\\\").replace("]", "\\]").encode(encoding)
        game = b"(;SZ[9]CA[%b]C[%b];B[ee];W[cc];B[gc])" % (encoding.encode(), raw)
        read = parse_sgf(game)
        assert (read.comments[0], read.moves) == (comment, MOVES)


def test_what_is_no_sgf_is_no_text():
    """Behind a doubtful bracket, too: the move would be lost."""
    for name in (b"Bob", b"R\xe9", "本因坊".encode("shift_jis")):
        for move in (b"B[ee]", b"C[%b]B[ee]" % name):
            with pytest.raises(SgfError, match="broken SGF"):
                parse_sgf(b"(;SZ[9]PB[%b] . ;%b;W[cc])" % (name, move))


def properties(game: bytes) -> list[dict[str, list[bytes]]]:
    return [node.properties for node in parse_game(game).nodes]


games = st.builds(
    lambda seed, encoding, writer, stated: foreign_game(random.Random(seed), encoding, writer, stated),
    st.integers(0, 2**32),
    st.sampled_from(ENCODINGS),
    st.sampled_from(WRITERS),
    st.sampled_from([None, *ENCODINGS]),
)


PLAYERS = [
    (encoding, name)
    for line in (Path(__file__).parent / "players.txt").read_text("utf-8").splitlines()[1:]
    for encoding in line.split(":")[0].split()
    for name in line.split(":")[1].split()
]


def test_a_name_alone_tells_its_encoding():
    """Names of two characters and more, of which the tables of usual characters know nothing."""
    read = [parse_sgf(b"(;PB[%b];B[aa])" % name.encode(encoding)).black == name for encoding, name in PLAYERS]
    assert len({name for _, name in PLAYERS}) > 290
    assert sum(read) / len(read) > 0.98
    assert all(parse_sgf(f"(;PB[{name}];B[aa])".encode()).black == name for _, name in PLAYERS)


@pytest.mark.parametrize(
    ("name", "encoding", "more", "file_name"),
    [
        ("潜伏", "gbk", b"PW[%b]" % "古力".encode("gbk"), ""),
        ("潜伏", "gbk", b"AP[foxwq]SO[weiqi.example]", ""),
        ("謝依旻", "euc_jp", b"", "2014 謝依旻.sgf"),
        ("謝依旻", "euc_jp", b"CA[EUC-JP]", ""),
        ("René", "latin-1", b"", ""),
        ("Müller é", "latin-1", b"CA[UTF-8]", ""),
        ("柯洁", "gbk", b"CA[UTF-8]", ""),
        ("井山裕太", "shift_jis", b"CA[GB2312]", ""),
        ("박정환", "euc_kr", b"CA[ISO-8859-1]", ""),
        ("柯洁", "utf-8", b"CA[GB2312]", ""),
        ("Шикшин", "cp1251", b"", ""),
        ("Łukasz", "cp1250", b"CA[windows-1250]", ""),
        ("表能", "iso2022_jp", b"", ""),
    ],
)
def test_what_else_tells_an_encoding(name, encoding, more, file_name):
    assert parse_sgf(b"(;%bPB[%b];B[aa])" % (more, name.encode(encoding)), file_name).black == name


def test_what_nobody_can_tell_stays_and_the_rest_is_said():
    unknown = b"(;SZ[9]PB[%b];B[ee])" % "Łukasz".encode("cp1250")
    assert parse_sgf(unknown).black == "\ufffdukasz"
    assert annotated(unknown, {0: Note("x")}) == unknown.replace(b";B", b"C[x];B") + b"\n"
    told = b"(;SZ[9]PB[%b]CA[UTF-8];B[ee])" % "柯洁".encode("gbk")
    assert annotated(told, {0: Note("x 好")}) == told.replace(b"CA[UTF-8]", b"CA[GB18030]C[x \\\\u597d]") + b"\n"


def test_small_letters_behind_two_bytes():
    name = "柯洁乚".encode("gbk")
    read = parse_sgf(b"(;sz[9]pb[%b]pw[%b]c[%b];b[ee]c[%b]\n;w[cc];b[gc])" % (name, name, name, name))
    assert (read.black, read.white, read.moves) == ("柯洁乚", "柯洁乚", MOVES)
    assert read.comments == {0: "柯洁乚", 1: "柯洁乚"}


@settings(max_examples=300)
@given(games)
def test_all_values_are_read_as_the_bytes_that_they_are(game: Foreign):
    assert properties(game.data) == game.main_line
    structure = parse_game(game.data).structure.replace(b" - ", b"").upper()
    read, waiting = [], [sgf_grammar.parse_sgf_game(structure)]
    while waiting:
        tree = waiting.pop()
        read += [sorted(node) for node in tree.sequence]
        waiting += reversed(tree.children)
    assert read == game.names


@settings(max_examples=300)
@given(games, st.sets(st.integers(0, 8)))
def test_all_values_are_written_back_as_the_bytes_that_they_are(game: Foreign, noted: set[int]):
    """Only the notes are new, and what says that the file is in UTF-8."""
    variations = (Variation(MOVES[:2], "better 好"),)
    notes = {number: Note("note 本", {"SBKV": "50"}, variations) for number in noted}
    written = annotated(game.data, notes)
    found = properties(written)
    assert len(found) == len(game.main_line)
    for number, (node, before) in enumerate(zip(found, game.main_line, strict=True)):
        if node.get("CA") != before.get("CA"):
            assert number == 0
            stated = node.pop("CA")[0].decode()
            written.decode({"Shift_JIS": "cp932", "Big5": "cp950", "EUC-KR": "cp949"}.get(stated, stated))
        is_noted = number in noted
        assert node.pop("SBKV", None) == ([b"50"] if is_noted else None)
        (comment,), (said,) = node.pop("C", [b""]), before.get("C", [b""])
        assert comment.startswith(said)
        assert (b"note " in comment) == is_noted
        assert node == {name: values for name, values in before.items() if name not in ("C", *{"CA"} - {*node})}
    assert written.count(b"C[better ") == len(noted & {*range(1, len(found))})


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "unmarked utf-16-le", "unmarked utf-16-be"])
@pytest.mark.parametrize("stating", ["", "CA[UTF-16]", "CA[GB2312]"])
def test_utf16(codec, stating, tmp_path):
    text = f"(;SZ[9]{stating}PB[嬀圀[9d\\]];B[ee];W[cc]C[本]);B[gc])".replace(")", "", 1).encode(codec.split()[-1])
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
    path = tmp_path / "game.sgf"
    path.write_bytes(mark + text)
    read = read_sgf(path)
    assert (read.black, read.comments, read.moves) == ("嬀圀[9d]", {2: "本"}, MOVES)
    again = parse_sgf(annotated(mark + text, {2: Note("囲碁")}))
    assert (again.black, again.comments) == ("嬀圀[9d]", {2: "本\n\n囲碁"})
    assert [parse_sgf(each).black for each in split_games(mark + text)] == ["嬀圀[9d]"]


def test_utf16_that_was_cut():
    text = "(;SZ[9];B[ee])(;B[aa]".encode("utf-16")
    assert parse_sgf(text[:-1]).moves == MOVES[:1]
