"""Writes notes into the main line of an SGF file, whose other content stays: comments, marks, variations, the names of
the players, properties that only one program knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sgfmill import sgf_grammar
from sgfmill.sgf_grammar import Coarse_game_tree

from go_rules.game import Move
from go_rules.points import COLOUR_LETTERS
from go_rules.sgf.encodings import known_encoding
from go_rules.sgf.grammar import parse_tree
from go_rules.sgf.writer import coordinates, escaped

JUDGEMENTS = ("BM", "DO", "IT", "TE")
"""What FF[4] has to say of a move: bad, doubtful, interesting, good. A node has one of them at most."""

Node = dict[str, list[bytes]]


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
    """Return the first game of an SGF text in UTF-8, with notes by the number of the move; 0 is the root's.

    Only nodes with one move get notes, and variations go beside the node. Raises SgfError.
    """
    tree = parse_tree(data)
    _to_utf8(tree)
    played, places = 0, [(0, _Place(None, tree, 0))]
    for place in _main_line(tree):
        moves = sum(len(place.node.get(name, [])) for name in ("B", "W"))
        played += moves
        if moves == 1:
            places.append((played, place))
    noted = [(place, notes[number]) for number, place in places if number in notes]
    for place, note in noted:
        _write(place.node, note)
    # From the end, since a variation divides what comes before it from what comes behind.
    for place, note in reversed(noted):
        _add(place, [_as_tree(variation) for variation in note.variations])
    serialised: bytes = sgf_grammar.serialise_game_tree(tree)
    return serialised


@dataclass(frozen=True)
class _Place:
    """A node of the main line: one of the sequence of a tree, which is a child of another unless it is the game's."""

    parent: Coarse_game_tree | None
    tree: Coarse_game_tree
    index: int

    @property
    def node(self) -> Node:
        node: Node = self.tree.sequence[self.index]
        return node


def _main_line(tree: Coarse_game_tree) -> Iterator[_Place]:
    parent = None
    while True:
        for index in range(len(tree.sequence)):
            yield _Place(parent, tree, index)
        if not tree.children:
            return
        parent, tree = tree, tree.children[0]


def _to_utf8(tree: Coarse_game_tree) -> None:
    """Have all texts of a game in UTF-8, and the root say so."""
    root = tree.sequence[0]
    encoding = known_encoding(root.get("CA", [b""])[0])
    root["CA"] = [b"UTF-8"]
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        waiting += part.children
        for node in part.sequence:
            for name, values in node.items():
                node[name] = [_in_utf8(value, encoding) for value in values]


def _in_utf8(value: bytes, encoding: str) -> bytes:
    """Return the raw value of a property in UTF-8. Where it is neither in its file's encoding nor in UTF-8, it is taken
    for ISO 8859-1, the encoding of SGF files that name none."""
    for each in (encoding, "utf-8"):
        with contextlib.suppress(UnicodeDecodeError):
            text = value.decode(each).encode()
            if sgf_grammar.is_valid_property_value(text):  # and no backslash was taken for half a character
                return text
    return value.decode("iso8859-1").encode()


def _write(node: Node, note: Note) -> None:
    if note.comment:
        said = [*(text for text in node.get("C", []) if text.strip()), escaped(note.comment)]
        node["C"] = [b"\n\n".join(said)]
    is_judged = any(name in node for name in JUDGEMENTS)
    for name, text in note.properties.items():
        if name not in JUDGEMENTS or not is_judged:
            node[name] = [escaped(text)]


def _add(place: _Place, variations: list[Coarse_game_tree]) -> None:
    """Make variations siblings of a node. The root of a game can have none."""
    parent, tree = place.parent, place.tree
    if not variations or (parent is None and place.index == 0):
        return
    if place.index:
        rest = Coarse_game_tree()
        rest.sequence, rest.children = tree.sequence[place.index :], tree.children
        tree.sequence, tree.children = tree.sequence[: place.index], [rest]
        parent = tree
    assert parent is not None
    parent.children += variations


def _as_tree(variation: Variation) -> Coarse_game_tree:
    tree = Coarse_game_tree()
    tree.sequence = [{COLOUR_LETTERS[move.colour]: [coordinates(move.point).encode()]} for move in variation.moves]
    tree.sequence[0]["C"] = [escaped(variation.comment)]
    return tree
