"""The textbook searches: the same statistics as a slow search, limits, tree reuse, symmetry, whole games."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from go_rules.compilation import jit
from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex, to_vertex
from go_rules.rule_names import preset
from nets.constant import ConstantEvaluator
from nets.evaluator import LOSS, WIN, Evaluation, EvaluationRequest, Evaluator, EvaluatorError
from nets.symmetry import symmetric_point
from search.alphazero.game_tree import GameTree
from search.alphazero.parameters import ALPHAGO, AlphaZeroParameters
from search.alphazero.player import AlphaZeroPlayer
from search.alphazero.tree import EXPANDED, NONE, ROOT, TERMINAL, Tree, edges_of
from search.request import OWNERSHIP_AT_THE_END, Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import RESIGN, SearchResult, StopReason
from tests.search.alphazero.naive_search import NaiveNode, NaiveSearch
from tests.search.evaluators import CountingEvaluator, FailingEvaluator, FancifulEvaluator

TROMP_TAYLOR = preset("tromp-taylor")[0]
EXACT = AlphaZeroParameters(leaves_in_flight=1, turn_leaves=False)
"""One leaf at a time, and no symmetries: what the papers' formulas say, move by move."""
NAMES = ("puct", "gumbel", "alphago", "value")

_made: list[AlphaZeroPlayer] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def player_of(
    name: str, evaluator: Evaluator, parameters: AlphaZeroParameters | None = None, **changes: object
) -> AlphaZeroPlayer:
    base = parameters or (ALPHAGO if name == "alphago" else AlphaZeroParameters())
    parameters = dataclasses.replace(base, **changes)  # type: ignore[arg-type]
    _made.append(AlphaZeroPlayer(name, evaluator, parameters, workers=1, seed=1))
    return _made[-1]


def search(player: AlphaZeroPlayer, game: Game, visits: int, **more: object) -> SearchResult:
    return player.search(SearchRequest(game, game.to_play, Limits(visits=visits), **more))  # type: ignore[arg-type]


def game_after(moves: str, size: int = 5, komi: float = 0.5) -> Game:
    game = Game(size, size, TROMP_TAYLOR, komi)
    for vertex in moves.split():
        game.play(game.to_play, from_vertex(vertex, size, size))
    return game


# --- The same as the slow search ------------------------------------------------------------------------------------


def compare(tree: Tree, index: int, naive: NaiveNode) -> int:
    """Assert that two trees hold the same; returns the number of nodes."""
    node = tree.nodes[index]
    assert node["value"] == pytest.approx(naive.value, abs=1e-6)
    assert node["state"] == (TERMINAL if naive.over else EXPANDED)
    nodes = 1
    if naive.over:
        return nodes
    edges = edges_of(tree, index)
    assert sorted(edges["move"].tolist()) == sorted(naive.p)
    for edge in edges:
        move = int(edge["move"])
        assert int(edge["visits"]) == naive.n[move]
        assert int(edge["in_flight"]) == 0
        assert edge["total"] == pytest.approx(naive.w[move], abs=1e-4)
        assert edge["prior"] == pytest.approx(naive.p[move], abs=1e-6)
        assert (edge["child"] != NONE) == (move in naive.children)
        if move in naive.children:
            nodes += compare(tree, int(edge["child"]), naive.children[move])
    return nodes


@pytest.mark.parametrize("first_play", ["draw", "loss", "parent"])
@pytest.mark.parametrize(
    "moves", ["", "C3 C2 D2 B3 pass", "A1 B1 pass A2", "C3 C4 B3 B4 D3 D4 A3 A4 E3 pass", "A2 D2 B1 C1 B3 C3 C2 B2"]
)
def test_puct_is_what_the_slow_search_says(moves: str, first_play: str) -> None:
    parameters = dataclasses.replace(EXACT, first_play=first_play)
    evaluator = FancifulEvaluator(sharpness=0.7)
    player = player_of("puct", evaluator, parameters)
    game = game_after(moves)
    result = search(player, game, 201)
    naive = NaiveSearch(evaluator, parameters).run(game, 200)
    tree = player.searcher.game_tree.tree
    assert sum(naive.n.values()) == 200 == result.visits - 1
    assert compare(tree, ROOT, naive) == tree.used[0]


