"""The variations of an SGF file's first game: each as a game of its own, and notes for their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from go_rules.sgf.annotation import Note, annotated_nodes
from go_rules.sgf.grammar import GameText, SgfError, SgfNode, parse_game

MAX_VARIATIONS = 1000


class Branch(NamedTuple):
    """A variation: the line from the root to its end."""

    text: bytes
    """A game that has this line alone."""
    nodes: list[SgfNode]
    """The nodes of the line that are in none before it, as they stand in the text of the whole game."""
    first: int
    """How many moves of the line come before them."""

    def by_number(self, notes: Mapping[int, Note]) -> Iterator[tuple[SgfNode, Note]]:
        """Yield those of its nodes that have one move and a note, by the number of the move."""
        played = self.first
        for node in self.nodes:
            played += node.moves
            if node.moves == 1 and played in notes:
                yield node, notes[played]


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
    return annotated_nodes(parse_game(data), [each for branch, those in notes for each in branch.by_number(those)])


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
