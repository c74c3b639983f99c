"""Analysis commands while no input arrives: what they ask of the player, what they report, and when they end."""

from __future__ import annotations

import dataclasses
import re
import threading

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.commands import carry_out
from gtp_engine.session.session import Session
from nets.evaluator import Evaluation, EvaluationRequest
from search.nobi.parameters import SearchParameters
from search.request import SearchRequest
from search.result import SearchResult
from tests.gtp_engine.fakes import Dialogue, FakePlayer, StillPulse, call_of
from tests.search.evaluators import FancifulEvaluator
from tests.systems import PATIENCE


class Ended(FakePlayer):
    """Its searches end by themselves, as where the memory is full, after so many reports."""

    def __init__(self, reports: int = 0, visited: bool = True) -> None:
        super().__init__()
        self.reports = reports
        self.visited = visited

    def search(self, request: SearchRequest) -> SearchResult:
        self.searches.append(request)
        result = self._result(request)
        if not self.visited:
            result = dataclasses.replace(
                result, moves=tuple(dataclasses.replace(move, visits=0) for move in result.moves)
            )
        for _ in range(self.reports):
            assert request.report is not None
            request.report.callback(result)
        return result


class Asked:
    """A command that is carried out in a thread of its own, and what it has written."""

    def __init__(self, session: Session, line: str) -> None:
        self.written: list[str] = []
        self.listens = threading.Event()
        self.call = call_of(line, self.written.append, lambda call: self.listens.set())
        self.thread = threading.Thread(target=carry_out, args=(session, self.call))
        self.thread.start()

    def end(self) -> list[str]:
        """The lines of the reply, once input has come."""
        self.call.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return "".join(self.written).split("\n")


@pytest.mark.parametrize(
    ("player", "reports"),
    [(Ended(), 1), (Ended(2), 3), (Ended(visited=False), 0)],
    ids=["no report yet", "two reports", "nothing known"],
)
def test_an_analysis_that_ends_by_itself_has_a_last_word_and_waits_for_input(player: Ended, reports: int) -> None:
    dialogue = Dialogue(player)
    asked = Asked(dialogue.session, "kata-analyze b 10")
    asked.thread.join(0.1)
    assert asked.thread.is_alive(), "KataGo's analysis ends with the next line only"
    header, *lines = asked.end()
    assert header == "="
    assert [line.startswith("info move A9 ") for line in lines[:-2]] == [True] * reports
    assert lines[-2:] == ["", ""]


def test_what_an_analysis_asks_of_the_player() -> None:
    dialogue = Dialogue()
    dialogue.send("lz-analyze w 100 avoid w A9 1")
    request = dialogue.player.searches[-1]
    assert (request.colour, request.analysis, request.may_end_empty) == (WHITE, True, True)
    assert not request.limits.may_stop_early
    assert request.limits.visits is None
    assert request.limits.seconds is None
    assert request.filter is not None
    assert [set(points) for points, _ in request.filter.avoid[WHITE]] == [{from_vertex("A9", 9, 9)}]


def test_lists_of_vertices_may_have_empty_places() -> None:
    dialogue = Dialogue()
    dialogue.send("kata-analyze b 100 avoid b D4, 1")
    dialogue.send("kata-analyze b 100 allow b D4,,E5 2")
    avoiding, allowing = (request.filter for request in dialogue.player.searches)
    assert avoiding is not None
    assert allowing is not None
    d4, e5 = from_vertex("D4", 9, 9), from_vertex("E5", 9, 9)
    assert avoiding.avoid[BLACK] == ((frozenset({d4}), 1),)
    assert allowing.allow[BLACK] == (frozenset({d4, e5}), 2)


def test_what_a_move_with_analysis_asks_of_the_player() -> None:
    dialogue = Dialogue()
    for command in ("lz-genmove_analyze", "kata-genmove_analyze", "kata-search_analyze"):
        dialogue.ask(f"{command} b 100 allow b C3 1")
        request = dialogue.player.searches[-1]
        assert not request.analysis
        assert request.filter is not None
        assert set(request.filter.allow[BLACK][0]) == {from_vertex("C3", 9, 9)}
        dialogue.ask("clear_board")


def test_where_no_legal_move_is_allowed() -> None:
    """As in KataGo nothing is reported, nor is the forbidden pass."""
    dialogue = Dialogue()
    dialogue.ask("play b A9")
    for command in ("lz-analyze b 100 allow b A9 1", "kata-analyze w 100 allow w A9 9"):
        assert dialogue.ask(command) == ""
    for command in ("lz-genmove_analyze b 100 allow b A9 1", "kata-search_analyze b 100 allow b A9 1"):
        assert dialogue.refuse(command) == "no legal move is allowed"
    assert not dialogue.player.searches


class Unvisited(FakePlayer):
    """Chooses the last of the moves that it has found, without a visit to any but the first."""

    def search(self, request: SearchRequest) -> SearchResult:
        found = super().search(request)
        moves = [dataclasses.replace(move, visits=int(move.order == 0)) for move in found.moves]
        return dataclasses.replace(found, moves=tuple(moves))

    def choose(self, game: Game, result: SearchResult) -> int:
        return result.moves[-1].point


