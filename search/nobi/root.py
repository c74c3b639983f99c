"""What only the root of a search has: an evaluation of its own, excluded moves, noise on the priors, and bonuses to end
games well.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.phases import pass_ends_phase
from go_rules.points import EMPTY, NO_POINT, PASS, WALL, WHITE, neighbours
from go_rules.position import PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA
from go_rules.tactics.life import new_life_work, pass_alive_area
from nets import evaluator as net
from nets.evaluator import Evaluation, EvaluationRequest, softmax
from nets.features import AT_ROOT, IN_TREE
from nobi_machine.jit import kernel
from search.nobi.iteration import NO_CHECK, advance, encode_request
from search.nobi.leaves.digest import digest_evaluation
from search.nobi.memory.context import SCORE
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
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

LOWEST_PRIOR = 1e-12
"""A legal root move's prior is at least this much, so that 0 means illegal."""

SETTLED = 0.95
"""Ownership from which on a point counts as someone's for certain."""

USELESS_PASSES = 4
"""Passes in a row of the opponent after which moves inside pass-alive areas are left out in every case: see
`useless_moves`."""


def root_priors(
    priors: NDArray[np.float64], parameters: SearchParameters, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Apply the parameters' temperature and noise to the root's policy [P], which is 0 for illegal moves."""
    legal = priors > 0
    if parameters.root_policy_temperature != 1.0 and legal.any():
        logs = np.log(priors, where=legal, out=np.full(len(priors), -np.inf))
        priors = np.exp((logs - logs.max()) / parameters.root_policy_temperature)
        priors /= priors.sum()
        priors[legal] = np.maximum(priors[legal], LOWEST_PRIOR)  # a prior of 0 says that a move is illegal
    if parameters.root_noise and legal.any():
        shape = noise_shape(priors[legal]) * parameters.root_noise_concentration
        noise = generator.gamma(shape)
        weight = parameters.root_noise_weight
        priors = priors.copy()
        priors[legal] = weight * noise / max(noise.sum(), 1e-300) + (1.0 - weight) * priors[legal]
    return priors


def noise_shape(priors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the legal moves' shares of the Dirichlet noise: half is even, half goes to moves with a good policy.

    "Good" is the logarithm of the policy, capped at 1 %, above its mean (Wu 2019, "shaped Dirichlet noise").
    """
    logs = np.log(np.minimum(0.01, priors) + 1e-20)
    above = np.maximum(0.0, logs - logs.mean())
    even = np.full(len(priors), 1.0 / len(priors))
    return 0.5 * (above / above.sum() + even) if above.sum() > 0 else even


def pass_alive(position: np.void, rules: np.void) -> NDArray[np.int8]:
    """Find the owner of the pass-alive area that each point is in, EMPTY where it is in none: int8[N_POINTS]."""
    work = new_life_work()
    pass_alive_area(position, bool(rules["suicide"]), work[0])
    owned: NDArray[np.int8] = work[0]["owned"]
    return owned


def useless_moves(game: Game, colour: int, safe: NDArray[np.int8], points: Sequence[int]) -> list[int]:
    """List the moves (as network positions) that are never better than a pass.

    Under area scoring, without a ko and a button: moves inside the opponent's pass-alive area, and inside one's own
    unless they touch the opponent's stones. Otherwise: moves inside either, and only once the opponent's last
    USELESS_PASSES moves were passes. `safe`: what `pass_alive` found.
    """
    position = game.position
    other = 3 - colour
    if game.rules.scoring == SCORING_AREA and position["ko"] == NO_POINT and not game.rules.has_button:
        return [
            i
            for i, p in enumerate(points)
            if safe[p] == other or (safe[p] == colour and not touches(position, p, other))
        ]
    theirs = itertools.islice((move.point for move in reversed(game.moves) if move.colour == other), USELESS_PASSES)
    if list(theirs) == [PASS] * USELESS_PASSES:
        return [i for i, p in enumerate(points) if safe[p] != EMPTY]
    return []


def touches(position: np.void, point: int, colour: int) -> bool:
    """Return whether a stone of `colour` is next to the point."""
    board = position["board"]
    return any(board[q] == colour for q in neighbours(point))


def ending_bonuses(
    game: Game, colour: int, ownership: NDArray[np.float64], safe: NDArray[np.int8], points: Sequence[int], bonus: float
) -> NDArray[np.float32]:
    """Compute the points [P] that are added to white's score after each root move, to end a settled game well.

    `ownership` [H*W] is the mover's view. Without a ko, moves inside areas that are settled for certain are
    discouraged: the opponent's, unless they capture under area rules, and one's own where they touch no opponent's
    stone and connect nothing in danger. Passing is discouraged too under territory rules, so that neutral points are
    filled first, and while the button is there.
    """
    own = np.zeros(len(points) + 1, np.float32)
    position = game.position
    area = game.rules.scoring == SCORING_AREA or position["phase"] == PHASE_CLEANUP_2
    if position["ko"] == NO_POINT:
        tail = 1.0 - SETTLED
        for i in np.flatnonzero(np.abs(ownership) >= SETTLED).tolist():
            point = points[i]
            if position["board"][point] != EMPTY:
                continue
            excess = (abs(ownership[i]) - SETTLED) / tail
            if ownership[i] < 0:
                if not (area and captures(position, point, colour)):
                    own[i] = -bonus * excess
            elif not touches(position, point, 3 - colour) and not connects(position, point, colour, safe):
                own[i] = -bonus * excess
    if not area:
        own[-1] = -bonus * 2.0 / 3.0
    elif position["button"]:
        own[-1] = -bonus * 0.5
    return own if colour == WHITE else -own


def captures(position: np.void, point: int, colour: int) -> bool:
    """Return whether a stone of `colour` at an empty point captures something."""
    theirs = [q for q in neighbours(point) if position["board"][q] == 3 - colour]
    return any(position["liberties"][position["chain"][q]] == 1 for q in theirs)


def connects(position: np.void, point: int, colour: int, safe: NDArray[np.int8]) -> bool:
    """Return whether a stone of `colour` joins two or more of its chains, not all of them pass-alive (`safe`)."""
    own = [q for q in neighbours(point) if position["board"][q] == colour]
    return len({int(position["chain"][q]) for q in own}) >= 2 and not all(safe[q] == colour for q in own)


def board_symmetries(
    game: Game, colour: int, permutations: NDArray[np.int16], points: Sequence[int]
) -> tuple[int, ...]:
    """Find the symmetries (rows of `permutations`) that leave the position and the moves of `colour` as they are, the
    identity first."""
    position, places = game.position, np.asarray(points)
    if position["ko"] != NO_POINT:
        return (0,)
    contents = np.stack([position["board"][places], position["marks"][places]])
    assert WALL not in contents[0]
    alike = _unchanging(contents, permutations, range(1, len(permutations)))
    if alike:  # superko may forbid one of two equal moves
        alike = _unchanging(np.isin(places, game.legal_moves(colour))[None], permutations, alike)
    return (0, *alike)


def _unchanging(planes: NDArray[Any], permutations: NDArray[np.int16], symmetries: Iterable[int]) -> list[int]:
    """Those of the symmetries that leave `planes` [N, H*W] as they are."""
    return [i for i in symmetries if (planes[:, permutations[i, :-1]] == planes).all()]


def symmetric_duplicates(permutations: NDArray[np.int16], symmetries: Sequence[int]) -> list[int]:
    """List the moves (network positions) that one of these symmetries makes equal to a move with a smaller one."""
    kept = permutations[list(symmetries), :-1].min(axis=0)
    return np.flatnonzero(kept != np.arange(len(kept))).tolist()


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
