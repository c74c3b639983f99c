"""Games that end inside the tree: whether they are over, and what their result is worth."""

from __future__ import annotations

from go_rules.phases import live_phase, passes_decide
from go_rules.points import BLACK, WHITE
from go_rules.tactics.life import final_area
from nobi_machine.jit import kernel, kernel_part


@kernel_part
def ends_game(ctx, pos, depth):
    """Return whether the passes that ended the game at `pos`, `depth` moves from the root, end it for the search too.

    With conservative passing the root's own pass never does.
    """
    if depth == 1 and ctx.settings.conservative_pass == 1:
        return False
    return passes_decide(pos, ctx.rules)


@kernel
def score_terminal(ctx, scratch, pos, node):
    """Make a finished game's result the node's own evaluation."""
    rules = ctx.rules
    board = final_area(pos, rules, live_phase(pos, rules), rules.suicide == 1, scratch.life)
    score = board + pos.white_bonus + rules.komi + rules.handicap_bonus
    set_result(node, score, ctx.settings.draw_wins_for_white)


@kernel_part
def keep_owners(ctx, scratch, row):
    """Write the owners that `score_terminal` found to a row of the tree's ownership."""
    for i in range(ctx.moves - 1):
        owner = scratch.life.area[ctx.points[i]]
        row[i] = 127 if owner == WHITE else -127 if owner == BLACK else 0


@kernel
def set_result(node, score, draw_wins):
    """Set the own evaluation of a finished game that white won by `score` points. A draw is worth `draw_wins` wins.

    KataGo's adjustment for draws: an integer score s counts as s + 1/2 with the probability draw_wins, else as s - 1/2.
    """
    win = 1.0 if score > 0.0 else 0.0 if score < 0.0 else draw_wins
    node.eval_win_loss = 2.0 * win - 1.0
    node.eval_no_result = 0.0
    node.eval_score = score
    node.eval_score_sq = score * score
    if score == round(score):
        low = score - 0.5
        high = score + 0.5
        node.eval_score = score + draw_wins - 0.5
        node.eval_score_sq = low * low + (high * high - low * low) * draw_wins
    node.eval_lead = node.eval_score
    node.eval_winloss_error = 0.0
    node.eval_score_error = 0.0


@kernel_part
def set_no_result(node):
    """Set the own evaluation of a node whose game ended without result."""
    node.eval_win_loss = 0.0
    node.eval_no_result = 1.0
    node.eval_score = 0.0
    node.eval_score_sq = 0.0
    node.eval_lead = 0.0
    node.eval_winloss_error = 0.0
    node.eval_score_error = 0.0
