"""Unconditional life and the owner of each point, for scoring and for two of the networks' input planes.

A chain is pass-alive if its owner may always pass and still keeps it (Benson, "Life in the game of Go", Information
Sciences 10, 1976). Areas, territories and the living regions that a group tax counts are defined by it. The definitions
are those of KataGo's rules (https://lightvector.github.io/KataGo/rules.html), because the networks were trained on such
scores.

Results are in the work record (LIFE_WORK) as areas: the owner of each point, EMPTY, BLACK or WHITE. Sets of points are
rows of bits: bit x of row y + 1 is the point (x, y), so a whole row is looked at in one step. Rows 0 and height + 1
stand for the walls, and stay empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.board import neighbour
from go_rules.points import BLACK, EMPTY, MAX_SIZE, N_POINTS, STRIDE, WALL, WHITE
from go_rules.position import MARK_BLACK_AT_CLEANUP_2, MARK_WHITE_AT_CLEANUP_2, PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA, TAX_ALL, TAX_NONE
from nobi_machine.jit import kernel, kernel_for_python, kernel_part

BIT_ROWS = MAX_SIZE + 2
"""Rows of a set, walls included."""


@kernel
def put_neighbours(points, allowed, height, out):
    """Fill `out` with the points of `allowed` that are next to one of `points`."""
    for y in range(1, height + 1):
        row = points[y]
        out[y] = ((row << 1) | (row >> 1) | points[y - 1] | points[y + 1]) & allowed[y]


@kernel
def spread(points, allowed, height):
    """Add to `points`, which are `allowed`, all that are connected with them through `allowed` points."""
    for y in range(1, height + 1):
        points[y] = _spread_in_row(points[y], allowed[y])
    downwards = False
    changed = True
    while changed:
        downwards = not downwards
        changed = False
        for turn in range(height):
            y = turn + 1 if downwards else height - turn
            before = points[y]
            row = before | ((points[y - 1] | points[y + 1]) & allowed[y])
            if row != before:
                points[y] = _spread_in_row(row, allowed[y])
                changed = True


@kernel
def _spread_in_row(points, allowed):
    """Let points spread both ways along a row where nothing lies between: up in one addition, whose carries run through
    what is allowed, then down by 1, 2, 4, 8 and 16 places."""
    points |= allowed & (allowed ^ (allowed + points))
    way = allowed
    for step in (1, 2, 4, 8, 16):
        points |= way & (points >> step)
        way &= way >> step
    return points


MAX_REGIONS = (MAX_SIZE * MAX_SIZE + 1) // 2 + 1
"""The most regions, which do not touch each other: those of a chequerboard; and one more for the end mark."""

LIFE_WORK = np.dtype(
    [
        # Results.
        ("area", "i1", (N_POINTS,)),  # who owns each point, by final_area or safe_area
        ("owned", "i1", (N_POINTS,)),  # by pass_alive_area, a work field of final_area
        # Work.
        ("points", "i8", (3, BIT_ROWS)),  # as rows of bits: the empty points, black's and white's stones
        ("allowed", "i8", (BIT_ROWS,)),  # as rows of bits, as the fields that follow: points without stones of a colour
        ("inside", "i8", (BIT_ROWS,)),  # those of them that touch no stone of the colour
        ("open", "i8", (BIT_ROWS,)),  # those of them in regions that count for nothing
        ("reached", "i8", (3, BIT_ROWS)),  # empty points that are connected with each colour's stones
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
def _end(pos):
    """The number of a board's points, its walls included: all that neighbours of its stones can be."""
    return (pos.height + 2) * STRIDE


@kernel_for_python
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
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            content = pos.board[point]
            owner = work.owned[point]
            if rules.scoring == SCORING_AREA:
                if keeps_all or (owner != EMPTY and owner == content):
                    work.area[point] = owner
            else:
                if rules.tax == TAX_NONE and owner != EMPTY and owner != content:
                    work.area[point] = owner
                if work.area[point] == EMPTY and content in (BLACK, WHITE):
                    # A stone outside all territory counts; during the second clean-up if it stood there from its start.
                    mark = MARK_BLACK_AT_CLEANUP_2 if content == BLACK else MARK_WHITE_AT_CLEANUP_2
                    if phase < PHASE_CLEANUP_2 or pos.marks[point] & mark:
                        work.area[point] = content
            if work.area[point] == WHITE:
                score += 1
            elif work.area[point] == BLACK:
                score -= 1
    return score


@kernel_for_python
def safe_area(pos, suicide, work):
    """Find who owns a point for certain: pass-alive chains, what they enclose, and empty regions beside them alone.

    Fills `work.area`. `suicide` is as in `final_area`.
    """
    pass_alive_area(pos, suicide, work)
    _complete_area(pos, np.bool_(True), work)
    for point in range(_end(pos)):
        work.area[point] = work.owned[point]


