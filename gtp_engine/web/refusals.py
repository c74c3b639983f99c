"""What cannot be done, as a line of English and, where that is usual, as a key of the page's texts."""

from __future__ import annotations

import errno
from typing import Any

from gtp_engine.errors import Refused, explain


class Translated(Refused):
    """A refusal for which pages have a text in each of their languages."""

    def __init__(self, text: str, key: str, **values: Any) -> None:
        super().__init__(text)
        self.key, self.values = key, values


def told_error(error: BaseException) -> dict[str, Any]:
    """Return what pages are told of an error: its `text` and, where there is one, the `key` and the `values` of a text
    in other languages."""
    told = {"text": explain(error)}
    if isinstance(error, Translated):
        return {**told, "key": error.key, "values": error.values}
    if isinstance(error, OSError) and error.errno == errno.EBUSY:
        return {**told, "key": "file_changed", "values": {}}
    return told
