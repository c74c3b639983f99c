"""SGF files in many encodings, of which it is known what is in them."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

ENCODINGS = (
    *("shift_jis", "cp932", "gbk", "gb18030", "big5", "cp950", "euc_kr", "cp949", "euc_jp", "iso2022_jp"),
    *("utf-8", "latin-1", "cp1251", "koi8-r"),
)
WRITERS = ("careful", "blind", "cut", "bytes")
"""Programs that know their encoding and escape characters, that escape bytes, that cut texts in the middle of a
character, and that write any bytes."""
_ASCII = "0123456789[]\\:();,.\n- "
"""No letters: what looks like a property of SGF behind half a character or a whole one is taken for one."""


class Foreign(NamedTuple):
    """A file and what is in it."""

    data: bytes
    main_line: list[dict[str, list[bytes]]]
    """Property names and raw values of its nodes."""
    names: list[list[str]]
    """Property names of all nodes: those of the main line, and of the variations from the last to the first."""


@lru_cache
def characters(encoding: str) -> tuple[str, str]:
    """Return characters of an encoding that are not ASCII: all of a few scripts, and those that end with the byte of a
    bracket or of a backslash."""
    ranges = ((0xA1, 0x180), (0x400, 0x460), (0x3041, 0x30FF), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3))
    there = [
        (chr(code), raw)
        for first, end in ranges
        for code in range(first, end)
        if (raw := chr(code).encode(encoding, "ignore"))
    ]
    return "".join(c for c, _ in there), "".join(c for c, raw in there if raw[-1] in b"[\\]" and len(raw) > 1)


def value(rng: random.Random, encoding: str, writer: str) -> bytes:
    """Return the raw value of a property, some text."""
    if writer == "bytes":
        some = bytes(
            rng.choice([rng.randrange(65), rng.randrange(128, 256), rng.choice(b"[]\\;()")])
            for _ in range(rng.randint(0, 10))
        )
        return _escaped(some)
    common, special = characters(encoding)
    pools = (_ASCII, special or common, common)
    text = "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(0, 8)))
    if writer == "careful":
        return text.replace("\\", "\\\\").replace("]", "\\]").encode(encoding)
    if writer == "blind":
        return _escaped(text.encode(encoding))
    whole = "".join(c for c in text if c not in "[]()\\").encode(encoding)
    return whole if encoding == "iso2022_jp" else whole[: rng.randint(0, len(whole))]


def foreign_game(rng: random.Random, encoding: str, writer: str, stated: str | None) -> Foreign:
    """Return a 19x19 game with texts in an encoding, which says that it is in another one, or nothing of it."""

    def text() -> list[bytes]:
        return [value(rng, encoding, writer)]

    def blank() -> bytes:
        return rng.choice([b"", b"", b"\n", b" "])

    def shuffled(node: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        return dict(rng.sample(list(node.items()), len(node)))

    def move(number: int) -> dict[str, list[bytes]]:
        node = {"BW"[number % 2]: [bytes(rng.choices(b"abcdefghijklmnopqrs", k=2))]}
        if rng.random() < 0.5:
            node["C"] = text()
        if rng.random() < 0.1:
            node["YZ"] = text()
        if rng.random() < 0.15:
            node["LB"] = [b"aa:" + text()[0], b"bb:x"]
        return shuffled(node)

    name_of = rng.choice([str.encode] * 9 + [lambda name: name.lower().encode()])
    dash = rng.choice([b""] * 9 + [b" - "])

    def node_text(node: dict[str, list[bytes]]) -> bytes:
        properties = (name_of(name) + b"".join(b"[%b]" % each for each in values) for name, values in node.items())
        return b";" + blank() + b"".join(each + blank() for each in properties) + dash

    root = {"GM": [b"1"], "SZ": [b"19"], "KM": [b"6.5"], "XY": [b"12", b"a"]}
    root |= {name: text() for name in ("PB", "PW", "EV", "C", "GN", "YZ") if rng.random() < 0.6}
    if stated is not None:
        root["CA"] = [stated.encode()]
    main_line = [shuffled(root), *map(move, range(rng.randint(1, 8)))]
    data, variations = b"(", []
    for number, node in enumerate(main_line):
        if number and rng.random() < 0.2:
            data += b"("
            variations.append([move(number - 1) for _ in range(rng.randint(1, 3))])
        data += node_text(node)
    for nodes in reversed(variations):
        data += b")" + blank() + b"(" + b"".join(map(node_text, nodes)) + b")"
    if encoding != "utf-8" == stated and _is_utf8(data):
        return foreign_game(rng, encoding, writer, stated)  # by chance: nobody could tell
    every = [*main_line, *(node for nodes in reversed(variations) for node in nodes)]
    return Foreign(data + b")" + blank(), main_line, [sorted(node) for node in every])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return not data.isascii()


def _escaped(some: bytes) -> bytes:
    return some.replace(b"\\", b"\\\\").replace(b"]", b"\\]")
