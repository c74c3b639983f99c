"""Which game the tree belongs to, and how its root follows that game: what was searched below a played move is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from go_rules.game import Move
from go_rules.machine.memory import MEGABYTE
from search.alphazero.parameters import AlphaZeroParameters
from search.alphazero.tree import EDGES, NODES, NONE, ROOT, copy_subtree, edges_of, new_tree, size_in_bytes, with_room
from search.alphazero.walk import arrive_at_root, new_walk, place_root
from search.game_line import GameLine
from search.request import SearchRequest, excluded_until

FIRST_NODES = 512
"""Nodes for which a new tree has room."""


class GameTree:
    """A tree together with the game that it belongs to, and the walk that plays its moves."""

    def __init__(self, parameters: AlphaZeroParameters, rule: int) -> None:
        """`rule`: how edges are chosen, walk.BY_PUCT or BY_IMPROVED_POLICY."""
        self._bytes = parameters.tree_memory * MEGABYTE
        self.walk = new_walk(parameters, rule)
        self._line = GameLine()
        self.clear()

    def clear(self) -> None:
        """Forget the tree and its game."""
        self.tree = new_tree(0, 0)
        self._moves = 1
        self._line.forget()

    def take_root(self, request: SearchRequest) -> int:
        """Make the requested position the root. It is still to be evaluated.

        Returns how many moves the game has gone on since the search before, NONE if nothing is known of the position.
        """
        game = request.game
        owner = (game.identity(), game.record.tobytes(), request.filter)
        moves = self._line.moves_to(request, owner)
        index = NONE if moves is None else self._find(request, moves)
        steps = NONE if moves is None or index == NONE else len(moves)
        if index == NONE:
            area = game.width * game.height
            self._moves = area + 1
            self.tree = new_tree(FIRST_NODES, FIRST_NODES * self._moves)
        elif index != ROOT:
            kept = new_tree(int(self.tree.used[NODES]), int(self.tree.used[EDGES]))
            copy_subtree(self.tree, np.int64(index), kept)
            self.tree = kept
        self.make_room()
        self._line.stand_at(game, owner)
        self.walk = place_root(self.walk, game, request.colour, excluded_until(request.filter))
        arrive_at_root(self.tree, self.walk)
        return steps

    def make_room(self) -> bool:
        """Make room for another node. Returns False if the tree may not take more memory."""
        free = min(
            len(self.tree.nodes) - self.tree.used[NODES], (len(self.tree.edges) - self.tree.used[EDGES]) // self._moves
        )
        if free > 0:
            return True
        if size_in_bytes(2 * len(self.tree.nodes), 2 * len(self.tree.edges)) > self._bytes and len(self.tree.nodes) > 0:
            return False
        self.tree = with_room(self.tree, 1, self._moves)
        return True

    def _find(self, request: SearchRequest, moves: Sequence[Move]) -> int:
        """The node of the requested position, which `moves` lead to; NONE if the tree does not have it."""
        if self.tree.used[NODES] == 0:
            return NONE
        if moves and request.game.position["passes"] > 0:
            return NONE  # a pass at the old root did not end the game, and at the new root it would have
        index = ROOT
        for move in moves:
            edges = edges_of(self.tree, index)
            found = np.flatnonzero(edges["move"] == move.point)
            if int(self.tree.nodes[index]["to_play"]) != move.colour or len(found) == 0:
                return NONE
            index = int(edges["child"][found[0]])
            if index == NONE or len(edges_of(self.tree, index)) == 0:
                return NONE
        return index if int(self.tree.nodes[index]["to_play"]) == request.colour else NONE
