"""All stories of all clients."""

from __future__ import annotations

from tests.gtp_engine.clients import (
    cgos,
    gogui,
    gomill,
    gtp2ogs,
    katrain,
    kgs,
    lizgoban,
    lizzie,
    lizzieyzy,
    ogatak,
    q5go,
    sabaki,
)
from tests.gtp_engine.clients.talk import STORIES

CLIENTS = (sabaki, gtp2ogs, kgs, cgos, lizzie, lizzieyzy, lizgoban, q5go, ogatak, gogui, gomill, katrain)
"""A module for each client, or for those of one maker: importing it has registered its stories."""

ALL = tuple(STORIES)
