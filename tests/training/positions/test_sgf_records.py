"""Game records out of SGF files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtp_engine import cli
from nobi_machine.text import printable_path
from tests.training.games import random_games
from training.config import RecordsConfig
from training.positions.records import load_records


def sgf(cells: list[int], first: str = "B", **properties: str) -> str:
    """A game of these cells (y * 19 + x, 361 a pass)."""
    root = "".join(f"{name}[{value}]" for name, value in {"SZ": "19", **properties}.items())
    colours = "BW" if first == "B" else "WB"
    moves = (
        f";{colours[i % 2]}[{'' if cell == 361 else chr(97 + cell % 19) + chr(97 + cell // 19)}]"
        for i, cell in enumerate(cells)
    )
    return f"(;GM[1]FF[4]{root}{''.join(moves)})"


GAME, OTHER = random_games(count=2, length=40, seed=3)


def test_games_are_gathered_from_files_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "games" / "2024"
    folder.mkdir(parents=True)
    (tmp_path / "one.sgf").write_text(sgf([*GAME, 361], RE="B+R", KM="6.5"))
    (folder / "two.SGF").write_text(sgf(OTHER, first="W", RE="W+2.5", KM="7.5"))
    (folder / "three.sgf").write_text(sgf(GAME, RE="0"))
    left_out = {
        "small.sgf": sgf(GAME, SZ="9"),
        "handicap.sgf": sgf(OTHER, first="W", HA="2", AB="dd][pp"),
        "short.sgf": sgf(GAME[:5]),
        "twice.sgf": sgf(GAME).replace(";W", ";B", 1),
        "illegal.sgf": sgf([*GAME[:-1], GAME[0]]),
        "empty.sgf": "",
    }
    for name, content in left_out.items():
        (folder / name).write_text(content)
    (folder / "notes.txt").write_text("no game")
    out = tmp_path / "games.npz"
    assert cli.run(["records", str(out), str(tmp_path / "one.sgf"), str(tmp_path / "games")]) == 0
    said = capsys.readouterr().err
    assert f"3 games in {out}" in said
    assert "3 left out: cannot be read, or its moves are illegal" in said  # an empty one, and 9x9 with points off it
    for reason in ("with handicap", "of fewer than 30 moves", "a side moves twice"):
        assert f"1 left out: {reason}" in said.replace("in which ", "").replace("or stones set up", "")

    records = load_records(RecordsConfig(path=str(out)))
    games = [records.moves[a:b].tolist() for a, b in zip(records.offsets, records.offsets[1:], strict=False)]
    assert games == [[*GAME, 361], GAME, OTHER]
    assert records.result.tolist() == [1, 0, -1]
    assert records.first_player.tolist() == [0, 0, 1]
    assert records.komi[[0, 2]].tolist() == [6.5, 7.5]
    assert records.komi[1] != records.komi[1]  # unknown


def test_all_games_of_a_collection_are_gathered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A game that cannot be read does not take the following ones with it; one without an end is the last."""
    games = [sgf(GAME, C="(;"), sgf(GAME[:3]), sgf(OTHER, SZ="0"), sgf(OTHER), sgf(GAME)[:-1]]
    (tmp_path / "collection.Sgf").write_text("Two players\n" + "\n".join(games) + "\n")
    out = tmp_path / "games.npz"
    assert cli.run(["records", str(out), str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "2 left out: cannot be read" in said
    assert "1 left out: of fewer than 30 moves" in said
    records = load_records(RecordsConfig(path=str(out)))
    games_read = [records.moves[a:b].tolist() for a, b in zip(records.offsets, records.offsets[1:], strict=False)]
    assert games_read == [GAME, OTHER]
    content = out.read_bytes()
    assert cli.run(["records", str(out), str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"nobi: {printable_path(out)}: exists already\n"
    assert out.read_bytes() == content


def test_nothing_to_gather_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "short.sgf").write_text(sgf(GAME[:3]))
    out = tmp_path / "games.npz"
    assert cli.run(["records", str(out), str(tmp_path)]) == 1
    assert "no game to learn from: 1 of fewer than 30 moves" in capsys.readouterr().err
    assert not out.exists()
    assert cli.run(["records", str(tmp_path / "games.txt"), str(tmp_path)]) == 1
    assert "ends in .npz" in capsys.readouterr().err
