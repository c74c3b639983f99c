"""Virtual loss: while a thread's playout is under way, its moves count as lost, so that other threads try others.

Source: Chaslot, Winands and van den Herik, "Parallel Monte-Carlo tree search" (2008). A visit without a win is a loss.
When the playout ends, its loss becomes the one visit that it is, and nothing else of it is left.
"""

from __future__ import annotations

from go_rules.compilation.jit import kernel


@kernel
def add_virtual_loss(node, settings):
    """Count a move as lost, because a playout through it begins."""
    node.visits += settings.virtual_losses


@kernel
def turn_loss_into_visit(node, settings):
    """Count the visit instead of the losses, because the playout through this move has ended."""
    if settings.virtual_losses != 1:
        node.visits += 1 - settings.virtual_losses
