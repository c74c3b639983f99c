"""`nobi review`: what it says of moves, what it writes, and one line for what cannot be."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sgfmill import sgf

from go_rules.points import BLACK, PASS, WHITE, from_vertex
from go_rules.rule_names import DEFAULT_RULES
from go_rules.sgf.reader import parse_sgf
from gtp_engine import command_line
from gtp_engine.review.judged import JudgedMove, Opinion, Review, Summary, as_json, notes_of, worst
from gtp_engine.review.search import Plan, Stretch
from nobi_machine.units import Results, Unit
from search.result import MoveInfo, SearchResult
from tests.first_together import first_together
from tests.systems import native

RECORD = "(;SZ[9]KM[7]PB[Ann & <Bob>]PW[[b\\]Carl]DT[2026-11-27];B[ee];W[gc];B[cg];W[aa];B[ff])"
QUICK = ("--visits", "16", "--set", "workers=1", "--set", "seed=1")


Reviewed = Callable[..., Any]


@pytest.fixture
def reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Reviewed:
    """Reviews a game in `game.sgf`, with `out.sgf` for its review: what was printed."""

    def run(content: str | bytes, *options: str, code: int = 0) -> Any:
        (tmp_path / "game.sgf").write_bytes(content if isinstance(content, bytes) else content.encode())
        files = [str(tmp_path / "game.sgf"), "--out", str(tmp_path / "out.sgf")]
        assert command_line.run(["review", *files, *QUICK, *options]) == code
        return capsys.readouterr()

    return run


def opinion(colour: int, winrate: float, lead: float, *line: str) -> Opinion:
    """What a search on 9×9 thinks, and which moves it would play; the first two are equal by symmetry."""
    points = tuple(from_vertex(each, 9, 9) for each in line)
    return Opinion(colour, winrate, lead, 100, points, {point: max(0, n - 1) for n, point in enumerate(points)})


def judged(number: int, move: str, before: Opinion, after: Opinion) -> JudgedMove:
    return JudgedMove(number, before.colour, from_vertex(move, 9, 9), before, after)


def review_of(*moves: JudgedMove) -> Review:
    return Review(moves, (9, 9), {BLACK: "Ann", WHITE: ""}, "B+R", "net", 100, "Chinese", 7.0)


def search_result(*moves: MoveInfo) -> SearchResult:
    return SearchResult(BLACK, 10, 0.6, 0.2, 1.0, 5.0, 1.0, 10.0, moves)


def info(vertex: str, order: int, visits: int, symmetry_of: str | None = None) -> MoveInfo:
    point, copied = from_vertex(vertex, 9, 9), None if symmetry_of is None else from_vertex(symmetry_of, 9, 9)
    return MoveInfo(
        point, visits, visits, 0.6, 0.2, 1.0, 5.0, 1.5, 0.1, 0.5, 0.1, visits, order, (point,), symmetry_of=copied
    )


def test_ranks_count_no_mirror_images() -> None:
    moves = info("C3", 0, 5), info("G7", 1, 5, "C3"), info("E5", 2, 3), info("A1", 3, 0)
    opinion = Opinion.of(search_result(*moves))
    assert [opinion.ranks.get(move.point) for move in moves] == [0, 0, 1, None]
    assert (opinion.winrate, opinion.lead, opinion.line) == (0.6, 1.5, (moves[0].point,))
    assert Opinion.of(search_result(info("C3", 0, 0))).ranks == {moves[0].point: 0}


def test_what_a_move_lost_is_its_players_view() -> None:
    by_white = judged(2, "A1", opinion(WHITE, 0.6, 3.0, "C3", "G7"), opinion(BLACK, 0.7, 6.0, "E5"))
    assert by_white.winrate_lost == pytest.approx(0.3)
    assert by_white.points_lost == pytest.approx(9.0)
    assert by_white.rank is None
    twice = judged(2, "A1", opinion(WHITE, 0.6, 3.0, "C3"), opinion(WHITE, 0.55, 5.0, "E5"))
    assert (twice.winrate_lost, twice.points_lost) == (pytest.approx(0.05), 0.0)
    for first in ("C3", "G7"):
        choice = judged(2, first, opinion(WHITE, 0.6, 3.0, "C3", "G7"), opinion(BLACK, 0.7, 6.0, "E5"))
        assert (choice.rank, choice.winrate_lost, choice.points_lost) == (0, 0.0, 0.0)


def test_notes_say_what_was_better() -> None:
    before, after = opinion(WHITE, 0.6, 3.0, "C3", "G7", "pass"), opinion(BLACK, 0.6, 1.0, "E5")
    review = review_of(judged(2, "A1", before, after), judged(3, "E5", after, opinion(WHITE, 0.5, 0.001)))
    notes = notes_of(review, 0.04)
    assert notes[2].comment == "Not looked at; the first is C3. Lost 20 % and 4.0 points. Black wins 60.0 %, B+1.0."
    told = notes[2].properties
    assert (told["SBKV"], told["SBKS"], told["BM"]) == ("60.00", "1.00", "2")
    (variation,) = notes[2].variations
    assert [(move.colour, move.point) for move in variation.moves] == [
        (WHITE, from_vertex("C3", 9, 9)),
        (BLACK, from_vertex("G7", 9, 9)),
        (WHITE, PASS),
    ]
    assert variation.comment == "Better by 20 % and 4.0 points. Black wins 40.0 %, W+3.0."
    assert not notes_of(review, 0.21)[2].variations
    told = notes[3].properties
    assert (notes[3].comment, told["SBKV"], told["SBKS"]) == (
        "The first choice. Black wins 50.0 %, W+0.0.",
        "50.00",
        "0.00",
    )
    assert not notes_of(review, 0.0)[3].variations, "nothing was better"
    assert notes[0].comment.splitlines() == [
        "Review by Nobi with net, 100 visits a position on average; Chinese rules, komi 7; moves 2 to 3.",
        "Black: 1 of 1 moves were the first choice; mean loss 0.0 %, 0.00 points; 0 doubtful, 0 bad, 0 very bad.",
        "White: 0 of 1 moves were the first choice; mean loss 20.0 %, 4.00 points; 0 doubtful, 0 bad, 1 very bad.",
    ]


def of_katrain(values: Sequence[str]) -> tuple[bytes, bytes, dict[str, Any]]:
    """Ownership, policy and analysis of a node, as KaTrain's GameNode.load_analysis reads them."""
    ownership, policy, analysis = (gzip.decompress(base64.standard_b64decode(value)) for value in values)
    return ownership, policy, json.loads(analysis)


