"""One iteration of the search, with the stages that the AlphaGo paper names: select, evaluate, expand and back up.

Every worker repeats three calls. `advance` is the only one that touches the tree; the worker holds the search's lock
meanwhile. The others run in parallel with the other workers.

    advance:  expand the last leaves and back up -> remember -> stop if decided -> select new leaves -> look up
    submit:   encode, each leaf under a symmetry of its own -> have them evaluated
    collect:  wait for the evaluation -> digest

Where our own kernels compute the network, `submit` is one fused call that also digests, and nothing is left to collect.

Source: Silver et al., "Mastering the game of Go with deep neural networks and tree search", 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from go_rules.points import WHITE
from go_rules.random import below
from nets.evaluator import SCORE_COLUMNS, Evaluation, EvaluationRequest, as_floats
from nets.features import IN_TREE, encode_symmetry
from nobi_machine.fused_call import Given, KernelCall, fuse
from nobi_machine.jit import kernel
from search.nobi.leaves.digest import digest_evaluation
from search.nobi.leaves.nn_cache import look_up, remember
from search.nobi.memory.workspace import EvaluationKernels, Kernels, WorkerBuffers, Workspace
from search.nobi.tree.backup import expand_and_back_up
from search.nobi.tree.nodes import ROOT
from search.nobi.tree.rank import is_decided
from search.nobi.tree.select import select_leaves

VISITS_AT_ONCE = 256
"""The most visits without an evaluation that one call of `advance` completes, so that others get the lock."""

VISITS_OF_A_BATCH = 192
"""The root needs that many visits before a worker selects a whole batch of leaves at a time; with fewer it selects a
part of one. Leaves are selected without knowing each other's value, which makes a small tree worse. For a device it is
the search that says how many (`Search._room`)."""

SELECT_NOTHING, NO_CHECK = -1, -1.0
"""Arguments of `advance`: select nothing more; do not check whether the search is decided."""

DECIDED = -1
"""How a call of `advance` ends (besides the ways in which a descent ends, tree/select.py): the search is decided."""


@kernel
def advance_tree(tree, cache, ctx, work, keys, missing, leaves, asked, room, left, ripe):
    """Put a worker's evaluated leaves into the tree and select its next ones.

    `leaves`: how many leaves wait to be expanded; `asked`: how many of them the network evaluated. `keys` and `missing`
    are as `look_up` left them, and are filled again. `room`: how many visits may begin, or SELECT_NOTHING. `left`: how
    many visits may still come, to stop if these cannot change the move, or NO_CHECK. `ripe`: how many visits the root
    needs for a whole batch to be selected.
    Returns (visits completed, leaves selected, how many of them to evaluate, how the last descent ended).
    """
    done = expand_and_back_up(tree, ctx, work, leaves)
    remember(cache, ctx, work, keys, missing, asked)
    if left != NO_CHECK and is_decided(tree, ctx, left):
        return done, 0, 0, DECIDED
    if room != SELECT_NOTHING:
        # A leaf that did not count as a visit of the root leaves room for one that does.
        room += leaves - done
    grown = tree.nodes[tree.used[ROOT]].visits * (len(work.leaves) - 1) // ripe
    wanted = min(len(work.leaves), room, 1 + grown)
    leaves, counted, outcome = select_leaves(tree, ctx, work, wanted, min(room, VISITS_AT_ONCE))
    asked = look_up(cache, ctx, work, leaves, keys, missing)
    return done + counted, leaves, asked, outcome


def advance(space: Workspace, buffers: WorkerBuffers, room: int, left: float) -> tuple[int, int]:
    """Expand a worker's leaves, back up their values and select new leaves (`advance_tree`), under the search's lock.

    Returns (visits completed, how the last descent ended).
    """
    kernels = buffers.kernels or _bind(space, buffers)
    given = buffers.under_way, buffers.asked, room, left
    visits, buffers.under_way, buffers.asked, outcome = kernels.advance(*given)
    return visits, outcome


def submit(space: Workspace, buffers: WorkerBuffers) -> None:
    """Have the network begin to evaluate the leaves that the cache does not know. Raises EvaluatorError."""
    count = buffers.asked
    kernels = buffers.evaluation or _bind_evaluation(space, buffers)
    if kernels.at_once is not None and count % kernels.multiple == 0:
        try:
            kernels.at_once(count)
            return
        except FloatingPointError:
            pass  # The evaluator says below what is wrong.
    request = encode_request(space, buffers, count, IN_TREE, len(space.permutations))
    buffers.pending = space.evaluator.submit(request)


def collect(space: Workspace, buffers: WorkerBuffers) -> None:
    """Wait for the evaluation of the leaves that were submitted, if any, and digest it. Raises EvaluatorError."""
    pending, buffers.pending = buffers.pending, None
    if pending is not None:
        kernels = buffers.evaluation or _bind_evaluation(space, buffers)
        kernels.digest(buffers.asked, *map(as_floats, pending()))


def encode_request(
    space: Workspace, buffers: WorkerBuffers, count: int, view: int, n_symmetries: int = 0
) -> EvaluationRequest:
    """Encode the first `count` leaves of `buffers.missing` for the network, each as one symmetry of the board shows it.

    `view`: features.IN_TREE or AT_ROOT. `n_symmetries`: from how many symmetries to draw one for each leaf; 0 uses
    those in `buffers.symmetries`. The arrays are the buffers' own.
    """
    kernels = buffers.kernels or _bind(space, buffers)
    kernels.encode(count, view, n_symmetries)
    request = buffers.requests[count]
    if space.evaluator.attributes.needs_colours:
        leaves, chosen = buffers.leaves, buffers.missing[:count]
        return request._replace(colours=leaves["stack"]["to_play"][chosen, leaves["last"][chosen]])
    return request


def _bind(space: Workspace, buffers: WorkerBuffers) -> Kernels:
    """Bind the kernels to a worker's memory, compiled or loaded if need be."""
    tree = space.tree, space.cache, space.context, buffers.work, buffers.keys, buffers.missing
    ripe = VISITS_OF_A_BATCH if space.evaluator.requests_in_flight == 1 else 1
    # First what takes longest to compile: on a new machine another process compiles the encoder meanwhile.
    called = KernelCall(advance_tree, (*tree, *map(Given, range(4)), ripe))
    advance = fuse([called], 0, 0, SELECT_NOTHING, NO_CHECK)
    encode = fuse([_encoding(space, buffers, Given(0), Given(1), Given(2))], 0, IN_TREE, 0)
    buffers.kernels = Kernels(encode, advance)
    return buffers.kernels


