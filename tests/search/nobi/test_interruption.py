"""A search that is stopped while the network computes: it ends at once, and leaves nothing behind."""

from __future__ import annotations

import threading
import time

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from nets.evaluator import Evaluation, EvaluationRequest
from search.nobi.player import PuctPlayer
from search.nobi.tree.nodes import NODES
from search.request import Limits, SearchRequest
from search.result import SearchResult, StopReason
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import SMALL, Maker, edges_of, tree_of
from tests.systems import PATIENCE


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """What the searches call, which takes long where nothing is compiled yet."""
    player = PuctPlayer(FancifulEvaluator(with_errors=True), SMALL)
    player.warm_up(5, 5)
    player.close()


class GatedEvaluator(FancifulEvaluator):
    """Evaluates while its gate is open, and waits in the middle of an evaluation while it is closed."""

    def __init__(self) -> None:
        super().__init__(with_errors=True)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)
        self.calls = 0
        """How many evaluations have begun."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.calls += 1
        self.entered.release()
        assert self.gate.wait(PATIENCE)
        return super().evaluate(request)


def stopped_in_the_first_evaluation(
    player: PuctPlayer, evaluator: GatedEvaluator, game: Game, may_end_empty: bool = True
) -> SearchResult:
    """The result of an endless search that is stopped while its root is evaluated."""
    while evaluator.entered.acquire(blocking=False):
        pass
    evaluator.gate.clear()
    stop, results = threading.Event(), []
    request = SearchRequest(game, game.to_play, Limits(may_stop_early=False), stop=stop, may_end_empty=may_end_empty)
    thread = threading.Thread(target=lambda: results.append(player.search(request)))
    thread.start()
    assert evaluator.entered.acquire(timeout=PATIENCE / 2)
    stop.set()
    thread.join(PATIENCE / 2)
    assert not thread.is_alive(), "it waits for the network"
    evaluator.gate.set()
    return results[0]


def outcome(player: PuctPlayer, game: Game, visits: int) -> tuple[object, ...]:
    """What a search finds, and that it left no visit under way."""
    result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits, may_stop_early=False)))
    tree = tree_of(player)
    for node in tree.space.tree.nodes[: tree.space.tree.used[NODES]]:
        assert not edges_of(tree, node)["in_flight"].any()
    return result.visits, result.utility, [(move.point, move.visits, move.utility) for move in result.moves]


def test_a_first_search_ends_without_moves(make: Maker) -> None:
    evaluator = GatedEvaluator()
    player = make(evaluator, random_symmetry=False)
    result = stopped_in_the_first_evaluation(player, evaluator, Game(5, 5))
    assert (result.moves, result.visits, result.reason) == ((), 0, StopReason.INTERRUPTED)
    assert outcome(player, Game(5, 5), 60) == outcome(make(GatedEvaluator(), random_symmetry=False), Game(5, 5), 60)


@pytest.mark.parametrize("may_end_empty", [True, False])
def test_a_known_position_ends_with_what_is_known(make: Maker, may_end_empty: bool) -> None:
    evaluator = GatedEvaluator()
    player, other = make(evaluator, random_symmetry=False), make(GatedEvaluator(), random_symmetry=False)
    game = Game(5, 5)
    known = player.search(SearchRequest(game, BLACK, Limits(visits=40, may_stop_early=False)))
    other.search(SearchRequest(game, BLACK, Limits(visits=40, may_stop_early=False)))
    result = stopped_in_the_first_evaluation(player, evaluator, game, may_end_empty)
    assert result.visits == known.visits
    assert [move.point for move in result.moves] == [move.point for move in known.moves]
    assert outcome(player, game, 80) == outcome(other, game, 80)
    game.play(BLACK, known.moves[0].point)
    stopped_in_the_first_evaluation(player, evaluator, game, may_end_empty)
    assert outcome(player, game, 200)[0] == 200


def test_a_search_that_was_given_up_computes_one_evaluation_at_most(make: Maker) -> None:
    """Who looks at one position after another does not leave a network behind that works off a queue."""
    evaluator = GatedEvaluator()
    player = make(evaluator, random_symmetry=False)
    evaluator.gate.clear()
    for count in range(5):
        game, stop = Game(5, 5), threading.Event()
        game.play(BLACK, from_vertex("A1", 5, 5))
        threading.Timer(0.02, stop.set).start()
        request = SearchRequest(game, WHITE, Limits(visits=10 + count), stop=stop, may_end_empty=True)
        assert player.search(request).moves == ()
    evaluator.gate.set()
    time.sleep(0.05)
    assert evaluator.calls <= 1


def test_a_search_does_not_wait_for_its_leaves(make: Maker) -> None:
    """What comes back late does no harm to what follows."""
    evaluator, game, stop, results = GatedEvaluator(), Game(5, 5), threading.Event(), list[SearchResult]()
    player = make(evaluator, workers=2)
    request = SearchRequest(game, BLACK, Limits(may_stop_early=False), stop=stop)
    thread = threading.Thread(target=lambda: results.append(player.search(request)))
    thread.start()
    for _ in range(10):
        assert evaluator.entered.acquire(timeout=PATIENCE / 2)
    evaluator.gate.clear()
    stop.set()
    thread.join(PATIENCE / 2)
    assert not thread.is_alive(), "it waits for the network"
    evaluator.gate.set()
    assert results[0].reason is StopReason.INTERRUPTED
    game.play(BLACK, from_vertex("C3", 5, 5))
    assert player.search(SearchRequest(game, WHITE, Limits(visits=4))).visits >= 4


@pytest.mark.parametrize("known", [0, 20])
def test_a_search_that_is_stopped_before_it_begins_asks_nothing(make: Maker, known: int) -> None:
    evaluator, stop = GatedEvaluator(), threading.Event()
    player = make(evaluator, random_symmetry=False)
    if known:
        player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=known, may_stop_early=False)))
    calls = evaluator.calls
    stop.set()
    result = player.search(SearchRequest(Game(5, 5), BLACK, Limits(), stop=stop, may_end_empty=True))
    assert (result.visits, evaluator.calls) == (known, calls)


def test_a_closed_player_refuses_to_search() -> None:
    player = PuctPlayer(FancifulEvaluator(with_errors=True), SMALL)
    player.close()
    with pytest.raises(RuntimeError, match="closed"):
        player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=2)))