def test_deep_lines_end_by_the_rules() -> None:
    """On 2x2 most of the tree are finished games and superko."""
    evaluator = FancifulEvaluator(sharpness=0.7)
    player = player_of("puct", evaluator, EXACT)
    game = game_after("", 2)
    search(player, game, 601)
    tree = player.searcher.game_tree.tree
    assert (tree.nodes["state"][: tree.used[0]] == TERMINAL).sum() > 20


@pytest.mark.parametrize("name", NAMES)
def test_no_score_is_more_than_the_board_holds(name: str) -> None:
    """Whatever a network says that was not made for such boards or such komi."""

    class Boastful(FancifulEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            evaluation = super().evaluate(request)
            return evaluation._replace(score=100.0 * evaluation.score)

    player = player_of(name, Boastful(), rollout_share=0.0)
    for komi in (0.5, -60.0):
        result = search(player, game_after("C3", komi=komi), 60)
        for score in (result.score_mean, *(move.score_mean for move in result.moves)):
            assert komi - 25.0 <= score <= komi + 25.0


def test_leaves_in_flight_change_little() -> None:
    game = game_after("C3")
    alone = search(player_of("puct", CountingEvaluator(), EXACT), game, 400)
    together = search(player_of("puct", CountingEvaluator(), EXACT, leaves_in_flight=16), game, 400)
    assert alone.visits == together.visits == 400
    assert abs(alone.winrate - together.winrate) < 0.05


# --- What symmetry and values say -----------------------------------------------------------------------------------


def test_a_symmetric_evaluator_gives_symmetric_visits() -> None:
    player = player_of("puct", ConstantEvaluator(), EXACT)
    # With 1 + 25 + 1 visits each root move was tried once; then all symmetric ones stay within a visit of each other.
    result = search(player, Game(5, 5, TROMP_TAYLOR, 0.0), 27)
    assert {move.visits for move in result.moves} == {1}
    result = search(player, Game(5, 5, TROMP_TAYLOR, 0.0), 27 + 4 * 26)
    visits = {move.point: move.visits for move in result.moves}
    for symmetry in range(8):
        for point in board_points(5, 5):
            assert abs(visits[point] - visits[symmetric_point(point, 5, 5, symmetry)]) <= 1


class LikesThePoint(ConstantEvaluator):
    """Is sure to win once its own stone is on one point, and to lose once the opponent's is."""

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        answer = super().evaluate(request)
        y, x = self.place
        own, theirs = request.spatial[:, 1, y, x], request.spatial[:, 2, y, x]
        answer.value[:, WIN] = 0.5 + 0.4 * own - 0.4 * theirs
        answer.value[:, LOSS] = 1.0 - answer.value[:, WIN]
        return answer


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("vertex", ["B4", "C1"])
def test_every_player_finds_what_the_network_values(name: str, vertex: str) -> None:
    place = (5 - int(vertex[1]), ord(vertex[0]) - ord("A"))
    player = player_of(name, LikesThePoint(place), AlphaZeroParameters(turn_leaves=False, considered=32, visits_each=1))
    game = Game(5, 5, TROMP_TAYLOR, 0.5)
    result = search(player, game, 150)
    assert to_vertex(player.choose(game, result), 5) == vertex
    assert result.moves[0].winrate > 0.6
    assert result.winrate > 0.55


def test_value_tries_each_move_once() -> None:
    result = search(player_of("value", FancifulEvaluator()), Game(5, 5, TROMP_TAYLOR), 1000)
    assert [move.visits for move in result.moves] == [1] * 26
    winrates = [move.winrate for move in result.moves]
    assert winrates == sorted(winrates, reverse=True)
    assert result.winrate == winrates[0]


def test_rollouts_are_mixed_in() -> None:
    game = Game(5, 5, TROMP_TAYLOR, -30.0)  # black wins nearly every rollout, though the network calls it even
    even = search(player_of("puct", ConstantEvaluator()), game, 200)
    mixed = search(player_of("alphago", ConstantEvaluator()), game, 200)
    rollouts = search(player_of("alphago", ConstantEvaluator(), rollout_share=1.0), game, 200)
    assert even.winrate < mixed.winrate - 0.15 < rollouts.winrate - 0.3
    assert rollouts.winrate > 0.9


def test_noise_and_sampling_only_where_asked_for() -> None:
    game = Game(5, 5, TROMP_TAYLOR)
    player = player_of("puct", ConstantEvaluator(), dirichlet_noise=True)
    priors = [move.prior for move in search(player, game, 10).moves]
    assert sum(priors) == pytest.approx(1.0, abs=1e-5)
    assert max(priors) > 2 / 26
    calm = search(player, game, 10, analysis=True, fresh=True)
    assert [move.prior for move in calm.moves] == pytest.approx([1 / 26] * 26)
    drawn = player_of("puct", ConstantEvaluator(), sampled_moves=1)
    result = search(drawn, game, 100)
    assert len({drawn.choose(game, result) for _ in range(30)}) > 5
    game.play(BLACK, PASS)
    result = search(drawn, game, 100)
    assert {drawn.choose(game, result) for _ in range(10)} == {result.moves[0].point}
    noisy = player_of("gumbel", ConstantEvaluator(), gumbel_noise=True, considered=4, visits_each=1)
    assert len({search(noisy, game, 9, fresh=True).moves[0].point for _ in range(10)}) > 2


# --- Limits, reports, reuse -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("visits", [1, 2, 16])
def test_visits(name: str, visits: int) -> None:
    player = player_of(name, FancifulEvaluator())
    result = search(player, Game(5, 5), visits)
    assert (result.visits, result.new_visits, result.reason) == (visits, visits, StopReason.VISITS)
    assert result.moves
    assert player.search(SearchRequest(Game(5, 5), BLACK, Limits(playouts=3))).new_visits == 3


def test_time_and_simulations() -> None:
    player = player_of("puct", FancifulEvaluator(), simulations=50, stop_when_decided=False)
    assert player.search(SearchRequest(Game(5, 5), BLACK, Limits(seconds=60.0))).new_visits == 50
    player.parameters = dataclasses.replace(player.parameters, simulations=10**9)
    result = player.search(SearchRequest(Game(5, 5), BLACK, Limits(seconds=0.05)))
    assert result.reason == StopReason.TIME
    assert result.new_visits > 1


def test_stop_and_reports() -> None:
    player = player_of("puct", FancifulEvaluator())
    stop = threading.Event()
    seen: list[SearchResult] = []

    def listen(result: SearchResult) -> None:
        seen.append(result)
        if len(seen) == 3:
            stop.set()

    report = ReportRequest(listen, every=0.02, ownership=True)
    request = SearchRequest(Game(5, 5), BLACK, report=report, analysis=True, stop=stop)
    started = time.perf_counter()
    result = player.search(request)
    assert result.reason == StopReason.INTERRUPTED
    assert time.perf_counter() - started < 30
    assert [each.visits for each in seen] == sorted(each.visits for each in seen)
    assert result.ownership is not None
    assert result.ownership.shape == (25,)
    assert np.abs(result.ownership).max() <= 1.0
    assert result.raw is not None
    assert result.raw.policy.sum() == pytest.approx(1.0, abs=1e-5)


def test_the_tree_is_kept() -> None:
    player = player_of("puct", FancifulEvaluator())
    game = Game(5, 5, TROMP_TAYLOR)
    first = search(player, game, 300).moves[0]
    game.play(BLACK, first.point)
    kept = search(player, game, 2)
    assert kept.visits == first.visits
    assert kept.new_visits == 0
    assert search(player, game, 100, fresh=True).new_visits == 100
    game.undo()
    assert search(player, game, 10).new_visits == 10, "nothing leads back"


def test_excluded_moves() -> None:
    player = player_of("puct", FancifulEvaluator())
    allowed = frozenset({from_vertex("A1", 5, 5), from_vertex("C3", 5, 5)})
    result = search(player, Game(5, 5), 50, filter=MoveFilter(allow={BLACK: (allowed, 1)}))
    assert {move.point for move in result.moves} == allowed
    nothing = MoveFilter(avoid={BLACK: ((frozenset({*board_points(5, 5), PASS}), 1),)})
    assert [move.point for move in search(player, Game(5, 5), 20, filter=nothing).moves] == [PASS]


def test_a_failing_network_leaves_a_usable_player() -> None:
    evaluator = FailingEvaluator(EvaluatorError("broken"), 20)
    player = player_of("puct", evaluator)
    with pytest.raises(EvaluatorError):
        search(player, Game(5, 5), 200)
    evaluator.good_calls = 1000
    assert search(player, Game(5, 5), 50).visits == 50


def test_a_tree_that_is_full() -> None:
    player = player_of("puct", FancifulEvaluator(), tree_memory=4, stop_when_decided=False)
    result = search(player, Game(19, 19), 10**6)
    assert result.reason == StopReason.MEMORY
    assert result.visits > 100


def test_the_same_seed_gives_the_same_search() -> None:
    for name in NAMES:
        found = []
        for _ in range(2):
            player = player_of(name, FancifulEvaluator(), dirichlet_noise=True, gumbel_noise=True)
            result = search(player, Game(5, 5), 60)
            found.append([(move.point, move.visits, move.winrate) for move in result.moves])
        assert found[0] == found[1], name


def test_resigning() -> None:
    class Hopeless(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            answer = super().evaluate(request)
            answer.value[:] = (0.5, 0.5, 0.0)
            black = request.global_[:, 5] < 0.0  # the side to move has the komi against it
            answer.value[black] = (0.01, 0.99, 0.0)
            answer.value[~black] = (0.99, 0.01, 0.0)
            answer.score[:, :3] = np.where(black, -20.0, 20.0)[:, None]
            return answer

    player = player_of("puct", Hopeless(), resign_below=0.05)
    game = Game(5, 5, TROMP_TAYLOR, 24.0)
    chosen = []
    for _ in range(3):
        chosen.append(player.choose(game, search(player, game, 20)))
        if chosen[-1] != RESIGN:
            game.play(BLACK, chosen[-1])
            game.play(WHITE, game.legal_moves(WHITE)[0])
    assert chosen[-1] == RESIGN
    assert RESIGN not in chosen[:2], "three times in a row first"


# --- Whole games ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("size", "visits", "rules"), [(9, 8, "chinese"), (13, 3, "japanese"), (19, 2, "aga-button")])
def test_games_are_legal(name: str, size: int, visits: int, rules: str) -> None:
    player = player_of(name, CountingEvaluator())
    game = Game(size, size, preset(rules)[0], 7.5)
    while not game.is_over and len(game.moves) < 150:
        point = player.choose(game, search(player, game, visits))
        game.play(game.to_play, point)  # raises for an illegal move
    assert len(game.moves) > 5


def test_nothing_compiles_after_warm_up() -> None:
    for name in NAMES:
        player = player_of(name, FancifulEvaluator())
        player.warm_up(5, 5)
        before = jit.compilations
        game = Game(5, 5, preset("japanese")[0])
        for _ in range(6):
            result = search(player, game, 40, report=OWNERSHIP_AT_THE_END, analysis=len(game.moves) % 2 == 0)
            game.play(game.to_play, max(PASS, player.choose(game, result)))
        assert jit.compilations == before, name


def test_a_new_tree_knows_no_game() -> None:
    tree = GameTree(EXACT, 0)
    assert tree.take_root(SearchRequest(Game(5, 5), BLACK)) == NONE
    assert tree.take_root(SearchRequest(Game(5, 5), BLACK)) == 0
