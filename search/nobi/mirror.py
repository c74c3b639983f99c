"""Playing against an opponent who answers every move with its mirror image: seeing it, and the search's answer to it.

Mirror play lasts until it fails, so the search has to look at what becomes of it, although no policy says that the
mirror image is a good move: positions where the mirroring side is to move give that move a share of the policy. Our
own moves in the centre, where mirror play can fail, get a share too. Where komi makes mirror play win and the
opponent has the centre, the centre's ownership counts as winning chance, because all depends on it. The idea is
KataGo's (its parameter antiMirror). This is a search for one game: nothing of it is shared with other searches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import NO_POINT, PASS, WHITE, opponent, point_at
from go_rules.position import HISTORY_MOVES
from go_rules.rules import SCORING_AREA
from nobi_machine.jit import kernel, kernel_part

MIRROR_SHARE, HOPELESS = 1.0, 3.0
"""What the mirror image of the last move adds to the shares of all moves, which sum to 1; and how many times that where
the opponent has the centre and the komi."""
CENTRE_SHARE, BESIDE_SHARE, NEAR_SHARE = 0.3, 0.05, 0.03
"""The same for the centre, for points beside it, and for those a jump away where the opponent has the centre."""
BESIDE, NEAR = 2.0, 4.0
"""Squared distances from the centre."""
CENTRE_WEIGHT = 0.7
"""What an ownership of 1 of the centre adds to the hyperbolic arctangent of win minus loss."""


@kernel
def image_of(ctx, point):
    """Return the point where turning the board by half a circle takes `point`, which must not be PASS."""
    return ctx.points[0] + ctx.points[ctx.moves - 2] - point


@kernel
def is_mirroring(ctx, pos):
    """Return whether the last moves that the position remembers were mirrored.

    It looks back as far as the last of our own passes. Where it finds none of our moves, the answer is yes.
    """
    first = 1 if pos.to_play == ctx.settings.mirroring else 0
    for j in range(first, HISTORY_MOVES - 1, 2):
        theirs, ours = pos.recent[j], pos.recent[j + 1]
        if theirs == NO_POINT or ours == NO_POINT or ours == PASS:
            break
        if theirs != image_of(ctx, ours):
            return False
    return True


@kernel
def has_centre(ctx, pos):
    """Return whether the mirroring side has a stone in the centre, and mirror play would not lose by the komi."""
    if ctx.settings.mirror_wins == 0:
        return False
    centre = ctx.points[(ctx.moves - 1) // 2]
    return image_of(ctx, centre) == centre and pos.board[centre] == ctx.settings.mirroring


@kernel
def favour_mirror_moves(ctx, leaf, shares):
    """Add what this module says to the shares [moves] of the legal moves (codes of 1), and make them sum to 1 again."""
    pos = leaf.stack[leaf.last]
    if not is_mirroring(ctx, pos):
        return
    hopeless = has_centre(ctx, pos)
    fading = 1.0 / (1.0 + math.sqrt(leaf.depth))
    wanted = -1
    if pos.to_play == ctx.settings.mirroring:
        last = pos.recent[0]
        if last == NO_POINT or last == PASS:
            return
        image = image_of(ctx, last)
        for i in range(ctx.moves):
            if leaf.codes[i] == 1 and (ctx.points[i] == image or (wanted < 0 and ctx.points[i] == PASS)):
                wanted = i
                if ctx.points[i] == image:
                    break
    total = 0.0
    for i in range(ctx.moves):
        if leaf.codes[i] == 1:
            if pos.to_play == ctx.settings.mirroring:
                if i == wanted:
                    shares[i] += (HOPELESS if hopeless else 1.0) * MIRROR_SHARE * fading
            elif i < ctx.moves - 1:
                shares[i] += _centre_share(pos, i, hopeless) * fading
            total += shares[i]
    for i in range(ctx.moves):
        if leaf.codes[i] == 1:
            shares[i] /= total


@kernel_part
def _centre_share(pos, i, hopeless):
    """What our move with index i gets for being in the centre, or near it."""
    dx = abs(i % pos.width - 0.5 * (pos.width - 1))
    dy = abs(i // pos.width - 0.5 * (pos.height - 1))
    if dx <= 0.5 and dy <= 0.5:
        return CENTRE_SHARE
    squared = dx * dx + dy * dy
    if squared <= BESIDE:
        return BESIDE_SHARE
    return NEAR_SHARE if hopeless and squared <= NEAR else 0.0


@kernel_part
def with_centre(ctx, pos, win_loss, decided, centre):
    """Correct win minus loss by the ownership of the centre, both white's view, where mirror play depends on it.

    `decided`: win plus loss. Elsewhere win minus loss comes back unchanged.
    """
    if not has_centre(ctx, pos) or not is_mirroring(ctx, pos) or decided <= 0.0:
        return win_loss
    share = min(0.999999, max(-0.999999, win_loss / decided))
    return decided * math.tanh(math.atanh(share) + CENTRE_WEIGHT * centre)


LEAST = 7
"""How many more of the opponent's moves than half of them have to be mirrored."""
RECENT, RECENT_LEAST = 4, 2
"""So many of the opponent's last moves have to be mirrored, the very last among them."""


class Mirroring(NamedTuple):
    """An opponent who plays mirror Go."""

    colour: int
    wins: bool
    """Whether the komi gives the opponent the game, or nearly so, if everything is mirrored to the end."""


def mirroring_opponent(game: Game, colour: int) -> Mirroring | None:
    """Describe the opponent of `colour` if it has mirrored most moves of the game and still does; otherwise None."""
    ends = point_at(0, 0) + point_at(game.width - 1, game.height - 1)
    replies = [
        before.point != PASS and move.point == ends - before.point
        for before, move in zip(game.moves, game.moves[1:], strict=False)
        if move.colour != colour
    ]
    if sum(replies) < LEAST + 0.5 * len(replies) or sum(replies[-RECENT:]) < RECENT_LEAST or not replies[-1]:
        return None
    other = opponent(colour)
    white_lead = float(game.record["komi"]) + float(game.record["handicap_bonus"])
    if game.rules.scoring == SCORING_AREA and game.width % 2 == 1 and game.height % 2 == 1:
        white_lead -= 1.0  # black has the centre, and with it the last point
    return Mirroring(other, (white_lead if other == WHITE else -white_lead) >= -0.5)
