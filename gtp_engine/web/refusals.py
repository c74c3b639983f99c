"""What pages are told of what cannot be done: the key of one of the page's texts (page/texts.js), which are in all its
languages, and the values in it. As a line of English, for programs and the terminal, it is the key's own words."""

from __future__ import annotations

import errno
from typing import Any

from go_rules.sgf.grammar import SgfError
from gtp_engine.errors import Refused, explain

Said = dict[str, Any]
"""A text of the page: its `key`, and its `values` by their names."""


def said(key: str, **values: Any) -> Said:
    """Return what pages are told in place of a text."""
    return {"key": key, "values": values}


def words(text: Said) -> str:
    """Return a text as a line of English: `no such level: 13`."""
    values = ", ".join(str(value) for value in text["values"].values())
    return text["key"].replace("_", " ") + (f": {values}" if values else "")


class Refusal(Refused):
    """A refusal that pages say in their languages."""

    def __init__(self, key: str, **values: Any) -> None:
        self.said = said(key, **values)
        super().__init__(words(self.said))


def said_of(error: BaseException) -> Said:
    """Return what pages say of an error."""
    if isinstance(error, Refusal):
        return error.said
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        return said("file_changed")
    return said("broken_record" if isinstance(error, SgfError) else "failed", text=explain(error))
