"""KataGo's configuration files and `-override-config`: lines of `name = value`."""

from __future__ import annotations

import re
from pathlib import Path

from go_rules.machine.files import read_regular
from go_rules.machine.printable import printable_path, shown
from gtp_engine.errors import UserError

MOST_BYTES = 1 << 20
_LINE = re.compile(r'\s*([A-Za-z0-9_.\-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^#"]*?)\s*(?:#.*)?')


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
        settings[match[1]] = match[2].strip('"')
    return settings


def read_overrides(texts: tuple[str, ...]) -> dict[str, str]:
    """Read settings from `-override-config name=value,name=value`: texts by name; the later wins. Raises UserError."""
    settings = {}
    for part in ",".join(texts).split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise UserError(f"-override-config: {shown(part.strip())} is not name=value")
            settings[name.strip()] = value.strip()
    return settings
