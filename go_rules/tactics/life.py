"""Unconditional life and the owner of each point, for scoring and for two of the networks' input planes.

A chain is pass-alive if its owner may always pass and still keeps it (Benson, "Life in the game of Go", Information
Sciences 10, 1976). Areas, territories and the living regions that a group tax counts are defined by it. The definitions
are those of KataGo's rules (https://lightvector.github.io/KataGo/rules.html), because the networks were trained on such
scores.

Results are in the work record (LIFE_WORK) as areas: the owner of each point, EMPTY, BLACK or WHITE.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import neighbour
from go_rules.machine.jit import kernel
from go_rules.points import BLACK, EMPTY, MAX_SIZE, N_POINTS, STRIDE, WALL, WHITE
from go_rules.position import MARK_BLACK_AT_CLEANUP_2, MARK_WHITE_AT_CLEANUP_2, PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA, TAX_ALL, TAX_NONE

MAX_REGIONS = (MAX_SIZE * MAX_SIZE + 1) // 2 + 1
"""The most regions, which do not touch each other: those of a chequerboard; and one more for the end mark."""

LIFE_WORK = np.dtype(
    [
        # Results.
        ("area", "i1", (N_POINTS,)),  # who owns each point, by final_area or safe_area
        ("owned", "i1", (N_POINTS,)),  # by pass_alive_area, a work field of final_area
        # Work.
        ("region", "i2", (N_POINTS,)),  # number of the point's region, NO_REGION where it has none
        ("members", "i2", (N_POINTS,)),  # the points of all regions, region after region
        ("first", "i2", (MAX_REGIONS,)),  # where in `members` a region starts; it ends where the next one starts
        ("vital", "i2", (MAX_REGIONS, 4)),  # heads of the chains the region is vital to
        ("n_vital", "i1", (MAX_REGIONS,)),  # how many of them there are
        ("interior", "i2", (MAX_REGIONS,)),  # points of the region that touch no stone around it
        ("spoiled", "i1", (MAX_REGIONS,)),  # 1: a chain around the region is not pass-alive
        ("eyes", "i2", (N_POINTS,)),  # at chain heads: vital regions left that are not spoiled
        ("doomed", "i2", (N_POINTS,)),  # heads of chains found not to be pass-alive
    ],
    align=True,
)
"""The results and the working memory of this module's kernels. It may start as zeros."""

NO_REGION = -1


def new_life_work() -> NDArray[np.void]:
    """Make a LIFE_WORK[1], whose element 0 the kernels take. Threads must not share one."""
    return np.zeros(1, LIFE_WORK)


@kernel
def final_area(pos, rules, phase, suicide, work):
    """Find the owner of each point if the game ended here, and return white's points minus black's on the board.

    Stones count as alive unless Benson's algorithm finds them dead. `phase` is the phase of the game, by
    phases.live_phase. `suicide` (bool) says whether pass-alive chains must withstand suicide moves: whether the rules
    allow suicide. Fills `work.area`. The points include group tax, but not komi, captures and bonuses.
    """
    pass_alive_area(pos, suicide, work)
    _complete_area(pos, np.bool_(False), work)
    keeps_all = rules.scoring == SCORING_AREA and rules.tax == TAX_NONE
    regions = 0 if keeps_all else _independent_life(pos, work)
    score = -2 * regions if rules.tax == TAX_ALL else 0
    for point in range(N_POINTS):
        content = pos.board[point]
        owner = work.owned[point]
        if rules.scoring == SCORING_AREA:
            if keeps_all or (owner != EMPTY and owner == content):
                work.area[point] = owner
        else:
            if rules.tax == TAX_NONE and owner != EMPTY and owner != content:
                work.area[point] = owner
            if work.area[point] == EMPTY and content in (BLACK, WHITE):
                # A stone outside all territory counts where it stood as the second clean-up began; before, anywhere.
                mark = MARK_BLACK_AT_CLEANUP_2 if content == BLACK else MARK_WHITE_AT_CLEANUP_2
                if phase < PHASE_CLEANUP_2 or pos.marks[point] & mark:
                    work.area[point] = content
        if work.area[point] == WHITE:
            score += 1
        elif work.area[point] == BLACK:
            score -= 1
    return score


