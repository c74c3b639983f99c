"""The campaign that judges moves: which engine it finds better, what it keeps, and what it asks engines for."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, point_at
from go_rules.rule_names import preset
from go_rules.sgf.reader import parse_sgf
from go_rules.sgf.writer import to_sgf
from gtp_engine.match.engines import engine_command
from tests.campaigns.judged_moves import SEARCH, Chooser, Position, apart, judge, main, value

STUB = """
import sys
wanted, search, log = sys.argv[1].split(","), sys.argv[2], open(sys.argv[3], "a")
taken, searches = set(), 0
for line in sys.stdin:
    words, text = line.split(), ""
    print(line.strip(), file=log, flush=True)
    if words[0] == "list_commands":
        text = "clear_cache\\n" + search
    elif words[0] == "clear_board":
        taken.clear()
    elif words[0] == "clear_cache":
        searches = 0
    elif words[0] == "play":
        taken.add(words[2])
    elif words[0] == search:
        text = next(vertex for vertex in wanted if vertex not in taken)
        if search == "kata-search_analyze":
            moves = f"info move {text} visits 99 edgeVisits 30 info move T19 visits 10"
            reports = [f"{moves} rootInfo utility 0.5 visits {visits}" for visits in (1 + 20 * searches, 50)]
            between = ["info move A1 visits 1 pv" + 99 * " A1"] * 999
            text = "\\n".join(["", reports[0], *between, reports[1], "play " + text])
        searches += 1
    print("= " + text + "\\n", flush=True)
