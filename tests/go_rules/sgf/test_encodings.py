"""SGF files in other encodings than UTF-8: nothing in them is lost, whatever bytes their characters have."""

from __future__ import annotations

import pytest

from go_rules.sgf.grammar import split_games
from go_rules.sgf.reader import parse_sgf


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
