"""The game on the board: its tree, how it is played, and the files that it is kept in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from go_rules.points import BLACK, WHITE, opponent
from go_rules.rule_names import PRESETS, rules_to_sgf
from go_rules.rules import Rules
from go_rules.sgf.writer import escaped
from gtp_engine.drawing import star_points
from gtp_engine.session.records import GameFiles
from gtp_engine.web.counting import Count, GameClock
from gtp_engine.web.levels import FULL, NAMES, levels
from gtp_engine.web.problems import OPEN, Asked
from gtp_engine.web.tree import GameTree, Node

PLAY, ANALYSE = "play", "analyse"
PERSON = "Person"
ON_TIME = "+T"
"""What follows the letter of the winner on time."""
TOLD = ("id", "file", "result", "mode", "person", "level", "teaching", "limit", "to_place", "offer", "unsaved")
"""What pages are told of a game just as it is."""
LIMIT = 3.0
"""Points that a move has to lose for a take-back to be offered."""


class Situation(msgspec.Struct):
    """What an SGF file has no words for: how a game is played that is kept. It is a private property of the root."""

    mode: str
    at: int
    """The place of the position among the file's nodes."""
    person: int
    level: int
    teaching: bool
    limit: float
    to_place: int = 0


PROPERTY = "NOBI"


@dataclass(eq=False)
class OpenGame:
    """A game that pages see."""

    id: str
    tree: GameTree
    at: Node
    """Where the game stands; in analysis the position that was last played or set up."""
    mode: str = ANALYSE
    person: int = 0
    """The colour of the person that the engine plays against."""
    level: int = FULL
    teaching: bool = False
    limit: float = LIMIT
    to_place: int = 0
    """Handicap stones that are still to be placed where a person likes."""
    clock: GameClock | None = None
    count: Count | None = None
    """What is counted, after both have passed and before they agree."""
    offer: dict[str, Any] | None = None
    """What pages are told of the person's last move, while the engine waits for it to be taken back, or not."""
    problem: Asked | None = None
    """The problem that it is; such a game is not kept."""
    file: str = ""
    """The name of the file that was opened."""
    source: GameFiles | None = None
    """The file that was opened, if it can be written back."""
    kept: GameFiles | None = None
    """The file in the folder of games, once there is something to keep."""
    unsaved: bool = False
    """Whether a change is neither in the file that was opened nor, where none was, in the folder of games."""

    @property
    def result(self) -> str:
        """The result as SGF has it; '' while the game goes on."""
        return self.tree.text("RE")

    def end(self, result: str) -> None:
        """Write the result down; '' goes on with the game, without its clock where that has run out. Clocks stop."""
        if not result and self.result.endswith(ON_TIME):
            self.clock = None
        self.tree.write_text(self.tree.root, "RE", result)
        self.count = self.offer = None
        if self.clock is not None:
            self.clock.press(0)

    @property
    def goes_on(self) -> bool:
        """Whether it is a game against the engine that has not ended."""
        return self.mode == PLAY and not self.result

    def node(self, number: int | None) -> Node:
        """Return the node of this id; where the game stands for None. Raises Refused."""
        return self.at if number is None else self.tree.node(number)

    def stand(self, node: Node) -> None:
        """Let the game stand at a node; what was counted is counted no longer."""
        self.at, self.count = node, None

    @property
    def may_be_counted(self) -> bool:
        """Whether two passes end it: it is played here and has no result yet."""
        return not self.result and (self.mode == PLAY or not (self.file or self.problem))

    @property
    def is_engines_turn(self) -> bool:
        """Whether it goes on and the engine is to move."""
        return self.goes_on and self.at.to_play == opponent(self.person)

    @property
    def is_asked(self) -> bool:
        """Whether the person's move is to solve a problem."""
        return self.goes_on and self.problem is not None and self.problem.state == OPEN

    def name_players(self) -> None:
        """Write down who plays, unless that is somebody's record or a problem, or nobody plays."""
        if self.file or self.problem is not None or self.mode != PLAY:
            return
        for name, colour in (("PB", BLACK), ("PW", WHITE)):
            self.tree.write_text(
                self.tree.root, name, PERSON if self.person == colour else f"Nobi, {NAMES[self.level]}"
            )

    def terms(self) -> dict[str, Any]:
        """Return what pages are told of a game besides its nodes."""
        tree = self.tree
        return {
            **{name: getattr(self, name) for name in TOLD},
            **{name: getattr(tree, name) for name in ("width", "height", "komi", "handicap")},
            "name": tree.text("GN") or self.file,
            "can_save": self.source is not None,
            "stars": [tree.on_page(point) for point in star_points(tree.width, tree.height)],
            "rules": rules_name(tree.rules),
            "black": tree.text("PB"),
            "white": tree.text("PW"),
            "at": self.at.id,
            "clock": None if self.clock is None else self.clock.told(),
            "count": None if self.count is None else self.count.told(),
            "problem": None if self.problem is None else self.problem.told(tree.on_page),
        }

    def told(self) -> dict[str, Any]:
        """Return what pages are told of the whole game."""
        return {**self.terms(), "nodes": [self.tree.told(node) for node in self.tree.in_order()]}

    # --- SGF --------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, name: str, content: bytes, rules: Rules, komi: float, file_name: str = "") -> OpenGame:
        """Read a game, and how it was played if it was kept by us. It stands at its end. Raises SgfError."""
        tree = GameTree.read(content, rules, komi, file_name)
        game = cls(name, tree, tree.end())
        kept = tree.text(PROPERTY)
        tree.root.properties.pop(PROPERTY, None)
        try:
            said = msgspec.json.decode(kept, type=Situation) if kept else None
        except msgspec.DecodeError:
            said = None
        nodes = list(tree.in_order())
        if said is not None and said.mode in (PLAY, ANALYSE) and said.level in levels() and 0 <= said.at < len(nodes):
            game.mode, game.person, game.level, game.at = said.mode, said.person, said.level, nodes[said.at]
            game.teaching, game.limit, game.to_place = said.teaching, said.limit, said.to_place
        return game

    def to_keep(self) -> bytes:
        """Return the game as SGF, with how it is played."""
        at = next(place for place, node in enumerate(self.tree.in_order()) if node is self.at)
        said = Situation(self.mode, at, self.person, self.level, self.teaching, self.limit, self.to_place)
        return self.tree.write({self.tree.root: {PROPERTY: escaped(msgspec.json.encode(said).decode())}})


def rules_name(rules: Rules) -> str:
    """Return the name of rules, or what an SGF file says of rules without one."""
    return next((name for name, (each, _) in PRESETS.items() if each == rules), rules_to_sgf(rules))
