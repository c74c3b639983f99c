"""KataGo's configuration files and `-override-config`: lines of `name = value`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from go_rules.machine.files import read_regular
from go_rules.machine.printable import printable_path, shown
from go_rules.machine.texts import decode_text
from gtp_engine.errors import UserError
from search.parameters import Complaints, ParameterError

MOST_BYTES = 1 << 20
_LINE = re.compile(r'\s*([A-Za-z0-9_.\-]+)\s*=\s*("(?:[^"\\]|\\.)*"\s*|[^#"\s][^#]*|)(?:#.*)?')
OVERRIDES = "-override-config"


class Settings(NamedTuple):
    """The settings of a command line: of several that have one name the last."""

    texts: dict[str, str]
    """The values by name, in the order in which they were given."""
    places: dict[str, str]
    """By name, the file that a value comes from, as messages say it. Those of the overrides have none."""
    complaints: list[str]
    """Lines about what is wrong in the files and does not hold."""

    def put(self, name: str, text: str, place: str | None) -> None:
        """Set a value in place of an earlier one."""
        for values in (self.texts, self.places):  # the order counts where one thing has two names
            values.pop(name, None)
        self.texts[name] = text
        if place is not None:
            self.places[name] = place


def read_settings(files: Iterable[Path], overrides: Iterable[str], take: Callable[[str, str], object]) -> Settings:
    """Read the settings of KataGo's command line: those of its files, then its overrides; the later win.

    `take` is called with each name and text, and raises ParameterError for a value that cannot be had: a complaint
    about a file, but an error of the overrides. Raises ParameterError, and UserError, also for a file that is missing.
    """
    settings = Settings({}, {}, [])
    for file in files:
        complaints = Complaints(printable_path(file))
        for name, text in _read_config(file, complaints).items():
            try:
                take(name, text)
            except ParameterError as error:
                complaints.add(partial(str, error))
            else:
                settings.put(name, text, printable_path(file))
        settings.complaints.extend(complaints.lines())
    for name, text in _read_overrides(overrides).items():
        try:
            take(name, text)
        except ParameterError as error:
            raise ParameterError(f"{OVERRIDES}: {error}") from None
        settings.put(name, text, None)
    return settings


def _read_config(path: Path, complaints: Complaints) -> dict[str, str]:
    """The settings of a file: texts by name; a later line wins. Raises UserError if there is none."""
    try:
        content = read_regular(path, MOST_BYTES)
    except FileNotFoundError as error:
        raise UserError(f"{printable_path(path)}: {error.strerror}") from None
    except OSError as error:
        complaints.add(partial(str, error.strerror))
        return {}
    settings = {}
    for number, line in enumerate(decode_text(content, "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.lstrip().startswith("@include"):
            complaints.add(partial("line {}: {}: included files are not read".format, number, shown(line.strip())))
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            complaints.add(partial("line {}: not name = value: {}".format, number, shown(line.strip())))
            continue
        settings[match[1]] = _unquoted(match[2].strip())
    return settings


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _read_overrides(texts: Iterable[str]) -> dict[str, str]:
    """The settings in `-override-config name=value,name=value`: texts by name; the later wins. Raises UserError."""
    settings = {}
    for part in ",".join(texts).split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise UserError(f"{OVERRIDES}: {shown(part.strip())} is not name=value")
            settings[name.strip()] = value.strip()
    return settings
