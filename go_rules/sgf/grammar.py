"""The grammar of SGF files (FF[4], https://www.red-bean.com/sgf/): the main line of the first game, and a collection
taken apart into its games.

The grammar is one of bytes, and texts may be in any encoding (encodings.py). In Shift_JIS, Big5 and GBK the second byte
of a character may be that of a bracket or of a backslash. So brackets are found first (`_structure`), by what stands
around each, and values are kept as the bytes that they are: no move depends on which encoding is supposed.

The size of a text is measured before it is parsed, so that a hostile file is refused early.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from go_rules.sgf.encodings import from_utf16, is_text

MAX_BYTES = 10_000_000
MAX_TOKENS = 250_000
"""The most delimiters, property names, values and escaped characters of a game."""
MAX_DEPTH = 5_000
"""The most nested variations. Some editors nest every move of a game, so hundreds are normal."""


class SgfError(ValueError):
    """The file or text is no SGF game that we can play; the message is one line."""


class SgfNode(NamedTuple):
    """A node of the main line, and where it stands in the text of its game."""

    properties: dict[str, list[bytes]]
    """The values by the names: the bytes between the brackets as they are, escaped."""
    tree: int
    """How many of the main line's variations it is in; 0 for the root."""
    start: int
    """Of its semicolon."""
    end: int
    """Behind its last property."""

    @property
    def moves(self) -> int:
        """How many moves it has."""
        return len(self.properties.get("B", ())) + len(self.properties.get("W", ()))


@dataclass(frozen=True)
class GameText:
    """The first game of a file, as it stands there."""

    content: bytes
    """From its first parenthesis to its last."""
    structure: bytes
    """The same, byte by byte, but no part of a character looks like a bracket or a backslash."""
    nodes: list[SgfNode]
    """The main line, at least the root."""
    ends: list[int]
    """Where the parentheses stand that close the game and the variations of its main line, by the `tree` of a node."""

    def properties(self, node: SgfNode) -> Iterator[tuple[str, int, int]]:
        """Yield the properties of a node, also those that have the same name: the name, and where each begins and
        ends."""
        for match in _PROPERTY.finditer(self.structure, node.start, node.end):
            yield _name(match[1]), match.start(), match.end()

    def tree(self) -> Iterator[tuple[int, dict[str, list[bytes]]]]:
        """Yield all nodes, those of variations too, parents before children: the number of a node's parent, -1 for the
        root's, and its properties."""
        position, before, number, branches = 1, -1, -1, [-1]
        properties: dict[str, list[bytes]] | None = None
        while branches:
            token = _MARK_AND_PROPERTY.match(self.structure, position)
            assert token is not None
            position = token.end()
            if token[1] and properties is not None:
                yield before, properties
                before, properties = number, None
            if token[1] == b";":
                number, properties = number + 1, {}
            elif token[1] == b"(":
                branches.append(before)
            elif token[1] == b")":
                before = branches.pop()
            if token[2] and properties is not None:
                properties.setdefault(_name(token[2]), []).extend(_values(self.content, self.structure, token))


def parse_game(data: bytes) -> GameText:
    """Parse the first game in `data`, whatever comes before it. Raises SgfError."""
    if len(data) > MAX_BYTES:
        raise SgfError(f"more than {MAX_BYTES} bytes")
    data = _with_root(from_utf16(data))
    start = _START.search(data)
    if start is None:
        raise SgfError("no SGF game found")
    structure = _structure(data)
    game = slice(start.start(), _measure(structure, start.start()))
    return _parse(data[game], structure[game])


def split_games(data: bytes) -> Iterator[bytes]:
    """Yield the text of each game in `data`, for parse_sgf to read.

    What has no game in it, and what begins with a game whose end cannot be found, is yielded as it is: parse_sgf then
    says why.
    """
    data = _with_root(from_utf16(data))
    position, start = 0, _START.search(data)
    try:
        structure = _structure(data)
        while start is not None:
            position = _measure(structure, start.start())
            yield data[start.start() : position]
            start = _START.search(data, position)
    except SgfError:
        yield data[start.start() if start else 0 :]
        return
    if position == 0:
        yield data