"""
CENTRE, EDGE = "E5,E4,F5,D5,E6,F4", "A1,J9,A9,J1"
FIRST = [(4, 4), (6, 2), (2, 6), (6, 6), (2, 2), (4, 2), (4, 6), (2, 4), (6, 4), (3, 3)]


class Bench:
    """A folder with four games, and engines with a will of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        (folder / "stub.py").write_text(STUB)
        (folder / "games").mkdir()
        for number in range(4):
            game = Game(9, 9)
            for x, y in FIRST[number:] + FIRST[:number]:
                game.play(game.to_play, point_at(x, y))
            (folder / "games" / f"{number}.sgf").write_text(to_sgf(game))

    def engine(self, wanted: str, search: str = "kata-search_analyze") -> str:
        return shlex.join([sys.executable, "-I", "-S", str(self.folder / "stub.py"), wanted, search, str(self.log)])

    def run(self, *engines: str, judge: str = "strong", games: str = "--games", more: tuple[str, ...] = ()) -> Any:
        folder = self.folder
        source = (games, str(folder / ("games" if games == "--games" else "records.npz")))
        options = ("--judge", judge, "--judge-visits", "1", "--phases", "4", "--positions", "12", "--walk", "2")
        out = ("--out", str(folder / "out"), "--json", str(folder / "result.json"))
        assert main([*engines, *source, *options, *out, *more]) == 0
        return json.loads((folder / "result.json").read_text())

    @property
    def answers(self) -> Path:
        return self.folder / "out" / "answers.jsonl"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_better_engine_is_better_whoever_moves(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    result = bench.run(bench.engine(EDGE), bench.engine(CENTRE))
    for tree in ("empty", "kept"):
        parts = {row["part"]: row for row in result["comparisons"] if row["tree"] == tree}
        assert list(parts) == ["all moves", "moves 0-3", "moves 4+", "half 1", "half 2"]
        assert parts["all moves"]["positions"] == parts["all moves"]["different"] == 12
        assert all(row["points"]["mean"] > row["points"]["radius"] > 0 for row in parts.values())
        assert parts["all moves"]["winrate"]["mean"] > 0
        assert parts["all moves"]["apart"] == {"mean": 0.75, "radius": 0}
        assert parts["all moves"]["better"] > 6
        halves = [parts[name]["points"]["mean"] * parts[name]["positions"] for name in ("half 1", "half 2")]
        assert sum(halves) == pytest.approx(12 * parts["all moves"]["points"]["mean"])
    largest = result["largest"]
    assert len(largest) == 10
    assert {row["move"] % 2 for row in largest} == {0, 1}
    assert all(row["points"] > 0 for row in largest)
    assert [row["points"] for row in largest] == sorted((row["points"] for row in largest), reverse=True)
    assert f"{largest[0]['file']} move {largest[0]['move']}" in capsys.readouterr().out


def test_equal_moves_cost_nothing_and_differ_by_nothing(bench: Bench) -> None:
    engines = [bench.engine(CENTRE), bench.engine(CENTRE, "reg_genmove"), bench.engine(CENTRE)]
    result = bench.run(*engines, judge=str(bench.folder / "there is no such network"))
    assert {row["engine"] for row in result["comparisons"]} == {"B", "C"}
    for row in result["comparisons"]:
        assert (row["points"], row["winrate"]) == ({"mean": 0, "radius": 0}, {"mean": 0, "radius": 0})
        assert row["different"] == 0
        assert row["apart"] == (None if row["engine"] == "B" else {"mean": 0, "radius": 0})
    assert result["largest"] == []


def test_searches_are_as_far_apart_as_the_visits_that_would_have_to_move() -> None:
    assert apart({"A1": 3, "B1": 1}, {"A1": 2, "B1": 2, "C1": 4}) == pytest.approx(0.5)
    assert apart({"A1": 3}, {"B1": 3}) == 1
    assert apart({"A1": 3}, {}) is None


def test_trees_are_kept_by_searches_at_the_turns_before(bench: Bench) -> None:
    sgf = parse_sgf((bench.folder / "games" / "0.sgf").read_bytes())
    chooser = Chooser(engine_command(bench.engine(CENTRE)), "engine")
    position = Position(0, 0, Path(), sgf, 8)
    answer = {"move": "E4", "visits": 50, "at_once": 1, "moves": {"E4": 30, "T19": 10}}
    assert chooser.choose(position, visits=0, walk=0) == answer
    assert chooser.choose(position, visits=0, walk=2) == {**answer, "at_once": 41}
    assert chooser.choose(Position(0, 0, Path(), sgf, 1), visits=0, walk=2)["at_once"] == 1
    chooser.close()
    empty, kept, _ = (told.split("\n")[1:] for told in bench.log.read_text().split("clear_cache")[1:])
    search = f"{SEARCH} white 1 rootInfo true"
    played = [line for line in empty if line.startswith("play")]
    assert len(played) == 7
    assert empty[:8] == [*played, search]
    assert kept[:10] == [*played[:3], search, *played[3:5], search, *played[5:], search]


def test_an_interrupted_campaign_goes_on(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    engines = bench.engine(EDGE), bench.engine(CENTRE)
    whole = bench.run(*engines)
    printed = capsys.readouterr().out
    lines = bench.answers.read_text().splitlines(keepends=True)
    for kept in (1, 20, len(lines) - 5):
        bench.answers.write_text("".join(lines[:kept]) + lines[kept][:9])
        assert bench.run(*engines, more=("--parallel", "2")) == whole
        assert capsys.readouterr().out == printed
        assert sorted(bench.answers.read_text().splitlines(keepends=True)) == sorted(lines)
    bench.log.unlink()
    assert bench.run(*engines, more=("--positions", "13"))["positions"] == 13
    assert bench.log.read_text().count("clear_cache") == 4
    bench.log.unlink()
    assert bench.run(*engines, more=("--judge-visits", "3"))["largest"] != whole["largest"]
    assert not bench.log.exists()  # another judge needs no other moves


def test_answers_on_other_terms_stay_as_they_are(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    engines = bench.engine(CENTRE), bench.engine(CENTRE)
    bench.run(*engines)
    source = ("--games", str(bench.folder / "games"), "--judge", "strong", "--out", str(bench.answers.parent))
    assert main([*engines, "--visits", "8", *source]) == 1
    assert "has other terms (different visits, " in capsys.readouterr().err
    bench.answers.write_text("nonsense\n")
    assert main([*engines, *source]) == 1
    assert "is no file of answers" in capsys.readouterr().err
    assert bench.answers.read_text() == "nonsense\n"


def test_an_engine_that_dies_is_named_with_its_last_words(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    dying = shlex.join([sys.executable, "-I", "-S", "-c", "raise SystemExit('no network')"])
    source = ("--games", str(bench.folder / "games"), "--judge", "strong", "--out", str(bench.folder / "out"))
    assert main([bench.engine(CENTRE), dying, *source]) == 1
    assert re.search(r"^engine B: exited \(1\) at '.*'; its last words: no network$", capsys.readouterr().err, re.M)


def test_games_of_a_file_of_records_are_written_where_one_can_look_at_them(bench: Bench) -> None:
    moves = [y * 19 + x for x, y in FIRST]
    np.savez(
        bench.folder / "records.npz",
        moves=np.array(moves * 2, np.uint16),
        offsets=np.array([0, len(moves), 2 * len(moves)]),
        result=np.zeros(2, np.int8),
        komi=np.array([6.5, np.nan], np.float32),
        first_player=np.array([0, 1], np.uint8),
    )
    result = bench.run(bench.engine(EDGE), bench.engine("K10"), games="--records", more=("--positions", "2"))
    assert result["games"] == 2
    found = [parse_sgf(Path(row["file"]).read_bytes()) for row in result["largest"]]
    assert {game.komi for game in found} == {6.5, Game().komi}
    assert {game.moves[0].colour for game in found} == {BLACK, WHITE}


def test_two_passes_do_not_count_dead_stones_among_players_who_agree() -> None:
    game = Game(9, 9, preset("chinese-ogs")[0], 6.5)
    for x in range(9):
        game.play(BLACK, point_at(x, 4))
    for x in (2, 6):
        game.play(BLACK, point_at(x, 2))
        game.play(BLACK, point_at(x, 6))
    game.play(WHITE, point_at(0, 0))
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    player = judge("strong")
    lead, winrate = value(player, 1, Position(0, 0, Path(), parse_sgf(to_sgf(game).encode()), len(game.moves)), PASS)
    assert lead < -50
    assert winrate < 0.1
    player.close()