@kernel
def safe_area(pos, suicide, work):
    """Find who owns a point for certain: pass-alive chains, what they enclose, and empty regions beside them alone.

    Fills `work.area`. `suicide` is as in `final_area`.
    """
    pass_alive_area(pos, suicide, work)
    _complete_area(pos, np.bool_(True), work)
    for point in range(N_POINTS):
        work.area[point] = work.owned[point]


@kernel
def pass_alive_area(pos, suicide, work):
    """Find both colours' pass-alive chains and the regions that they enclose; fills `work.owned`.

    A region of a colour is a connected set of points without stones of that colour. It is vital to a chain if each of
    its empty points (with `suicide`: each of its points) is next to that chain. A chain is pass-alive if two regions
    are vital to it and the chains around these are pass-alive too. A region that only pass-alive chains surround
    belongs to them if the opponent cannot live inside: if at most one of its points touches none of their stones.
    """
    for point in range(N_POINTS):
        work.owned[point] = EMPTY
    for colour in range(BLACK, WHITE + 1):
        n_regions = _find_regions(pos, colour, suicide, work)
        if _eliminate(pos, colour, n_regions, work) == 0:
            continue
        for point in range(N_POINTS):
            if pos.board[point] == colour and work.eyes[pos.chain[point]] >= 2:
                work.owned[point] = colour
        for region in range(n_regions):
            if work.spoiled[region] == 0 and work.interior[region] <= 1:
                for i in range(work.first[region], work.first[region + 1]):
                    work.owned[work.members[i]] = colour


@kernel
def _independent_life(pos, work):
    """Fill `work.area` with the regions of `work.owned` that live without seki.

    A connected region of one owner is left out, with its stones, if it touches a neutral empty point or one of its
    stones is in atari. Returns white's number of kept regions minus black's, which a tax on all groups counts.
    """
    for any_point in range(N_POINTS):
        work.area[any_point] = EMPTY
        work.region[any_point] = NO_REGION
    difference = 0
    for y in range(pos.height):
        for x in range(pos.width):
            start = (y + 1) * STRIDE + x + 1
            owner = work.owned[start]
            if owner == EMPTY or work.region[start] != NO_REGION:
                continue
            alive = True
            size = 1
            done = 0
            work.members[0] = start
            work.region[start] = 0
            while done < size:
                point = np.int64(work.members[done])
                done += 1
                if pos.board[point] == owner and pos.liberties[pos.chain[point]] == 1:
                    alive = False
                for i in range(4):
                    q = neighbour(point, i)
                    if work.owned[q] == owner:
                        if work.region[q] == NO_REGION:
                            work.region[q] = 0
                            work.members[size] = q
                            size += 1
                    elif work.owned[q] == EMPTY and pos.board[q] == EMPTY:
                        alive = False
            if alive:
                difference += 1 if owner == WHITE else -1
                for i in range(size):
                    work.area[work.members[i]] = owner
    return difference


