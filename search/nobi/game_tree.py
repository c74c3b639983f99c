"""Which game the tree belongs to, how its root follows that game from position to position, and where a search starts:
the game's position, its rules and the excluded moves, written for the kernels.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position
from go_rules.game import Game
from go_rules.phases import give_turn, live_phase
from go_rules.points import PASS
from go_rules.position import PHASE_OVER
from go_rules.scoring import count_stones
from go_rules.superko import seen_add, seen_clear
from nets.evaluator import Evaluation, EvaluationRequest
from nets.features import HISTORY
from nobi_machine.jit import kernel
from search.course import Course
from search.nobi.doublings import fixed_doublings
from search.nobi.leaves.path import set_cycles
from search.nobi.memory.context import MAX_PASSES, MAX_SEEN
from search.nobi.memory.workspace import Workspace
from search.nobi.mirror import mirroring_opponent
from search.nobi.parameters import SearchParameters
from search.nobi.root import board_symmetries, evaluate_root, score_center
from search.nobi.tree.nodes import NODES, NONE, ROOT, clear_tree, new_node
from search.nobi.tree.reuse import child_after, collect_garbage, forget_unreachable, reachable, recompute
from search.request import GameLine, SearchRequest, excluded_until
from search.result import RawEvaluation


@kernel
def set_position(ctx, stack, length, keys, most_stones, colour):
    """Make the last of a game's positions the root, with `colour` to play.

    `stack` [length or more]: the positions; `keys`: their superko keys; `most_stones`: the most stones on any of them.
    """
    context = ctx[0]
    first = max(0, length - HISTORY) if colour == stack[length - 1].to_play else length - 1
    for i in range(first, length):
        copy_position(context.roots[i - first], stack[i])
    context.root_positions = length - first
    root = context.roots[length - first - 1]
    give_turn(root, colour)
    context.most_stones = most_stones
    context.root_stones = count_stones(root)
    seen_clear(context.seen)
    for i in range(max(0, length - MAX_SEEN), length):
        seen_add(context.seen, keys[i])


def place_root(
    context: NDArray[np.void], game: Game, colour: int, until: NDArray[np.int16], draw_wins: float = 0.5
) -> None:
    """Write the game's position and rules, and the excluded moves (search.request.excluded_until), into the context.

    `draw_wins`: how many wins of white's a draw is worth. Where games can be drawn networks are shown another komi for
    that, as by KataGo.
    """
    context["rules"][0] = game.record
    can_be_drawn = float(game.komi).is_integer() != game.rules.has_button
    context["rules"]["draw_shift"] = draw_wins - 0.5 if can_be_drawn else 0.0
    # Between players two passes end the game and dead stones are agreed upon. The search may play them out in the first
    # clean-up phase, and then has the network judge (leaves/path.py).
    context["settings"]["agreement"] = 1 - game.record["cleanup"]
    context["rules"]["cleanup"] = 1
    context["until"][0] = until
    context["settings"]["has_filter"] = int(until.any())
    set_position(context, game.stack, game.length, game.keys, game.most_stones, colour)
    set_cycles(context, game.stack, game.length, np.array(game.passes[-MAX_PASSES:], np.int64))
    last = context["roots"][0, int(context["root_positions"][0]) - 1]
    if last["phase"] == PHASE_OVER:
        last["phase"] = live_phase(last, game.record)


CENTER_TOLERANCE = 0.25
"""Points by which the dynamic score's centre may be off in a tree that is kept, before all is brought up to date."""

FEWEST_DROPPED = 4096
"""Unreachable nodes are collected when there are at least this many and they are at least half of the tree."""
SECONDS_A_NODE, SECONDS_A_NODE_KEPT, SECONDS_A_KEY = 1e-7, 1e-6, 1e-9
"""What a garbage collection is expected to take on an idle machine: seconds for each node, for each node kept besides,
and for each slot of the hash table of positions."""
SECONDS_A_NODE_RECOMPUTED = 2e-7
"""Seconds that computing a node's averages anew is expected to take, likewise."""
PREPARING_SHARE = 0.5
"""The share of a search's time limit that the collection, and the new computation, may each take before it."""