def of_lizzie(value: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The words of the first line, and the moves of the second, as Lizzie's SGFParser reads them."""
    head, moves = value.split("\n")
    found = []
    for text in moves.split(" info "):
        words, _, line = text.partition(" pv ")
        named = words.split(" ")
        found.append({**dict(zip(named[::2], named[1::2], strict=True)), "pv": line.split(" ")})
    return head.split(" "), found


def test_katrain_and_lizzie_reload_what_was_found() -> None:
    """All values are black's in KaTrain; in Lizzie the winrate of a position is that of who has moved, and the rest
    that of who is to move, in integers where Lizzie reads integers."""
    by_white = dataclasses.replace(search_result(info("C3", 0, 7), info("pass", 1, 2), info("E5", 2, 0)), colour=WHITE)
    before, after = Opinion.of(by_white), Opinion.of(search_result(info("E5", 0, 3)))
    notes = notes_of(review_of(judged(1, "C3", before, after)), 0.04)
    ownership, policy, analysis = of_katrain(notes[0].properties["KT"])
    assert (ownership, policy, analysis["completed"]) == (b"", b"", True)
    assert analysis["root"] == {"winrate": 0.4, "scoreLead": -1.5, "visits": 10}
    assert list(analysis["moves"]) == ["C3", "pass"]
    assert analysis["moves"]["C3"] == {
        "move": "C3", "order": 0, "visits": 7, "winrate": 0.4, "scoreLead": -1.5, "prior": 0.1, "pv": ["C3"]
    }  # fmt: skip
    assert of_katrain(notes[1].properties["KT"])[2]["root"]["winrate"] == 0.6
    head, moves = of_lizzie(str(notes[0].properties["LZOP"]))
    assert head == ["Nobi", "40.0", "10", "1.5"]
    assert moves[0] == {
        "move": "C3", "visits": "7", "winrate": "6000", "prior": "1000", "scoreMean": "1.50", "pv": ["C3"]
    }  # fmt: skip
    assert [move["move"] for move in moves] == ["C3", "pass"]
    assert of_lizzie(str(notes[1].properties["LZ"]))[0] == ["Nobi", "40.0", "10", "1.5"]


def test_sums_and_the_worst_moves() -> None:
    losses = (0.0, 0.03, 0.05, 0.10, 0.30, 0.07)
    moves = [
        judged(n, "A1", opinion(BLACK, 0.5, 0.0, "C3"), opinion(WHITE, 0.5 + lost, 0.0, "C3"))
        for n, lost in enumerate(losses, 1)
    ]
    summary = Summary.of(moves)
    assert (summary.doubtful, summary.bad, summary.very_bad) == (2, 1, 1)
    assert summary.winrate_lost == pytest.approx(sum(losses) / 6)
    assert [move.number for move in worst(moves, 3)] == [4, 5, 6]
    assert Summary.of([]).points_lost == 0.0
    written = as_json(review_of(*moves))
    assert written["moves"][4]["winrate_lost"] == pytest.approx(0.3)
    assert written["players"]["black"]["name"] == "Ann"
    assert written["players"]["white"]["moves"] == 0


def test_a_game_is_reviewed(tmp_path: Path, reviewed: Reviewed) -> None:
    printed = reviewed(RECORD)
    assert "Black Ann & <Bob>" in printed.out
    assert "White [b]Carl" in printed.out
    assert not printed.err
    root, *nodes = sgf.Sgf_game.from_bytes((tmp_path / "out.sgf").read_bytes()).get_main_sequence()
    assert root.get("DT") == "2026-11-27"
    assert "moves 1 to 5" in root.get("C")
    assert [node.get_move()[0] for node in nodes] == ["b", "w", "b", "w", "b"]
    for node in nodes:
        assert 0.0 <= float(node.get_raw("SBKV")) <= 100.0
        assert "Black wins" in node.get("C")
        assert of_katrain(node.get_raw_list("KT"))[2]["root"]["visits"] <= int(of_lizzie(node.get("LZ"))[0][2])
    corner = nodes[3]  # which throws the game away
    assert corner.get("BM") == 2
    assert len(nodes[2]) == 2, "what was better stands beside it"
    assert float(corner.get_raw("SBKV")) > float(nodes[2].get_raw("SBKV")) + 16


@pytest.mark.parametrize(
    ("encoding", "charset"), [("shift_jis", b""), ("shift_jis", b"CA[UTF-8]"), ("big5", b""), ("gbk", b"CA[Big5]")]
)
def test_a_game_in_whatever_encoding_keeps_its_moves_and_its_texts(
    encoding: str, charset: bytes, tmp_path: Path, reviewed: Reviewed
) -> None:
    """These characters end with the byte of a backslash or of a bracket."""
    name, comment = (
        ({"shift_jis": "山田表ゾ", "big5": "成功", "gbk": "猎乗乚"}[encoding]).encode(encoding),
        b"half \xe3",
    )
    texts = (b"(;SZ[9]KM[7]PB[%b]" % name, b";B[ee]C[%b" % name, b"];W[gc]C[%b" % comment, b"];B[cg]")
    moves = json.loads(reviewed(b"".join(texts).replace(b"PB", charset + b"PB") + b")", "--json").out)["moves"]
    assert [move["move"] for move in moves] == ["E5", "G7", "C3"]
    written = (tmp_path / "out.sgf").read_bytes()
    assert all(text.removeprefix(b"]") in written.replace(charset, b"") for text in texts)
    assert written.count(b"CA[") <= 1
    assert written.count(b"\n\n") == 2, "what is said of a move follows its comment"


def test_a_part_of_a_game_as_json(tmp_path: Path, reviewed: Reviewed) -> None:
    part = ("--from", "4", "--to", "99")
    moves = json.loads(reviewed(RECORD.replace(")", ";W[];B[])"), *part, "--json").out)["moves"]
    assert [(move["number"], move["colour"], move["move"]) for move in moves] == [
        (4, "W", "A9"),
        (5, "B", "F4"),
        (6, "W", "pass"),
        (7, "B", "pass"),
    ]
    written = (tmp_path / "out.sgf").read_text(encoding="utf-8")
    assert [written.count(name) for name in ("SBKV", "LZ[", "LZOP")] == [4, 4, 0], "nothing is known of the root"


def test_stones_set_up_in_mid_game_are_nobodys_mistake(reviewed: Reviewed) -> None:
    game = "(;SZ[9]KM[7];B[ee];W[eg];B[gc];AW[fe][de][ed][ef]AE[ee];W[cc];PL[B];B[cg];AB[aa]AE[cg])"
    moves = json.loads(reviewed(game, "--json").out)["moves"]
    assert [move["number"] for move in moves] == [1, 2, 3, 4, 5]
    assert abs(moves[2]["lead"] - moves[2]["lead_before"]) < 20 < moves[2]["lead"] - moves[3]["lead_before"]


def test_names_cannot_touch_the_terminal(reviewed: Reviewed) -> None:
    printed = reviewed("(;SZ[9]PB[\x1b\\]2;a\x07\nb]PW[\u202e" + "x" * 500 + "];B[ee])").out
    assert r"Black \x1b]2;a\x07 b" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)
    assert max(map(len, printed.splitlines())) < 140


