"""Dead stones, sekis and the expected score, from the ownership that short searches find.

Stones are dead if they are lost even with their owner to move. Both sides have passed: what could still be saved,
or killed only by a move that nobody made, stands.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, remove_chain
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, PASS, WHITE, board_points, neighbours
from go_rules.position import PHASE_MAIN, new_stack
from go_rules.rules import SCORING_AREA
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine, Estimate
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import SearchResult

VISITS = 150
SECONDS = 1.5
"""Limits of each of the two searches; the first one reached ends it."""

LARGEST_SHARED_REGION = 7
"""The most empty points that the two sides of a seki share. A larger region is still to be fought over."""


def estimate(engine: Engine, call: Call, seconds: float = SECONDS) -> Estimate:
    """Estimate the end of the present position, without the passes that ended the game, by two searches of `seconds`.

    The estimate is kept until the position changes.
    """
    game = engine.game
    name = (game.identity(), len(game.moves), game.line_key())
    known = engine.estimated
    if known is not None and known.game == name:
        return known
    before = game.copy()
    while before.moves and before.moves[-1].point == PASS:
        before.undo()
    dead: frozenset[int] = frozenset()
    white_lead = 0.0
    for colour in (BLACK, WHITE):
        result = short_search(engine, call, before, colour, seconds)
        if result.ownership is not None:
            dead |= dead_stones(before, colour, result.ownership)
        if colour == before.to_play:
            white_lead = result.lead if colour == WHITE else -result.lead
    found = Estimate(name, white_lead, dead)
    if not call.stop.is_set():
        engine.estimated = found
    return found


def short_search(engine: Engine, call: Call, game: Game, colour: int, seconds: float = SECONDS) -> SearchResult:
    """Search a position as for an analyst, within VISITS and `seconds`, with ownership in the result."""
    return engine.player.search(
        SearchRequest(
            game,
            colour,
            Limits(VISITS, seconds, may_stop_early=False),
            report=OWNERSHIP_AT_THE_END,
            analysis=True,
            stop=call.stop,
        )
    )


def is_finished(game: Game) -> bool:
    """Whether both players have passed, so that they only have to agree on the dead stones."""
    passed = len(game.moves) >= 2 and all(move.point == PASS for move in game.moves[-2:])
    return passed or game.is_over or int(game.position["phase"]) != PHASE_MAIN


def has_no_dead(game: Game) -> bool:
    """Whether every stone on the board counts, because the players had to capture what they thought was dead."""
    if game.rules.scoring == SCORING_AREA:
        return game.is_over and not game.rules.friendly_pass
    return game.is_over and game.rules.cleanup


def chains(game: Game) -> list[list[int]]:
    """The points of every chain, row by row."""
    position = game.position
    found: dict[int, list[int]] = defaultdict(list)
    for point in board_points(game.width, game.height):
        if position["board"][point] != EMPTY:
            found[int(position["chain"][point])].append(point)
    return list(found.values())


def dead_stones(game: Game, colour: int, ownership: NDArray[np.float32]) -> frozenset[int]:
    """The points of chains of `colour` that the opponent owns on average. `ownership`: [H*W], +1 for `colour`."""
    own = dict(zip(board_points(game.width, game.height), ownership.tolist(), strict=True))
    dead: set[int] = set()
    for chain in chains(game):
        if game.position["board"][chain[0]] == colour and sum(own[point] for point in chain) < 0:
            dead.update(chain)
    return frozenset(dead)


def seki_stones(game: Game, dead: frozenset[int]) -> frozenset[int]:
    """The points of living chains that have no territory and share liberties with such chains of the other colour.

    Chains that border the same empty region belong together, once the dead stones are taken off. Such a group has
    territory if it borders two regions of its own, or one of more than one point.
    """
    work = new_stack(1)[0]
    copy_position(work, game.position)
    for point in dead:
        if work["board"][point] != EMPTY:
            remove_chain(work, int(work["chain"][point]))
    board, head = work["board"], work["chain"]
    eyes: dict[int, int] = defaultdict(int)
    shared: list[set[int]] = []
    own: list[set[int]] = []
    for region in empty_regions(board, board_points(game.width, game.height)):
        around = {int(head[q]) for p in region for q in neighbours(p) if board[q] in (BLACK, WHITE)}
        colours = {int(board[chain]) for chain in around}
        if len(colours) == 2:
            shared.append(around if len(region) <= LARGEST_SHARED_REGION else set())
        elif colours:
            own.append(around)
            for chain in around:
                eyes[chain] += len(region)
    # Chains that border the same region of their own are one group, and have its eyes together.
    for around in own:
        most = max(eyes[chain] for chain in around)
        for chain in around:
            eyes[chain] = max(eyes[chain], most)
    eyeless = {chain for around in shared for chain in around if eyes[chain] <= 1}
    seki: set[int] = set()
    for around in shared:
        without = around & eyeless
        if {int(board[chain]) for chain in without} == {BLACK, WHITE} and without == around:
            seki |= without
    return frozenset(p for p in board_points(game.width, game.height) if board[p] != EMPTY and int(head[p]) in seki)


def empty_regions(board: NDArray[np.int8], points: list[int]) -> list[set[int]]:
    """The connected regions of empty points."""
    regions: list[set[int]] = []
    seen: set[int] = set()
    for start in points:
        if board[start] != EMPTY or start in seen:
            continue
        region, waiting = {start}, [start]
        while waiting:
            for q in neighbours(waiting.pop()):
                if board[q] == EMPTY and q not in region:
                    region.add(q)
                    waiting.append(q)
        seen |= region
        regions.append(region)
    return regions
