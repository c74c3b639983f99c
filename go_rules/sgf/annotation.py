"""Writes notes into the main line of an SGF file, whose other bytes stay as they are: comments, marks, variations, the
names of the players, in whatever encoding, and properties that only one program knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from go_rules.game import Move
from go_rules.points import COLOUR_LETTERS
from go_rules.sgf.grammar import GameText, SgfNode, is_text, known_encoding, parse_game
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
    properties: Mapping[str, str] = field(default_factory=dict)
    """Names and texts. They take the place of those that are there, but a judgement of the file's own stays."""
    variations: tuple[Variation, ...] = ()


def annotated(data: bytes, notes: Mapping[int, Note]) -> bytes:
    """Return the first game of an SGF text, with notes by the number of the move; 0 is the root's.

    Only nodes with one move get notes, and variations go beside the node. Where the whole game is in UTF-8, so are the
    notes, and the root says so. Elsewhere they are in ASCII, which all encodings have in common. Raises SgfError.
    """
    game = parse_game(data)
    root = game.nodes[0]
    charset = root.properties.get("CA", [b""])[0].strip().upper()
    is_utf8 = known_encoding(charset) == "utf-8" and is_text(game.content, "utf-8") and game.content == game.structure
    encoding = "utf-8" if is_utf8 else "ascii"
    edits: list[_Edit] = []
    varied: list[tuple[SgfNode, bool, bytes]] = []
    played, tree = 0, -1
    for node in game.nodes:
        moves = sum(len(node.properties.get(name, [])) for name in ("B", "W"))
        played += moves
        numbers = [0] * (node is root) + [played] * (moves == 1)
        written = [notes[number] for number in numbers if number in notes]
        if node is root and is_utf8 and charset != b"UTF-8":
            written.append(Note(properties={"CA": "UTF-8"}))
        if written:
            edits += _written(game, node, written, encoding)
        variations = b"".join(_as_text(variation, encoding) for note in written for variation in note.variations)
        if variations and node is not root:  # nothing can be beside the root
            varied.append((node, node.tree != tree, variations))
        tree = node.tree
    # From the end, since a variation divides what comes before it from what comes behind.
    for node, is_first, variations in reversed(varied):
        if is_first:
            edits.append(_Edit(game.ends[node.tree - 1], 0, variations))
        else:
            edits.append(_Edit(node.start, 1, b"(;"))
            edits.append(_Edit(game.ends[node.tree], 0, b")" + variations))
    return _edited(game.content, edits) + b"\n"


def annotated_nodes(game: GameText, notes: Sequence[tuple[SgfNode, Note]]) -> bytes:
    """Return a game with the comments and properties of notes in its nodes, in ASCII."""
    edits = [edit for node, note in notes for edit in _written(game, node, [note], "ascii")]
    return _edited(game.content, edits)


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


def _property(name: str, text: str, encoding: str = "ascii") -> bytes:
    return b"%b[%b]" % (name.encode("ascii"), _value(text, encoding))


def _value(text: str, encoding: str) -> bytes:
    return escaped(text.encode(encoding, "backslashreplace").decode(encoding))