@kernel
def _find_regions(pos, colour, suicide, work):
    """Divide the points without stones of `colour` into regions, with what Benson's algorithm needs of each.

    Fills all fields about regions; returns their number.
    """
    for any_point in range(N_POINTS):
        work.region[any_point] = NO_REGION
    region = 0
    end = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for start in range(row, row + pos.width):
            # Every region has an empty point, since its stones have liberties.
            if pos.board[start] != EMPTY or work.region[start] != NO_REGION:
                continue
            n_vital = 0
            interior = 0
            work.first[region] = end
            work.members[end] = start
            work.region[start] = region
            done = end
            end += 1
            while done < end:
                point = np.int64(work.members[done])
                done += 1
                touches = False
                # Bit k: the point is next to the k-th chain of `vital`, which starts with those next to `start`.
                beside = 0
                for i in range(4):
                    q = neighbour(point, i)
                    content = pos.board[q]
                    if content == colour:
                        touches = True
                        k = 0
                        while k < n_vital and work.vital[region, k] != pos.chain[q]:
                            k += 1
                        if k == n_vital and point == start:
                            work.vital[region, k] = pos.chain[q]
                            n_vital += 1
                        beside |= 1 << k
                    elif content != WALL and work.region[q] == NO_REGION:
                        work.region[q] = region
                        work.members[end] = q
                        end += 1
                if not touches:
                    interior += 1
                if suicide or pos.board[point] == EMPTY:
                    kept = 0
                    for k in range(n_vital):
                        if beside & (1 << k):
                            work.vital[region, kept] = work.vital[region, k]
                            kept += 1
                    n_vital = kept
            work.n_vital[region] = n_vital
            work.interior[region] = interior
            work.spoiled[region] = 0
            region += 1
    work.first[region] = end
    return region


@kernel
def _eliminate(pos, colour, n_regions, work):
    """Benson's elimination: remove every chain with fewer than two eyes, and with it the regions around it.

    Afterwards `work.eyes` is at least 2 for pass-alive chains only. Returns the number of pass-alive chains.
    """
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            work.eyes[point] = 0
    for region in range(n_regions):
        for k in range(work.n_vital[region]):
            work.eyes[work.vital[region, k]] += 1
    alive = 0
    n_doomed = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            if pos.board[point] == colour and pos.chain[point] == point:
                if work.eyes[point] >= 2:
                    alive += 1
                else:
                    work.doomed[n_doomed] = point
                    n_doomed += 1
    done = 0
    while done < n_doomed and alive > 0:
        head = np.int64(work.doomed[done])
        done += 1
        stone = head
        while True:
            for i in range(4):
                region = work.region[neighbour(stone, i)]
                if region != NO_REGION and work.spoiled[region] == 0:
                    work.spoiled[region] = 1
                    for k in range(work.n_vital[region]):
                        chain = work.vital[region, k]
                        work.eyes[chain] -= 1
                        if work.eyes[chain] == 1:
                            alive -= 1
                            work.doomed[n_doomed] = chain
                            n_doomed += 1
            stone = pos.next[stone]
            if stone == head:
                break
    return alive


@kernel
def _complete_area(pos, only_safe, work):
    """Add to the pass-alive areas in `work.owned` what area scoring without tax counts besides.

    A connected empty region that reaches one colour only goes to that colour, and the other stones to their colours.
    With `only_safe`, stones that are not pass-alive and the regions that reach them stay nobody's.
    """
    for any_point in range(N_POINTS):
        work.region[any_point] = NO_REGION
    for y in range(pos.height):
        for x in range(pos.width):
            start = (y + 1) * STRIDE + x + 1
            if work.owned[start] != EMPTY or work.region[start] != NO_REGION:
                continue
            if pos.board[start] != EMPTY:
                work.owned[start] = EMPTY if only_safe else pos.board[start]
                continue
            reached = 0
            size = 1
            done = 0
            work.members[0] = start
            work.region[start] = 0
            while done < size:
                point = np.int64(work.members[done])
                done += 1
                for i in range(4):
                    q = neighbour(point, i)
                    content = pos.board[q]
                    if content == EMPTY:
                        if work.region[q] == NO_REGION:
                            work.region[q] = 0
                            work.members[size] = q
                            size += 1
                    elif content != WALL:
                        reached |= BLACK | WHITE if only_safe and work.owned[q] != content else content
            if reached in (BLACK, WHITE):
                for i in range(size):
                    work.owned[work.members[i]] = reached
