"""KataGo's configuration files and `-override-config`: lines of `name = value`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from go_rules.machine.files import read_regular
from go_rules.machine.printable import printable_path, shown
from gtp_engine.errors import UserError
from search.parameters import ParameterError

MOST_BYTES = 1 << 20
_LINE = re.compile(r'\s*([A-Za-z0-9_.\-]+)\s*=\s*("(?:[^"\\]|\\.)*"\s*|[^#"\s][^#]*|)(?:#.*)?')
OVERRIDES = "-override-config"


class Settings(NamedTuple):
    """The settings of a command line: of several that have one name the last."""

    texts: dict[str, str]
    """The values by name, in the order in which they were given."""
    places: dict[str, str]
    """By name, where the value comes from, as messages say it."""


def read_settings(files: Iterable[Path], overrides: Iterable[str]) -> Settings:
    """Read the settings of KataGo's command line: those of its files, then its overrides; the later win. Raises
    UserError."""
    settings = Settings({}, {})
    sources = [(printable_path(file), read_config(file)) for file in files]
    for place, texts in (*sources, (OVERRIDES, read_overrides(overrides))):
        for name, text in texts.items():
            settings.texts.pop(name, None)  # the order counts where one thing has two names
            settings.texts[name], settings.places[name] = text, place
    return settings


@contextlib.contextmanager
def told_of(place: str | None) -> Iterator[None]:
    """Put the place that a setting comes from, if it is known, before the text of a ParameterError."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{place}: {error}" if place is not None else str(error)) from None


def read_config(path: Path) -> dict[str, str]:
    """Read the settings of a file: texts by name; a later line wins. Raises UserError."""
    try:
        content = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise UserError(f"{printable_path(path)}: {error.strerror}") from None
    settings = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.lstrip().startswith("@"):
            settings[line.split()[0]] = ""  # @include: one more thing that is not used
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{printable_path(path)}, line {number}: not name = value: {shown(line.strip())}")
        settings[match[1]] = _unquoted(match[2].strip())
    return settings


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def read_overrides(texts: Iterable[str]) -> dict[str, str]:
    """Read settings from `-override-config name=value,name=value`: texts by name; the later wins. Raises UserError."""
    settings = {}
    for part in ",".join(texts).split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise UserError(f"{OVERRIDES}: {shown(part.strip())} is not name=value")
            settings[name.strip()] = value.strip()
    return settings
