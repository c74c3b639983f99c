"""TOML files of parameters: reading them, and writing values as TOML has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from go_rules.machine.files import read_regular
from go_rules.machine.printable import printable, printable_path
from go_rules.machine.texts import decode_text
from search.parameters import ParameterError

MAX_FILE_BYTES = 1 << 18
"""A file that names every parameter and explains it has 10,000 bytes."""
MOST_PARTS = 32
"""Of a dotted key."""

_TOKEN = re.compile(r"""\"(?:[^"\\]|\\.)*(?:"|$)|'[^']*'|\#.*|[A-Za-z0-9]+|[ \t]+|.""", re.DOTALL)
"""What a line consists of, as far as dots that part a key are to be told from others."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises ParameterError, whose text begins with the path if the file is at fault."""
    import msgspec

    name = printable_path(path)
    try:
        content = decode_text(read_regular(path, MAX_FILE_BYTES))
        _measure(content)
        return msgspec.toml.decode(content, type=dict[str, Any])
    except OSError as error:
        raise ParameterError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{name}: not TOML: not in UTF-8") from None
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: Python limits the digits of an integer
        raise ParameterError(f"{name}: not TOML: {printable(str(error))}") from None
    except RecursionError:
        raise ParameterError(f"{name}: not TOML that can be read: nested too deeply") from None
    except ImportError:
        raise ParameterError("reading TOML with Python 3.10 needs the package tomli: pip install tomli") from None


def _measure(content: str) -> None:
    """Raise ValueError for keys of many parts, `a.a.a. ...`, for which Python's parser takes quadratic time."""
    for line in content.splitlines():
        if line.count(".") < MOST_PARTS:
            continue
        parts = 0
        for token in _TOKEN.findall(line):
            parts += token == "."
            if not (token == "." or token.isspace() or token[0] in "\"'-_" or token.isalnum()):
                parts = 0
            if parts >= MOST_PARTS:
                raise ValueError(f"a key of more than {MOST_PARTS} parts")


def toml_value(value: object) -> str:
    """Write a value as TOML does; a table is written on one line."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()
