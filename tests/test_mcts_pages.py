"""docs/mcts.md and its Chinese translation: the quoted code, tables and pictures are those of the sources."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gtp_engine.command_line import nobi
from gtp_engine.players import PLAYERS
from tests.conftest import REPOSITORY

PAGES = [REPOSITORY / "docs" / "mcts.md", REPOSITORY / "docs" / "mcts.zh.md"]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def quotes(page: Path) -> list[tuple[str, list[str]]]:
    """(file, lines without indentation) of each piece of code."""
    blocks = re.findall(r"```python\n# ([\w/.]+)\n(.*?)```", text_of(page), re.DOTALL)
    return [(path, [line.strip() for line in code.strip().splitlines()]) for path, code in blocks]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_quoted_code_is_in_the_sources(page: Path) -> None:
    assert len(quotes(page)) == text_of(page).count("```python") >= 12
    for path, code in quotes(page):
        lines = [line.strip() for line in (REPOSITORY / path).read_text(encoding="utf-8").splitlines()]
        places = [i for i in range(len(lines)) if lines[i : i + len(code)] == code]
        assert places, f"{page.name}: {path} has no longer: {code[0]}"


def test_the_translation_has_the_same_pieces() -> None:
    english, chinese = PAGES
    assert quotes(english) == quotes(chinese)
    for pattern in (r"^#+ ", r"^!\[.*\]\((.*)\)$", r"^    .*$", r"^\| "):
        found = [re.findall(pattern, text_of(page), re.MULTILINE) for page in PAGES]
        assert found[0] == found[1], pattern
    formulas = [re.findall(r"^\$\$(.*)\$\$$", text_of(page), re.MULTILINE) for page in PAGES]
    assert len(formulas[0]) == len(formulas[1]) >= 8
    for one, other in zip(*formulas, strict=True):
        assert one.split(r"\text")[0] == other.split(r"\text")[0]


def test_every_player_is_explained() -> None:
    for page in PAGES:
        table = text_of(page).split("| --- | --- | --- |")[1].split("\n\n")[0]
        assert set(PLAYERS) <= set(re.findall(r"`([\w-]+)`", table))


def searches() -> list[tuple[str, str]]:
    """Each search of the page with what it printed there."""
    return re.findall(r"^    nobi (mcts .*--tree.*)\n\n((?:     .*\n)+)", text_of(PAGES[0]), re.MULTILINE)


@pytest.mark.parametrize(("command", "table"), searches())
def test_tables_and_trees_are_what_the_commands_make(command: str, table: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    picture = REPOSITORY / words[-1]
    words[-1] = str(tmp_path / picture.name)
    done = CliRunner().invoke(nobi, words)
    assert done.exit_code == 0, done.output
    assert [line.strip() for line in done.output.splitlines()] == [line.strip() for line in table.splitlines()]
    assert (tmp_path / picture.name).read_text(encoding="utf-8") == text_of(picture)


def test_there_are_three_of_them() -> None:
    assert len(searches()) == 3
