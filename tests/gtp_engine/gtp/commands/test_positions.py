"""Commands that set positions up, load them, draw them or say what was thought of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.commands.pictures import influence_picture, policy_picture
from gtp_engine.version import VERSION
from nets.embedded import network_file
from search.request import SearchRequest
from search.result import SearchResult
from tests.go_rules.diagrams import rows_of
from tests.go_rules.kos import TRIPLE_KO, TRIPLE_KO_CYCLE
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.search.evaluators import FancifulEvaluator

# --- Pictures for GoGui -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moves", "colour"), [("b c3", WHITE), ("b c3 w d4", BLACK)])
def test_pictures_are_of_the_side_to_move(moves: str, colour: int) -> None:
    dialogue, evaluator = Dialogue(), FancifulEvaluator()
    dialogue.player.evaluator = evaluator
    dialogue.ask("boardsize 5", f"gogui-play_sequence {moves}")
    game = dialogue.session.game
    assert dialogue.ask("nobi-policy") == policy_picture(evaluator, game, colour)
    assert dialogue.ask("nobi-influence") == influence_picture(evaluator, game, colour)
    for command in ("nobi-ownership", "nobi-variation"):
        dialogue.ask(command)
        assert dialogue.player.searches[-1].colour == colour
        assert dialogue.player.searches[-1].analysis


def test_a_drawn_variation_is_as_long_as_the_user_wants() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", analysis_pv=1))
    dialogue.player.variation = 3
    assert dialogue.ask("nobi-variation").split("\n")[0] == "VAR b A9 w pass"


# --- What was thought ---------------------------------------------------------------------------------------------


class Talkative(FakePlayer):
    """Finds five moves, of which it has visited the first four."""

    def search(self, request: SearchRequest) -> SearchResult:
        found = super().search(request)
        points = request.game.legal_moves(request.colour)[:5]
        moves = [
            dataclasses.replace(found.moves[0], point=point, visits=4 - order, pv=(point,) * (9 - order))
            for order, point in enumerate(points)
        ]
        return dataclasses.replace(found, moves=tuple(moves), seconds=1.25)


@pytest.mark.parametrize("command", ["genmove_debug", "kata-search_debug"])
def test_debugging_writes_all_moves_to_stderr(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = Dialogue(Talkative())
    dialogue.ask("play b e5")
    assert dialogue.ask(f"{command} w") == "A9"
    lines = [line.removeprefix("nobi: ") for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "move 2: white A9",
        "visits 10 winrate 0.520 lead +0.8 seconds 1.25 stopped by visits",
        "A9: visits 4 winrate 0.520 lead +0.8 prior 0.500 pv A9 A9 A9 A9 A9 A9 A9 A9",
        "B9: visits 3 winrate 0.520 lead +0.8 prior 0.500 pv B9 B9 B9 B9 B9 B9 B9 B9",
        "C9: visits 2 winrate 0.520 lead +0.8 prior 0.500 pv C9 C9 C9 C9 C9 C9 C9",
        "D9: visits 1 winrate 0.520 lead +0.8 prior 0.500 pv D9 D9 D9 D9 D9 D9",
    ]
    assert dialogue.ask("gomill-explain_last_move").split("\n") == lines[:5]
    assert dialogue.ask("debug_moves").split("\n")[-6:] == lines


def test_an_engine_with_a_network_names_it() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", gtp_name="Somebody"))
    dialogue.player.evaluator = FancifulEvaluator()
    assert dialogue.ask("gomill-describe_engine").split("\n") == [
        f"Somebody {VERSION}",
        "player fake",
        "network fanciful (fp32, none)",
    ]


def test_a_network_is_listed_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "some network.bin.gz"
    path.write_bytes(b"")
    for net, name in ((str(path), str(path)), ("strong", str(network_file())), ("none", "fanciful")):
        dialogue = Dialogue(settings=EngineSettings(size="9", net=net))
        assert dialogue.ask("kata-get-models") == "[]"
        dialogue.player.evaluator = FancifulEvaluator()
        (model,) = json.loads(dialogue.ask("kata-get-models"))
        assert (model["name"], model["internalName"]) == (name, "fanciful")


# --- Positions ----------------------------------------------------------------------------------------------------


def test_stones_that_are_added_or_taken_off_change_no_turn() -> None:
    dialogue = Dialogue()
    dialogue.ask("boardsize 5", "gogui-play_sequence b c3 w d4 b b2", "gogui-setup EMPTY c3 w e5 Empty d4")
    assert "Next player: White" in dialogue.ask("showboard")
    assert dialogue.session.game.moves == []
    dialogue.ask("gogui-setup_player b")
    assert "Next player: Black" in dialogue.ask("showboard")


@pytest.mark.parametrize("line", ["set_position b c3", "gogui-setup b c3", "gogui-setup_player b"])
def test_another_position_has_no_last_move(line: str) -> None:
    dialogue = Dialogue()
    dialogue.ask("genmove b")
    assert dialogue.ask("gomill-explain_last_move").startswith("move 1: black ")
    dialogue.ask(line)
    assert dialogue.ask("gomill-explain_last_move") == "no move yet"


def test_a_side_that_is_to_play_already_costs_no_history() -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-play_sequence b c3 w d4 b e5", "gogui-setup_player white")
    assert len(dialogue.session.game.moves) == 3
    dialogue.ask("gogui-setup_player black")
    assert len(dialogue.session.game.moves) == 0


def test_a_new_game_has_the_size_of_the_one_before() -> None:
    dialogue = Dialogue()
    dialogue.ask("boardsize 5 7", "clear_board")
    assert (dialogue.session.game.width, dialogue.session.game.height) == (5, 7)
    dialogue.ask("boardsize 7:1")
    assert (dialogue.session.game.width, dialogue.session.game.height) == (7, 1)


def test_more_handicap_than_there_is_room_for_is_as_much_as_there_is() -> None:
    dialogue = Dialogue()
    dialogue.ask("boardsize 3")
    stones = dialogue.ask("place_free_handicap 81").split()
    assert 2 <= len(set(stones)) == len(stones) < 9


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("komi 6.5 7.5", "syntax error"),
        ("set_free_handicap c3 pass", "bad vertex list"),
        ("set_free_handicap pass c3", "bad vertex list"),
        ("set_free_handicap c3 d4 c3", "bad vertex list"),
        ("set_position b c3 w pass", "illegal position"),
        ("gogui-setup b c3 w", "syntax error"),
        ("boardsize 5 7 9 11", "syntax error"),
        ("boardsize 5 7 9", "syntax error"),
    ],
)
def test_what_is_refused_changes_nothing(line: str, error: str) -> None:
    dialogue = Dialogue()
    board, komi = dialogue.ask("showboard"), dialogue.ask("get_komi")
    assert dialogue.refuse(line) == error
    assert (dialogue.ask("showboard"), dialogue.ask("get_komi")) == (board, komi)


def test_the_komi_is_known_before_anything_else_was_asked() -> None:
    assert Dialogue(settings=EngineSettings(size="9", komi=3.5)).ask("get_komi") == "3.5"
    assert Dialogue(settings=EngineSettings(size="9", rules="japanese")).ask("get_komi") == "6.5"


# --- Files --------------------------------------------------------------------------------------------------------


def test_a_record_without_a_komi_keeps_what_was_set(tmp_path: Path) -> None:
    path, dialogue = tmp_path / "game 7.sgf", Dialogue()
    path.write_text("(;SZ[9];B[ee];W[cc])")
    dialogue.ask("komi 3.5", "kata-set-rules japanese", f"loadsgf {path}")
    assert (dialogue.ask("get_komi"), len(dialogue.session.game.moves)) == ("3.5", 2)
    assert dialogue.session.game.komi == 3.5
    assert '"scoring":"TERRITORY"' in dialogue.ask("kata-get-rules")
    dialogue.ask(f"loadsgf {path}   2")
    assert len(dialogue.session.game.moves) == 1


def test_a_file_whose_name_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12").write_text("(;SZ[9];B[ee];W[cc])")
    dialogue = Dialogue()
    dialogue.ask("loadsgf 12")
    assert len(dialogue.session.game.moves) == 2
    dialogue.ask("loadsgf 12 1")
    assert len(dialogue.session.game.moves) == 0


def test_a_record_says_which_program_wrote_it_and_the_komi_that_was_set() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", gtp_name="Somebody"))
    dialogue.ask("komi 1000000")
    text = dialogue.ask("printsgf")
    assert f"AP[Somebody:{VERSION}]" in text
    assert "KM[1000000]" in text
    assert dialogue.ask("printsgf -") == text


# --- Sequences and clean-up ---------------------------------------------------------------------------------------


def test_of_a_sequence_all_moves_are_played_or_none() -> None:
    dialogue = Dialogue()
    dialogue.ask("play b e5")
    board = dialogue.ask("showboard")
    assert dialogue.refuse("gogui-play_sequence w c3 b d4 w pass b c3 w a1") == "illegal move"
    assert dialogue.ask("showboard") == board


@pytest.mark.parametrize(
    ("black", "white", "dead", "move"),
    [
        # White's stone in the corner is to be captured, and not black's own at E5.
        ("c1 c2 c3 b3 a3 e5", "c5 c4 d3 e3 a1", ["A1", "E5"], "A2"),
        # Only at a liberty, not at A3 beside it.
        ("c1 c2 c3 b4 a4", "a1 e5", ["A1"], "A2"),
        # A1 would be captured at once.
        ("c1 c2 c3 b3 a3", "a2 b2 e5", ["A2"], "B1"),
        # So would B1: then it may be either.
        ("d1 d2 c3 b3 a3", "a2 b2 c2 c1 e5", ["A2"], "A1"),
        # Both liberties are forbidden, and the move may be anywhere.
        ("a3 b3 c3 d3 e2 e1", "a2 b2 b1 c2 d2 d1", ["A2"], "A5"),
    ],
    ids=["the opponent's", "liberties", "no self-atari", "self-atari", "forbidden"],
)
def test_where_dead_stones_are_captured(black: str, white: str, dead: list[str], move: str) -> None:
    dialogue = Dialogue(FakePlayer(dead=dead))
    dialogue.ask("boardsize 5")
    stones = [f"{colour} {vertex}" for colour, each in (("b", black), ("w", white)) for vertex in each.split()]
    dialogue.ask(f"set_position {' '.join(stones)}", "gogui-play_sequence b pass w pass")
    assert set(dead) <= set(dialogue.ask("final_status_list dead").split())
    assert dialogue.ask("kgs-genmove_cleanup b") == move


# --- Scores -------------------------------------------------------------------------------------------------------


class Unsure(FakePlayer):
    """Knows of no point whose it will be, and expects the side to move to lead by 0.75 points."""

    def search(self, request: SearchRequest) -> SearchResult:
        result = super().search(request)
        return dataclasses.replace(result, ownership=np.zeros(request.game.width * request.game.height, np.float32))


@pytest.mark.parametrize(
    ("rules", "komi", "score"),
    [
        ("chinese", "0.5", "B+0.5"),
        ("chinese", "0.25", "B+0.75"),
        ("chinese", "7", "B+1"),
        ("chinese", "-3", "B+1"),
        ("aga-button", "7", "B+0.5"),
        ("aga-button", "6.5", "B+1"),
    ],
)
def test_a_score_before_the_end_is_one_that_this_komi_allows(rules: str, komi: str, score: str) -> None:
    """Black expects 0.75 points. Points are whole ones beside the komi, but for half a point with a button."""
    dialogue = Dialogue(Unsure())
    dialogue.ask(f"kata-set-rules {rules}", f"komi {komi}", "gogui-play_sequence b c3 w g7")
    assert dialogue.ask("final_score") == score


def test_a_score_before_the_end_with_a_komi_beyond_all_bounds() -> None:
    """The search sees a smaller one, and the rest is added."""
    dialogue = Dialogue(Unsure())
    dialogue.ask("komi 1000000", "gogui-play_sequence b c3 w g7")
    seen = dialogue.session.game.komi
    assert seen < 1000000
    assert dialogue.ask("final_score") == f"W+{1000000 - seen - 1:g}"


def test_a_look_for_dead_stones_takes_at_most_a_quarter_of_the_time_of_a_move() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", lag=0.0))
    dialogue.ask("gogui-play_sequence b c3 w g7 b pass w pass")
    dialogue.ask("kgs-time_settings byoyomi 0 4 1")
    dialogue.ask("kgs-genmove_cleanup b")
    *looks, move = [request.limits.seconds or 0.0 for request in dialogue.player.searches]
    assert len(looks) == 2
    assert looks[0] == looks[1] == pytest.approx(move / 4, abs=0.1)
    dialogue.ask("kgs-time_settings byoyomi 0 60 1", "play w d4", "kgs-genmove_cleanup b")
    assert [request.limits.seconds for request in dialogue.player.searches[3:5]] == [1.5, 1.5]


def test_a_game_without_result_is_nobodys() -> None:
    """A triple ko under a simple ko rule: the position comes again, and nobody can change that."""
    rows = rows_of(TRIPLE_KO)
    stones = [f"{'b' if each == 'X' else 'w'} {'ABCD'[x]}{11 - y}"
              for y, row in enumerate(rows) for x, each in enumerate(row) if each != "."]  # fmt: skip
    dialogue = Dialogue()
    dialogue.ask("boardsize 4 11")
    dialogue.ask("kata-set-rules chinese")
    dialogue.ask(f"set_position {' '.join(stones)}")
    dialogue.ask(f"gogui-play_sequence {TRIPLE_KO_CYCLE} {TRIPLE_KO_CYCLE}")
    assert dialogue.ask("final_score") == "0"
    assert dialogue.player.searches == []


def test_rules_without_dead_stones_need_no_search() -> None:
    dialogue = Dialogue(FakePlayer(dead=["C3"]))
    dialogue.ask("kata-set-rules tromp-taylor", "gogui-play_sequence b c3 w g7 b pass w pass")
    assert dialogue.ask("final_score") == "W+7.5"
    assert dialogue.ask("final_status_list dead") == ""
    assert dialogue.player.searches == []
