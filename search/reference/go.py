"""Go by area on small boards, for the reference search: an adapter of go_rules' Game. Black is FIRST."""

from __future__ import annotations

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WALL, from_vertex, neighbours, to_vertex
from go_rules.rule_names import PRESETS
from search.reference.mcts import FIRST, SECOND


class Go:
    """A game for the reference search. A move is a vertex; no stone goes into an own eye."""

    def __init__(self, size: int, komi: float) -> None:
        self.size, self.komi = size, komi

    def start(self) -> Game:
        return Game(self.size, self.size, PRESETS["tromp-taylor"][0], self.komi)

    def player(self, state: Game) -> int:
        return FIRST if state.to_play == BLACK else SECOND

    def moves(self, state: Game) -> list[str]:
        return [to_vertex(p, self.size) for p in state.legal_moves(state.to_play) if not self._is_eye(state, p)]

    def play(self, state: Game, move: str) -> Game:
        after = state.copy()
        after.play(after.to_play, from_vertex(move, self.size, self.size))
        return after

    def result(self, state: Game) -> float | None:
        return (0.5 if state.score() == 0 else float(state.score() < 0)) if state.is_over else None

    def _is_eye(self, state: Game, point: int) -> bool:
        board = state.position["board"]
        return point != PASS and all(board[q] in (state.to_play, WALL) for q in neighbours(point))