def test_the_komi_and_rules_asked_for_are_told(tmp_path: Path, reviewed: Reviewed) -> None:
    told = json.loads(reviewed(RECORD, "--komi", "0.5", "--rules", "japanese", "--to", "1", "--json").out)
    assert (told["rules"], told["komi"], told["visits"], told["result"]) == ("Japanese", 0.5, 16, "")
    assert "Japanese rules, komi 0.5; moves 1 to 1." in (tmp_path / "out.sgf").read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_at_the_end_loses_no_table(
    tmp_path: Path, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, known = tmp_path / "out.sgf", Opinion.of

    def and_a_file_comes(result: SearchResult) -> Opinion:
        target.write_text("mine")
        return known(result)

    monkeypatch.setattr(Opinion, "of", and_a_file_comes)
    printed = reviewed(RECORD, code=1)
    assert "White [b]Carl" in printed.out
    assert printed.err == f"nobi: {target}: File exists\n"
    assert target.read_text() == "mine"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing forbids writing there")
def test_a_folder_without_permission_is_told_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "game.sgf"
    record.write_text(RECORD)
    tmp_path.chmod(0o500)
    assert command_line.run(["review", str(record), "--out", str(tmp_path / "out.sgf")]) == 1
    assert "out.sgf.part: Permission denied" in capsys.readouterr().err
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["game.sgf", "--out", "nowhere/out.sgf"], "nowhere/out.sgf: the review must be in a folder that exists"),
        (["game.sgf", "--out", "game.sgf"], "game.sgf: exists already; name a new file"),
        (["game.sgf", "illegal.sgf", "--out", "o.sgf"], "o.sgf: the reviews of several games need a folder"),
        (["missing.sgf"], "missing.sgf: No such file or directory"),
        (["broken.sgf"], "broken.sgf: no SGF game found"),
        (["illegal.sgf"], "illegal.sgf: the position set up is impossible: no liberties"),
        (["empty.sgf"], "empty.sgf: it has no moves"),
        (["reviewed.sgf"], "reviewed.sgf: it is a review already; review the game that it was made of"),
        (["game.sgf", "--from", "6"], "game.sgf: it has no move from 6 to 5, but 5 moves in all"),
        (["game.sgf", "--from", "3", "--to", "2"], "game.sgf: it has no move from 3 to 2, but 5 moves in all"),
        (["game.sgf", "--net", "missing.bin.gz"], "missing.bin.gz: No such file or directory"),
        (["bare"], "bare: no .sgf file in it"),
        (["bare/../game.sgf", "game.sgf"], "game.sgf and bare/../game.sgf: their reviews have one name"),
        (
            ["out.sgf", "game.sgf"],
            "out.sgf: No such file or directory; to write a review there: nobi review game.sgf --out out.sgf",
        ),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare").mkdir()
    (tmp_path / "game.sgf").write_text(RECORD)
    (tmp_path / "broken.sgf").write_text("hello")
    (tmp_path / "illegal.sgf").write_text("(;SZ[9]AW[aa]AB[ba][ab];B[ee])")
    (tmp_path / "empty.sgf").write_text("(;SZ[9])")
    (tmp_path / "reviewed.sgf").write_text("(;SZ[9]C[Review by Nobi with x];N[x]C[opening];B[ee])")
    there = sorted(tmp_path.iterdir())
    assert command_line.run(["review", *arguments]) == 1
    assert capsys.readouterr() == ("", f"nobi: {native(message)}\n")
    assert sorted(tmp_path.iterdir()) == there
    assert (tmp_path / "game.sgf").read_text() == RECORD


