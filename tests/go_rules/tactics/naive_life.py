"""Unconditional life and areas in plain Python, straight from their definitions: the truth for go_rules.tactics.life.

Positions are NaiveGame stones: {(x, y): colour}. Results are {(x, y): owner}, without the points nobody owns.
"""

from __future__ import annotations

from go_rules.points import BLACK, WHITE
from go_rules.rules import SCORING_AREA, TAX_ALL, TAX_NONE, Rules
from tests.go_rules.naive import NaiveGame, Point, Stones

Area = dict[Point, int]


def regions(board: NaiveGame, points: set[Point]) -> list[set[Point]]:
    """The connected parts of a set of points."""
    parts = []
    left = set(points)
    while left:
        part, waiting = set(), [left.pop()]
        while waiting:
            point = waiting.pop()
            part.add(point)
            near = left & set(board.neighbours[point])
            left -= near
            waiting += near
        parts.append(part)
    return parts


def border(board: NaiveGame, points: set[Point]) -> set[Point]:
    return {q for point in points for q in board.neighbours[point]} - points


def pass_alive(board: NaiveGame, stones: Stones, colour: int, suicide: bool) -> set[Point]:
    """Chains that live though their owner always passes, and the regions in which the opponent cannot live."""
    own = {point for point, content in stones.items() if content == colour}
    chains = regions(board, own)
    enclosed = regions(board, set(board.points()) - own)

    def is_vital(region: set[Point], chain: set[Point]) -> bool:
        claimed = region if suicide else {point for point in region if point not in stones}
        return claimed <= border(board, chain)

    healthy = list(enclosed)
    while True:
        alive = [chain for chain in chains if sum(is_vital(region, chain) for region in healthy) >= 2]
        living = set().union(*alive)
        survivors = [region for region in healthy if border(board, region) <= living]
        if len(survivors) == len(healthy) and len(alive) == len(chains):
            break
        chains, healthy = alive, survivors
    if not living:
        return set()
    return living.union(*(region for region in healthy if len(region - border(board, living)) <= 1))


def safe_area(board: NaiveGame, stones: Stones, suicide: bool) -> Area:
    """What is somebody's for certain: pass-alive areas, and the empty regions that only pass-alive chains touch."""
    owners = {point: colour for colour in (BLACK, WHITE) for point in pass_alive(board, stones, colour, suicide)}
    for region in regions(board, {point for point in board.points() if point not in stones and point not in owners}):
        touched = border(board, region) & set(stones)
        colours = {stones[point] for point in touched}
        if len(colours) == 1 and all(owners.get(point) == stones[point] for point in touched):
            owners.update(dict.fromkeys(region, colours.pop()))
    return owners


def full_area(board: NaiveGame, stones: Stones, suicide: bool) -> Area:
    """Area scoring without tax."""
    owners = board.area(stones)
    for colour in (BLACK, WHITE):
        owners.update(dict.fromkeys(pass_alive(board, stones, colour, suicide), colour))
    return owners


def living_regions(board: NaiveGame, stones: Stones, owners: Area) -> list[tuple[int, set[Point]]]:
    """(owner, points) of the connected areas without a neutral empty neighbour and without own stones in atari."""
    neutral = {point for point in board.points() if point not in owners}
    found = []
    for colour in (BLACK, WHITE):
        for part in regions(board, {point for point, owner in owners.items() if owner == colour}):
            own_stones = [point for point in part if stones.get(point) == colour]
            in_atari = any(len(board.liberties(stones, stone)) == 1 for stone in own_stones)
            if not in_atari and not border(board, part) & neutral:
                found.append((colour, part))
    return found


def final_area(board: NaiveGame, stones: Stones, rules: Rules, counted: Stones, suicide: bool) -> tuple[Area, int]:
    """Owners, and white's points minus black's. `counted`: the stones that territory scoring counts outside areas."""
    owners = full_area(board, stones, suicide)
    if rules.scoring == SCORING_AREA and rules.tax == TAX_NONE:
        return owners, score_of(owners)
    alive = living_regions(board, stones, owners)
    result = {point: colour for colour, part in alive for point in part}
    if rules.scoring == SCORING_AREA:
        result.update({point: owner for point, owner in owners.items() if stones.get(point) == owner})
    else:
        if rules.tax == TAX_NONE:
            result.update({point: owner for point, owner in owners.items() if stones.get(point) != owner})
        for point, content in stones.items():
            if point not in result and counted.get(point) == content:
                result[point] = content
    tax = 2 * sum(1 if colour == WHITE else -1 for colour, _ in alive) if rules.tax == TAX_ALL else 0
    return result, score_of(result) - tax


def score_of(owners: Area) -> int:
    return sum(1 if owner == WHITE else -1 for owner in owners.values())
