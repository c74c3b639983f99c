"""What pages can do with the game that they all see, and what they are told of it. Any thread may call a table."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from go_rules.game import Move
from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap
from go_rules.points import BLACK, WHITE, opponent
from go_rules.rule_names import PRESETS, rules_and_komi
from go_rules.sgf.grammar import MAX_BYTES
from go_rules.sgf.reader import Setup
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused, explain
from gtp_engine.session.estimate import is_finished
from gtp_engine.session.records import GameFiles, conditions, followed, is_writable
from gtp_engine.version import VERSION
from gtp_engine.web import requests
from gtp_engine.web.counting import Count, GameClock
from gtp_engine.web.engine import Engine, Look
from gtp_engine.web.game import ANALYSE, PLAY, OpenGame, require_level
from gtp_engine.web.games import Games
from gtp_engine.web.judgement import Opinion, told_result
from gtp_engine.web.levels import LEVELS
from gtp_engine.web.networks import fetch_network, told_networks
from gtp_engine.web.play import dead_stones, judge, move_of
from gtp_engine.web.streams import Streams
from gtp_engine.web.tree import GameTree, Node
from nobi_machine.files import read_regular
from nobi_machine.text import printable
from search.result import RESIGN, SearchResult

R = TypeVar("R", bound=requests.Request)


class Table:
    """The game, the engine, and the pages that look on."""

    def __init__(self, configuration: Configuration, streams: Streams) -> None:
        self._streams = streams
        self._engine_state = {"state": "loading", "text": ""}
        self._games = Games()
        self.engine = Engine(configuration, self._tell_state)
        self._looks: dict[str, Look] = {}
        """By the names of pages, the last one last; those of pages that gave none by ''."""
        self._flag: threading.Timer | None = None
        tree = GameTree(*configuration.engine.board, *conditions(configuration))
        self._game = OpenGame(self._games.new_name(), tree, tree.root)
        self.operations: dict[str, Callable[[bytes], dict[str, Any]]] = {
            "new": self._as(requests.New, self._new),
            "play": self._as(requests.Play, self._play),
            "undo": self._as(requests.Request, self._undo),
            "resign": self._as(requests.Request, self._resign),
            "hurry": self._as(requests.Request, lambda _: self.engine.hurry()),
            "go_on": self._as(requests.Request, self._go_on),
            "look": self._as(requests.Look, self._look),
            "hint": self._as(requests.At, lambda at: self._glance(at, is_threat=False)),
            "threat": self._as(requests.At, lambda at: self._glance(at, is_threat=True)),
            "score": self._as(requests.At, self._score),
            "dead": self._as(requests.Point, self._dead),
            "agree": self._as(requests.Request, self._agree),
            "edit": self._as(requests.Edit, self._edit),
            "open": self._as(requests.Open, self._open),
            "open_saved": self._as(requests.Saved, self._open_saved),
            "delete_saved": self._as(requests.Saved, self._delete_saved),
            "save": self._as(requests.Request, self._save),
            "settings": self._as(requests.Settings, self._settings),
            "network": self._as(requests.Network, self._network),
        }
        """What pages may ask for: each takes JSON and returns the answer, and raises what `explain` puts in a line."""

    def _as(self, kind: type[R], carry_out: Callable[[R], dict[str, Any] | None]) -> Callable[[bytes], dict[str, Any]]:
        def take(body: bytes) -> dict[str, Any]:
            try:
                request = msgspec.json.decode(body, type=kind)
            except (msgspec.DecodeError, RecursionError) as error:
                raise Refused(printable(str(error))) from None
            self.engine.rules_ready.wait()
            return carry_out(request) or {}

        return take

    def open_file(self, path: Path) -> None:
        """Put the game of a file on the board. Raises UserError and OSError."""
        content = read_regular(path, MAX_BYTES)
        game = self._read(path.name, content)
        target = followed(path)
        game.source = GameFiles(target, content) if is_writable(target) else None
        self._game = game

    def left(self, page: str) -> None:
        """Have the engine do no more for a page that has left."""
        with self._streams.lock:
            self._looks.pop(page, None)
            if not self._streams.has_readers:
                self._looks.clear()
            self.engine.look(next(reversed(self._looks.values()), None))

    def download(self) -> tuple[str, bytes]:
        """Return a name for the game's file, and its content."""
        with self._streams.lock:
            return Path(self._game.file or f"{self._game.id}.sgf").name, self._game.tree.write()

    # --- What pages are told ----------------------------------------------------------------------------------

    def hello(self, page: str) -> dict[str, Any]:
        """Return all that a page, which is called so, has to know."""
        return {
            "version": VERSION,
            "name": "Nobi",
            "page": page,
            **told_networks(self.engine.configuration),
            "rules": list(PRESETS),
            "levels": [{"id": level.id, "name": level.name} for level in LEVELS.values()],
            "game": self._game.told(),
            "engine": self._engine_state,
            "games": self._games.listed(),
        }

    def _tell_nodes(self, *nodes: Node, removed: list[int] | None = None) -> None:
        game = self._game
        told = [game.tree.told(node) for node in nodes]
        self._streams.publish("nodes", {**game.terms(), "game": game.id, "nodes": told, "removed": removed or []})

    def _tell_game(self) -> None:
        self._streams.publish("game", self._game.told())

    def _tell_state(self, state: str, text: str) -> None:
        with self._streams.lock:
            self._engine_state = {"state": state, "text": text}
            self._streams.publish("engine", self._engine_state)

    def _tell_progress(self, done: int, total: int) -> None:
        self._streams.publish(
            "progress", {"text": f"{done / 1e6:.1f}/{total / 1e6:.1f} MB", "done": done, "total": total}
        )

    def _say(self, text: str, kind: str = "error") -> None:
        self._streams.publish("message", {"text": text, "kind": kind})

    # --- Games ------------------------------------------------------------------------------------------------

    def _new(self, new: requests.New) -> None:
        rules, usual = rules_and_komi(new.rules)
        require_level(new.level)
        clock = None if new.clock is None else GameClock(**msgspec.structs.asdict(new.clock))
        has_stones = new.handicap or new.free_handicap
        komi = new.komi if new.komi is not None else HANDICAP_KOMI if has_stones else usual
        tree = GameTree(new.width, new.height, rules, komi)
        try:
            fixed = fixed_handicap(new.handicap, new.width, new.height) if new.handicap else []
        except HandicapError as error:
            raise Refused(str(error)) from None
        stones = tuple(dict.fromkeys(tree.from_page(each) for each in new.free_handicap)) or tuple(fixed)
        if stones:
            tree = GameTree(new.width, new.height, rules, komi, stones)
            tree.board(tree.root)
        game = OpenGame(self._games.new_name(), tree, tree.root, PLAY if new.person else ANALYSE, new.person)
        game.level, game.teaching, game.limit, game.clock = new.level, new.teaching, new.limit, clock
        if new.person:
            game.name_players()
        self._replace(game)

    def _open(self, file: requests.Open) -> None:
        self._replace(self._read(file.name, file.content))

    def _open_saved(self, saved: requests.Saved) -> None:
        path = self._games.path(saved.id)
        content = read_regular(path, MAX_BYTES)
        game = self._read("", content)
        game.id, game.kept = saved.id, GameFiles(path, content)
        self._replace(game)

    def _read(self, name: str, content: bytes) -> OpenGame:
        game = OpenGame.read(self._games.new_name(), content, *conditions(self.engine.configuration))
        game.file = printable(name, 100)
        if game.tree.left_out:
            self._say(f"{game.file}: {game.tree.left_out}; the position before it is shown")
        return game

    def _delete_saved(self, saved: requests.Saved) -> None:
        with self._streams.lock:
            if saved.id == self._game.id:
                raise Refused("this game is on the board; begin or open another one first")
            self._games.path(saved.id).unlink()
            self._streams.publish("games", {"games": self._games.listed()})

    def _save(self, _: requests.Request) -> None:
        with self._streams.lock:
            game = self._game
            if game.source is None:
                raise Refused("there is no file to write back to; download the game instead")
            game.source.keep(game.tree.write())
            game.unsaved = False
            self._tell_nodes()

    def _replace(self, game: OpenGame) -> None:
        """Put another game on the board."""
        with self._streams.lock:
            self.engine.interrupt()
            self._looks.clear()
            self.engine.look(None)
            self._game = game
            self._tell_game()
            self._go_on(requests.Request())

    def _keep(self) -> None:
        """Write the game to the folder of games."""
        game = self._game
        game.unsaved = game.source is not None
        try:
            if game.kept is None:
                game.kept = GameFiles(self._games.path_of(game.id))
                game.kept.keep(game.to_keep())
                self._streams.publish("games", {"games": self._games.listed()})
            else:
                game.kept.keep(game.to_keep())
        except OSError as error:
            game.unsaved = True
            game.id, game.kept = self._games.new_name(), None  # the next move tries again, in a new file
            self._say(f"not kept: {explain(error)}; the next move tries again in another file, and so does a download")
            self._tell_game()

    def _changed(self, *nodes: Node, removed: list[int] | None = None) -> None:
        """Keep the game, and tell the pages."""
        self._keep()
        self._tell_nodes(*nodes, removed=removed)

    # --- Play -------------------------------------------------------------------------------------------------

    def _play(self, play: requests.Play) -> dict[str, Any]:
        with self._streams.lock:
            game, node = self._game, self._game.tree.node(play.node)
            goes_on = game.mode == PLAY and node is game.at and not game.result
            if goes_on and game.is_engines_turn():
                raise Refused("it is the engine's turn")
            child = game.tree.play(node, node.to_play, game.tree.from_page(play.point))
            if goes_on:
                self._moved(child)
            else:
                game.at = child if game.mode == ANALYSE else game.at
                self._changed(child)
            return {"node": child.id}

    def _moved(self, child: Node) -> None:
        """Go on with the game after a move of either side."""
        game = self._game
        game.at, game.count, game.offer = child, None, None
        is_reordered = game.tree.promote(child)
        if game.clock is not None:
            game.clock.press(0)
        self._changed(child)
        if is_reordered:
            self._tell_game()
        self._go_on(requests.Request())

    def _go_on(self, _: requests.Request) -> None:
        """Start the clock, count where both have passed, and ask the engine for its move where it is its turn."""
        with self._streams.lock:
            game, node = self._game, self._game.at
            is_judged, game.offer = game.offer is not None or not game.teaching, None
            is_engines = game.is_engines_turn()
            if is_judged or not is_engines:
                self._start_clock()
            if game.mode != PLAY or game.result or game.count is not None:
                return
            position = game.tree.board(node).copy()
            if is_finished(position):
                self._ask_to_count(node)
                return
            if not is_engines:
                return

            def reply(stop: threading.Event) -> None:
                lost_too_much = not is_judged and judge(self.engine, game, node, self._streams.lock, stop)
                with self._streams.lock:
                    if self._game is not game or game.at is not node or game.result:
                        return
                    if not is_judged:
                        self._tell_nodes(node, *filter(None, [node.parent]))
                    if lost_too_much:
                        return
                    self._start_clock()
                point, result = move_of(self.engine, game, position, stop)
                with self._streams.lock:
                    if self._game is not game or game.at is not node or game.result:
                        return
                    self._think_of(node, result)
                    if point == RESIGN:
                        self._end(opponent(node.to_play), "R")
                    else:
                        self._moved(game.tree.play(node, node.to_play, point))

            self._report_failure(self.engine.ask(reply))

    def _report_failure(self, future: Future[Any]) -> None:
        """Tell pages why nothing came of what nobody waits for."""

        def look(done: Future[Any]) -> None:
            if not done.cancelled() and (error := done.exception()) is not None:
                self._say(explain(error))

        future.add_done_callback(look)

    def _undo(self, _: requests.Request) -> None:
        with self._streams.lock:
            game, node = self._game, self._game.at
            self.engine.interrupt()
            if game.mode == ANALYSE:
                if node.parent is None:
                    raise Refused("there is no move to take back")
                game.at = node.parent
                self._changed(removed=None if node.children else game.tree.remove(node))
                return
            resigned = game.result.endswith("+R") and not game.result.startswith("BW"[game.person - 1])
            while not resigned and (node.move is None or node.move.colour != game.person):
                if node.parent is None:
                    raise Refused("there is no move of yours to take back")
                node = node.parent
            game.at = node if resigned or node.parent is None else node.parent
            game.count = None
            game.end("")
            self._changed()
            self._go_on(requests.Request())

    def _resign(self, _: requests.Request) -> None:
        with self._streams.lock:
            game = self._game
            if game.mode != PLAY or game.result:
                raise Refused("there is no game that goes on")
            self.engine.interrupt()
            self._end(opponent(game.person), "R")

    def _end(self, winner: int, how: str) -> None:
        self._game.end(f"{'BW'[winner - 1]}+{how}")
        self._start_clock()
        self._changed()

    def _start_clock(self) -> None:
        """Start the clock of the side to move where the game goes on, and end the game when it is over."""
        game, node = self._game, self._game.at
        if self._flag is not None:
            self._flag.cancel()
            self._flag = None
        if game.clock is None or game.mode != PLAY or game.result:
            return
        game.clock.press(node.to_play)
        self._streams.publish("clock", {"game": game.id, "clock": game.clock.told()})

        def flag() -> None:
            with self._streams.lock:
                if self._game is game and game.at is node and not game.result:
                    self._end(opponent(node.to_play), "T")

        self._flag = threading.Timer(max(0.0, game.clock.seconds_left()), flag)
        self._flag.daemon = True
        self._flag.start()

    def _settings(self, settings: requests.Settings) -> None:
        with self._streams.lock:
            game = self._game
            if settings.level is not None:
                require_level(settings.level)
                game.level = settings.level
            game.teaching = game.teaching if settings.teaching is None else settings.teaching
            game.limit = game.limit if settings.limit is None else settings.limit
            if settings.person is not None:
                node = game.at if settings.node is None else game.tree.node(settings.node)
                if settings.person and (game.mode != PLAY or node is not game.at):
                    game.end("")
                game.person, game.mode, game.at = settings.person, PLAY if settings.person else ANALYSE, node
                game.count = None
            if game.mode == PLAY:
                game.name_players()
            if settings.person is not None:
                self.engine.interrupt()
                self._go_on(requests.Request())
            self._tell_nodes()

    # --- Counting ---------------------------------------------------------------------------------------------

    def _ask_to_count(self, node: Node) -> Future[dict[str, Any]]:
        """Have the engine say which stones are dead at a node, and count. The count of the game is kept."""
        game = self._game
        position = game.tree.board(node).copy()

        def count(stop: threading.Event) -> dict[str, Any]:
            found = Count(position, dead_stones(self.engine, position, stop))
            with self._streams.lock:
                if self._game is game and game.at is node and is_finished(position):
                    game.count = found
                    self._tell_nodes()
            return found.told()

        future = self.engine.ask(count)
        self._report_failure(future)
        return future

    def _score(self, at: requests.At) -> dict[str, Any]:
        with self._streams.lock:
            future = self._ask_to_count(self._node(at))
        return self._answer(future)

    def _dead(self, dead: requests.Point) -> dict[str, Any]:
        with self._streams.lock:
            game = self._game
            game.count = self._counted(game).toggled(game.tree.from_page(dead.point))
            self._tell_nodes()
            return game.count.told()

    def _agree(self, _: requests.Request) -> None:
        with self._streams.lock:
            self._game.end(self._counted(self._game).result)
            self._start_clock()
            self._changed()

    @staticmethod
    def _counted(game: OpenGame) -> Count:
        if game.count is None:
            raise Refused("nothing is being counted; both sides have to pass first")
        return game.count

    # --- Analysis ---------------------------------------------------------------------------------------------

    def _node(self, at: requests.At) -> Node:
        return self._game.at if at.node is None else self._game.tree.node(at.node)

    def _look(self, look: requests.Look) -> None:
        with self._streams.lock:
            game, node = self._game, self._game.tree.node(look.node)
            self._looks.pop(look.page, None)
            if look.analyse:
                key = (game.id, node.id, look.visits, look.ownership)

                def report(result: SearchResult, is_done: bool) -> None:
                    with self._streams.lock:
                        if self._game is game and result.moves:
                            self._think_of(node, result)
                            told = {"game": game.id, "node": node.id, **told_result(result, game.tree.on_page)}
                            self._streams.publish("analysis", {**told, "done": is_done})
                            if is_done:
                                self._tell_nodes(node, *node.children)

                position = game.tree.board(node).copy()
                self._looks[look.page] = Look(key, position, look.visits, look.ownership, report)
            self.engine.look(next(reversed(self._looks.values()), None))

    def _think_of(self, node: Node, result: SearchResult) -> None:
        """Keep what a search thinks of a node, unless a longer one was there before."""
        if result.moves and (node.opinion is None or node.opinion.visits <= result.visits):
            node.opinion = Opinion.of(result, self._game.tree.on_page)

    def _glance(self, at: requests.At, is_threat: bool) -> dict[str, Any]:
        """Return what the side to move would play, or the other side in its place."""
        with self._streams.lock:
            game, node = self._game, self._node(at)
            position = game.tree.board(node).copy()
        colour = opponent(node.to_play) if is_threat else node.to_play
        result = self._answer(self.engine.ask(lambda stop: self.engine.glance(position, stop, colour)))
        return {"node": node.id, "colour": colour, **told_result(result, game.tree.on_page)}

    @staticmethod
    def _answer(future: Future[Any]) -> Any:
        try:
            return future.result()
        except CancelledError:
            raise Refused("interrupted") from None

    # --- Editing ----------------------------------------------------------------------------------------------

    def _edit(self, edit: requests.Edit) -> dict[str, Any]:
        with self._streams.lock:
            game, tree, node = self._game, self._game.tree, self._game.tree.node(edit.node)
            if edit.delete:
                self._delete(node)
                return {}
            if edit.setup is not None:
                stones = [Move(BLACK, tree.from_page(p)) for p in edit.setup.black]
                stones += [Move(WHITE, tree.from_page(p)) for p in edit.setup.white]
                cleared = tuple(tree.from_page(p) for p in edit.setup.empty)
                node = tree.set_up(node, Setup(tuple(stones), cleared, edit.setup.to_play or None))
                game.at = node if game.mode == ANALYSE else game.at
            if edit.comment is not None:
                tree.write_text(node, "C", edit.comment)
            if edit.marks is not None:
                marks = msgspec.structs.asdict(edit.marks)
                labels = marks.pop("labels")
                tree.write_marks(node, marks, labels)
            is_reordered = edit.promote and tree.promote(node)
            self._changed(node)
            if is_reordered:
                self._tell_game()
            return {"node": node.id}

    def _delete(self, node: Node) -> None:
        game = self._game
        if node.parent is None:
            raise Refused("the beginning of the game cannot be taken out")
        if node in game.at.line():
            if game.mode == PLAY and not game.result:
                raise Refused("the game goes on here; undo takes moves back")
            game.at = node.parent
        self._changed(removed=game.tree.remove(node))

    # --- Networks ---------------------------------------------------------------------------------------------

    def _network(self, network: requests.Network) -> None:
        def use(configuration: Configuration) -> None:
            self.engine.ask(lambda _: self.engine.use(configuration)).result()
            with self._streams.lock:
                self._streams.publish("networks", told_networks(configuration))

        fetch_network(network.name, self.engine.configuration, self._say, self._tell_progress, use)
