"""Changing parameters in a configuration file while everything else in it stays as the user wrote it."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtp_engine.configuration.parameters import ConfigError, find_parameter
from gtp_engine.configuration.sources import load
from gtp_engine.configuration.texts import toml_value
from gtp_engine.errors import UserError

ASSIGNMENT = re.compile(
    r"""(?P<before>\s*(?P<key>[\w."'-]+)\s*=\s*)"""
    r"""(?P<value>"[^"\\]*"|'[^']*'|[^\s"'#\[{]+)"""
    r"""(?P<after>\s*(?:\#.*)?)"""
)
"""A line that gives one parameter a value which is no table, array or text of several lines."""
COMMENTED = re.compile(r"#\s?(?P<key>\w+)\s*=.*")
"""A line of the template."""
HEADING = re.compile(r"\s*\[\s*(?P<name>\w+)\s*\]\s*(?:#.*)?")


def changed(text: str, values: Mapping[str, object]) -> str:
    """The text of a TOML file with these parameters (by their own names) set: where the file has them, else below the
    line that has them commented out, else under their section's heading, else at the end."""
    lines = text.splitlines(keepends=True)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
    for name, value in values.items():
        _set(lines, name, toml_value(value), ending)
    return "".join(lines)


def write_values(path: Path, values: Mapping[str, object]) -> None:
    """Set parameters in the file at `path`, which is created where there is none. Raises UserError, and ConfigError
    for a file that cannot be used."""
    path = path.resolve()  # a link stays one
    is_new = not path.exists()
    before = {} if is_new else load(path, [], {}).values
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "" if is_new else path.read_bytes().decode("utf-8")
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".new-", suffix=".toml", delete=False) as file:
        file.write(changed(text, values).encode("utf-8"))
    new = Path(file.name)
    try:
        if not _says(new, {**before, **values}):
            wanted = ", ".join(f"{name} = {toml_value(value)}" for name, value in values.items())
            raise UserError(f"{path}: its form is beyond what can be edited safely; set {wanted} in it yourself")
        if is_new:
            new.chmod(0o644)
        else:
            shutil.copymode(path, new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _set(lines: list[str], name: str, value: str, ending: str) -> None:
    for i, line in enumerate(lines):
        match = ASSIGNMENT.fullmatch(line.rstrip("\r\n"))
        if match and _is(match["key"], name):
            lines[i] = f"{match['before']}{value}{match['after']}{ending}"
            return
    place = next((i for i, line in enumerate(lines) if _is_commented(line, name)), None)
    if place is None:
        section = find_parameter(name).section
        headings = [HEADING.fullmatch(line.rstrip("\r\n")) for line in lines]
        place = next((i for i, match in enumerate(headings) if match and match["name"] == section), None)
        if place is None:
            lines += [ending] if lines else []
            lines.append(f"[{section}]{ending}")
            place = len(lines) - 1
    lines.insert(place + 1, f"{name} = {value}{ending}")


def _is_commented(line: str, name: str) -> bool:
    match = COMMENTED.fullmatch(line.strip())
    return match is not None and _is(match["key"], name)


def _is(key: str, name: str) -> bool:
    """Whether a key, its table's name included, is a name of this parameter."""
    with contextlib.suppress(ConfigError):
        return find_parameter(key.split(".")[-1].strip("\"'")).name == name
    return False


def _says(path: Path, wanted: Mapping[str, Any]) -> bool:
    try:
        return load(path, [], {}).values == wanted
    except ConfigError:
        return False
