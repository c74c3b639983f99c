"""What pages can do with the game that they all see, and what they are told of it. Any thread may call a table."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from go_rules.game import Move
from go_rules.handicap import HANDICAP_KOMI, HandicapError, fixed_handicap, max_free_handicap
from go_rules.points import BLACK, WHITE, opponent
from go_rules.rule_names import PRESETS, rules_and_komi
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
from gtp_engine.web.game import ANALYSE, PLAY, OpenGame
from gtp_engine.web.games import Games
from gtp_engine.web.levels import imitates_people, network_of_people, require_level, told_levels
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

R = TypeVar("R", bound=requests.Request)

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
            "new": self._as(requests.New, self._new),
            "play": self._as(requests.Play, contest.play),
            "undo": self._as(requests.Request, contest.undo),
            "resign": self._as(requests.Request, contest.resign),
            "play_on": self._as(requests.PlayOn, contest.play_on),
            "go_on": self._as(requests.Request, contest.answer),
            "score": self._as(requests.At, lambda at: _answer(contest.score(at))),
            "dead": self._as(requests.Point, contest.toggle),
            "agree": self._as(requests.Request, contest.agree),
            "look": self._as(requests.Look, self._look),
            "hint": self._as(requests.At, lambda at: self._glance(at, is_threat=False)),
            "threat": self._as(requests.At, lambda at: self._glance(at, is_threat=True)),
            "review": self._as(requests.Review, self._review),
            "problems": self._as(requests.Request, lambda _: problems.told()),
            "problem": self._as(requests.Problem, self._problem),
            "edit": self._as(requests.Edit, self._edit),
            "open": self._as(requests.Open, self._open),
            "games": self._as(requests.Request, lambda _: {"games": games.listed()}),
            "open_saved": self._as(requests.Saved, self._open_saved),
            "delete_saved": self._as(requests.Saved, self._delete_saved),
            "save": self._as(requests.Request, self._save),
            "network": self._as(requests.Network, self._choose_network),
        }
        """What pages may ask for: each takes JSON and returns the answer, and raises what `explain` puts in a line."""

    def _as(self, kind: type[R], carry_out: Callable[[R], dict[str, Any] | None]) -> Callable[[bytes], dict[str, Any]]:
        def take(body: bytes) -> dict[str, Any]:
            try:
                request = msgspec.json.decode(body, type=kind)
            except (msgspec.DecodeError, RecursionError) as error:
                raise Refused(printable(str(error))) from None
            with contextlib.nullcontext() if self.engine.has_rules else waiting_for_no_compiler():
                return carry_out(request) or {}

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

    def _new(self, new: requests.New) -> None:
        rules, usual = rules_and_komi(new.rules)
        require_level(new.level)
        clock = None if new.clock is None else GameClock(**msgspec.structs.asdict(new.clock))
        komi = new.komi if new.komi is not None else HANDICAP_KOMI if new.handicap else usual
        tree = GameTree(new.width, new.height, rules, komi)
        to_place = new.handicap if new.is_free and new.person != WHITE else 0
        if to_place > max_free_handicap(new.width, new.height):
            raise Refusal("no_room_for_stones", n=to_place)
        try:
            fixed = fixed_handicap(new.handicap, new.width, new.height) if new.handicap and not to_place else []
        except HandicapError:
            raise Refusal("no_room_for_stones", n=new.handicap) from None
        if fixed:
            tree.place_handicap(tuple(fixed), is_whole=True)
        game = OpenGame(self._shared.games.new_name(), tree, tree.root, PLAY if new.person else ANALYSE, new.person)
        game.level, game.teaching, game.limit, game.clock = new.level, new.teaching, new.limit, clock
        game.to_place = to_place
        game.name_players()
        self._replace(game)

    def _open(self, file: requests.Open) -> None:
        self._replace(self._read(file.name, file.content), file.content)

    def _open_saved(self, saved: requests.Saved) -> None:
        path = self._shared.games.path(saved.id)
        content = read_regular(path, MAX_BYTES)
        game = self._read("", content)
        game.id, game.kept = saved.id, GameFiles(path, content)
        self._replace(game, content)

    def _read(self, name: str, content: bytes) -> OpenGame:
        game = OpenGame.read(
            self._shared.games.new_name(), content, *conditions(self.engine.configuration), file_name=name
        )
        game.file = printable(name, 100)
        return game

    def _delete_saved(self, saved: requests.Saved) -> None:
        with self._shared.lock:
            if saved.id == self._shared.game.id:
                raise Refusal("game_is_on_the_board")
            self._shared.games.path(saved.id).unlink()

    def _save(self, _: requests.Request) -> None:
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

    def _look(self, look: requests.Look) -> None:
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.tree.node(look.node)
            self._looks.pop(look.page, None)
            if look.analyse:
                key = (game.id, node.id, look.visits, look.ownership)

                def report(result: SearchResult, is_done: bool) -> None:
                    with self._shared.lock:
                        if self._shared.has(game, node) and result.moves:
                            self._shared.think_of(node, result)
                            self._shared.tell_analysis(node, result, is_done)
                            if is_done:
                                self._shared.tell(node, *node.children)

                position = game.tree.board(node).copy()
                self._looks[look.page] = Look(key, position, look.visits, look.ownership, report)
            self.engine.look(next(reversed(self._looks.values()), None))

    def _glance(self, at: requests.At, is_threat: bool) -> dict[str, Any]:
        """Return what the side to move would play, or the other side in its place."""
        with self._shared.lock:
            game, node = self._shared.game, self._shared.game.node(at.node)
            position = game.tree.board(node).copy()
        colour = opponent(node.to_play) if is_threat else node.to_play
        result = _answer(
            self.engine.ask(lambda stop: self.engine.analyse(position, MOMENT, stop, OWNERSHIP_AT_THE_END, colour))
        )
        with self._shared.lock:
            if self._shared.game is not game or not result.moves:
                raise Refusal("interrupted")
            return self._shared.tell_analysis(node, result, is_done=True)

    def _review(self, review: requests.Review) -> None:
        with self._shared.lock:
            problems = self.problems if review.problems else None
            self.engine.do_later(GameReview(self._shared, self.engine, review.visits, problems).tasks())

    def _problem(self, problem: requests.Problem) -> None:
        if problem.do != "next":
            return self._contest.pose(problem)
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

    def _choose_network(self, network: requests.Network) -> None:
        """Have a network play, in another thread; it is fetched first where it is not at hand. One that imitates people
        makes levels instead."""
        name = network.name
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

    def _edit(self, edit: requests.Edit) -> dict[str, Any]:
        with self._shared.lock:
            game, tree, node = self._shared.game, self._shared.game.tree, self._shared.game.tree.node(edit.node)
            if edit.delete:
                self._delete(node)
                return {}
            if edit.setup is not None:
                stones = [Move(BLACK, tree.from_page(p)) for p in edit.setup.black]
                stones += [Move(WHITE, tree.from_page(p)) for p in edit.setup.white]
                cleared = tuple(tree.from_page(p) for p in edit.setup.empty)
                node = tree.set_up(node, Setup(tuple(stones), cleared, edit.setup.to_play or None))
                if game.mode == ANALYSE:
                    game.stand(node)
            if edit.comment is not None:
                tree.write_text(node, "C", edit.comment)
            if edit.marks is not None:
                marks = msgspec.structs.asdict(edit.marks)
                labels = marks.pop("labels")
                tree.write_marks(node, marks, labels)
            is_reordered = edit.promote and tree.promote(node)
            self._shared.changed(node)
            if is_reordered:
                self._shared.tell_all()
            return {"node": node.id}

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