def games_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.sgf"))}


def test_the_games_of_a_folder_are_reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be reviewed gets a line, and keeps no other game from it."""
    source, out = tmp_path / "games", tmp_path / "games-review"
    (source / "more").mkdir(parents=True)
    (source / "a.sgf").write_text(RECORD.replace(";DT", "RE[B+R];DT"))
    (source / "more" / "a.SGF").write_text(RECORD.replace("ee", "dd"))
    (source / "b.sgf").write_text("(;SZ[9]AW[aa]AB[ba][ab];B[ee])")
    (source / "notes.txt").write_text(RECORD)
    assert command_line.run(["review", str(source), *QUICK]) == 1
    printed = capsys.readouterr()
    assert printed.err == f"nobi: {source / 'b.sgf'}: the position set up is impossible: no liberties\n"
    lines = [line.split("│")[1:-1] for line in printed.out.splitlines() if "a.s" in line.lower()]
    assert [line[1].strip() for line in lines] == ["Ann & <Bob>"] * 2
    assert all(line[6].strip() == "4 W A9" for line in lines)
    first = games_in(out)
    assert all(content.count(b"SBKV") == 6 for content in first.values())
    (source / "c.sgf").write_text(RECORD.replace("ee", "ef"))
    (source / "b.sgf").unlink()
    (out / "a.sgf").unlink()
    assert command_line.run(["review", str(source), *QUICK, "--json"]) == 0
    assert [Path(game["file"]).name for game in json.loads(capsys.readouterr().out)["games"]] == [
        "a.sgf",
        "c.sgf",
        "a.SGF",
    ]
    assert games_in(out).items() > first.items()
    assert command_line.run(["review", str(source), "--visits", "8", "--set", "workers=1"]) == 1
    assert capsys.readouterr().err.count("exists already, and is left as it is") == 3


LONG = (
    "(;SZ[9]KM[7]"
    + "".join(f";B[{a}{b}];W[{b}{a}]" for a, b in ("ab", "cd", "ef", "gh", "ac", "bd", "eg", "fh", "ag"))
    + ")"
)
"""A game of 18 moves: some of its 19 positions are searched twice."""


def test_what_was_killed_goes_on_and_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after some units of work, and another time in the middle of a line."""
    monkeypatch.setattr("gtp_engine.review.search.UNIT_VISITS", 24)
    record, once, often = (tmp_path / name for name in ("game.sgf", "once.sgf", "often.sgf"))
    record.write_text(LONG)
    command = ["review", str(record), *QUICK, "--parallel", "2", "--out"]
    assert command_line.run([*command, str(once)]) == 0
    done: list[str] = []
    add = Results.add

    def killed(results: Results, unit: Unit, result: bytes) -> None:
        add(results, unit, result)
        done.append(unit.key)
        raise KeyboardInterrupt

    monkeypatch.setattr(Results, "add", killed)
    while command_line.run([*command, str(often)]) == 130:
        found = tmp_path / "often.sgf.part" / "review.results"
        found.write_bytes(found.read_bytes() + b"0123")
    assert len(done) == len(set(done)) == 9
    assert often.read_bytes() == once.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game.sgf", "often.sgf", "once.sgf"]


