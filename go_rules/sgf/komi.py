"""Komi in SGF files, as programs, servers and people write it."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from nobi_machine.text import parse_number

_HUNDREDTHS = re.compile(r"(2[5-9]|[3-9]\d)\d")
"""With a decimal point nothing is meant in hundredths; from others than Foxwq it is where no komi is so large."""
_FOX = re.compile(r"-?([1-9]00|[1-9]?(25|50|75))")
_STONES = re.compile(r"-?[0-4]?\.[27]5")
"""A larger number is somebody's own komi in points; so is one with another digit, 3.750."""


def read_komi(text: str, is_territory: bool, is_fox: bool) -> float | None:
    """Return the points that the text of a KM property means; None where nobody knows.

    No rules give quarters of a point, so 3.75 means Chinese stones, two points each; under territory rules it means
    nothing. Foxwq (`is_fox`) and some others write hundredths of points or of stones.
    """
    for words, fraction in _FRACTIONS.items():
        text = text.replace(words, f" {fraction}")
    text = unicodedata.normalize("NFKC", text).replace(",", ".").strip()
    try:
        komi = parse_number(text)
    except ValueError:
        return _in_words(text, is_territory)
    if (_FOX if is_fox else _HUNDREDTHS).fullmatch(text):
        # Of stones, where it is no half of a point, or as little as a komi in stones is.
        is_stones = abs(komi) < 500 and (komi % 50 != 0 or abs(komi) >= 200)
        return komi / 50 if is_stones else komi / 100
    if _STONES.fullmatch(text):
        return None if is_territory else 2 * komi
    return komi + 0.0


def komi_text(komi: float) -> str:
    """Return the text of a KM property: a Real of SGF, which has no exponent, in as many digits as tell it from every
    other number. Where `read_komi` would take it for something else than points it has one digit more."""
    text = np.format_float_positional(komi, trim="-")
    return f"{text}.0" if _HUNDREDTHS.fullmatch(text) else f"{text}0" if _STONES.fullmatch(text) else text


_LONGEST = 40
"""Characters of a komi in words."""
_NUMERALS = str.maketrans("〇零一二三四五六七八九两兩", "0012345678922")
_FRACTIONS = {"四分之三": "3/4", "四分の三": "3/4", "二分之一": "1/2", "½": "1/2", "¼": "1/4", "¾": "3/4"}
_IN_WORDS = re.compile(
    r"[^\d/]*?(?P<sign>-?)(?P<points>\d{1,3}(?:\.\d+)?)?[^\d./]*(?:(?P<part>\d)/(?P<parts>[1-9]))?[^\d/]*"
)


def _in_words(text: str, is_territory: bool) -> float | None:
    """Read `5.5 moku`, `黒6目半`, `덤 6집반` or `3又3/4子`. More than one number, or a komi that White gives, may mean
    anything."""
    found = _IN_WORDS.fullmatch(text.translate(_NUMERALS)) if len(text) <= _LONGEST else None
    if found is None or re.search("[白백十]|white", text.lower()):
        return None
    points, part = found["points"], found["part"]
    is_half = not part and "." not in (points or "") and re.search("半|반|half", text) is not None
    if not (points or part or is_half):
        return None
    komi = float(points or 0) + (int(part) / int(found["parts"]) if part else is_half / 2)
    if re.search(r"子|\bzi\b|stone", text) or komi % 0.5:
        if is_territory or komi >= 5:
            return None
        komi *= 2
    return -komi if found["sign"] or re.search("[逆倒역]", text) else komi
