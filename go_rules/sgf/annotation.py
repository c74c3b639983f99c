"""Writes notes into the main line of an SGF file and into its variations. The other bytes stay as they are: comments,
marks, variations, the names of the players, in whatever encoding, and properties that only one program knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from go_rules.game import Move
from go_rules.points import COLOUR_LETTERS
from go_rules.sgf.encodings import encoding_of, is_text
from go_rules.sgf.grammar import GameText, SgfError, SgfNode, parse_game
from go_rules.sgf.writer import coordinates, escaped

JUDGEMENTS = ("BM", "DO", "IT", "TE")
"""What FF[4] has to say of a move: bad, doubtful, interesting, good. A node has one of them at most."""


@dataclass(frozen=True)
class Variation:
    """A line of moves in place of the one that was played."""

    moves: tuple[Move, ...]
    comment: str
    """Said of its first move."""


@dataclass(frozen=True)
class Note:
    """What is to be written at the node of a move, or at the root."""

    comment: str = ""
    """Follows a comment that is there already."""
    properties: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Names, and one text or several of each. They take the place of those that are there, but a judgement of the
    file's own stays."""
    variations: tuple[Variation, ...] = ()


def annotated(data: bytes, notes: Mapping[int, Note], file_name: str = "") -> bytes:
    """Return the first game of an SGF text, with notes by the number of the move; 0 is the root's.

    Only nodes with one move get notes, and variations go beside the node. Where the whole game is in UTF-8, so are the
    notes. Elsewhere they are in ASCII, which all encodings have in common. The root says which encoding it is, where
    that is certain (`file_name` may help), and no text is changed. Raises SgfError.
    """
    game = parse_game(data)
    root = game.nodes[0]
    verdict = encoding_of([node.properties for node in game.nodes], file_name)
    is_utf8 = verdict.encoding == "utf-8"
    values = (value for node in game.nodes for values in node.properties.values() for value in values)
    is_sound = all(is_text(text, verdict.encoding) for text in (game.content, *values))
    charset = verdict.charset if is_sound and (not is_utf8 or game.content == game.structure) else ""
    encoding = "utf-8" if is_utf8 and charset else "ascii"
    stated = root.properties.get("CA", [b""])[0].decode("ascii", "ignore").strip()
    edits: list[_Edit] = []
    varied: list[tuple[SgfNode, bool, bytes]] = []
    played, tree, end = 0, -1, 0
    for node in game.nodes:
        played += node.moves
        numbers = [0] * (node is root) + [played] * (node.moves == 1)
        written = [notes[number] for number in numbers if number in notes]
        if node is root and charset and charset.upper() != stated.upper():
            written.append(Note(properties={"CA": charset}))
        if written:
            edits += _written(game, node, written, encoding)
        variations = b"".join(_as_text(variation, encoding) for note in written for variation in note.variations)
        is_behind_others = node.tree == tree and b")" in game.structure[end : node.start]
        # Nothing can be beside the root, nor beside a node that follows variations, as in FF[1].
        if variations and node is not root and not is_behind_others:
            varied.append((node, node.tree != tree, variations))
        tree, end = node.tree, node.end
    # From the end, since a variation divides what comes before it from what comes behind.
    for node, is_first, variations in reversed(varied):
        if is_first:
            edits.append(_Edit(game.ends[node.tree - 1], 0, variations))
        else:
            edits.append(_Edit(node.start, 1, b"(;"))
            edits.append(_Edit(game.ends[node.tree], 0, b")" + variations))
    return _edited(game.content, edits) + b"\n"


class _Edit(NamedTuple):
    """What takes the place of some bytes of a game's text. Of those at one place, insertions come first."""

    start: int
    length: int
    text: bytes


def _edited(content: bytes, edits: Sequence[_Edit]) -> bytes:
    pieces, position = [], 0
    for start, length, text in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [content[position:start], text]
        position = start + length
    return b"".join([*pieces, content[position:]])


