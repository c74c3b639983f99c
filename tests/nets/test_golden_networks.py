"""Every number that KataGo printed for recorded positions, from the moves of the game to the last output.

A dozen positions and two tiny networks are in the repository (golden_rows/); a thousand positions and networks of
KataGo's are reference data that lie beside some checkouts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.evaluator import LEAD, LOSS, NO_RESULT, SCORE_MEAN, SCORE_STDEV, WIN, Evaluation, EvaluationRequest, Evaluator
from nets.features import scratch_for
from nets.open import open_network
from tests.nets.golden import COLOURS, encode_with, game_of, positions, probabilities
from tests.nets.native.networks import needs_kernels, opened

ROWS = Path(__file__).parent / "golden_rows"
BATCH = 16
KATAGO_OPTIMISM = 0.2
"""What `kata-raw-nn` mixes in by default."""


def evaluations(rows: Iterable[dict[str, Any]], evaluator: Evaluator) -> list[tuple[dict[str, Any], Evaluation]]:
    """Each row with its evaluation (arrays without the batch dimension), boards of one size evaluated together."""
    scratch = scratch_for(evaluator)
    waiting: dict[tuple[int, ...], list[tuple[dict[str, Any], np.ndarray, np.ndarray]]] = {}
    for row in rows:
        entry = (row, *encode_with(game_of(row), scratch, COLOURS[row["to_play"]]))
        waiting.setdefault(tuple(row["size"]), []).append(entry)
    found = []
    for entries in waiting.values():
        for start in range(0, len(entries), BATCH):
            batch, spatial, global_ = zip(*entries[start : start + BATCH], strict=True)
            evaluation = evaluator.evaluate(EvaluationRequest(np.stack(spatial), np.stack(global_)))
            found += [(row, Evaluation(*(a[i] for a in evaluation))) for i, row in enumerate(batch)]
    return found


def differences(row: dict[str, Any], ours: Evaluation) -> dict[str, float]:
    raw = row["raw"]
    white = row["to_play"] == "w"
    sign = 1 if white else -1
    policy = np.array([np.nan if p is None else p for line in raw["policy"] for p in line] + [raw["policyPass"]])
    legal = ~np.isnan(policy)
    lead, mean, stdev = ours.score[LEAD], ours.score[SCORE_MEAN], ours.score[SCORE_STDEV]
    others = np.array([raw["varTimeLeft"], raw["shorttermWinlossError"], raw["shorttermScoreError"]])
    return {
        "winrate": abs(ours.value[WIN if white else LOSS] - raw["whiteWin"]),
        "no result": abs(ours.value[NO_RESULT] - raw["noResult"]),
        "lead": abs(sign * lead - raw["whiteLead"]),
        "score": abs(sign * mean - raw["whiteScoreSelfplay"]),
        "score squared": abs(mean**2 + stdev**2 - raw["whiteScoreSelfplaySq"]) / (1 + raw["whiteScoreSelfplaySq"]),
        "others": np.abs(ours.score[3:] - others).max(),
        "policy": np.abs(probabilities(ours.policy, legal) - policy)[legal].max(),
        "ownership": np.abs(sign * ours.ownership - np.ravel(raw["ownership_white"])).max(),
    }


USUAL, PRINTED, IN_INT16 = range(3)
TOLERANCES = {
    "winrate": (0.0005, 1e-5, 0.001),
    "no result": (0.0005, 1e-5, 0.001),
    "lead": (0.02, 0.001, 0.05),
    "score": (0.02, 0.001, 0.1),
    "score squared": (0.001, 1e-5, 0.003),
    "others": (0.02, 0.001, 0.04),
    "policy": (0.001, 1e-5, 0.003),
    "ownership": (0.005, 2e-5, 0.06),
}
"""In fp32; what rounding to the digits printed changes, for networks so small that fp32 changes less; and some three
times what int16 changes in these networks."""


def check(found: list[tuple[dict[str, Any], Evaluation]], kind: int) -> None:
    for row, ours in found:
        for name, difference in differences(row, ours).items():
            place = f"{name} of {row['rules']} {row['size']} after {len(row['moves'])} moves"
            assert difference <= TOLERANCES[name][kind], f"{place}: {difference}"


def own_rows(name: str) -> list[dict[str, Any]]:
    """The rows in the repository; tests/campaigns/golden_rows.py makes them."""
    rows: list[dict[str, Any]] = json.loads((ROWS / f"{name}.json").read_text())["rows"]
    assert len(rows) == 12
    return rows


@pytest.mark.parametrize("name", ["convolutions", "transformer"])
@pytest.mark.usefixtures("own_networks")
def test_tiny_networks_equal_katago(name: str) -> None:
    evaluator = open_network(ROWS / f"{name}.bin.gz", "fp32", optimism=KATAGO_OPTIMISM)
    check(evaluations(own_rows(name), evaluator), PRINTED)


@needs_kernels
@pytest.mark.parametrize("name", ["convolutions", "transformer"])
def test_tiny_networks_in_int16_are_close_to_katago(name: str) -> None:
    evaluator = opened((ROWS / f"{name}.bin.gz").read_bytes(), optimism=KATAGO_OPTIMISM)
    check(evaluations(own_rows(name), evaluator), IN_INT16)


@pytest.mark.parametrize(
    ("golden", "network", "every"),
    [
        ("g170-b6c96", "g170-b6c96-s175395328-d26788732", 4),
        ("b7c96h3tfrs-test5", "b7c96h3tfrs-test5-cnorm", 2),
        ("b7c96h6kv3", "b7c96h6kv3qk32v16tflrs-fson-bnh", 1),
    ],
)
@pytest.mark.slow
def test_outputs_equal_katago(shared: Callable[[str], Path], golden: str, network: str, every: int) -> None:
    evaluator = open_network(shared(f"nets/{network}.bin.gz"), "fp32", optimism=KATAGO_OPTIMISM)
    found = evaluations(islice(positions(shared(f"golden/{golden}.jsonl.gz")), 0, None, every), evaluator)
    assert len(found) >= 78
    check(found, USUAL)
