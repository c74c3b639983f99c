"""Games on the board in the browser, as a page plays them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtp_engine.errors import UserError
from nets.at_hand import PUBLISHED
from tests.conftest import SMALL_NETWORK
from tests.first_together import first_together
from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.web.browser import Browser, Server
from tests.systems import PATIENCE

FULL = 12
CORNER, CENTRE = 0, 40


def opened(page: Browser, content: bytes, name: str = "a.sgf") -> dict[str, Any]:
    assert page.ask("open", name=name, bytes=base64.b64encode(content).decode()) == {}
    return page.wait("game")


def downloaded(page: Browser) -> bytes:
    return page.request("GET", "/api/download")[2]


def answered(page: Browser) -> dict[str, Any]:
    """The engine's answer to the person's move, which are both waited for."""
    page.wait("nodes")
    return page.wait("nodes")


# --- Play ---------------------------------------------------------------------------------------------------------


def test_a_stone_is_answered_at_once_and_the_engine_moves_then(page: Browser, player: FakePlayer) -> None:
    player.script = ["c3"]
    assert page.ask("new", width=9, height=9, person=1) == {}
    game = page.wait("game")
    assert (game["mode"], game["person"], game["at"]) == ("play", 1, 0)
    child = page.ask("play", node=0, point=CENTRE)["node"]
    own = page.wait("nodes")
    assert own["at"] == child
    assert [(n["colour"], n["point"], n["to_play"], n["number"]) for n in own["nodes"]] == [(1, CENTRE, 2, 1)]
    answer = page.wait("nodes")
    assert [(n["parent"], n["colour"], n["point"]) for n in answer["nodes"]] == [(child, 2, 56)]
    assert b";B[ee]\n;W[cg]" in downloaded(page)


def test_it_begins_where_the_person_has_white(page: Browser, player: FakePlayer) -> None:
    player.script = ["e5"]
    page.ask("new", width=9, height=9, person=2, level=FULL)
    assert page.wait("nodes")["nodes"][0]["point"] == CENTRE


def test_while_the_engine_thinks_it_is_not_the_persons_turn(page: Browser, player: FakePlayer) -> None:
    player.thinks = PATIENCE
    page.ask("new", width=9, height=9)
    page.ask("play", node=0, point=CENTRE)
    node = page.wait("nodes")["at"]
    assert page.ask("play", node=node, point=0)["key"] == "engines_turn"
    assert player.searching.wait(PATIENCE)
    page.ask("undo")


def test_undo_takes_back_the_persons_move_even_while_it_is_thought_about(page: Browser, player: FakePlayer) -> None:
    page.ask("new", width=9, height=9)
    page.ask("play", node=0, point=CENTRE)
    answered(page)
    page.ask("undo")
    assert page.wait("nodes")["at"] == 0
    assert page.ask("undo")["key"] == "nothing_to_take_back"
    player.thinks = PATIENCE
    page.ask("play", node=0, point=CORNER)
    assert page.wait("nodes")["at"]
    assert player.searching.wait(PATIENCE)
    page.ask("undo")
    assert page.wait("nodes")["at"] == 0
    page.wait("engine", lambda told: told["state"] == "ready")
    assert downloaded(page).index(b"B[aa]") < downloaded(page).index(b"B[ee]"), "the game itself is the main line"


def test_resignation_of_either_side(page: Browser, player: FakePlayer) -> None:
    player.script = ["resign"]
    page.ask("new", width=9, height=9, person=1)
    page.ask("play", node=0, point=CENTRE)
    assert answered(page)["result"] == "B+R"
    page.ask("undo")
    assert page.wait("nodes")["result"] == ""
    page.ask("resign")
    assert page.wait("nodes")["result"] == "W+R"
    assert page.ask("resign")["key"] == "no_game_goes_on"
    page.ask("undo")
    assert page.wait("nodes")["result"] == ""


@pytest.mark.parametrize(
    ("content", "point", "error"),
    [
        (b"(;SZ[9]AB[ee]PL[W])", CENTRE, "illegal: E5"),
        (b"(;SZ[9]AB[ba][ab]PL[W])", CORNER, "illegal suicide: A9"),
        (b"(;SZ[9]RU[Japanese]AB[ba][ab][cb][bc]AW[ca][db][cc]PL[W];W[bb])", 11, "illegal ko: C8"),
    ],
)
def test_what_the_rules_forbid_is_one_line_and_a_text_in_all_languages(
    page: Browser, content: bytes, point: int, error: str
) -> None:
    game = opened(page, content)
    answer = page.ask("play", node=game["at"], point=point)
    key, _, vertex = error.partition(": ")
    assert answer == {"error": error, "key": key.replace(" ", "_"), "values": {"point": vertex}}


def test_a_move_elsewhere_is_a_variation_and_the_game_stands_where_it_stood(page: Browser) -> None:
    page.ask("new", width=9, height=9)
    page.ask("play", node=0, point=CENTRE)
    at = answered(page)["at"]
    page.ask("play", node=0, point=CORNER)
    told = page.wait("nodes")
    assert (told["at"], told["nodes"][0]["parent"]) == (at, 0)


def test_teaching_says_what_a_move_lost_and_waits_where_that_is_too_much(page: Browser) -> None:
    page.ask("new", width=9, height=9, teaching=True, limit=1.6)
    page.ask("play", node=0, point=CENTRE)
    page.wait("nodes")
    judged = page.wait("nodes")
    before, after = judged["nodes"]
    assert (before["id"], after["parent"], judged["at"]) == (0, 0, after["id"])
    assert (after["loss"], judged["offer"]) == (1.5, None), "the player sees every side to move 0.75 ahead"
    page.wait("nodes")
    assert page.ask("go_on")["key"] == "nothing_was_offered"
    page.ask("new", width=9, height=9, teaching=True, limit=1.5)
    page.ask("play", node=0, point=CENTRE + 9)
    offer = page.wait("nodes", lambda told: told["offer"])["offer"]
    assert (offer["loss"], len(offer["better"]), len(offer["refutation"])) == (1.5, 2, 2)
    page.ask("undo")
    assert page.wait("nodes")["at"] == 0
    page.ask("play", node=0, point=CENTRE + 18)
    node = page.wait("nodes", lambda told: told["offer"])["offer"]["node"]
    page.ask("go_on")
    answer = page.wait("nodes")
    assert (answer["offer"], answer["nodes"][0]["parent"]) == (None, node)


def test_a_clock_that_has_run_out_ends_the_game(page: Browser) -> None:
    page.ask("new", width=9, height=9, clock={"main": 0.2})
    game = page.wait("game")
    assert [left["main"] for left in game["clock"]["left"]] == [0.2, 0.2]
    assert page.wait("clock")["clock"]["running"] == 1
    assert page.wait("nodes")["result"] == "W+T"


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_clock_without_any_time_is_none(page: Browser) -> None:
    page.ask("new", width=9, height=9, clock={})
    page.ask("play", node=0, point=CENTRE)
    assert answered(page)["result"] == ""


@pytest.mark.parametrize("clock", [None, {"main": 0.2}], ids=["given up", "lost on time"])
def test_a_game_that_has_ended_is_played_on_where_it_stands(page: Browser, clock: dict[str, float] | None) -> None:
    page.ask("new", width=9, height=9, clock=clock)
    if clock is None:
        page.ask("resign")
    page.wait("nodes", lambda told: told["result"].startswith("W+"))
    page.ask("play_on", node=0)
    assert page.wait("nodes", lambda told: not told["result"])["clock"] is None
    page.ask("play", node=0, point=CENTRE)
    assert answered(page)["result"] == ""


def test_clocks_are_charged_and_one_runs_at_a_time(page: Browser, player: FakePlayer) -> None:
    player.thinks = 0.2
    page.ask("new", width=9, height=9, clock={"main": 300, "increment": 0})
    page.ask("play", node=0, point=CENTRE)
    page.wait("nodes")
    assert page.wait("clock", lambda told: told["clock"]["running"] == 2)
    clock = page.wait("clock", lambda told: told["clock"]["running"] == 1)["clock"]
    assert clock["left"][1]["main"] < 299.9
    assert clock["left"][0]["main"] < 300


@pytest.mark.parametrize("terms", [{"periods": 3, "byo_seconds": 9}, {"increment": 5}])
def test_every_kind_of_clock(page: Browser, terms: dict[str, float]) -> None:
    page.ask("new", width=9, height=9, clock={"main": 60, **terms})
    clock = page.wait("game")["clock"]
    assert {name: clock[name] for name in terms} == terms


def test_who_plays_on_in_a_record_adds_a_variation_to_it(page: Browser, player: FakePlayer) -> None:
    player.script = ["c3"]
    opened(page, b"(;SZ[9]PB[Black]PW[White];B[ee];W[dd])")
    page.ask("play_on", node=1, level=3)
    assert page.wait("nodes")["level"] == 3
    assert page.ask("play_on", level=13)["key"] == "no_such_level"
    page.ask("play", node=1, point=CORNER)
    page.wait("nodes", lambda told: told["nodes"] and told["nodes"][0]["colour"] == 1)
    begins = b"(\n;SZ[9]PB[Black]PW[White]CA[UTF-8]\n;B[ee]\n(\n;W[dd])\n(\n;W[aa]\n;B["
    assert downloaded(page).startswith(begins)


def test_a_person_places_the_handicap_stones_where_they_like(data: Path, page: Browser, player: FakePlayer) -> None:
    page.ask("new", width=9, height=9, handicap=3, is_free=True)
    game = page.wait("game")
    assert (game["to_place"], game["komi"], game["nodes"][0]["setup"]) == (3, 0.5, None)
    for point in (CENTRE, CORNER):
        assert page.ask("play", node=0, point=point) == {"node": 0}
    for wrong in (CENTRE, -1):
        assert page.ask("play", node=0, point=wrong)["key"] == "illegal"
    told = page.wait("nodes", lambda told: told["to_place"] == 1)
    assert (told["nodes"][0]["setup"]["black"], told["nodes"][0]["to_play"]) == ([CENTRE, CORNER], 1)
    page.ask("play", node=0, point=80)
    told = page.wait("nodes", lambda told: told["to_place"] == 0)
    assert (told["handicap"], told["nodes"][0]["to_play"]) == (3, 2)
    assert page.wait("nodes")["nodes"][0]["colour"] == 2, "white's first move"
    assert b"HA[3]AB[ee][aa][ii]PL[W]" in downloaded(page)
    assert player.searches[-1].game.handicap_stones == 3


def test_the_engine_places_its_own_handicap_stones(page: Browser) -> None:
    page.ask("new", width=9, height=9, handicap=2, is_free=True, person=2)
    game = page.wait("game")
    assert (game["to_place"], len(game["nodes"][0]["setup"]["black"]), game["nodes"][0]["to_play"]) == (0, 2, 2)


# --- The end ------------------------------------------------------------------------------------------------------

WALLS = b"(;SZ[5]KM[0.5]AB[ba][bb][bc][bd][be][ea]AW[ca][cb][cc][cd][ce][aa]PL[B];B[];W[])"


def test_after_two_passes_both_look_at_the_count_until_they_agree(page: Browser, player: FakePlayer) -> None:
    player.dead = ["e5", "a5"]
    opened(page, WALLS)
    page.ask("play_on")
    count = page.wait("nodes", lambda told: told["count"] is not None)["count"]
    assert count["dead"] == [0, 4]
    assert count["result"] == "W+5.5"
    black, white = count["black"], count["white"]
    assert [side["stones"] + side["territory"] for side in (black, white)] == [10, 15]
    assert page.ask("dead", point=2) != {}
    page.ask("dead", point=2)
    alive = page.ask("dead", point=4)
    assert alive["dead"] == [0]
    page.ask("agree")
    assert page.wait("nodes", lambda told: told["result"])["result"] == alive["result"]
    assert page.ask("agree")["key"] == "nothing_is_counted"


def test_two_people_who_pass_look_at_the_count_too_but_not_in_somebodys_record(page: Browser) -> None:
    def passes(node: int) -> None:
        for _ in range(2):
            node = page.ask("play", node=node, point=-1)["node"]

    page.ask("new", width=9, height=9, person=0)
    passes(0)
    count = page.wait("nodes", lambda told: told["count"])["count"]
    page.ask("undo")
    assert page.wait("nodes")["count"] is None
    passes(0)
    page.wait("nodes", lambda told: told["count"])
    page.ask("agree")
    assert page.wait("nodes", lambda told: told["result"])["result"] == count["result"]
    opened(page, b"(;SZ[9];B[ee];W[cc])")
    passes(2)
    assert page.ask("agree")["key"] == "nothing_is_counted"


def test_a_score_of_a_game_that_goes_on_ends_nothing(page: Browser) -> None:
    opened(page, b"(;SZ[9];B[ee])")
    found = page.ask("score")
    assert len(found["owner"]) == 81
    assert page.ask("agree")["key"] == "nothing_is_counted"


# --- Analysis -----------------------------------------------------------------------------------------------------


def test_the_engine_analyses_what_was_last_looked_at_until_the_page_leaves(
    server: Server, page: Browser, player: FakePlayer
) -> None:
    game = opened(page, b"(;SZ[9];B[ee];W[cc])")
    page.ask("look", node=1)
    found = page.wait("analysis")
    assert (found["game"], found["node"], found["to_play"], found["done"]) == (game["id"], 1, 2, False)
    assert (found["winrate"], found["lead"]) == (0.48, -0.75), "black's"
    assert len(found["ownership"]) == 81
    assert set(found["moves"][0]) == {"point", "visits", "winrate", "lead", "order", "pv"}
    page.ask("look", node=2, ownership=False)
    assert page.wait("analysis", lambda told: told["node"] == 2)["ownership"] is None
    other = Browser(server.port, server.tokens[-1])
    page.leave()
    other.wait("analysis")
    other.leave()
    left = threading.Event()
    while player.searching.is_set():
        left.wait(0.01)
    assert not server.streams.has_readers
    stop = player.searches[-1].stop
    assert stop is not None
    assert stop.is_set(), "it was ended, and did not come to its end"


def test_the_look_of_a_page_that_left_gives_way_to_that_of_another(server: Server, page: Browser) -> None:
    opened(page, b"(;SZ[9];B[ee];W[cc])")
    other = Browser(server.port, server.tokens[-1])
    page.ask("look", node=1)
    other.ask("look", node=2, page=other.name)
    page.wait("analysis", lambda told: told["node"] == 2)
    other.leave()
    page.wait("analysis", lambda told: told["node"] == 1)


def test_an_analysis_with_a_cap_ends_and_says_so(page: Browser) -> None:
    opened(page, b"(;SZ[9];B[ee])")
    page.ask("look", node=0, visits=40)
    found = page.wait("analysis", lambda told: told["done"])
    assert found["visits"] == 40
    node = page.wait("nodes")["nodes"][0]
    best = {"order": 0, "point": found["moves"][0]["point"], "pv": found["moves"][0]["pv"]}
    known = {"visits": 40, "winrate": 0.52, "lead": 0.75}
    assert node["analysis"] == {**known, "moves": [{**known, **best}]}


def test_a_review_judges_the_main_line_and_gives_way_to_what_is_looked_at(page: Browser, player: FakePlayer) -> None:
    game = opened(page, b"(;SZ[9];B[ee];W[gc](;B[cg])(;B[aa]))")
    player.thinks = 0.05
    page.ask("review", visits=5)
    page.ask("look", node=2, visits=7)
    page.wait("analysis", lambda told: told["node"] == 2 and told["done"])
    judged: set[int] = set()
    while len(judged) < 4:
        judged |= {node["id"] for node in page.wait("nodes")["nodes"] if node["analysis"] is not None}
    assert judged == {node["id"] for node in game["nodes"][:4]}
    page.wait("engine", lambda told: told["state"] == "ready")


def test_a_review_waits_for_no_long_analysis_which_goes_on_afterwards(page: Browser, player: FakePlayer) -> None:
    opened(page, b"(;SZ[9];B[ee];W[gc])")
    player.thinks = 30.0
    page.ask("look", node=0, visits=1000)
    page.wait("analysis")
    player.thinks = 0.05
    page.ask("review", visits=5)
    page.wait("engine", lambda told: told["values"] == {"n": 3, "of": 3})
    page.wait("analysis", lambda told: told["done"])
    assert [search.limits.visits for search in player.searches] == [1000, 100, 5, 5, 1000]


def test_a_hint_and_a_threat_are_searches_of_either_side(page: Browser, player: FakePlayer) -> None:
    opened(page, b"(;SZ[9];B[ee])")
    assert page.ask("hint", node=0)["to_play"] == 1
    assert page.ask("threat", node=0)["to_play"] == 2
    assert page.wait("analysis", lambda told: told["to_play"] == 2)["node"] == 0
    assert [search.colour for search in player.searches] == [1, 2]


def test_too_many_searches_are_refused_in_one_line(page: Browser, player: FakePlayer) -> None:
    player.thinks = PATIENCE
    errors: list[str] = []
    threads = [
        threading.Thread(target=lambda: errors.append(page.ask("hint").get("error", "")), daemon=True)
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    while len(errors) < 3:
        threading.Event().wait(0.01)
    assert errors[:3] == ["busy"] * 3
    page.ask("new", person=0)
    for thread in threads:
        thread.join(PATIENCE)
    assert len(errors) == 12
    assert "interrupted" in errors[3:]


def test_a_search_that_fails_is_one_line_and_the_board_goes_on(
    page: Browser, player: FakePlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_request: object) -> None:
        raise MemoryError

    monkeypatch.setattr(player, "search", fail)
    page.ask("new", width=9, height=9)
    page.ask("play", node=0, point=CENTRE)
    assert page.wait("engine", lambda told: told["state"] == "failed")["values"] == {"text": "out of memory"}
    assert page.wait("message")["kind"] == "error"
    monkeypatch.undo()
    page.ask("undo")
    page.ask("play", node=0, point=CORNER)
    assert page.wait("nodes", lambda told: told["nodes"] and told["nodes"][0]["colour"] == 2)


# --- Networks -----------------------------------------------------------------------------------------------------


def test_a_network_is_chosen_by_a_click_and_fetched_first_where_it_is_not_at_hand(
    server: Server, page: Browser, data: Path, player: FakePlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = PUBLISHED[-1].name

    def fetched(name: str, progress: Callable[[int, int], None]) -> None:
        progress(1_000_000, 2_000_000)
        (data / "networks").mkdir(parents=True)
        (data / "networks" / f"{name}.bin.gz").write_bytes(SMALL_NETWORK.read_bytes())

    monkeypatch.setattr("gtp_engine.tools.networks.fetched", fetched)
    offered = {each["name"]: each["size"] for each in server.table.hello("")["networks"]}
    assert offered[name] == PUBLISHED[-1].size
    page.ask("network", name=name)
    assert page.wait("progress") == {"done": 1_000_000, "total": 2_000_000}
    assert page.wait("networks")["network"] == name
    assert page.wait("message") == {"texts": [{"key": "network_plays", "values": {"name": name}}], "kind": "info"}
    assert player.closed, "the player before has ended"
    page.ask("play", node=0, point=CENTRE)
    page.ask("hint")


def test_a_network_that_cannot_be_fetched_leaves_the_one_before(page: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(name: str, progress: object) -> None:
        raise UserError(f"{name} could not be fetched: no route")

    monkeypatch.setattr("gtp_engine.tools.networks.fetched", fetched)
    page.ask("network", name=PUBLISHED[-1].name)
    assert page.wait("message")["texts"][0]["values"]["text"].endswith("could not be fetched: no route")
    page.ask("play", node=0, point=CENTRE)
    assert page.ask("hint")["visits"]


# --- Editing and files --------------------------------------------------------------------------------------------


def test_comments_marks_stones_and_variations_are_in_the_file(page: Browser) -> None:
    opened(page, b"(;SZ[9];B[ee](;W[cc])(;W[dd]))")
    page.ask("edit", node=1, comment="a [b] \\ c", marks={"triangle": [0], "labels": {"1": "A:"}})
    stones = page.ask("edit", node=1, setup={"black": [80], "empty": [40], "to_play": 1})["node"]
    told = page.wait("nodes", lambda told: told["nodes"][0]["id"] == stones)["nodes"][0]
    assert (told["setup"], told["to_play"]) == ({"black": [80], "white": [], "empty": [40]}, 1)
    page.ask("edit", node=3, promote=True)
    order = [node["id"] for node in page.wait("game")["nodes"]]
    assert order.index(3) < order.index(2)
    content = downloaded(page)
    assert b"C[a [b\\] \\\\ c]TR[aa]LB[ba:A:]" in content
    assert b"AB[ii]AE[ee]PL[B]" in content
    page.ask("edit", node=3, delete=True)
    assert page.wait("nodes")["removed"] == [3]
    assert b"W[dd]" not in downloaded(page)


def test_stones_that_cannot_stand_there_are_refused(page: Browser) -> None:
    opened(page, b"(;SZ[2])")
    assert page.ask("edit", node=0, setup={"black": [0, 1, 2, 3]})["key"] == "impossible_position"
    assert page.ask("edit", node=0, setup={"black": [0]}) == {"node": 0}


@pytest.mark.parametrize("content", [b"", b"(;", b"\0" * 100, b"(;SZ[99])", b"(;GM[2])", b"(;SZ[9];B[zz])"])
def test_a_broken_file_is_one_line_and_the_game_on_the_board_stays(page: Browser, content: bytes) -> None:
    opened(page, b"(;SZ[9];B[ee])")
    answer = page.ask("open", name="bad\n.sgf", bytes=base64.b64encode(content).decode())
    assert answer["error"]
    assert b"B[ee]" in downloaded(page)


def test_moves_that_cannot_be_are_shown_as_such_and_stay_in_the_file(page: Browser) -> None:
    page.ask("open", name="a.sgf", bytes=base64.b64encode(b"(;SZ[9];B[ee];W[ee]C[x];B[cc])").decode())
    (text,) = page.wait("message")["texts"]
    assert text == {"key": "impossible_move", "values": {"n": 2, "point": "E5"}}
    assert page.ask("edit", node=0, comment="x") == {"node": 0}
    assert b";W[ee]C[x]" in downloaded(page)


def test_of_several_games_the_first_is_shown_which_is_said(page: Browser) -> None:
    page.ask("open", name="", bytes=base64.b64encode(b"(;SZ[9];B[ee])(;SZ[9];B[cc])").decode())
    page.wait("game")
    assert page.wait("message")["texts"][0]["key"] == "the_first_of_several_games_is_shown"


def test_a_file_is_written_back_when_that_is_asked_for_and_not_over_a_change_of_others(
    server: Server, page: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "own.sgf"
    path.write_bytes(b"(;SZ[9]XX[private];B[ee])")
    server.table.open_file(path)
    node = page.ask("play", node=1, point=CORNER)["node"]
    assert page.wait("nodes")["unsaved"] is True
    assert path.read_bytes() == b"(;SZ[9]XX[private];B[ee])"
    page.ask("save")
    assert page.wait("nodes")["unsaved"] is False
    assert b"XX[private]" in path.read_bytes()
    assert b";W[aa]" in path.read_bytes()
    assert b"NOBI" not in path.read_bytes()
    path.write_bytes(b"theirs")
    page.ask("play", node=node, point=CENTRE - 1)
    assert page.ask("save")["key"] == "file_changed"
    assert path.read_bytes() == b"theirs"


def test_every_game_is_kept_after_each_move_and_can_be_gone_on_with(data: Path, player: FakePlayer) -> None:
    first = Server()
    page = Browser(first.port, first.entrance.token)
    assert not data.exists(), "nothing is written before there is something to keep"
    page.ask("new", width=9, height=9, person=2, level=7, teaching=True)
    at = page.wait("nodes")["at"]
    page.ask("play", node=at, point=CENTRE)
    page.wait("nodes", lambda told: len(told["nodes"]) == 1 and told["nodes"][0]["number"] == 3)
    page.leave()
    first.close()
    (kept,) = (data / "games").iterdir()
    second = Server()
    page = Browser(second.port, second.entrance.token)
    (game,) = second.table.operations["games"](b"{}")["games"]
    assert (game["id"], game["moves"], game["size"]) == (kept.stem, 3, "9x9")
    assert game["black"] == "Nobi, 300 Elo above GNU Go"
    page.ask("open_saved", id=game["id"])
    told = page.wait("game")
    assert (told["mode"], told["person"], told["level"], told["teaching"]) == ("play", 2, 7, True)
    assert next(node["number"] for node in told["nodes"] if node["id"] == told["at"]) == 3
    assert page.ask("delete_saved", id=game["id"])["error"]
    page.ask("new", person=0)
    page.ask("delete_saved", id=game["id"])
    assert not kept.exists()
    page.leave()
    second.close()


def test_a_folder_that_cannot_be_made_is_a_line_and_the_game_goes_on(page: Browser, data: Path) -> None:
    data.mkdir()
    (data / "games").write_bytes(b"a file")
    node = page.ask("play", node=0, point=CENTRE)["node"]
    assert page.wait("message")["texts"][0]["key"] == "not_kept"
    assert page.wait("nodes")["unsaved"]
    (data / "games").unlink()
    page.ask("play", node=node, point=CORNER)
    assert not page.wait("nodes")["unsaved"]
    assert len(list((data / "games").iterdir())) == 1


def test_what_another_program_wrote_or_changed_stays_and_the_game_is_kept_beside_it(page: Browser, data: Path) -> None:
    page.ask("new", width=9, height=9, person=0)
    theirs = data / "games" / f"{page.wait('game')['id']}.sgf"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"theirs")
    node = page.ask("play", node=0, point=CENTRE)["node"]
    assert page.wait("game")["id"] != theirs.stem
    assert theirs.read_bytes() == b"theirs"
    theirs.unlink()
    (kept,) = (data / "games").iterdir()
    kept.write_bytes(b"(;SZ[9];B[aa])")
    page.ask("play", node=node, point=CORNER)
    assert page.wait("message")["texts"][0]["key"] == "kept_elsewhere"
    assert len(list((data / "games").iterdir())) == 2
    assert kept.read_bytes() == b"(;SZ[9];B[aa])"


# --- Requests -----------------------------------------------------------------------------------------------------

FIRST_REQUESTS = """
from contextlib import suppress
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused
from gtp_engine.web.streams import Streams
from gtp_engine.web.table import Table

table = Table(Configuration({"size": "9"}), Streams())

def decode(number):
    with suppress(Refused):
        table.operations["new"](b'{"clock": {"main": 60, "periods": "three"}}')
"""


def test_several_threads_may_read_the_first_requests_at_once(data: Path) -> None:
    assert first_together(FIRST_REQUESTS, "Request") == (0, b"")