def test_results_that_somebody_changed_get_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "game.sgf").write_text(RECORD)
    command = ["review", str(tmp_path), "--out", str(tmp_path / "out"), *QUICK]
    assert command_line.run(command) == 0
    results = tmp_path / "out" / "review.results"
    for text, message in (("{}", "the result that was kept is damaged"), ("\nno", "not a file of results")):
        results.write_text(results.read_text()[:33] + text + "\n")
        capsys.readouterr()
        assert command_line.run(command) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{message}; choose another --out" in line


def test_the_first_units_may_be_read_by_several_threads_at_once() -> None:
    rules = parse_sgf(RECORD.encode()).rules or DEFAULT_RULES
    stretch = Stretch(
        player="", width=9, height=9, steps=[(BLACK, 30)], handicap=0, rules=rules, komi=7.0, positions=[], visits=2
    )  # fmt: skip
    unit = Unit("part 1", "review", msgspec.json.encode(stretch))
    imports = "from gtp_engine.review.search import Stretch\nfrom nobi_machine.units import Unit\n"
    assert first_together(f"{imports}def decode(number): Stretch.of({unit})", "Stretch") == (0, b"")


def test_the_visits_are_divided() -> None:
    game = parse_sgf(LONG.encode())
    plan = Plan.of(game, DEFAULT_RULES, 7.0, range(1, 19))
    assert len(plan.positions) == 19
    division = plan.division(100)
    assert (division.quick, division.twice) == (50, 2)
    assert 18 * 100 < division.total(19) <= 19 * 100
    assert plan.division(1) == (1, 0, 0)
    judged_moves = [
        judged(n, "A1", opinion(BLACK, 0.5, 0.0, "C3"), opinion(WHITE, 0.5 + 0.3 * (n == 7), 0.0, "C3"))
        for n in range(1, 19)
    ]
    assert plan.doubtful(judged_moves, 2) == [6, 7]


