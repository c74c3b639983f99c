"""What docs/clients.md and README tell people to enter: every command, run as it stands there."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gtp_engine import command_line
from gtp_engine.gtp.command import gtp
from tests.conftest import REPOSITORY
from tests.gtp_engine.clients import page
from tests.gtp_engine.clients.partners import FakePartner, GtpProcess
from tests.gtp_engine.clients.stories import ALL
from tests.systems import IS_WINDOWS

NOBI = [sys.executable, "-m", "gtp_engine.cli"]
TEXT = page.PAGE.read_text(encoding="utf-8")
COMMANDS = list(dict.fromkeys(page.commands(TEXT)[0]))
SERVERS = ("gtp2ogs", "kgsGtp", "CGOS")


def of(subcommand: str) -> list[tuple[str, ...]]:
    return [command for command in COMMANDS if command[0] == subcommand]


def test_no_command_of_the_page_is_overlooked() -> None:
    """What is left names the program alone: it stands in a field of its own, or it is linked to."""
    found, rest = page.commands(TEXT)
    assert len(found) > 20
    assert set(re.findall(rf"{page.NOBI}(.)", rest)) == {"`", " "}
    assert rest.count(f"{page.NOBI} ") == rest.count(f"ln -s {page.NOBI} katago") == 1
    assert {command[0] for command in COMMANDS} <= set(command_line.SUBCOMMANDS)


@pytest.mark.parametrize("command", of("gtp"), ids=" ".join)
def test_every_engine_of_the_page_plays(command: tuple[str, ...]) -> None:
    partner = FakePartner(command)
    for line in ("boardsize 19", "clear_board", "komi 7.5", "play b q16", "genmove w"):
        assert partner.send(line).startswith("=")


def test_every_option_of_the_page_is_understood() -> None:
    known = {name: option for option in gtp.params for name in option.opts}
    for name, *values in page.options():
        assert name in known
        if values:
            assert not gtp.make_context("gtp", [name, *values]).args


def test_the_other_commands_of_the_page_are_understood() -> None:
    for name, *arguments in COMMANDS:
        command = getattr(importlib.import_module(command_line.SUBCOMMANDS[name][0]), name)
        assert not arguments or not command.make_context(name, arguments).args


@pytest.fixture(scope="module", params=SERVERS)
def bot(request: pytest.FixtureRequest) -> Iterator[tuple[str, GtpProcess]]:
    """A server's bridge, and the engine that the page has it start; without a network, which tells nothing of rules."""
    client: str = request.param
    process = GtpProcess(NOBI, (*page.gtp_command(client), "--player", "random"))
    yield client, process
    process.end()


def test_a_bot_keeps_to_the_rules_of_its_server(bot: tuple[str, GtpProcess]) -> None:
    client, process = bot
    stories = [
        story for story in ALL if story.client == client and story.name in ("rules", "games", "its configuration")
    ]
    assert stories
    for story in stories:
        process.renew()
        assert [case.text for case in story.told_to(process) if not case.is_right] == []


def test_the_queries_of_the_page_are_answered() -> None:
    """The script's example, by a shell, as it stands."""
    if IS_WINDOWS:
        pytest.skip("the example is for a POSIX shell")
    (script,) = re.findall(r"^    (echo .*?)\n\n", page.section_of("script"), re.M | re.S)
    nobi = shlex.join([*NOBI])
    done = subprocess.run(
        ["sh", "-c", script.replace(page.NOBI, nobi)], cwd=REPOSITORY, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (reply,) = map(json.loads, done.stdout.splitlines())
    assert reply["rootInfo"]["visits"] >= 100


def test_the_readme_says_the_same() -> None:
    """Of each program in its table, the commands and the path alone, as the page has them."""
    readme = page.sections((REPOSITORY / "README.md").read_text(encoding="utf-8"))["Connecting it to a program"]
    rows = [row.strip("| ").split(" | ") for row in readme.splitlines() if row.startswith("| ") and page.NOBI in row]
    assert len(rows) > 4
    for programs, entered in rows:
        for program in re.findall(r"^\w+|(?<=, )[A-Z]\w+", programs):
            on_page = set(page.commands(page.section_of(program))[0])
            assert set(page.commands(entered)[0]) <= on_page, program
