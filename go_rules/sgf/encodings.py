"""The encodings of SGF files, which their CA property names."""

from __future__ import annotations

import codecs
import re

_ENCODINGS = re.compile(r"utf[-_]8|ascii|(iso8859|iso2022_jp|koi8|cp|gb|big5|shift_jis|euc_)[-\w]*")
"""The encodings of text by Python's names. Other codecs of Python's are slow or decode to something else."""

_LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}
"""By the encoding that a file names: the one that programs take for it, which has more characters."""


def known_encoding(name: bytes) -> str:
    """Return the encoding that a CA property names, as Python calls it.

    It is UTF-8 where we do not know the name, and where there is none: files without one use that today. For some names
    it is the larger encoding that programs take for it.
    """
    try:
        encoding = codecs.lookup(name.decode("ascii").strip()).name
    except (LookupError, ValueError):
        return "utf-8"
    encoding = _LARGER.get(encoding, encoding)
    return encoding if _ENCODINGS.fullmatch(encoding) else "utf-8"


_CHARSET = re.compile(rb"CA\s*\[([\w\s-]{1,40})\]")
_IN_TWO_BYTES = re.compile(r"(shift_jis|cp9|big5|gb|iso2022_jp)[-\w]*")
"""Encodings in which a byte of a character may be that of a bracket or of a backslash."""


def in_utf8(data: bytes) -> bytes:
    """Return `data` in UTF-8, and say so in it, if all its CA properties name one encoding, in which brackets cannot be
    found; else `data` itself."""
    first, *others = {known_encoding(name) for name in set(_CHARSET.findall(data))} or {"utf-8"}
    if others or not _IN_TWO_BYTES.fullmatch(first):
        return data
    return _CHARSET.sub(b"CA[UTF-8]", data.decode(first, "replace").encode())
