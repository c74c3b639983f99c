"""Ways of choosing moves. The interface is here; each way has a folder.

`puct` has the full search with a network, `textbook` the published ones, with networks and with playouts, and `policy`
does not search. gtp_engine/players.py lists the players by name.
"""
