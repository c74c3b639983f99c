"""The tree of the slow search in naive_search.py."""

from __future__ import annotations

from dataclasses import dataclass, field

Key = tuple[object, ...]


@dataclass
class Edge:
    move: int
    prior: float
    child: Node | None = None
    visits: int = 0

    def weight(self) -> float:
        if self.child is None or self.child.visits == 0:
            return 0.0
        return self.child.weight * self.visits / self.child.visits


@dataclass
class Bias:
    delta: float = 0.0
    weight: float = 0.0


@dataclass
class Node:
    colour: int
    terminal: bool = False
    visits: int = 0
    weight: float = 0.0
    weight_sq: float = 0.0
    win_loss: float = 0.0
    no_result: float = 0.0
    score: float = 0.0
    score_sq: float = 0.0
    lead: float = 0.0
    utility: float = 0.0
    utility_sq: float = 0.0
    bias: Bias | None = None
    bias_part: tuple[float, float] = (0.0, 0.0)
    """What it added to the bias' delta and weight."""
    own: dict[str, float] = field(default_factory=dict)
    """The node's own evaluation: win_loss, no_result, score, score_sq, lead, utility, weight; white's view."""
    untried: dict[int, float] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    pass_may_end: bool = False
    key: Key = ()
