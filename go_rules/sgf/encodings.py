"""The encodings of SGF files, which their CA property names."""

from __future__ import annotations

import codecs
import re

_ENCODINGS = re.compile(r"utf[-_]8|(iso8859|iso2022_jp|koi8|cp|gb|big5|shift_jis|euc_)[-\w]*")
"""The encodings of text by Python's names. Other codecs of Python's are slow or decode to something else."""

_LARGER = {
    "ascii": "utf-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "big5": "cp950",
    "euc_kr": "cp949",
}
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


def is_text(data: bytes, encoding: str) -> bool:
    """Return whether all of these bytes are characters of an encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


_CHARSET = re.compile(rb"CA\s*\[[\w\s-]{1,40}\]")


def from_utf16(data: bytes) -> bytes:
    """Return a file in UTF-8 if its byte order mark says that it is in UTF-16, where brackets have two bytes; else the
    file as it is."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data
    return _CHARSET.sub(b"CA[UTF-8]", data.decode("utf-16", "replace").encode())