def test_variations_are_reviewed_where_that_is_asked_for(tmp_path: Path, reviewed: Reviewed) -> None:
    game = "(;SZ[9]KM[7];B[ee](;W[gc];B[cg])(;W[aa]C[Why [not\\]?](;B[cg])(;B[gg];AW[aa]AB[ab][ba])))"
    printed = reviewed(game, "--variations", "--json")
    assert [move["move"] for move in json.loads(printed.out)["moves"]] == ["E5", "G7", "C3"]
    assert (
        printed.err == f"nobi: {tmp_path / 'game.sgf'}: variation 2: the position set up is impossible: no liberties\n"
    )
    tree = sgf.Sgf_game.from_bytes((tmp_path / "out.sgf").read_bytes())
    (first,) = tree.get_root()
    _, answered = (child for child in first if child.get_move()[1] in ((6, 6), (8, 0)))
    assert answered.get("C").startswith("Why [not]?\n\n")
    assert answered.get("BM") == 2
    reviewed, illegal = answered
    assert "Black wins" in reviewed.get("C")
    assert not illegal.has_property("C")


def test_a_file_without_variations_is_the_same_with_them(tmp_path: Path) -> None:
    record, targets = tmp_path / "game.sgf", [tmp_path / "a.sgf", tmp_path / "b.sgf"]
    record.write_text(RECORD)
    for target, more in zip(targets, ([], ["--variations"]), strict=True):
        assert command_line.run(["review", str(record), "--out", str(target), *QUICK, *more]) == 0
    assert targets[0].read_bytes() == targets[1].read_bytes()


