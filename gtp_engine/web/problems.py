"""The problems that were found in the user's games: one SGF file each, in the data folder, and when each is due again.

The name of a file says when its problem is due, how often in turn it was solved, and which position it is. So an answer
renames a file, whose content stays, and several processes can work in the folder.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from go_rules.game import Game, Move
from go_rules.points import COLOUR_NAMES, EMPTY, board_points
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES
from go_rules.sgf.grammar import MAX_BYTES, SgfError
from go_rules.sgf.reader import Setup
from gtp_engine.errors import Refused
from gtp_engine.review.judged import LONGEST_LINE
from gtp_engine.review.problems import Problem
from gtp_engine.web.games import folder_of_ours
from gtp_engine.web.refusals import Refusal
from gtp_engine.web.tree import GameTree, Node
from nobi_machine.cache import data_root
from nobi_machine.files import create_whole, read_regular
from nobi_machine.text import printable_path

DAYS = (1, 3, 7, 21)
"""After how many days a problem is due again that was solved once in turn, twice, ...; after the last it is known."""
SOLVED_LOSS = 1.0
"""Points that a move may lose and still solve a problem."""
OPEN, RIGHT, WRONG, SHOWN = "open", "right", "wrong", "shown"
_NAME = re.compile(r"([0-9]{8})-([0-9])-([0-9a-f]{16})\.sgf")


class _Kept(NamedTuple):
    """A file of the folder."""

    due: str
    """The day, as 20261128."""
    solved: int
    """How many times in turn."""
    key: str
    """Which position it is."""
    path: Path


@dataclass
class Asked:
    """A problem that is on the board."""

    key: str
    best: tuple[int, ...]
    """The right move, and how the game should go on."""
    state: str = OPEN
    is_answered: bool = False
    """Whether it was solved or not: only the first move counts."""
    node: int | None = None
    """The node of the move that was tried."""
    loss: float = 0.0
    """Points that this move lost."""
    days: int = 0
    """In how many days it is due again."""

    def told(self, on_page: Callable[[int], int]) -> dict[str, Any]:
        """Return what pages are told: the answer only where it was found or shown."""
        best = [on_page(point) for point in self.best[:LONGEST_LINE]] if self.state in (RIGHT, SHOWN) else []
        return {"state": self.state, "node": self.node, "loss": self.loss, "days": self.days, "best": best}


class Problems:
    """The folder of problems. Without a home there is none, and nothing can be kept."""

    def __init__(self) -> None:
        self.folder = data_root() / "problems"

    def add(self, game: Game, problem: Problem, source: str) -> bool:
        """Keep the problem at a game's present position. `source`: which game that is. Returns whether it was not there
        before. Raises OSError."""
        key, content = _written(game, problem, source)
        if any(each.key == key for each in self._kept()):
            return False
        try:
            create_whole(folder_of_ours(self.folder) / f"{_day(0)}-0-{key}.sgf", content)
        except FileExistsError:  # another process has just found it
            return False
        return True

    def next(self) -> tuple[GameTree, Asked]:
        """Return the problem that is due and was due first. Raises Refused and OSError."""
        due = next(iter(self._due()), None)
        if due is None:
            raise Refusal("no_problem_is_due")
        try:
            tree = GameTree.read(read_regular(due.path, MAX_BYTES), DEFAULT_RULES, DEFAULT_KOMI)
            best = tuple(node.move.point for node in tree.end().line() if node.move is not None)
            if not best:
                raise SgfError("it has no answer")
        except SgfError as error:
            raise Refusal("broken_problem", file=printable_path(due.path), text=str(error)) from None
        for child in list(tree.root.children):
            tree.remove(child)
        return tree, Asked(due.key, best)

    def answer(self, key: str, is_solved: bool) -> int:
        """Write down whether a problem was solved, and return in how many days it is due again; 0 for never. Raises
        OSError."""
        days = DAYS[0]
        for each in self._kept():
            if each.key == key:
                solved = each.solved + 1 if is_solved else 0
                days = 0 if solved > len(DAYS) else DAYS[max(0, solved - 1)]
                with contextlib.suppress(FileNotFoundError):  # another process was faster
                    os.replace(each.path, self.folder / f"{_day(days)}-{solved}-{key}.sgf")
        return days

    def told(self) -> dict[str, Any]:
        """Return what pages are told: how many are due, how many there are, and when the next one is due."""
        kept = self._kept()
        day = min((each.due for each in kept if each.solved <= len(DAYS)), default="")
        day = day and f"{day[:4]}-{day[4:6]}-{day[6:]}"
        return {"due": len(self._due()), "count": len(kept), "next": day}

    def collection(self) -> bytes:
        """Return all problems as the games of one SGF file. Raises OSError."""
        parts = []
        for each in sorted(self._kept(), key=lambda each: each.key):
            with contextlib.suppress(FileNotFoundError):  # another process has just renamed it
                parts.append(read_regular(each.path, MAX_BYTES))
        return b"".join(parts)

    def _kept(self) -> list[_Kept]:
        found = []
        with contextlib.suppress(OSError):  # there is no folder yet
            for path in self.folder.iterdir():
                if (match := _NAME.fullmatch(path.name)) is not None:
                    found.append(_Kept(match[1], int(match[2]), match[3], path))
        return found

    def _due(self) -> list[_Kept]:
        """Those that are due, the first one first."""
        return sorted(each for each in self._kept() if each.due <= _day(0) and each.solved <= len(DAYS))


def source_of(names: Iterable[str], file: str, number: int) -> str:
    """Say which game and which move of it a problem is from. `names`: of the players; `file`: where these are empty."""
    return f"{' – '.join(filter(None, names)) or file or 'game'}, move {number}"


def _day(later: int) -> str:
    """The day that is so many days later than today."""
    return (datetime.date.today() + datetime.timedelta(later)).strftime("%Y%m%d")


def _written(game: Game, problem: Problem, source: str) -> tuple[str, bytes]:
    """A problem's key, and its file: the position, the answer as the main line, and what was played beside it."""
    board = game.position["board"]
    points = (point for point in board_points(game.width, game.height) if board[point] != EMPTY)
    tree = GameTree(game.width, game.height, game.rules, game.komi)
    stones = tuple(Move(int(board[point]), point) for point in points)
    root = tree.set_up(tree.root, Setup(stones, (), game.to_play))
    key = hashlib.sha256(tree.write()).hexdigest()[:16]
    name = COLOUR_NAMES[game.to_play].capitalize()
    tree.write_text(root, "GN", source)
    tree.write_text(root, "C", f"{name} to play. One move is right.\n{source}")
    right = _line(tree, root, problem.best)
    tree.write_text(right, "C", "Right.")
    tree.write_text(right, "TE", "1")
    wrong = _line(tree, root, (problem.played, *problem.answer))
    tree.write_text(wrong, "C", f"Played in the game: it lost {problem.loss:.1f} points.")
    tree.write_text(wrong, "BM", "1")
    return key, tree.write()


def _line(tree: GameTree, root: Node, points: Iterable[int]) -> Node:
    """Add moves in turn, as far as they can be played here, and return the first one's node."""
    node = root
    with contextlib.suppress(Refused):
        for point in list(points)[:LONGEST_LINE]:
            node = tree.play(node, node.to_play, point)
    return node.line()[root.depth + 1]
