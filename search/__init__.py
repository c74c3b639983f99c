"""Ways of choosing moves. The interface is here; each way has a folder: search/NAME/player.py is the player NAME.

`puct` has the full search with a network, `alphazero` the published ones, `uct` searches with playouts, and `policy`
does not search. What several players share but is no player has a folder too: `playouts`. gtp_engine/players.py lists
the players by name.
"""
