"""Ways of choosing moves: the interface is here; `nobi` has the full search with a network, `textbook` the published
ones, `reference` one in plain Python. gtp_engine/players.py lists the players by name."""