def _bind_evaluation(space: Workspace, buffers: WorkerBuffers) -> EvaluationKernels:
    """Bind the evaluation stage to a worker's memory: in one fused call where the evaluator is nothing but kernels."""
    rows, area = len(buffers.flat), space.area
    own = Evaluation(*(np.zeros((rows, wide), np.float32) for wide in (area + 1, 3, SCORE_COLUMNS, area)))
    digest = fuse([_digestion(space, buffers, *map(Given, range(5)))], 0, *own)
    network = space.evaluator.steps(buffers.requests[-1], own, Given(0))
    at_once, multiple = None, 1
    if network is not None:
        encoding = _encoding(space, buffers, Given(0), IN_TREE, len(space.permutations))
        at_once = fuse([encoding, *network.steps, _digestion(space, buffers, Given(0), *own)], 0)
        multiple = network.multiple
    buffers.evaluation = EvaluationKernels(at_once, multiple, digest)
    return buffers.evaluation


def _encoding(space: Workspace, buffers: WorkerBuffers, count: Any, view: Any, n_symmetries: Any) -> KernelCall:
    leaves = space.context, buffers.work, buffers.missing, buffers.symmetries, space.permutations
    features = buffers.features, buffers.flat, buffers.global_
    return KernelCall(encode_leaves, (*leaves, *features, count, view, n_symmetries))


def _digestion(space: Workspace, buffers: WorkerBuffers, count: Any, *evaluation: Any) -> KernelCall:
    leaves = space.context, buffers.work, buffers.missing, buffers.symmetries, space.permutations
    return KernelCall(digest_evaluation, (*leaves, count, *evaluation))


@kernel
def encode_leaves(ctx, work, chosen, symmetries, permutations, features, spatial, global_, count, view, n_symmetries):
    """Encode the `count` leaves listed in `chosen` into `spatial` [count, 22, H*W] and `global_` [count, 19].

    The i-th is shown under the symmetry `symmetries[i]`, a row of `permutations`: board point p is found at
    `permutations[., p]`. They are drawn first, each from the first `n_symmetries`, unless that is 0. `view`:
    features.IN_TREE or AT_ROOT. `features` is the encoder's scratch.
    """
    context = ctx[0]
    for i in range(count):
        if n_symmetries > 0:
            # Where evaluations are not to see random ones, they see the board as it lies.
            symmetries[i] = below(work.scratch[0].random, n_symmetries) if context.settings.random_symmetry == 1 else 0
        leaf = work.leaves[chosen[i]]
        colour = np.int64(leaf.stack[leaf.last].to_play)
        doublings = context.settings.white_doublings if colour == WHITE else -context.settings.white_doublings
        permutation = permutations[symmetries[i]]
        # Slices, because arrays inside records are types of their own, and the encoder would be compiled twice.
        position = leaf.stack[:], leaf.last, colour, context.rules, doublings, view, leaf.banned[:]
        encode_symmetry(*position, features, permutation, spatial[i], global_[i])
