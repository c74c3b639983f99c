"""Every number that KataGo printed for a thousand positions, from the moves of the game to the last output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.evaluator import LEAD, LOSS, NO_RESULT, SCORE_MEAN, SCORE_STDEV, WIN, Evaluation
from nets.open import open_network
from tests.nets.golden import COLOURS, encoded, game_of, new_scratch, positions, probabilities

BATCH = 16
KATAGO_OPTIMISM = 0.2
"""What `kata-raw-nn` mixes in by default."""


def evaluations(path: Path, network: Path) -> list[tuple[dict[str, Any], Evaluation]]:
    """Each row with its evaluation (arrays without the batch dimension), boards of one size evaluated together."""
    evaluator = open_network(network, "fp32", optimism=KATAGO_OPTIMISM)
    scratch = new_scratch(evaluator.pass_alive_under_suicide)
    waiting: dict[tuple[int, ...], list[tuple[dict[str, Any], np.ndarray, np.ndarray]]] = {}
    for row in positions(path):
        game = game_of(row)
        entry = (row, *encoded(game, COLOURS[row["to_play"]], scratch))
        waiting.setdefault(tuple(row["size"]), []).append(entry)
    found = []
    for entries in waiting.values():
        for start in range(0, len(entries), BATCH):
            rows, spatial, global_ = zip(*entries[start : start + BATCH], strict=True)
            evaluation = evaluator.evaluate(np.stack(spatial), np.stack(global_))
            found += [(row, Evaluation(*(a[i] for a in evaluation))) for i, row in enumerate(rows)]
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


TOLERANCE = {
    "winrate": 0.0005,
    "no result": 0.0005,
    "lead": 0.02,
    "score": 0.02,
    "score squared": 0.001,
    "others": 0.02,
    "policy": 0.001,
    "ownership": 0.005,
}


@pytest.mark.parametrize(
    ("golden", "network"),
    [
        ("g170-b6c96", "g170-b6c96-s175395328-d26788732"),
        ("b7c96h3tfrs-test5", "b7c96h3tfrs-test5-cnorm"),
        ("b7c96h6kv3", "b7c96h6kv3qk32v16tflrs-fson-bnh"),
    ],
)
@pytest.mark.slow
def test_outputs_equal_katago(shared: Callable[[str], Path], golden: str, network: str) -> None:
    found = evaluations(shared(f"golden/{golden}.jsonl.gz"), shared(f"nets/{network}.bin.gz"))
    assert len(found) >= 78
    for row, ours in found:
        for name, difference in differences(row, ours).items():
            place = f"{name} of {row['rules']} {row['size']} after {len(row['moves'])} moves"
            assert difference <= TOLERANCE[name], f"{place}: {difference}"
