"""The game that the whole engine plays on emulated processors."""

from __future__ import annotations

import re

GAME = "boardsize 9\nkomi 7\ngenmove b\ngenmove w\nshowboard\nquit\n"
MOVES = 2


def moves(replies: str) -> list[str]:
    """Return the moves among GTP replies to GAME."""
    return re.findall(r"^= ([A-HJ][1-9])\r?$", replies, re.MULTILINE)
