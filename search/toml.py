"""TOML files of parameters: reading them, and writing values as TOML has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from search.parameters import ParameterError

MAX_FILE_BYTES = 1 << 20


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ParameterError, whose text begins with the path."""
    import msgspec

    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ParameterError(f"{path}: too large for a configuration file")
        return msgspec.toml.decode(content, type=dict[str, Any])
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: not TOML: {error}") from None
    except ImportError:
        raise ParameterError("reading TOML with Python 3.10 needs the package tomli: pip install tomli") from None


def toml_value(value: object) -> str:
    """A value as TOML writes it; a table is written on one line."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()
