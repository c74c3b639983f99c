"""The policy head: a logit for every point and for the pass."""

from __future__ import annotations

import dataclasses

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.katago.model import PolicyHead


def write_policy(graph: Graph, board: Board, head: PolicyHead, trunk: str) -> str:
    """Write the policy head and return the name of its logits [N, H*W + 1].

    Networks with an optimistic policy get the input `optimism` [N, 1]: from 0, the plain policy, to 1, the optimistic.
    """
    pooled = graph.convolve(trunk, head.pooled, head.pooled_norm, "policy_pooled")
    pooled = board.pool(graph.activate(pooled, head.pooled_norm.activation), "policy")
    bias = graph.dense(pooled, head.pooled_to_bias * head.first_norm.scale, label="policy_bias")
    hidden = graph.convolve(trunk, head.first, head.first_norm, "policy_first")
    hidden = graph.add("Add", hidden, graph.per_channel(bias), label="policy_add")
    hidden = graph.activate(hidden, head.first_norm.activation)

    used = min(2, head.channels)  # the two further channels of versions 16 and 17 predict values of moves, not moves
    second = dataclasses.replace(head.second, weights=head.second.weights[:used])
    points = graph.convolve(hidden, second, label="policy_second")
    passes = _pass_logits(graph, head, pooled, used)
    if used == 1:
        return graph.add("Concat", graph.add("Flatten", points, axis=1), passes, axis=1, label="policy")

    points = graph.add("Reshape", points, graph.integers(0, used, -1))
    logits = graph.add("Concat", points, graph.add("Unsqueeze", passes, graph.integers(2)), axis=2)
    plain, optimistic = (graph.add("Flatten", half, axis=1) for half in graph.add_many("Split", 2, logits, axis=1))
    optimism = graph.input("optimism", ["N", 1])
    return graph.add("Add", plain, graph.add("Mul", graph.add("Sub", optimistic, plain), optimism), label="policy")


def _pass_logits(graph: Graph, head: PolicyHead, pooled: str, used: int) -> str:
    if head.pass_second is None or head.pass_activation is None:
        return graph.dense(pooled, head.pass_first[:, :used], label="pass")
    hidden = graph.dense(pooled, head.pass_first, head.pass_bias, "pass_first")
    return graph.dense(graph.activate(hidden, head.pass_activation), head.pass_second[:, :used], label="pass_second")
