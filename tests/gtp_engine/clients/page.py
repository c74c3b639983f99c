"""What docs/clients.md tells people to enter, read from the page itself, so that tests run exactly that."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
NOBI = "/path/to/nobi"

LISTED = re.compile(rf'\["{NOBI}"[^\]]*\]')
"""A command as a list in JSON."""
OGATAK = re.compile(rf'"gtp_filepath": "{NOBI}", "gtp_argslist": (\[[^\]]*\])')
FIELDS = re.compile(rf"`{NOBI}`[^`]*\barguments(?: \|)? `([^`]*)`", re.I)
"""A program's field for the path, and another one for the arguments."""
WHOLE = re.compile(rf"^    (?:{NOBI}|nobi) (.+)$", re.M)
"""A line that is nothing but the command, which may quote other commands."""
INSIDE = re.compile(rf"(?<!ln -s )(?:{NOBI}|(?<![\w/.])nobi) ([a-z][^`'\"\n|]*)")
"""A command within a line, ended by what it is quoted with."""
OPTION = re.compile(r"`(--?[a-z][^`]*)`")
PROPERTY = re.compile(r"^ {4,}(\w[\w.]*) *= *(.+)$", re.M)


def sections(text: str) -> dict[str, str]:
    """The text below each heading, by the heading; what comes before the first one by an empty one."""
    parts = re.split(r"^#+ (.*)\n", text, flags=re.M)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def commands(text: str) -> tuple[list[tuple[str, ...]], str]:
    """The arguments of every command that starts Nobi in this text, and the text without these commands."""
    found: list[tuple[str, ...]] = []

    def take(arguments: list[str]) -> str:
        found.append(tuple(arguments))
        return ""

    text = LISTED.sub(lambda match: take(json.loads(match[0])[1:]), text)
    text = OGATAK.sub(lambda match: take(json.loads(match[1])), text)
    text = FIELDS.sub(lambda match: take(shlex.split(match[1])), text)
    text = WHOLE.sub(lambda match: take(shlex.split(match[1])), text)
    text = INSIDE.sub(lambda match: take(shlex.split(match[1])), text)
    return found, text


def section_of(client: str) -> str:
    """The section about a client. LookupError if there is none, or more than one."""
    (found,) = (text for title, text in sections(PAGE.read_text(encoding="utf-8")).items() if client in _names(title))
    return found


def _names(title: str) -> list[str]:
    return re.findall(r"[\w-]+", title)


def gtp_command(client: str) -> tuple[str, ...]:
    """The arguments with which the page has this client start Nobi as a GTP engine, `gtp` first."""
    return next(arguments for arguments in commands(section_of(client))[0] if arguments[0] == "gtp")


def properties(client: str) -> dict[str, str]:
    """The settings in the client's configuration as the page has it, `name = value` each."""
    return dict(PROPERTY.findall(section_of(client)))


def options() -> list[tuple[str, ...]]:
    """The options of `nobi gtp` that the page names by themselves."""
    return [tuple(shlex.split(text)) for text in OPTION.findall(PAGE.read_text(encoding="utf-8"))]
