"""What pages can do with the game that they all see, and what they are told of it. Any thread may call a table."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Literal

import msgspec

from go_rules.game import Move
from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap, max_free_handicap
from go_rules.points import BLACK, WHITE, opponent
from go_rules.rule_names import DEFAULT_PRESET, PRESETS, rules_and_komi
from go_rules.sgf.grammar import MAX_BYTES, SgfError, split_games
from go_rules.sgf.reader import Setup
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused, UserError
from gtp_engine.networks import with_network
from gtp_engine.session.records import GameFiles, conditions, followed, is_writable
from gtp_engine.version import VERSION
from gtp_engine.web import requests
from gtp_engine.web.contest import Contest
from gtp_engine.web.counting import GameClock
from gtp_engine.web.engine import Engine, Look
from gtp_engine.web.game import ANALYSE, LIMIT, PLAY, OpenGame
from gtp_engine.web.games import Games
from gtp_engine.web.levels import FULL, imitates_people, network_of_people, require_level, told_levels
from gtp_engine.web.problems import Problems
from gtp_engine.web.refusals import Refusal, Said, said, said_of, words
from gtp_engine.web.reviewing import GameReview
from gtp_engine.web.shared import SharedGame
from gtp_engine.web.streams import Streams
from gtp_engine.web.tree import GameTree, Node
from nets.at_hand import PUBLISHED, at_hand
from nobi_machine.files import read_regular
from nobi_machine.jit import waiting_for_no_compiler
from nobi_machine.streams import note
from nobi_machine.text import printable, printable_path
from search.request import OWNERSHIP_AT_THE_END, Limits
from search.result import SearchResult

MOMENT = Limits(600, 1.5, may_stop_early=False)
"""Of the search for a hint or a threat."""


class Table:
    """The game, the engine, and the pages that look on."""

    def __init__(self, configuration: Configuration, streams: Streams) -> None:
        tree, games = GameTree(*configuration.engine.board, *conditions(configuration)), Games()
        self._shared = SharedGame(streams, games, OpenGame(games.new_name(), tree, tree.root))
        self._streams = streams
        self._state: dict[str, Any] = {"state": "loading", "values": {}}
        self.engine = Engine(configuration, self._tell_state)
        self.problems = problems = Problems()
        contest = self._contest = Contest(self._shared, self.engine, problems)
        self._fetching = threading.Lock()
        """Held while a network is fetched or loaded."""
        self._looks: dict[str, Look] = {}
        """By the names of pages, the last one last; those of pages that gave none by ''."""
        self.operations: dict[str, Callable[[bytes], dict[str, Any]]] = {
            "new": self._as(self._new),
            "play": self._as(contest.play),
            "undo": self._as(contest.undo),
            "resign": self._as(contest.resign),
            "play_on": self._as(contest.play_on),
            "go_on": self._as(contest.answer),
            "score": self._as(self._score),
            "dead": self._as(contest.toggle),
            "agree": self._as(contest.agree),
            "look": self._as(self._look),
            "hint": self._as(self._hint),
            "threat": self._as(self._threat),
            "review": self._as(self._review),
            "problems": self._as(problems.told),
            "problem": self._as(self._problem),
            "edit": self._as(self._edit),
            "open": self._as(self._open),
            "games": self._as(lambda: {"games": games.listed()}),
            "open_saved": self._as(self._open_saved),
            "delete_saved": self._as(self._delete_saved),
            "save": self._as(self._save),
            "network": self._as(self._choose_network),
        }
        """What pages may ask for: each takes JSON and returns the answer, and raises what `explain` puts in a line."""

    def _as(self, carry_out: Callable[..., dict[str, Any] | None]) -> Callable[[bytes], dict[str, Any]]:
        # Made before any request: msgspec crashes where two threads are the first that decode a type.
        decoder = msgspec.json.Decoder(requests.kind_of(carry_out))

        def take(body: bytes) -> dict[str, Any]:
            try:
                request = decoder.decode(body)
            except (msgspec.DecodeError, RecursionError) as error:
                raise Refused(printable(str(error))) from None
            with contextlib.nullcontext() if self.engine.has_rules else waiting_for_no_compiler():
                return carry_out(**msgspec.structs.asdict(request)) or {}

        return take

    def open_file(self, path: Path) -> None:
        """Put the game of a file on the board. Raises UserError and OSError."""
        content = read_regular(path, MAX_BYTES)
        try:
            game = self._read(path.name, content)
        except SgfError as error:
            raise UserError(f"{printable_path(path)}: {error}") from None
        target = followed(path)
        for fault in _faults(game, content):
            note(f"{printable_path(path)}: {words(fault)}")
        if not _has_others(content) and is_writable(target):
            game.source = GameFiles(target, content)
        self._shared.game = game

    def left(self, page: str) -> None:
        """Have the engine do no more for a page that has left."""
        with self._shared.lock:
            self._looks.pop(page, None)
            if not self._streams.has_readers:
                self._looks.clear()
            self.engine.look(next(reversed(self._looks.values()), None))

    def download(self) -> tuple[str, bytes]:
        """Return a name for the game's file, and its content."""
        with self._shared.lock:
            return Path(self._shared.game.file or f"{self._shared.game.id}.sgf").name, self._shared.game.tree.write()

    # --- What pages are told ----------------------------------------------------------------------------------

    def hello(self, page: str) -> dict[str, Any]:
        """Return all that a page, which is called so, has to know."""
        return {
            "version": VERSION,
            "page": page,
            **self._told_networks(),
            "rules": list(PRESETS),
            "problems": self.problems.told(),
            "game": self._shared.game.told(),
            "engine": self._state,
        }

    def _tell_state(self, state: str, **values: Any) -> None:
        with self._shared.lock:
            self._state = {"state": state, "values": values}
            self._shared.publish("engine", self._state)

    # --- Games ------------------------------------------------------------------------------------------------

    def _new(
        self,
        width: requests.Side = 19,
        height: requests.Side = 19,
        komi: requests.Points | None = None,
        rules: str = DEFAULT_PRESET,
        handicap: requests.Count = 0,
        is_free: bool = False,
        person: requests.Colour = BLACK,
        level: int = FULL,
        teaching: bool = False,
        limit: requests.Loss = LIMIT,
        clock: requests.ClockTerms | None = None,
    ) -> None:
        """Begin a game. `is_free`: whether a person who plays black places the `handicap` stones, move by move."""
        rule_set, usual = rules_and_komi(rules)
        require_level(level)
        tree = GameTree(width, height, rule_set, komi if komi is not None else HANDICAP_KOMI if handicap else usual)
        to_place = handicap if is_free and person != WHITE else 0
        if to_place > max_free_handicap(width, height):
            raise Refusal("no_room_for_stones", n=to_place)
        try:
            fixed = fixed_handicap(handicap, width, height) if handicap and not to_place else []
        except HandicapError:
            raise Refusal("no_room_for_stones", n=handicap) from None
        if fixed:
            tree.place_handicap(tuple(fixed), is_whole=True)
        game = OpenGame(self._shared.games.new_name(), tree, tree.root, PLAY if person else ANALYSE, person, level)
        game.teaching, game.limit, game.to_place = teaching, limit, to_place
        game.clock = None if clock is None else GameClock(**msgspec.structs.asdict(clock))
        game.name_players()
        self._replace(game)

    def _open(self, name: requests.Name, bytes: bytes) -> None:
        """Open a file that the browser has read."""
        self._replace(self._read(name, bytes), bytes)

    def _open_saved(self, id: str) -> None:
        path = self._shared.games.path(id)
        content = read_regular(path, MAX_BYTES)
        game = self._read("", content)
        game.id, game.kept = id, GameFiles(path, content)
        self._replace(game, content)

    def _read(self, name: str, content: bytes) -> OpenGame:
        game = OpenGame.read(
            self._shared.games.new_name(), content, *conditions(self.engine.configuration), file_name=name
        )
        game.file = printable(name, 100)
        return game

    def _delete_saved(self, id: str) -> None:
        with self._shared.lock:
            if id == self._shared.game.id:
                raise Refusal("game_is_on_the_board")
            self._shared.games.path(id).unlink()

    def _save(self) -> None:
        with self._shared.lock:
            game = self._shared.game
            if game.source is None:
                raise Refusal("no_file_to_write_back_to")
            game.source.keep(game.tree.write())
            game.unsaved = False
            self._shared.tell()

    def _replace(self, game: OpenGame, content: bytes = b"") -> None:
        """Put another game on the board, and say what is not shown of the file with this content."""
        with self._shared.lock:
            self.engine.interrupt()
            self._looks.clear()
            self.engine.look(None)
            self._shared.game = game
            self._shared.tell_all()
            self._contest.go_on()
            if faults := _faults(game, content):
                self._shared.say(*faults)

    # --- Analysis ---------------------------------------------------------------------------------------------

    def _look(
        self,
        node: int,
        analyse: bool = True,
        visits: requests.Visits | None = None,
        ownership: bool = True,
        page: str = "",
    ) -> None:
        """Analyse the position that a page looks at, or stop. `page` is the page's name in its `hello`: when it leaves,
        its analysis ends."""
        with self._shared.lock:
            game, seen = self._shared.game, self._shared.game.tree.node(node)
            self._looks.pop(page, None)
            if analyse:

                def report(result: SearchResult, is_done: bool) -> None:
                    with self._shared.lock:
                        if self._shared.has(game, seen) and result.moves:
                            self._shared.think_of(seen, result)
                            self._shared.tell_analysis(seen, result, is_done)
                            if is_done:
                                self._shared.tell(seen, *seen.children)

                key, position = (game.id, node, visits, ownership), game.tree.board(seen).copy()
                self._looks[page] = Look(key, position, visits, ownership, report)
            self.engine.look(next(reversed(self._looks.values()), None))

    def _score(self, node: int | None = None) -> dict[str, Any]:
        """Return the count of a position, or of where the game stands."""
        return _answer(self._contest.score(node))

    def _hint(self, node: int | None = None) -> dict[str, Any]:
        """Return what the side to move would play."""
        return self._glance(node, is_threat=False)

    def _threat(self, node: int | None = None) -> dict[str, Any]:
        """Return what the other side would play in its place."""
        return self._glance(node, is_threat=True)

    def _glance(self, at: int | None, is_threat: bool) -> dict[str, Any]:
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.node(at)
            position = game.tree.board(node).copy()
        colour = opponent(node.to_play) if is_threat else node.to_play
        result = _answer(
            self.engine.ask(lambda stop: self.engine.analyse(position, MOMENT, stop, OWNERSHIP_AT_THE_END, colour))
        )
        with self._shared.lock:
            if self._shared.game is not game or not result.moves:
                raise Refusal("interrupted")
            return self._shared.tell_analysis(node, result, is_done=True)

    def _review(self, visits: requests.ReviewVisits = 50, problems: bool = False) -> None:
        """Review the game's main line, with so many visits for each position. `problems`: whether it is searched for
        problems, too."""
        with self._shared.lock:
            folder = self.problems if problems else None
            self.engine.do_later(GameReview(self._shared, self.engine, visits, folder).tasks())

    def _problem(self, do: Literal["next", "again", "show"] = "next") -> None:
        """Ask the next problem that is due, or the one on the board once more, or show its answer."""
        if do != "next":
            return self._contest.pose(is_shown=do == "show")
        tree, asked = self.problems.next()
        game = OpenGame(self._shared.games.new_name(), tree, tree.root, PLAY, tree.root.to_play, problem=asked)
        with self._shared.lock:
            self._replace(game)
            self._contest.get_ready()

    # --- Networks ---------------------------------------------------------------------------------------------

    def _told_networks(self) -> dict[str, Any]:
        """What pages are told: the network that plays, all that they can choose, the levels, and the network that
        would add people's ranks to these; null where it is at hand."""
        present, net = at_hand(), self.engine.configuration.net
        playing = next((each.name for each in present if each.path == net), "none" if net is None else net.name)
        names = {each.name for each in present if each.is_whole}
        networks = [
            {"name": each.name, "place": each.place, "size": 0}
            for each in present
            if each.name in names and not imitates_people(each)
        ]
        to_fetch = [{"name": each.name, "place": "", "size": each.size} for each in PUBLISHED if each.name not in names]
        people = next((each for each in to_fetch if "human" in str(each["name"])), None)
        return {
            "network": playing,
            "networks": networks + [each for each in to_fetch if each is not people],
            "levels": told_levels(),
            "people": None if network_of_people() else people,
        }

    def _choose_network(self, name: requests.Name) -> None:
        """Have a network play, in another thread; it is fetched first where it is not at hand. One that imitates people
        makes levels instead."""
        if name not in {each.name for each in at_hand()} | {each.name for each in PUBLISHED}:
            raise Refusal("no_such_network", name=name[:60])
        if not self._fetching.acquire(blocking=False):
            raise Refusal("another_network_is_fetched")
        threading.Thread(target=self._fetch, args=(name,), name="fetching", daemon=True).start()

    def _fetch(self, name: str) -> None:
        from gtp_engine.tools.networks import fetched

        def progress(done: int, total: int) -> None:
            self._shared.publish("progress", {"done": done, "total": total})

        key = "network_plays"
        try:
            network = next((each for each in at_hand() if each.name == name and each.is_whole), None)
            if network is None:
                fetched(name, progress=progress)
                network = next(each for each in at_hand() if each.name == name)
            if imitates_people(network):
                key = "ranks_are_there"
            else:
                configuration = with_network(self.engine.configuration, network)
                self.engine.ask(lambda _: self.engine.use(configuration)).result()
            with self._shared.lock:
                self._shared.publish("networks", self._told_networks())
                self._shared.say(said(key, name=name), kind="info")
        except Exception as error:
            self._shared.say(said_of(error))
        finally:
            self._fetching.release()

    # --- Editing ----------------------------------------------------------------------------------------------

    def _edit(
        self,
        node: int,
        comment: requests.Text | None = None,
        marks: requests.Marks | None = None,
        setup: requests.Stones | None = None,
        delete: bool = False,
        promote: bool = False,
    ) -> dict[str, Any]:
        """Change a node."""
        with self._shared.lock:
            game, tree, edited = self._shared.game, self._shared.game.tree, self._shared.game.tree.node(node)
            if delete:
                self._delete(edited)
                return {}
            if setup is not None:
                stones = [Move(BLACK, tree.from_page(p)) for p in setup.black]
                stones += [Move(WHITE, tree.from_page(p)) for p in setup.white]
                cleared = tuple(tree.from_page(p) for p in setup.empty)
                edited = tree.set_up(edited, Setup(tuple(stones), cleared, setup.to_play or None))
                if game.mode == ANALYSE:
                    game.stand(edited)
            if comment is not None:
                tree.write_text(edited, "C", comment)
            if marks is not None:
                points = msgspec.structs.asdict(marks)
                labels = points.pop("labels")
                tree.write_marks(edited, points, labels)
            is_reordered = promote and tree.promote(edited)
            self._shared.changed(edited)
            if is_reordered:
                self._shared.tell_all()
            return {"node": edited.id}

    def _delete(self, node: Node) -> None:
        game = self._shared.game
        if node.parent is None:
            raise Refusal("beginning_stays")
        if node in game.at.line():
            if game.goes_on:
                raise Refusal("game_goes_on_here")
            game.stand(node.parent)
        self._shared.changed(removed=game.tree.remove(node))


def _has_others(content: bytes) -> bool:
    return len(list(itertools.islice(split_games(content), 2))) > 1


def _faults(game: OpenGame, content: bytes) -> list[Said]:
    """What of a file is not shown."""
    others = [said("the_first_of_several_games_is_shown")] * _has_others(content)
    return others + ([game.tree.left_out] if game.tree.left_out else [])


def _answer(future: Future[Any]) -> Any:
    """What the engine answers. Raises Refused where another game came first, and what the search raises."""
    try:
        return future.result()
    except CancelledError:
        raise Refusal("interrupted") from None
