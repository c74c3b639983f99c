"""What players who have both passed agree on: which stones are dead and in seki, and what the score is.

Under territory rules and group tax, a game that was played on through its clean-up phases ends with all neutral points
filled, and `Game.score` counts it as KataGo's rules do: what touches a neutral point is no territory. People stop
before that.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from go_rules.board import copy_position, remove_chain
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, WHITE, board_points, neighbours, opponent
from go_rules.position import new_stack
from go_rules.rules import SCORING_AREA, TAX_ALL, TAX_NONE, Rules
from go_rules.scoring import points_off_board

LARGEST_SHARED_REGION = 7
"""The most empty points that the two sides of a seki share. A larger region is still to be fought over."""


def agreed_score(game: Game, dead: frozenset[int]) -> float:
    """Count white's points minus black's after both have passed, where the chains at the points `dead` are dead."""
    rules = game.rules
    if has_no_dead(game) or (rules.scoring == SCORING_AREA and rules.tax == TAX_NONE):
        return game.score(dead)
    owners = agreed_owners(game, dead)
    score = sum(1 if owner == WHITE else -1 for owner in owners.values())
    if rules.tax == TAX_ALL:
        seki = seki_stones(game, dead)
        for group in connected(owners):
            if group.isdisjoint(seki):
                score -= 2 if owners[min(group)] == WHITE else -2
    return score + points_off_board(game.position, game.record)


def agreed_owners(game: Game, dead: frozenset[int]) -> dict[int, int]:
    """Return the owner of each point that has one: the colour of living stones, else whose territory it is.

    A dead stone is the opponent's point, even where taking it off would open his territory. With a tax on sekis their
    eyes are nobody's.
    """
    board, points = game.position["board"].copy(), board_points(game.width, game.height)
    seki = seki_stones(game, dead) if game.rules.tax != TAX_NONE else frozenset[int]()
    taken = {int(game.position["chain"][point]) for point in dead if board[point] != EMPTY}
    for point in points:
        if board[point] != EMPTY and int(game.position["chain"][point]) in taken:
            board[point] = opponent(board[point])
    owners = {point: int(board[point]) for point in points if board[point] != EMPTY}
    for region in empty_regions(board, points):
        around = {q for p in region for q in neighbours(p) if board[q] in (BLACK, WHITE)}
        colours = {int(board[point]) for point in around}
        if len(colours) == 1 and not around <= seki:
            owners.update(dict.fromkeys(region, colours.pop()))
    return owners


def connected(labels: dict[int, int]) -> list[set[int]]:
    """Find the connected regions of points with the same label, of all points that `labels` has."""
    regions: list[set[int]] = []
    seen: set[int] = set()
    for start, label in labels.items():
        if start in seen:
            continue
        region, waiting = {start}, [start]
        while waiting:
            for q in neighbours(waiting.pop()):
                if q not in region and labels.get(q) == label:
                    region.add(q)
                    waiting.append(q)
        seen |= region
        regions.append(region)
    return regions


def has_no_dead(game: Game) -> bool:
    """Return whether every stone on the board counts, because players had to capture what they thought was dead."""
    return game.is_over and not may_have_dead(game.rules)


def may_have_dead(rules: Rules) -> bool:
    """Return whether players agree after a game which stones are dead, and do not have to capture them."""
    return rules.friendly_pass if rules.scoring == SCORING_AREA else not rules.cleanup


def chains(game: Game) -> list[list[int]]:
    """List the points of every chain, row by row."""
    position = game.position
    found: dict[int, list[int]] = defaultdict(list)
    for point in board_points(game.width, game.height):
        if position["board"][point] != EMPTY:
            found[int(position["chain"][point])].append(point)
    return list(found.values())


def seki_stones(game: Game, dead: frozenset[int]) -> frozenset[int]:
    """Find the points of living chains without territory that share liberties with such chains of the other colour.

    Chains that border the same empty region belong together, once the dead stones are taken off. Such a group has
    territory if it borders two regions of its own, or one of more than one point. A shared region of more than
    LARGEST_SHARED_REGION points makes no seki.
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
    """Find the connected regions of the empty ones of `points`."""
    return connected({point: EMPTY for point in points if board[point] == EMPTY})