@pytest.mark.parametrize(("limit", "count"), [("", 2), (" maxmoves 1", 1)])
def test_the_move_that_is_played_is_reported(limit: str, count: int) -> None:
    for command in ("lz-genmove_analyze", "kata-genmove_analyze", "kata-search_analyze"):
        *_, report, played = Dialogue(Unvisited()).ask(f"{command} b 100{limit}").split("\n")
        assert f"info move {played.removeprefix('play ')} visits 0 " in report
        assert report.count("info move") == count


def test_a_move_that_is_stopped_from_outside_is_played_all_the_same() -> None:
    """GoGui interrupts so. Only a command that says so is cancelled."""
    dialogue = Dialogue()
    dialogue.ask("boardsize 9")
    asked = Asked(dialogue.session, "kata-genmove_analyze b")
    assert asked.end()[-3:] == ["play A9", "", ""]
    assert len(dialogue.session.game.moves) == 1


def test_a_cancelled_search_without_moves_reports_none() -> None:
    class EmptyHanded(FakePlayer):
        def search(self, request: SearchRequest) -> SearchResult:
            return dataclasses.replace(super().search(request), moves=())

    dialogue = Dialogue(EmptyHanded())
    assert dialogue.send("kata-search_analyze_cancellable b 10") == "=\nplay cancelled\n\n"


def test_input_cancels_nothing_before_the_player_is_ready() -> None:
    """Else the next line would end a search that has not begun, while kernels are still compiled."""
    order: list[str] = []
    loaded = threading.Event()

    class Slow(FakePlayer):
        def warm_up(self, width: int, height: int) -> None:
            loaded.wait(PATIENCE)
            order.append("ready")

    for line in ("kata-search_cancellable b", "kata-search_analyze_cancellable b"):
        order.clear()
        loaded.clear()
        session = Session(EngineSettings(size="9"), Slow)
        session.pulse = StillPulse(session.lateness)
        session.loader.begin()
        session.loader.await_rules()
        asked = Asked(session, line)
        assert not asked.listens.wait(0.1)
        loaded.set()
        assert asked.listens.wait(PATIENCE)
        assert order == ["ready"]
        asked.end()


def test_variations_are_as_long_as_the_user_wants() -> None:
    """As in KataGo, the first move is not counted."""
    for after_first, shown in ((1, "pv A9 pass"), (2, "pv A9 pass A9")):
        dialogue = Dialogue(settings=EngineSettings(size="9", analysis_pv=after_first))
        dialogue.player.variation = 3
        for command in ("lz-analyze b", "kata-analyze b", "kata-search_analyze b"):
            assert re.findall(r"pv [A-Z0-9]+(?: pass)?(?: A9)?", dialogue.ask(command))[0] == shown
        assert ('"pv":"pass A9"' in dialogue.ask("cgos-genmove_analyze b")) is (after_first == 2)


# --- A network's evaluation, and a benchmark ----------------------------------------------------------------------


def with_network() -> Dialogue:
    dialogue = Dialogue()
    dialogue.player.evaluator = FancifulEvaluator()
    return dialogue


def test_raw_networks_of_one_symmetry_or_all() -> None:
    dialogue = with_network()
    dialogue.ask("play b c3")
    first = dialogue.ask("kata-raw-nn 0")
    assert dialogue.ask("kata-raw-nn") == first
    everything = dialogue.ask("kata-raw-nn ALL")
    assert re.findall("symmetry ([0-9])", everything) == [str(symmetry) for symmetry in range(8)]
    assert everything.startswith(first)
    assert dialogue.ask("kata-raw-nn 7") == everything[everything.index("symmetry 7") :]
    assert dialogue.refuse("kata-raw-nn 8") == "syntax error"


def test_raw_networks_mix_in_as_much_optimism_as_searches_do() -> None:
    shares: list[float] = []

    class Recording(FancifulEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            shares.extend(request.optimism.tolist())
            return super().evaluate(request)

    dialogue = with_network()
    dialogue.player.evaluator = Recording()
    dialogue.ask("kata-raw-nn 0")
    dialogue.player.parameters = SearchParameters(root_policy_optimism=1.0)
    dialogue.ask("kata-raw-nn 0", "kata-raw-nn 0 0.5")
    assert shares == pytest.approx([0.2, 1.0, 0.5])


def test_raw_networks_are_of_the_side_to_move_unless_another_is_named() -> None:
    dialogue = with_network()
    dialogue.ask("play b c3")
    white, black = (dialogue.ask(f"kata-raw-nn {colour} 0") for colour in "wb")
    assert white != black
    assert dialogue.ask("kata-raw-nn 0") == white
    dialogue.ask("play w e5")
    assert dialogue.ask("kata-raw-nn 0") == dialogue.ask("kata-raw-nn b 0") != dialogue.ask("kata-raw-nn w 0")


def test_a_benchmark_uses_all_its_visits_and_nothing_of_earlier_searches() -> None:
    dialogue = Dialogue()
    dialogue.ask("play b c3")
    reply = dialogue.ask("kata-benchmark 40")
    assert dialogue.player.cleared == 1
    request = dialogue.player.searches[-1]
    assert (request.colour, request.limits.visits, request.limits.may_stop_early) == (WHITE, 40, False)
    found = re.fullmatch(r"visits 40 evaluations 5 seconds [0-9.]+ visits/s ([0-9.]+) evaluations/s ([0-9.]+)", reply)
    assert found is not None
    assert float(found[1]) / float(found[2]) == pytest.approx(8, rel=0.01)
    assert dialogue.refuse("kata-benchmark 10000001") == "syntax error"