@kernel_for_python
def pass_alive_area(pos, suicide, work):
    """Find both colours' pass-alive chains and the regions that they enclose; fills `work.owned`.

    A region of a colour is a connected set of points without stones of that colour. It is vital to a chain if each of
    its empty points (with `suicide`: each of its points) is next to that chain. A chain is pass-alive if two regions
    are vital to it and the chains around these are pass-alive too. A region that only pass-alive chains surround
    belongs to them if the opponent cannot live inside: if at most one of its points touches none of their stones.
    """
    for point in range(_end(pos)):
        work.owned[point] = EMPTY
    _find_rows(pos, work)
    for colour in range(BLACK, WHITE + 1):
        n_regions = _find_regions(pos, colour, suicide, work)
        if _eliminate(pos, colour, n_regions, work) == 0:
            continue
        for y in range(pos.height):
            row = (y + 1) * STRIDE + 1
            for point in range(row, row + pos.width):
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
    for any_point in range(_end(pos)):
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


@kernel_part
def _find_rows(pos, work):
    """Write the board as rows of bits, `work.points`."""
    for content in range(3):
        work.points[content, pos.height + 1] = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        black = np.int64(0)
        white = np.int64(0)
        for x in range(pos.width):
            black |= np.int64(pos.board[row + x] == BLACK) << x
            white |= np.int64(pos.board[row + x] == WHITE) << x
        work.points[BLACK, y + 1] = black
        work.points[WHITE, y + 1] = white
        work.points[EMPTY, y + 1] = ((1 << pos.width) - 1) ^ (black | white)


@kernel_part
def _find_open_regions(height, colour, work):
    """Find the regions of `colour` that are vital to no chain and that nobody owns, `work.open`: most of the board.

    They have an empty point that touches no stone of that colour, so they are vital to none, and beside it another that
    touches none: room for the opponent.
    """
    for y in range(height + 2):
        work.allowed[y] = work.points[EMPTY, y] | work.points[3 - colour, y]
    put_neighbours(work.points[colour], work.allowed, height, work.inside)
    for y in range(1, height + 1):
        work.inside[y] ^= work.allowed[y]
    work.inside[height + 1] = 0
    put_neighbours(work.inside, work.inside, height, work.open)
    for y in range(1, height + 1):
        work.open[y] &= work.points[EMPTY, y]
    work.open[height + 1] = 0
    spread(work.open, work.allowed, height)


@kernel
def _find_regions(pos, colour, suicide, work):
    """Divide the points without stones of `colour` into regions, with what Benson's algorithm needs of each.

    Leaves open regions out. Fills all fields about regions; returns their number.
    """
    _find_open_regions(pos.height, colour, work)
    for any_point in range(_end(pos)):
        work.region[any_point] = NO_REGION
    region = 0
    end = 0
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        # Every region has an empty point, since its stones have liberties.
        starts = work.points[EMPTY, y + 1] & ~work.open[y + 1]
        for x in range(pos.width):
            start = row + x
            if (starts >> x) & 1 == 0 or work.region[start] != NO_REGION:
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
    for any_point in range(_end(pos)):
        work.eyes[any_point] = 0
    most = 0
    for region in range(n_regions):
        for k in range(work.n_vital[region]):
            work.eyes[work.vital[region, k]] += 1
            most = max(most, work.eyes[work.vital[region, k]])
    if most < 2:
        return 0
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
    height = pos.height
    if only_safe:
        # An unsafe stone counts for both, so what it reaches is nobody's.
        for y in range(height):
            row = (y + 1) * STRIDE + 1
            unsafe = np.int64(0)
            for x in range(pos.width):
                point = row + x
                unsafe |= np.int64(pos.board[point] != EMPTY and work.owned[point] != pos.board[point]) << x
            work.points[BLACK, y + 1] |= unsafe
            work.points[WHITE, y + 1] |= unsafe
    for colour in range(BLACK, WHITE + 1):
        put_neighbours(work.points[colour], work.points[EMPTY], height, work.reached[colour])
        work.reached[colour, height + 1] = 0
        spread(work.reached[colour], work.points[EMPTY], height)
    for y in range(height):
        row = (y + 1) * STRIDE + 1
        blacks = work.reached[BLACK, y + 1] & ~work.reached[WHITE, y + 1]
        whites = work.reached[WHITE, y + 1] & ~work.reached[BLACK, y + 1]
        for x in range(pos.width):
            point = row + x
            if work.owned[point] != EMPTY:
                continue
            if pos.board[point] != EMPTY:
                work.owned[point] = EMPTY if only_safe else pos.board[point]
            elif (blacks >> x) & 1:
                work.owned[point] = BLACK
            elif (whites >> x) & 1:
                work.owned[point] = WHITE