_START = re.compile(rb"\(\s*;")
_UNMARKED = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\(\s*(?=[A-Za-z]{1,2}\s*\[)")
"""The start of a game whose root has no semicolon, as Cyberoro (oro.com) writes them."""


def _with_root(data: bytes) -> bytes:
    """Give the root of a file's first game the semicolon that some servers leave out."""
    unmarked = _UNMARKED.match(data)
    return data if unmarked is None else b"%s;%s" % (unmarked.group(), data[unmarked.end() :])


# --- Brackets -----------------------------------------------------------------------------------------------------

_DOUBTFUL = re.compile(rb"\](?:(?<=[\x80-\xff]\])|(?<=[\x80-\xff\\]\\\]))")
"""A bracket that may be the second byte of a character, or whose backslash may be one. Only bytes from 80 on begin a
character of several bytes, so all other brackets are what they seem."""
_FARTHEST = 2_000
"""How many bytes before a bracket are looked at, at most."""
_HIGH = bytes(range(0x80, 0x100))
_UTF8 = re.compile(rb"CA\s*\[\s*utf-?8\s*\]", re.IGNORECASE)
_SHIFTED = re.compile(rb"\x1b\$\(?[@A-D][\x21-\x7e]*\x1b\(")
"""Characters of ISO-2022-JP, whose bytes are all below 80, between escape sequences."""
_NEUTRAL = bytes.maketrans(rb"[\]", b"xxx")


def _structure(data: bytes) -> bytes:
    """Return `data` with other bytes in the place of brackets and backslashes that are a part of a character.

    A file that is in UTF-8 and makes sense as it stands has none.
    """
    if b"\x1b$" in data:
        data = _SHIFTED.sub(lambda match: match[0].translate(_NEUTRAL), data)
    if data.isascii():
        return data
    if not _DOUBTFUL.search(data) or (is_text(data, "utf-8") and (_UTF8.search(data) or _makes_sense(data))):
        return data
    structure = bytearray(data)
    has_small_names = _SMALL_NAME.search(data) is not None
    doubtful = 0
    for bracket in _DOUBTFUL.finditer(data):
        position = bracket.start()
        before = data[max(0, position - _FARTHEST) : position]
        text = before.rstrip(b"\\")
        if not text or text[-1] < 0x80:
            continue
        doubtful += 1
        if doubtful > MAX_TOKENS:
            raise SgfError(f"more than {MAX_TOKENS} values")
        is_escaped = (len(before) - len(text)) % 2 == 1
        # In characters of two bytes the bracket is one of its own, too.
        is_alone = (len(text) - len(text.rstrip(_HIGH))) % 2 == 0
        if _ends_value(data, position + 1, is_alone and not is_escaped, has_small_names) == is_escaped:
            structure[position - is_escaped] = ord("x")
    return bytes(structure)


def _makes_sense(structure: bytes) -> bool:
    """Return whether this is SGF from the beginning of its first game to the end of its last one."""
    start = _START.search(structure)
    try:
        while start is not None:
            end = _measure(structure, start.start())
            _parse(game := structure[start.start() : end], game)
            start = _START.search(structure, end)
    except SgfError:
        return False
    return True


_FOLLOWING = re.compile(rb"((?:[\s-]*[;()])*\s*)(?:([A-Za-z]{1,64})\s*)?(\[)?")
_PLAIN = re.compile(rb"[^\x80-\xff\\\[\]]*\]")
"""The rest of a value without brackets. Within a text the one at its end would be escaped."""
_POINT = re.compile(rb"[a-z]{2}[:\]]")
_NO_TEXT = re.compile("[ABD-MO-Z]|A[BWE]|PL|SZ|GM|FF|HA")
"""Properties that have no brackets in their values, and other letters, as in `A[1]`. Within a text they may seem to."""
_GAME = re.compile(rb"\(\s*;\s*[A-Z]")
_NODE = re.compile(rb";\s*[A-Z]{1,2}\s*\[[^\\\[\]]*\Z")
_SMALL_NODE = re.compile(_NODE.pattern, re.IGNORECASE)
_SMALL_NAME = re.compile(rb"\(\s*;?\s*[a-z]{1,2}\s*\[")


def _ends_value(data: bytes, position: int, seems_so: bool, has_small_names: bool) -> bool:
    """Return whether the doubtful bracket before a position ends its value.

    What follows decides, so that no property and no move is taken for text, whatever the encoding. Where a text could
    go on like that, too, `seems_so` is returned. In some files the names of properties are in small letters.
    """
    following = _FOLLOWING.match(data, position)
    assert following is not None
    marks, name, opening = following.groups()
    value = following.end()
    if opening and name and (b";" in marks or not name.islower() or (has_small_names and len(name) <= 2)):
        may_be_text = _NO_TEXT.fullmatch(_name(name)) is not None
        return seems_so or not may_be_text or _PLAIN.match(data, value) is not None
    if opening and not name and not marks.strip():
        return seems_so or _POINT.match(data, value) is not None
    position += len(marks)
    end = data.find(b"]", position)
    if b")" in marks:  # the game's end, which nothing need follow, or another game
        return end < 0 or _GAME.search(data, position, end) is not None
    # A text goes on, unless a node comes first: then this is a fault of the file, and no reason to lose a move.
    return (_SMALL_NODE if has_small_names else _NODE).search(data, position, end) is not None


# --- Tokens -------------------------------------------------------------------------------------------------------

_OUTSIDE = re.compile(rb"[A-Za-z]{1,64}|[\[();]")
_INSIDE = re.compile(rb"\\.|\]", re.DOTALL)


def _measure(structure: bytes, position: int) -> int:
    """Refuse what would cost a parser too much: walk the tokens of the game that begins at `position`, without keeping
    them. Return where it ends."""
    depth = tokens = 0
    pattern = _OUTSIDE
    while match := pattern.search(structure, position):
        tokens += 1
        position = match.end()
        token = match.group()
        if token == b"[":
            pattern = _INSIDE
        elif token == b"]":
            pattern = _OUTSIDE
        elif token == b"(":
            depth += 1
        elif token == b")":
            depth -= 1
        if depth > MAX_DEPTH:
            raise SgfError(f"variations nested more than {MAX_DEPTH} deep")
        if tokens > MAX_TOKENS:
            raise SgfError(f"more than {MAX_TOKENS} nodes and properties")
        if depth == 0:
            return position
    raise SgfError("broken SGF: unexpected end of SGF data")


_VALUE = rb"[^\\\]]*(?:\\.[^\\\]]*)*"
_VALUES = re.compile(rb"\[(%b)\]" % _VALUE, re.DOTALL)
_PROPERTY = re.compile(rb"([A-Za-z]{1,64})\s*\[(%b)\]((?:\s*\[%b\])*)" % (_VALUE, _VALUE), re.DOTALL)
_MARK_AND_PROPERTY = re.compile(rb"(?:[\s-]*([;()]))?\s*(?:%b)?" % _PROPERTY.pattern, re.DOTALL)
"""Old files have dashes between nodes."""
_AFTER = {b"(": b";", b";": b";()", b")": b"();"}
"""Which of these may follow another one, perhaps behind properties."""


def _parse(content: bytes, structure: bytes) -> GameText:
    """Parse the text of one game, which was measured. Raises SgfError."""
    nodes: list[SgfNode] = []
    ends = [0]
    properties: dict[str, list[bytes]] = {}
    before, start, position, depth, is_main = b"(", 0, 1, 1, True
    while depth:
        token = _MARK_AND_PROPERTY.match(structure, position)
        assert token is not None
        mark, letters = token[1], token[2]
        if (mark not in _AFTER[before] if mark else not letters) or (letters and (mark or before) != b";"):
            raise SgfError(f"broken SGF: neither a property nor a node at byte {position} of the game")
        if mark:
            if is_main and before == b";":
                nodes.append(SgfNode(properties, len(ends) - 1, start, position))
            if mark == b";":
                if before == b")" and depth <= len(ends) and not ends[depth - 1]:
                    # FF[1]: a line goes on behind its variations, so the first of these was not the main line.
                    while nodes[-1].tree >= depth:
                        nodes.pop()
                    del ends[depth:]
                    is_main = True
                properties, start = {}, token.start(1)
            elif mark == b"(":
                depth += 1
                if is_main:
                    ends.append(0)
            else:
                is_main = False
                if depth <= len(ends) and not ends[depth - 1]:
                    ends[depth - 1] = token.start(1)
                depth -= 1
            before = mark
        position = token.end()
        if letters and is_main:
            properties.setdefault(_name(letters), []).extend(_values(content, structure, token))
    return GameText(content, structure, nodes, ends)


def _values(content: bytes, structure: bytes, token: re.Match[bytes]) -> list[bytes]:
    """The values of the property that was found as a _MARK_AND_PROPERTY."""
    values = [content[token.start(3) : token.end(3)]]
    if token[4]:
        values += [content[v.start(1) : v.end(1)] for v in _VALUES.finditer(structure, *token.span(4))]
    return values


@lru_cache(maxsize=256)
def _name(letters: bytes) -> str:
    """Return the name of a property. Small letters say nothing where there are others: `AddBlack` is `AB`."""
    return (letters.translate(None, _SMALL) or letters.upper()).decode("ascii")


_SMALL = string.ascii_lowercase.encode()
