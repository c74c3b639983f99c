"""The analysis that CGOS viewers show: one line of JSON. All values are the view of the side to move."""

from __future__ import annotations

import json
import string
from typing import Any

import numpy as np

from go_rules.points import to_vertex
from search.result import SearchResult

LEVELS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
MOVES_SHOWN = 20


def cgos_line(result: SearchResult, height: int, longest_pv: int) -> str:
    """Write a search's result as the line of JSON that CGOS expects before a move, in the view of the side to move."""
    moves: list[dict[str, Any]] = [
        {
            "move": to_vertex(move.point, height),
            "winrate": round(move.winrate, 4),
            "score": round(move.lead, 2),
            "prior": round(move.prior, 5),
            "visits": move.visits,
            # The client puts the move itself in front.
            "pv": " ".join(to_vertex(point, height) for point in move.pv[1:longest_pv]),
        }
        for move in result.moves[:MOVES_SHOWN]
        if move.visits > 0 or move.order == 0
    ]
    content: dict[str, Any] = {
        "winrate": round(result.winrate, 4),
        "score": round(result.lead, 2),
        "visits": result.visits,
        "moves": moves,
    }
    if result.ownership is not None:
        levels = np.rint((np.nan_to_num(result.ownership) + 1) / 2 * 62).clip(0, 62).astype(int)
        content["ownership"] = "".join(LEVELS[level] for level in levels.tolist())
    return json.dumps(content, separators=(",", ":"))
