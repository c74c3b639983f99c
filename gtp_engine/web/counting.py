"""The count of a game that both have ended by passing, point by point, and the clock that a game is played on."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from go_rules.agreement import agreed_owners, agreed_score, chains, has_no_dead, may_have_dead
from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_NAMES, EMPTY, WHITE, board_points, opponent
from go_rules.rules import SCORING_AREA, TAX_NONE
from go_rules.scoring import final_owners, result_text
from gtp_engine.session.clock import Clock, TimeControl
from gtp_engine.session.time_management import most_seconds
from gtp_engine.web.refusals import Refusal

NO_RESULT = "Void"
NOBODYS = 3
"""What pages are told of a point that counts for nobody: a neutral point, or an eye in a seki."""


class Count:
    """A count that people look at before they agree: which stones are dead, and whose each point is."""

    def __init__(self, game: Game, dead: frozenset[int]) -> None:
        """Count a position. `dead` are the points of the dead stones."""
        self._game, self.dead = game, dead if may_have_dead(game.rules) else frozenset[int]()

    def toggled(self, point: int) -> Count:
        """Count anew, with the chain at a point alive where it was dead, or the other way round. Raises Refused."""
        if not may_have_dead(self._game.rules):
            raise Refusal("every_stone_counts")
        chain = next((each for each in chains(self._game) if point in each), None)
        if chain is None:
            raise Refusal("no_stone_there")
        return Count(self._game, self.dead.symmetric_difference(chain))

    @property
    def result(self) -> str:
        """The result as SGF has it."""
        return NO_RESULT if self._game.is_no_result else result_text(round(agreed_score(self._game, self.dead), 3))

    def told(self) -> dict[str, Any]:
        """Return what pages are told; points are numbered row by row.

        Stones count by area, prisoners by territory. `bonus` is what the rules give white, or take, besides komi.
        """
        game, board = self._game, self._game.position["board"]
        is_area = game.rules.scoring == SCORING_AREA
        points = board_points(game.width, game.height)
        on_board = {point: int(board[point]) for point in points}
        if has_no_dead(game) or (is_area and game.rules.tax == TAX_NONE):
            found = final_owners(game.position, game.record, self.dead)
            owners = {point: int(found[point]) for point in points}
        else:
            owners = agreed_owners(game, self.dead)
        sides: dict[str, dict[str, float]] = {}
        for colour in (BLACK, WHITE):
            lost = opponent(colour)
            stones = sum(owners.get(p) == colour == on_board[p] for p in points) if is_area else 0
            territory = sum(owners.get(p) == colour != on_board[p] for p in points)
            dead = sum(on_board[p] == lost for p in self.dead)
            prisoners = 0 if is_area else int(game.position["captured"][lost]) + dead
            side = {"stones": stones, "territory": territory, "prisoners": prisoners, "komi": 0.0, "bonus": 0.0}
            side["total"] = stones + territory + prisoners
            sides[COLOUR_NAMES[colour]] = side
        white = sides[COLOUR_NAMES[WHITE]]
        white["komi"] = game.komi
        lead = agreed_score(game, self.dead)
        white["bonus"] = round(lead - (white["total"] + game.komi - sides[COLOUR_NAMES[BLACK]]["total"]), 3)
        white["total"] += white["komi"] + white["bonus"]
        place = {point: number for number, point in enumerate(points)}
        return {
            "dead": sorted(place[point] for point in self.dead),
            "owner": [owners.get(point, EMPTY) or NOBODYS for point in points],
            **sides,
            "result": self.result,
        }


class GameClock:
    """The clocks of both sides, one of which may run."""

    def __init__(self, main: float, byo_seconds: float, periods: int, increment: float) -> None:
        """Make clocks of main time and either byo-yomi periods or an increment. All times are seconds."""
        control = TimeControl.fischer(main, increment) if increment else TimeControl.byoyomi(main, byo_seconds, periods)
        self.clock = Clock(control)
        self.running, self.since = 0, 0.0

    def press(self, colour: int) -> None:
        """Charge whose clock runs for a move, and start that of `colour`, or none for 0. One that runs runs on."""
        now = time.time()
        if colour == self.running:
            return
        if self.running:
            self.clock.spend(self.running, max(0.0, now - self.since))
        self.running, self.since = colour, now

    def seconds_left(self) -> float:
        """Return in how many seconds the side whose clock runs has lost."""
        return most_seconds(self.clock.control, self.clock.left[self.running]) - (time.time() - self.since)

    def told(self) -> dict[str, Any]:
        """Return what pages are told: the terms, what is left of black's clock and of white's, whose runs, and
        how many seconds of the move are gone."""
        control = self.clock.control
        return {
            "main": control.main,
            "byo_seconds": control.period,
            "periods": control.periods,
            "increment": control.increment,
            "left": [asdict(self.clock.left[colour]) for colour in (BLACK, WHITE)],
            "running": self.running,
            "gone": time.time() - self.since if self.running else 0.0,
        }
