"""The game that all pages see, and what they can do with it."""

from __future__ import annotations

import secrets
import threading
from typing import Any

import msgspec

from go_rules.game import Game
from go_rules.points import BLACK
from go_rules.rule_names import PRESETS, rules_and_komi, rules_to_sgf
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused
from gtp_engine.session.session import Session
from gtp_engine.version import VERSION
from gtp_engine.web.engine import Engine, Look
from gtp_engine.web.streams import Stream, Streams
from gtp_engine.web.tree import GameTree, Node, Opinion
from search.result import MoveInfo, SearchResult

MOST_MOVES = 40
"""Moves of an analysis that the page is told of."""

PLAY, ANALYSE = "play", "analyse"


class New(msgspec.Struct):
    """A game to begin."""

    width: int = 19
    height: int = 19
    komi: float | None = None
    rules: str = "chinese-ogs"
    handicap: int = 0
    person: int = BLACK
    level: int = 12
    teaching: bool = False


class Play(msgspec.Struct):
    """A move at a node; the colour is that of the side to move."""

    node: int
    point: int


class LookAt(msgspec.Struct):
    """The position that a page shows."""

    node: int
    analyse: bool = True
    visits: int | None = None
    ownership: bool = True


class Table:
    """The game, the engine, and the pages that look on. Any thread may call it."""

    def __init__(self, configuration: Configuration, streams: Streams) -> None:
        self._configuration = configuration
        self._streams = streams
        self._state = {"state": "loading", "text": ""}
        width, height = configuration.engine.board
        rules, komi = rules_and_komi(configuration.engine.rules)
        self._id = self._new_id()
        self._tree = GameTree(
            width, height, rules, komi if configuration.engine.komi is None else configuration.engine.komi
        )
        self._at = self._tree.root
        self._mode, self._person, self._level, self._teaching = ANALYSE, 0, 12, False
        self._result = ""
        self._engine = Engine(Session.of(configuration, width, height), self._tell_state)
        self._lookers = 0
        self.operations = {
            "new": (New, self._new),
            "play": (Play, self._play),
            "look": (LookAt, self._look),
        }

    def begin(self) -> None:
        """Begin to load the engine."""
        self._engine.begin()

    def close(self, seconds: float) -> None:
        """End what the engine does."""
        self._engine.close(seconds)

    def carry_out(self, name: str, body: bytes) -> dict[str, Any]:
        """Do what a page asks, and return the answer. Raises what `explain` makes one line of."""
        kind, method = self.operations[name]
        try:
            request = msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            raise Refused(str(error)) from None
        self._engine.session.loader.await_rules()
        return method(request) or {}

    # --- What pages are told ----------------------------------------------------------------------------------

    def hello(self, _stream: Stream) -> dict[str, Any]:
        """Return all that a page has to know."""
        return {
            "version": VERSION,
            "name": "Nobi",
            "network": str(self._configuration.engine.net or ""),
            "networks": [],
            "rules": list(PRESETS),
            "levels": [{"id": number, "name": f"Level {number}"} for number in range(1, 13)],
            "game": self._told_game(),
            "engine": self._state,
            "games": [],
        }

    def _told_game(self) -> dict[str, Any]:
        return {**self._terms(), "nodes": [self._tree.told(node) for node in self._tree.in_order()]}

    def _terms(self) -> dict[str, Any]:
        tree = self._tree
        return {
            "id": self._id,
            "name": "",
            "file": None,
            "width": tree.width,
            "height": tree.height,
            "komi": tree.komi,
            "rules": rules_to_sgf(tree.rules),
            "handicap": len(tree.handicap),
            "black": "",
            "white": "",
            "result": self._result,
            "at": self._at.id,
            "mode": self._mode,
            "person": self._person,
            "level": self._level,
            "teaching": self._teaching,
            "limit": 2.0,
            "clock": None,
            "unsaved": False,
        }

    def _tell_nodes(self, *nodes: Node, removed: list[int] | None = None) -> None:
        self._streams.publish(
            "nodes",
            {
                "game": self._id,
                "nodes": [self._tree.told(node) for node in nodes],
                "removed": removed or [],
                "at": self._at.id,
                "result": self._result,
            },
        )

    def _tell_state(self, state: str, text: str) -> None:
        with self._streams.lock:
            self._state = {"state": state, "text": text}
            self._streams.publish("engine", self._state)

    # --- What pages do ----------------------------------------------------------------------------------------

    def _new(self, new: New) -> None:
        rules, usual = rules_and_komi(new.rules)
        try:
            Game(new.width, new.height)
        except ValueError as error:
            raise Refused(str(error)) from None
        with self._streams.lock:
            self._engine.interrupt()
            self._engine.look(None)
            self._tree = GameTree(new.width, new.height, rules, usual if new.komi is None else new.komi)
            self._id, self._at, self._result = self._new_id(), self._tree.root, ""
            self._person, self._level, self._teaching = new.person, new.level, new.teaching
            self._mode = PLAY if new.person else ANALYSE
            self._streams.publish("game", self._told_game())
            self._go_on()

    def _play(self, play: Play) -> dict[str, Any]:
        with self._streams.lock:
            tree, node = self._tree, self._tree.node(play.node)
            is_of_game = self._mode == PLAY and node is self._at
            if is_of_game and node.to_play != self._person:
                raise Refused("it is the engine's turn")
            child, _ = tree.play(node, node.to_play, tree.from_page(play.point))
            if is_of_game or self._mode == ANALYSE:
                self._at = child
            self._tell_nodes(child)
            if is_of_game:
                self._go_on()
            return {"node": child.id}

    def _go_on(self) -> None:
        """Ask the engine for its move, where it is its turn."""
        node = self._at
        if self._mode != PLAY or node.to_play == self._person or self._result:
            return
        game, number = self._tree.board(node).copy(), self._id

        def reply(stop: threading.Event) -> None:
            self._engine.session.replace_game(game.copy(), game.komi)
            decision = self._engine.session.think(game.to_play, stop)
            with self._streams.lock:
                if decision.is_cancelled or self._id != number or self._at is not node:
                    return
                self._at, _ = self._tree.play(node, decision.colour, decision.point)
                self._tell_nodes(self._at)

        self._engine.ask(reply)

    def _look(self, look: LookAt) -> None:
        with self._streams.lock:
            node = self._tree.node(look.node)
            if not look.analyse:
                self._engine.look(None)
                return
            number = self._id
            key = (number, node.id, look.visits, look.ownership)

            def report(result: SearchResult, done: bool) -> None:
                self._found(number, node, result, done)

            self._engine.look(Look(key, self._tree.board(node).copy(), look.visits, look.ownership, report))

    def left(self, _stream: Stream) -> None:
        """Stop analysing when nobody looks any more."""

    def _found(self, game: str, node: Node, result: SearchResult, done: bool) -> None:
        """Keep what an analysis found, and tell the pages."""
        with self._streams.lock:
            if game != self._id or not result.moves:
                return
            is_black, tree = result.colour == BLACK, self._tree

            def told(move: MoveInfo) -> dict[str, Any]:
                return {
                    "point": tree.on_page(move.point),
                    "visits": move.visits,
                    "winrate": move.winrate if is_black else 1.0 - move.winrate,
                    "lead": move.lead if is_black else -move.lead,
                    "prior": move.prior,
                    "order": move.order,
                    "pv": [tree.on_page(point) for point in move.pv],
                }

            winrate = result.winrate if is_black else 1.0 - result.winrate
            lead = result.lead if is_black else -result.lead
            ranks = {tree.on_page(move.point): move.order + 1 for move in result.moves if move.visits}
            node.opinion = Opinion(result.visits, winrate, lead, ranks)
            owners = None if result.ownership is None else result.ownership * (100 if is_black else -100)
            self._streams.publish(
                "analysis",
                {
                    "game": game,
                    "node": node.id,
                    "visits": result.visits,
                    "per_second": round(result.new_visits / result.seconds, 1) if result.seconds else 0.0,
                    "winrate": winrate,
                    "lead": lead,
                    "moves": [told(move) for move in result.moves[:MOST_MOVES]],
                    "ownership": None if owners is None else owners.astype(int).tolist(),
                    "done": done,
                },
            )
            if done:
                self._tell_nodes(node, *node.children)

    @staticmethod
    def _new_id() -> str:
        return secrets.token_hex(6)