class GameTree:
    """A workspace's tree together with the game that it belongs to. Used under the search's lock."""

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.raw: RawEvaluation | None = None
        """The network's own evaluation of the root, before the search."""
        self.symmetries: tuple[int, ...] = (0,)
        """The symmetries (rows of `space.permutations`) that make moves of the root equal; one of these is searched."""
        self.slowness = 1.0
        """How many times as long as expected the last garbage collection took; at least 1."""
        self._line = GameLine()

    @property
    def root(self) -> np.void:
        """The root of the tree, a NODE."""
        tree = self.space.tree
        node: np.void = tree.nodes[tree.used[ROOT]]
        return node

    def clear(self, with_cache: bool = True) -> None:
        """Forget the tree, and unless told otherwise the cache."""
        clear_tree(self.space.tree)
        if with_cache:
            self.space.cache.keys[:] = 0
        self._line.forget()

    def take_root(
        self,
        request: SearchRequest,
        parameters: SearchParameters,
        generator: np.random.Generator,
        evaluate: Callable[[EvaluationRequest], Evaluation] | None = None,
        white_doublings: float | None = None,
    ) -> None:
        """Make the requested position the root, keep what an earlier search knows of it, and evaluate it.

        `evaluate`: what asks the network; None calls it in this thread. `white_doublings`: white's playout doubling
        advantage; None for what the parameters say. Raises EvaluatorError and whatever `evaluate` raises.
        """
        space, tree = self.space, self.space.tree
        game, colour = request.game, request.colour
        if request.analysis:
            parameters = dataclasses.replace(parameters, root_noise=False)
        cares = parameters.analysis_counter_mirror if request.analysis else parameters.counter_mirror
        mirroring = mirroring_opponent(game, colour) if cares else None
        if mirroring is not None:
            # Against mirror Go a position's value depends on how it was reached, so transpositions are not shared.
            parameters = dataclasses.replace(
                parameters, graph_search=False, noise_pruning=False, subtree_bias_factor=0.0
            )
        space.set_parameters(parameters, request.analysis)
        space.set_likelihoods(request.likelihoods)
        doublings = fixed_doublings(parameters, request.own_side) if white_doublings is None else white_doublings
        hidden = parameters.analysis_ignore_history if request.analysis else parameters.ignore_history
        owner = (*_owner(request), doublings, hidden and (len(game.moves), game.line_key()), mirroring)
        index = self._find(request, parameters, owner)
        limit = request.limits.seconds
        may_take = math.inf if limit is None else PREPARING_SHARE * limit
        place_root(space.context, game, colour, excluded_until(request.filter), parameters.draw_wins_for_white)
        space.context["settings"]["white_doublings"] = doublings
        if hidden:
            space.hide_history()
        if mirroring is not None:
            space.context["settings"]["mirroring"] = mirroring.colour
            space.context["settings"]["mirror_wins"] = mirroring.wins
        space.set_cache_salt(game, parameters, (mirroring, len(game.moves)) if mirroring is not None else None)
        self._line.stand_at(game, owner)
        if index == NONE:
            clear_tree(tree)
            tree.used[ROOT] = new_node(tree, np.uint64(0), colour)
        elif index != tree.used[ROOT]:
            tree.used[ROOT] = index
            places = reachable(tree)
            if parameters.subtree_bias_factor > 0:
                forget_unreachable(tree, space.context, places)
            dropped = int(np.count_nonzero(places == NONE))
            if dropped >= max(FEWEST_DROPPED, len(places) - dropped):
                self.collect_garbage(places, may_take, request.course)
        self.symmetries = (0,)
        if parameters.root_symmetry_pruning and request.filter is None:
            self.symmetries = board_symmetries(game, colour, space.permutations, space.points)
        self.raw = None
        self.raw = evaluate_root(
            space,
            game,
            colour,
            parameters,
            generator,
            lambda expected: self._recenter(parameters, expected, may_take, request.course),
            evaluate or space.evaluator.evaluate,
            self.symmetries,
        )

    def collect_garbage(self, places: NDArray[np.int32], seconds: float, course: Course) -> bool:
        """Drop all nodes that are not `reachable`, unless that may take longer. Returns whether it was done."""
        kept = int(np.count_nonzero(places != NONE))
        tree = self.space.tree
        expected = len(places) * SECONDS_A_NODE + kept * SECONDS_A_NODE_KEPT + len(tree.table) * SECONDS_A_KEY
        if not course.has_time(expected * self.slowness <= seconds):
            self.slowness = max(1.0, 0.5 * self.slowness)  # it may have been an accident
            return False
        started = time.perf_counter()
        collect_garbage(tree, places)
        self.slowness = max(1.0, (time.perf_counter() - started) / expected)
        return True

    def _recenter(self, parameters: SearchParameters, expected: float, seconds: float, course: Course) -> None:
        """Set the dynamic score's centre for a root whose evaluation expects this score (white's view).

        It stays where it is if to bring a tree that is kept up to date may take longer than `seconds`."""
        settings = self.space.context["settings"]
        known = int(self.root["visits"]) > 0
        side = self.space.area**0.5
        center = score_center(parameters, float(self.root["score"]) if known else expected, side)
        if not known:
            settings["score_center"] = center
        elif abs(center - float(settings["score_center"][0])) > CENTER_TOLERANCE and course.has_time(
            int(self.space.tree.used[NODES]) * SECONDS_A_NODE_RECOMPUTED * self.slowness <= seconds
        ):
            settings["score_center"] = center
            recompute(self.space.tree, self.space.context)

    def _find(self, request: SearchRequest, parameters: SearchParameters, owner: Hashable) -> int:
        """The node of the requested position, or NONE."""
        space, tree = self.space, self.space.tree
        index = int(tree.used[ROOT])
        moves = self._line.moves_to(request, owner)
        if index == NONE or moves is None:
            return NONE
        if moves and (request.game.is_over or (parameters.conservative_pass and _pass_may_end(request.game))):
            return NONE  # what was the end of the game for the old root is none for the new one, or the reverse
        for move in moves:
            if int(tree.nodes[index]["to_play"]) != move.colour:
                return NONE
            move_index = space.area if move.point == PASS else space.points.index(move.point)
            index = int(child_after(tree, index, move_index))
            if index == NONE:
                return NONE
        return index if int(tree.nodes[index]["to_play"]) == request.colour else NONE


def _owner(request: SearchRequest) -> tuple[Hashable, ...]:
    """What a tree depends on besides the moves."""
    game, filter = request.game, request.filter
    frozen = None if filter is None else (tuple(filter.allow.items()), tuple(filter.avoid.items()))
    return (game.identity(), game.record.item(), frozen)


def _pass_may_end(game: Game) -> bool:
    return bool(game.position["passes"] >= 1 or game.position["passed_here"])