def test_where_the_points_went_is_said_in_the_file_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.sgf"
    record.write_text(RECORD)
    asked = ["review", str(record), "--out", str(target), "--set", "workers=1", "--visits", "40"]
    assert command_line.run([*asked, "--why", "--language", "ja", "--json"]) == 0
    corner = json.loads(capsys.readouterr().out)["moves"][3]
    assert corner["cause"]["text"].startswith(f"{corner['move']} lost about")
    assert corner["cause"]["points_lost"] > 2.0
    node = sgf.Sgf_game.from_bytes(target.read_bytes()).get_main_sequence()[4]
    assert "目の損" in node.get("C")


def test_only_a_network_knows_where_points_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "game.sgf"
    record.write_text(RECORD)
    assert command_line.run(["review", str(record), "--why", "--player", "mc"]) == 1
    assert "--why needs a player with a network" in capsys.readouterr().err


def test_pages_need_no_server_and_replace_nobodys_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, pages = tmp_path / "games", tmp_path / "pages"
    (games / "inner").mkdir(parents=True)
    for path in (games / "a.sgf", games / "inner" / "b.sgf"):
        path.write_text(RECORD)
    asked = ["review", str(games), "--page", str(pages), *QUICK]
    assert command_line.run(asked) == 0
    index, page = (pages / "index.html").read_text(), (pages / "inner" / "b.html").read_text()
    assert 'href="inner/b.html"' in index
    assert "Ann &amp; &lt;Bob&gt;" in index
    assert "<Bob>" not in page
    record = json.loads(re.search(r'id="record">(.*)</script>', page)[1])  # type: ignore[index]
    corner = record["game"]["nodes"][4]
    assert corner["loss"] > 5
    assert corner["analysis"]["winrate"] > record["game"]["nodes"][3]["analysis"]["winrate"]
    (pages / "a.html").write_text("mine")
    capsys.readouterr()
    assert command_line.run(asked) == 1
    assert "a.html: exists already, and is left as it is" in capsys.readouterr().err
    assert (pages / "a.html").read_text() == "mine"


def test_problems_are_kept_for_the_board_each_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Black could capture three stones at D3, and plays in the corner."""
    monkeypatch.setattr("gtp_engine.review.problems.VISITS", (40, 80))
    monkeypatch.setenv("NOBI_DATA_DIR", str(tmp_path / "data"))
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9]PB[Ann]AB[cf][ce][cd][ef][ee][ed][dc]AW[df][de][dd][cg][eg][cb][eb]PL[B];B[ai];W[dg])")
    for out, new in (("a.sgf", 1), ("b.sgf", 0)):
        assert command_line.run(["review", str(record), "--out", str(tmp_path / out), "--problems", *QUICK]) == 0
        assert f"new problems: {new}" in capsys.readouterr().err
    (problem,) = (tmp_path / "data" / "problems").iterdir()
    assert [move.point for move in parse_sgf(problem.read_bytes()).moves][:1] == [from_vertex("D3", 9, 9)]
    assert b"GN[Ann, move 1]" in problem.read_bytes()
