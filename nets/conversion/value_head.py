"""Writes the value head and its post-processing, so that the graph's outputs are the fields of an `Evaluation`."""

from __future__ import annotations

import numpy as np

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.katago.model import Model
from nets.katago.score_outputs import EXCLUDED, KO_FEATURE, TERRITORY_FEATURE, ScoreOutputs, score_outputs


def write_value(graph: Graph, board: Board, model: Model, trunk: str, global_: str) -> tuple[str, str, str]:
    """Write the value head; its outputs are `value` [N, 3], `score` [N, 6] and `ownership` [N, H*W]."""
    head = model.value
    first = graph.activate(graph.convolve(trunk, head.first, head.norm, "value_first"), head.norm.activation)
    ownership = graph.add("Flatten", graph.convolve(first, head.ownership, label="ownership"), axis=1)
    ownership = graph.add("Tanh", ownership, label="ownership")
    hidden = graph.dense(board.pool_value(first, "value"), head.hidden, head.hidden_bias, "value_hidden")
    hidden = graph.activate(hidden, head.hidden_activation)

    outputs = score_outputs(model)
    weights = np.concatenate([head.value, outputs.weights], axis=1)
    bias = np.concatenate([head.value_bias, outputs.bias])
    sizes = [3, 2, len(outputs.factors)] if len(outputs.factors) else [3, 2]
    logits, plain, *positive = graph.add_many(
        "Split",
        len(sizes),
        graph.dense(hidden, weights, bias, "value_outputs"),
        graph.integers(*sizes),
        axis=1,
        label="value_split",
    )
    if model.version == 3:
        value = graph.add("Softmax", logits, axis=1, label="value")
        return value, _oldest_score(graph, board, value, plain), ownership
    value = graph.add("Softmax", _without_no_result(graph, logits, global_), axis=1, label="value")
    return value, _score(graph, outputs, value, plain, positive[0]), ownership


def _without_no_result(graph: Graph, logits: str, global_: str) -> str:
    """Lower the third logit where neither simple ko nor territory scoring makes a game without result possible."""
    superko = graph.add("Gather", global_, graph.integers(KO_FEATURE), axis=1, label="superko")
    territory = graph.add("Gather", global_, graph.integers(TERRITORY_FEATURE), axis=1, label="territory")
    excluded = graph.add("Relu", graph.add("Sub", superko, territory), label="excluded")
    return graph.add("Sub", logits, graph.add("Mul", excluded, graph.weights([[0.0, 0.0, EXCLUDED]], "no_result")))


def _score(graph: Graph, outputs: ScoreOutputs, value: str, plain: str, positive: str) -> str:
    """[N, 6]. The network's mean, lead and standard deviation presume a result; a game without one counts 0 points."""
    positive = graph.add("Mul", graph.add("Softplus", positive), graph.weights(outputs.factors, "score_units"))
    no_result = graph.add("Gather", value, graph.integers(2), axis=1, label="no_result")
    result = graph.add("Sub", graph.scalar(1.0), no_result, label="result")
    given_mean = graph.add("Gather", plain, graph.integers(0), axis=1)
    mean, lead = graph.add_many("Split", 2, graph.add("Mul", plain, result), axis=1, label="mean_lead")
    if len(outputs.factors) == 1:
        given_stdev, rest = positive, _unavailable(graph, value)
    else:
        given_stdev, time, errors = graph.add_many("Split", 3, positive, graph.integers(1, 1, 2), axis=1)
        errors = graph.add("Sqrt", errors) if outputs.has_root else errors
        rest = graph.add("Concat", time, errors, axis=1)
    # E[x^2] - E[x]^2 = result * (stdev^2 + mean^2) - (result * mean)^2 = result * (stdev^2 + mean^2 * no_result)
    spread = graph.add("Mul", given_stdev, given_stdev)
    spread = graph.add("Add", spread, graph.add("Mul", graph.add("Mul", given_mean, given_mean), no_result))
    stdev = graph.add("Sqrt", graph.add("Mul", spread, result), label="stdev")
    return graph.add("Concat", mean, stdev, lead, rest, axis=1, label="score")


def _oldest_score(graph: Graph, board: Board, value: str, plain: str) -> str:
    """Version 3 knows one score, squashed by arctan with a scale of twice the board's width."""
    scores = graph.add("Mul", plain, graph.add("Mul", board.width, graph.scalar(2.0)))
    mean, lead = graph.add_many("Split", 2, scores, axis=1)
    none = graph.add("Mul", mean, graph.scalar(0.0))
    return graph.add("Concat", mean, none, lead, _unavailable(graph, value), axis=1, label="score")


def _unavailable(graph: Graph, value: str) -> str:
    """[N, 3] of -1: what such a network doesn't estimate."""
    return graph.add("Sub", graph.add("Mul", value, graph.scalar(0.0)), graph.scalar(1.0), label="unavailable")