def _written(game: GameText, node: SgfNode, notes: Sequence[Note], encoding: str) -> Iterator[_Edit]:
    """Yield what writes the comments and properties of notes into a node."""
    comment = "\n\n".join(note.comment for note in notes if note.comment)
    is_judged = any(name in node.properties for name in JUDGEMENTS)
    properties = {
        name: text for note in notes for name, text in note.properties.items() if not (is_judged and name in JUDGEMENTS)
    }
    comment_end = None
    for name, start, end in game.properties(node):
        if name in properties:
            yield _Edit(start, end - start, b"")
        if name == "C":
            comment_end = end - 1
    if comment and comment_end is None:
        properties["C"] = comment
    elif comment and comment_end is not None:
        # The blank line also ends half a character.
        blank_line = b"\n\n" if node.properties["C"][-1].strip() else b""
        yield _Edit(comment_end, 0, blank_line + _value(comment, encoding))
    yield _Edit(node.end, 0, b"".join(_property(name, text, encoding) for name, text in properties.items()))


def _as_text(variation: Variation, encoding: str) -> bytes:
    first, *others = (_property(COLOUR_LETTERS[move.colour], coordinates(move.point)) for move in variation.moves)
    return b"(;%b%b%b)" % (first, _property("C", variation.comment, encoding), b"".join(b";" + each for each in others))


def _property(name: str, texts: str | tuple[str, ...], encoding: str = "ascii") -> bytes:
    values = (texts,) if isinstance(texts, str) else texts
    return name.encode("ascii") + b"".join(b"[%b]" % _value(text, encoding) for text in values)


def _value(text: str, encoding: str) -> bytes:
    return escaped(text.encode(encoding, "backslashreplace").decode(encoding))


# --- Variations ---------------------------------------------------------------------------------------------------

MAX_VARIATIONS = 1000


class Branch(NamedTuple):
    """A variation: the line from the root to its end."""

    text: bytes
    """A game that has this line alone."""
    nodes: list[SgfNode]
    """The nodes of the line that are in none before it, as they stand in the text of the whole game."""
    first: int
    """How many moves of the line come before them."""


def branches(data: bytes) -> list[Branch]:
    """Return the variations beside the main line, in their order. Raises SgfError."""
    game = parse_game(data)
    known = {node.start for node in game.nodes}
    found: list[Branch] = []
    for line in _lines(game):
        if known.issuperset(start for start, _ in line):
            continue
        if len(found) == MAX_VARIATIONS:
            raise SgfError(f"more than {MAX_VARIATIONS} variations")
        text = b"(" + b"".join(game.content[start:end] for start, end in line) + b")"
        nodes = parse_game(text).nodes
        if len(nodes) != len(line):
            raise SgfError(f"a variation at byte {line[-1][0]} of the game makes no sense alone")
        moved = [
            node._replace(start=start, end=start + node.end - node.start)
            for node, (start, _) in zip(nodes, line, strict=True)
        ]
        new = [node for node in moved if node.start not in known]
        found.append(Branch(text, new, sum(node.moves for node in moved if node.start in known)))
        known.update(node.start for node in new)
    return found


def annotated_branches(data: bytes, notes: Iterable[tuple[Branch, Mapping[int, Note]]]) -> bytes:
    """Return the first game of an SGF text, with notes by the number of the move in its variations. The better lines of
    notes are left out. Raises SgfError."""
    game = parse_game(data)
    edits: list[_Edit] = []
    for branch, by_number in notes:
        played = branch.first
        for node in branch.nodes:
            played += node.moves
            if node.moves == 1 and played in by_number:
                edits += _written(game, node, [by_number[played]], "ascii")
    return _edited(game.content, edits)


_TOKEN = re.compile(rb"\[[^\\\]]*(?:\\.[^\\\]]*)*\]|[();]", re.DOTALL)


def _lines(game: GameText) -> Iterator[list[tuple[int, int]]]:
    """Yield the nodes of each line: where each begins, and where the next mark is."""
    line: list[tuple[int, int]] = []
    before: list[int] = []
    start = None
    for token in _TOKEN.finditer(game.structure):
        mark = token.group()
        if mark.startswith(b"["):
            continue
        if start is not None:
            line.append((start, token.start()))
        is_end, start = start is not None and mark == b")", token.start() if mark == b";" else None
        if is_end:
            yield line
        if mark == b"(":
            before.append(len(line))
        elif mark == b")":
            del line[before.pop() :]
