"""The evaluation that only the root of a search gets, and how its node is expanded with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.phases import pass_ends_phase
from go_rules.points import PASS
from nets import evaluator as net
from nets.evaluator import Evaluation, EvaluationRequest, softmax
from nets.features import AT_ROOT, IN_TREE
from nobi_machine.jit import kernel
from search.nobi.iteration import NO_CHECK, advance, encode_request
from search.nobi.leaves.digest import digest_evaluation
from search.nobi.memory.context import SCORE
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.root.moves import (
    LOWEST_PRIOR,
    ending_bonuses,
    pass_alive,
    root_priors,
    symmetric_duplicates,
    useless_moves,
)
from search.nobi.tree.backup import count_own_evaluation, refresh, set_values
from search.nobi.tree.nodes import (
    EXPANDED,
    NEW,
    PASS_ENDS_PHASE,
    ROOT,
    decode_prior,
    decode_priors,
    encode_priors,
    find_next,
)
from search.result import RawEvaluation


@kernel
def expand_root(tree, ctx, work):
    """Expand the root with the evaluation in leaf 0 of `work`, or replace its older evaluation by this one."""
    leaf = work.leaves[0]
    context = ctx[0]
    index = tree.used[ROOT]
    node = tree.nodes[index]
    row = tree.priors[index]
    for i in range(len(row)):
        row[i] = leaf.codes[i]
    node.mass = 0.0
    is_first = node.visits == 0
    visits = np.int64(1)
    for i in range(node.n_edges):
        edge = tree.edges[node.edges + i]
        # A move that is excluded now keeps its edge and is never followed; its visits do not count.
        edge.prior = -1.0
        if row[edge.move] != 0:
            edge.prior = decode_prior(row[edge.move])
            node.mass += edge.prior
            visits += edge.visits
        row[edge.move] = 0
    find_next(node, row)
    node.state = EXPANDED
    if pass_ends_phase(leaf.stack[leaf.last]):
        node.flags |= PASS_ENDS_PHASE
    set_values(tree, context, index, leaf)
    if is_first:
        count_own_evaluation(context, tree.biases, node)
    elif node.n_edges > 0:
        node.visits = visits
        refresh(tree.nodes, tree.edges, tree.biases, context, work.scratch[0], node)


def evaluate_root(
    space: Workspace,
    game: Game,
    colour: int,
    parameters: SearchParameters,
    generator: np.random.Generator,
    recenter: Callable[[float], None],
    evaluate: Callable[[EvaluationRequest], Evaluation],
    symmetries: Sequence[int],
) -> RawEvaluation:
    """Evaluate the root and expand its node, with noise on its priors, excluded moves and bonuses as wanted.

    `recenter` is called with the expected score (white's view) before utilities depend on it. `evaluate` asks the
    network; whatever it raises leaves the root as it was. Of moves that `symmetries` (rows of `space.permutations`)
    make equal only one is kept. Returns the network's own evaluation for reports.
    """
    tree, context, buffers = space.tree, space.context, space.root_buffers
    # An evaluated root is evaluated again: as the root, it may be shown to the network otherwise.
    state = int(tree.nodes[tree.used[ROOT]]["state"])
    tree.nodes[tree.used[ROOT]]["state"] = NEW
    buffers.under_way = buffers.asked = 0
    advance(space, buffers, 1, NO_CHECK)
    try:
        average = _averaged_evaluation(space, parameters, generator, evaluate)
    except BaseException:
        tree.nodes[tree.used[ROOT]]["state"] = state
        raise
    context["errors_known"] = int(average.score[0, net.SHORTTERM_WINLOSS_ERROR] >= 0)
    first = np.zeros(1, np.int64)
    digest_evaluation(context, buffers.work, first, first, space.permutations, 1, *average)
    leaf = buffers.leaves[0]
    share = float(context["uniform_share"][0])
    wanted = leaf["codes"][: space.area + 1] > 0
    policy = _policy(average, wanted, share)
    raw_policy = np.where(wanted, policy, -1.0)
    if context["settings"]["has_filter"][0] != 0:
        # Reports tell what the network thinks of all legal moves, of those that are not searched too.
        legal = np.array([game.is_legal(colour, point) for point in [*space.points, PASS]])
        raw_policy = np.where(legal, _policy(average, legal, share), -1.0)
    raw = RawEvaluation.of(average, raw_policy)
    if context["settings"]["mirroring"][0] != 0:
        policy[wanted] = decode_priors(leaf["codes"][: space.area + 1])[wanted]
    priors = root_priors(policy, parameters, generator)

    safe = pass_alive(game.position, game.record)
    _exclude(priors, useless_moves(game, colour, safe, space.points) if parameters.root_prune_useless else [])
    _exclude(priors, symmetric_duplicates(space.permutations, symmetries))
    if not priors.any():
        # Whatever is excluded, there is something to play.
        priors[-1] = 1.0
    leaf["codes"][: space.area + 1] = encode_priors(priors)
    bonuses = np.zeros(space.area + 1, np.float32)
    if parameters.root_ending_bonus != 0.0:
        ownership = average.ownership[0].astype(np.float64)
        bonuses = ending_bonuses(game, colour, ownership, safe, space.points, parameters.root_ending_bonus)
    context["bonuses"][0, : space.area + 1] = bonuses
    context["settings"]["ending_bonuses"] = int(bonuses.any())

    recenter(float(leaf["values"][SCORE]))
    expand_root(tree, context, buffers.work)
    return raw


def _policy(average: Evaluation, moves: NDArray[np.bool_], uniform_share: float) -> NDArray[np.float64]:
    """The shares [H*W + 1] of some moves in the network's policy, of which they share `uniform_share` equally."""
    policy = softmax(average.policy[0].astype(np.float64), moves)
    policy[moves] = np.maximum(policy[moves], LOWEST_PRIOR)
    policy[moves] = (1.0 - uniform_share) * policy[moves] + uniform_share / max(1, int(np.count_nonzero(moves)))
    return policy


def score_center(parameters: SearchParameters, expected: float, sqrt_area: float) -> float:
    """Compute the centre of the dynamic score's S curve: the expected score moved towards 0, but not far.

    `expected` and the result: points, white's view. `sqrt_area`: the square root of the board's number of points.
    """
    center = expected * (1.0 - parameters.dynamic_score_center_zero_weight)
    reach = sqrt_area * parameters.dynamic_score_center_scale
    return min(max(center, expected - reach), expected + reach)


def _averaged_evaluation(
    space: Workspace,
    parameters: SearchParameters,
    generator: np.random.Generator,
    evaluate: Callable[[EvaluationRequest], Evaluation],
) -> Evaluation:
    """The evaluation of the root, which is leaf 0 of the root's buffers, averaged over as many symmetries as wanted."""
    buffers = space.root_buffers
    count = min(parameters.root_symmetries, len(space.permutations))
    chosen = np.zeros(1, np.int64)
    if parameters.random_symmetry or count > 1:
        chosen = np.sort(generator.choice(len(space.permutations), count, replace=False))
    permutations = space.permutations[chosen]
    buffers.symmetries[:count] = chosen
    buffers.missing[:count] = 0
    view = AT_ROOT if parameters.conservative_pass else IN_TREE
    buffers.optimism[:] = parameters.root_policy_optimism
    policy, value, score, ownership = evaluate(encode_request(space, buffers, count, view))
    logits = np.take_along_axis(policy, permutations.astype(np.int64), axis=1)
    owners = np.take_along_axis(ownership, permutations[:, :-1].astype(np.int64), axis=1)
    if len(permutations) > 1:
        logits = np.log(np.maximum(softmax(logits).mean(axis=0, keepdims=True), 1e-30))
        square = (score[:, net.SCORE_MEAN] ** 2 + score[:, net.SCORE_STDEV] ** 2).mean()
        score = score.mean(axis=0, keepdims=True)
        score[0, net.SCORE_STDEV] = max(0.0, square - score[0, net.SCORE_MEAN] ** 2) ** 0.5
        value = value.mean(axis=0, keepdims=True)
        owners = owners.mean(axis=0, keepdims=True)
    arrays = (logits, value, score, owners)
    return Evaluation(*(np.ascontiguousarray(array, dtype=np.float32) for array in arrays))


def _exclude(priors: NDArray[np.float64], moves: list[int]) -> None:
    """Take these moves out of the policy, unless nothing else is left."""
    kept = priors.copy()
    kept[moves] = 0.0
    if kept.any():
        priors[:] = kept
