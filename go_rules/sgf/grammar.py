"""The grammar of SGF files (FF[4], https://www.red-bean.com/sgf/): the first game as a tree of nodes, and a collection
taken apart into its games.

The size of a text is measured before it is parsed, so that a hostile file is refused early. sgfmill parses the grammar.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

from sgfmill import sgf_grammar
from sgfmill.sgf_grammar import Coarse_game_tree

from go_rules.sgf.encodings import in_utf8

MAX_BYTES = 10_000_000
MAX_TOKENS = 250_000
"""The most delimiters, property names, values and escaped characters: sgfmill keeps some 200 bytes for each."""
MAX_DEPTH = 5_000
"""The most nested variations. Some editors nest every move of a game, so hundreds are normal."""


class SgfError(ValueError):
    """The file or text is no SGF game that we can play; the message is one line."""


def parse_tree(data: bytes) -> Coarse_game_tree:
    """Parse the first game in `data`, whatever comes before it. Raises SgfError.

    Values are as they stand in the text, escaped; where its encoding had to be known to find the brackets, they are in
    UTF-8, and the root says so.
    """
    if len(data) > MAX_BYTES:
        raise SgfError(f"more than {MAX_BYTES} bytes")
    data = _with_root(data)
    text = in_utf8(data)
    if text is data:
        return _parse(data)
    # A name may have been cut in the middle of a character, or the encoding be another: then brackets are found in the
    # bytes. Where one is missed, so is the property behind it.
    readings = []
    for each in (text, data):
        with contextlib.suppress(SgfError):
            readings.append(_parse(each))
    return max(readings, key=lambda tree: sum(map(len, main_line(tree)))) if readings else _parse(text)


def main_line(tree: Coarse_game_tree) -> list[Mapping[str, list[bytes]]]:
    """List the nodes of a game's main line: property names and their raw values."""
    return list(sgf_grammar.main_sequence_iter(tree))


def _parse(data: bytes) -> Coarse_game_tree:
    start = _START.search(data)
    if start is None:
        raise SgfError("no SGF game found")
    _measure(data, start.start())
    try:
        return sgf_grammar.parse_sgf_game(data[start.start() :])
    except ValueError as error:
        raise SgfError(f"broken SGF: {error}") from None


def split_games(data: bytes) -> Iterator[bytes]:
    """Yield the text of each game in `data`, for parse_sgf to read.

    What has no game in it, and what begins with a game whose end cannot be found, is yielded as it is: parse_sgf then
    says why.
    """
    data = in_utf8(_with_root(data))
    position, start = 0, _START.search(data)
    while start is not None:
        try:
            position = _measure(data, start.start())
        except SgfError:
            yield data[start.start() :]
            return
        yield data[start.start() : position]
        start = _START.search(data, position)
    if position == 0:
        yield data


_START = re.compile(rb"\(\s*;")
_UNMARKED = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\(\s*(?=[A-Z]{1,2}\s*\[)")
"""The start of a game whose root has no semicolon, as Cyberoro (oro.com) writes them."""


def _with_root(data: bytes) -> bytes:
    """Give the root of a file's first game the semicolon that some servers leave out."""
    unmarked = _UNMARKED.match(data)
    return data if unmarked is None else b"%s;%s" % (unmarked.group(), data[unmarked.end() :])


_OUTSIDE = re.compile(rb"[A-Za-z]{1,64}|[\[();]")
_INSIDE = re.compile(rb"\\.|\]", re.DOTALL)


def _measure(data: bytes, position: int) -> int:
    """Refuse what would cost a parser too much: walk the tokens of the game that begins at `position`, without keeping
    them. Return where it ends."""
    depth = tokens = 0
    pattern = _OUTSIDE
    while match := pattern.search(data, position):
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
