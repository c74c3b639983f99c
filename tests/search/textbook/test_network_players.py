"""The players with a network: the same statistics as a slow search, symmetry, what values and noise do, resigning."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, to_vertex
from go_rules.rule_names import preset
from nets.evaluator import LOSS, WIN, ConstantEvaluator, Evaluation, EvaluationRequest, EvaluatorError
from nets.symmetry import symmetric_point
from search.result import RESIGN
from search.textbook.parameters import AlphaZeroParameters
from search.textbook.tree import ROOT, place_of_children
from tests.search.evaluators import CountingEvaluator, FailingEvaluator, FancifulEvaluator
from tests.search.searches import played
from tests.search.textbook.making import player_of, search
from tests.search.textbook.naive_search import NaiveNode, NaiveSearch

TROMP_TAYLOR = preset("tromp-taylor")[0]
EXACT = {"leaves_in_flight": 1, "random_symmetry": False, "memory": 4}
"""One leaf at a time, and no symmetries: what the papers' formulas say, move by move."""
NAMES = ("puct", "gumbel", "alphago", "value")


def game_after(moves: str, komi: float = 0.5) -> Game:
    return played(Game(5, 5, TROMP_TAYLOR, komi), moves)


# --- The same as the slow search ------------------------------------------------------------------------------------


def compare(nodes: np.ndarray, index: int, naive: NaiveNode) -> int:
    """Assert that two trees hold the same; returns the number of nodes."""
    assert 2.0 * nodes[index]["own_value"] - 1.0 == pytest.approx(naive.value, abs=1e-6)
    places = place_of_children(nodes, index)
    assert sorted(nodes["move"][places].tolist()) == sorted(naive.p)
    compared = 1
    for place in range(places.start, places.stop):
        node = nodes[place]
        move = int(node["move"])
        assert int(node["visits"]) == naive.n[move]
        assert int(node["in_flight"]) == 0
        assert 2.0 * node["wins"] - node["visits"] == pytest.approx(naive.w[move], abs=1e-4)
        assert node["prior"] == pytest.approx(naive.p[move], abs=1e-6)
        assert (node["visits"] > 0) == (move in naive.children)
        if move in naive.children:
            compared += compare(nodes, place, naive.children[move])
    return compared


@pytest.mark.parametrize("first_play", ["draw", "loss", "parent"])
@pytest.mark.parametrize(
    "moves", ["", "C3 C2 D2 B3 pass", "A1 B1 pass A2", "C3 C4 B3 B4 D3 D4 A3 A4 E3 pass", "A2 D2 B1 C1 B3 C3 C2 B2"]
)
def test_puct_is_what_the_slow_search_says(moves: str, first_play: str) -> None:
    parameters = AlphaZeroParameters(leaves_in_flight=1, random_symmetry=False, first_play=first_play)
    evaluator = FancifulEvaluator(sharpness=0.7)
    player = player_of("puct", evaluator, **EXACT, first_play=first_play)
    game = game_after(moves)
    result = search(player, game, 201)
    naive = NaiveSearch(evaluator, parameters).run(game, 200)
    nodes = player.searcher.nodes
    assert sum(naive.n.values()) == 200 == result.visits - 1
    assert compare(nodes, ROOT, naive) == (nodes["visits"] > 0).sum()


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
    alone = search(player_of("puct", CountingEvaluator(), **EXACT), game, 400)
    together = search(player_of("puct", CountingEvaluator(), leaves_in_flight=16, random_symmetry=False), game, 400)
    assert alone.visits == together.visits == 400
    assert abs(alone.winrate - together.winrate) < 0.05


# --- What symmetry and values say -----------------------------------------------------------------------------------


def test_a_symmetric_evaluator_gives_symmetric_visits() -> None:
    player = player_of("puct", ConstantEvaluator(), **EXACT)
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
    player = player_of(
        name, LikesThePoint(place), rollout_share=0.0, random_symmetry=False, considered=32, visits_each=1
    )
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


# --- Limits, failing and resigning ------------------------------------------------------------------------------------


def test_a_failing_network_leaves_a_usable_player() -> None:
    evaluator = FailingEvaluator(EvaluatorError("broken"), 20)
    player = player_of("puct", evaluator)
    with pytest.raises(EvaluatorError):
        search(player, Game(5, 5), 200)
    evaluator.good_calls = 1000
    assert search(player, Game(5, 5), 50).visits == 50


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
