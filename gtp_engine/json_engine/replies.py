"""The replies of the JSON engine: a search's result as the object that KataGo's protocol has for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import COLOUR_LETTERS, PASS, board_points, to_vertex
from gtp_engine.json_engine.options import SIDE_TO_MOVE
from gtp_engine.json_engine.records import position_hashes
from gtp_engine.json_engine.schedule import Position
from nets.bare_evaluation import HumanEvaluation
from search.result import LOWEST_UTILITY, MoveInfo, SearchResult

DIGITS = 8
"""Significant digits of a number."""
OWNERSHIP_DECIMALS = 6


def no_results(position: Position) -> dict[str, Any]:
    """Write the last reply of a position that was terminated before its evaluation, or whose search failed."""
    return {"id": position.query.id, "isDuringSearch": False, "noResults": True, "turnNumber": position.turn}


class Reporter:
    """Writes what a search finds of a position, from the perspective that its query asks for."""

    def __init__(self, position: Position, game: Game, human: HumanEvaluation | None) -> None:
        """`game` is at the position. `human`: what the human network says of it, where it was asked."""
        self._position = position
        self._options = position.query.options
        self._flags = position.query.flags
        self._game = game
        self._human = human
        self._places = [*board_points(game.width, game.height), PASS]
        """The points of a policy."""
        self._hashes = position_hashes(game)
        self._sign = 1.0 if self._options.perspective in (SIDE_TO_MOVE, game.to_play) else -1.0

    def reply(self, result: SearchResult, is_during_search: bool) -> dict[str, Any]:
        """Write a report of the search, or its last reply."""
        human, wants = self._human, self._flags.__contains__
        out: dict[str, Any] = {
            "id": self._position.query.id,
            "turnNumber": self._position.turn,
            "isDuringSearch": is_during_search,
            "moveInfos": [self._move(move) for move in result.moves if move.visits > 0],
            "rootInfo": self._root(result),
        }
        if wants("policy") and result.raw is not None:
            out["policy"] = _rounded(result.raw.policy)
        if wants("policy") and human is not None:
            out["humanPolicy"] = _rounded(human.policy)
        if wants("ownership") and result.ownership is not None:
            out["ownership"] = _plane(self._sign * result.ownership)
        if wants("ownershipstdev") and result.ownership_stdev is not None:
            out["ownershipStdev"] = _plane(result.ownership_stdev)
        return out

    def _move(self, move: MoveInfo) -> dict[str, Any]:
        wants, lead = self._flags.__contains__, self._points(move.lead)
        length = self._options.engine.longest_variation
        out: dict[str, Any] = {
            "move": to_vertex(move.point, self._game.height),
            "visits": move.visits,
            "edgeVisits": move.edge_visits,
            "weight": number(move.weight * move.visits / max(1, move.edge_visits)),
            "edgeWeight": number(move.weight),
            "utility": self._points(move.utility),
            "utilityLcb": self._points(max(LOWEST_UTILITY, move.utility_lcb)),
            "winrate": self._share(move.winrate),
            "lcb": self._share(move.lcb),
            # As in KataGo, scoreMean is the lead, because old clients read it as that.
            "scoreMean": lead,
            "scoreLead": lead,
            "scoreSelfplay": self._points(move.score_mean),
            "scoreStdev": number(move.score_stdev),
            "prior": number(move.prior),
            "order": move.order,
            "playSelectionValue": number(move.choice),
            "pv": [to_vertex(point, self._game.height) for point in move.pv[:length]],
        }
        if self._human is not None:
            out["humanPrior"] = number(max(0.0, float(self._human.policy[self._places.index(move.point)])))
        if move.symmetry_of is not None:
            out["isSymmetryOf"] = to_vertex(move.symmetry_of, self._game.height)
        if wants("noresultvalue"):
            out["noResultValue"] = number(move.no_result)
        if wants("pvvisits"):
            out["pvVisits"] = list(move.pv_visits[:length])
            out["pvEdgeVisits"] = list(move.pv_edge_visits[:length])
        if wants("movesownership") and move.ownership is not None:
            out["ownership"] = _plane(self._sign * move.ownership)
        if wants("movesownershipstdev") and move.ownership_stdev is not None:
            out["ownershipStdev"] = _plane(move.ownership_stdev)
        return out

    def _root(self, result: SearchResult) -> dict[str, Any]:
        out: dict[str, Any] = {
            "visits": result.visits,
            "weight": number(result.weight),
            "winrate": self._share(result.winrate),
            "utility": self._points(result.utility),
            "scoreLead": self._points(result.lead),
            "scoreSelfplay": self._points(result.score_mean),
            "scoreStdev": number(result.score_stdev),
            "currentPlayer": COLOUR_LETTERS[result.colour],
            "thisHash": self._hashes[0],
            "symHash": self._hashes[1],
        }
        if (raw := result.raw) is not None:
            out |= {
                "rawWinrate": self._share(raw.winrate),
                "rawLead": self._points(raw.lead),
                "rawScoreSelfplay": self._points(raw.score_mean),
                "rawScoreSelfplayStdev": number(raw.score_stdev),
                "rawNoResultProb": number(raw.no_result),
                "rawStWrError": number(0.5 * raw.shortterm_winloss_error),
                "rawStScoreError": number(raw.shortterm_score_error),
                "rawVarTimeLeft": number(raw.var_time_left),
            }
        if self._human is not None:
            out |= {
                "humanWinrate": self._share(self._human.winrate),
                "humanScoreMean": self._points(self._human.score_mean),
                "humanScoreStdev": number(self._human.score_stdev),
                "humanStWrError": number(0.5 * self._human.shortterm_winloss_error),
                "humanStScoreError": number(self._human.shortterm_score_error),
            }
        return out

    def _points(self, value: float) -> float:
        """A number whose sign depends on the perspective."""
        return number(self._sign * value)

    def _share(self, value: float) -> float:
        """A winning chance, or a bound of one."""
        return number(value if self._sign > 0 else 1.0 - value)


def number(value: float) -> float:
    """Round a number to DIGITS significant digits. What is not finite becomes 0, since JSON has only finite numbers."""
    return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else 0.0


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [number(value) for value in values.tolist()]


def _plane(values: NDArray[np.float32]) -> list[float]:
    rounded: list[float] = (np.round(np.nan_to_num(values).astype(np.float64), OWNERSHIP_DECIMALS) + 0.0).tolist()
    return rounded
