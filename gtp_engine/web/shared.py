"""The game that all pages see: what is told of it, and the file in the folder of games that it is kept in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from go_rules.game import Game
from go_rules.points import BLACK
from gtp_engine.errors import explain
from gtp_engine.review.judged import LONGEST_LINE, Opinion
from gtp_engine.session.records import GameFiles
from gtp_engine.web.game import OpenGame
from gtp_engine.web.games import Games
from gtp_engine.web.refusals import Said, said
from gtp_engine.web.streams import Streams
from gtp_engine.web.tree import Node
from search.result import MoveInfo, SearchResult

MOST_MOVES = 40
"""Moves of an analysis that pages are told of."""


class SharedGame:
    """The game on the board. Whoever reads or changes it holds `lock`, and tells the pages before letting go of it."""

    game: OpenGame
    """Another one when it is replaced, so that who has thought about one finds out."""

    def __init__(self, streams: Streams, games: Games, game: OpenGame) -> None:
        self.lock = streams.lock
        self.games = games
        self.game = game
        self.publish = streams.publish

    def has(self, game: OpenGame, node: Node) -> bool:
        """Return whether a node of a game is still on the board."""
        return self.game is game and game.tree.nodes.get(node.id) is node

    def position(self, game: OpenGame, node: Node | None) -> Game | None:
        """Return a copy of the position at a node; None where it is not on the board any more."""
        with self.lock:
            return game.tree.board(node).copy() if node is not None and self.has(game, node) else None

    def tell_all(self) -> None:
        """Tell pages the whole game: it is another one, or the order of its variations has changed."""
        self.publish("game", self.game.told())

    def tell(self, *nodes: Node, removed: Sequence[int] = ()) -> None:
        """Tell pages what has changed: how the game stands, nodes, and the ids of those that were removed."""
        game = self.game
        told = [game.tree.told(node) for node in nodes]
        self.publish("nodes", {**game.terms(), "game": game.id, "nodes": told, "removed": removed})

    def say(self, *texts: Said, kind: str = "error") -> None:
        """Show these texts in a line on all pages. `kind` is `error` or `info`."""
        self.publish("message", {"texts": texts, "kind": kind})

    def changed(self, *nodes: Node, removed: Sequence[int] = ()) -> None:
        """Keep the game, and tell pages what has changed."""
        self._keep()
        self.tell(*nodes, removed=removed)

    def think_of(self, node: Node, result: SearchResult) -> None:
        """Keep what a search thinks of a node, unless a longer one was there before."""
        if result.moves and (node.opinion is None or node.opinion.visits <= result.visits):
            node.opinion = Opinion.of(result)

    def tell_analysis(self, node: Node, result: SearchResult, is_done: bool) -> dict[str, Any]:
        """Tell pages what a search has found at a node, and return that."""
        is_black, on_page = result.colour == BLACK, self.game.tree.on_page
        winrate, lead = Opinion.of(result).of_black
        owners = None if result.ownership is None else result.ownership * (100 if is_black else -100)

        def told(move: MoveInfo) -> dict[str, Any]:
            return {
                "point": on_page(move.point),
                "visits": move.visits,
                "winrate": round(move.winrate if is_black else 1.0 - move.winrate, 4),
                "lead": round(move.lead if is_black else -move.lead, 2),
                "order": move.order,
                "pv": [on_page(point) for point in move.pv[:LONGEST_LINE]],
            }

        found = {
            "game": self.game.id,
            "node": node.id,
            "to_play": result.colour,
            "visits": result.visits,
            "winrate": round(winrate, 4),
            "lead": round(lead, 2),
            "per_second": round(result.new_visits / result.seconds, 1) if result.seconds else 0.0,
            "moves": [told(move) for move in result.moves[:MOST_MOVES]],
            "ownership": None if owners is None else owners.round().astype(int).tolist(),
            "done": is_done,
        }
        self.publish("analysis", found)
        return found

    def _keep(self) -> None:
        """Write the game to the folder of games: to another file where somebody has changed its own."""
        if self.game.problem is not None:
            return
        game, content = self.game, self.game.to_keep()
        game.unsaved = game.source is not None
        try:
            if game.kept is not None:
                game.kept.keep(content)
                return
        except OSError:
            game.kept = None
            self._rename()
            self.say(said("kept_elsewhere"))
        try:
            while game.kept is None:
                kept = GameFiles(self.games.path_of(game.id))
                try:
                    kept.keep(content)
                    game.kept = kept
                except FileExistsError:  # another `nobi web` has begun one in the same second
                    self._rename()
        except OSError as error:
            game.unsaved = True
            self.say(said("not_kept", text=explain(error)))

    def _rename(self) -> None:
        self.game.id = self.games.new_name()
        self.tell_all()
