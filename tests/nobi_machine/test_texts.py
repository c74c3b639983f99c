"""Numbers and JSON that somebody wrote: what is read, and that everything else is refused in one way and fast."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nobi_machine.text import RepeatedName, parse_integer, parse_json, parse_number

NO_NUMBERS = [
    "",
    " ",
    "1 ",
    " 1",
    "\n1",
    "1\0",
    "1\n",
    *["1_0", "１２", "٣", "²", "x", "+", "-", "--1", "+-1", "0x10", "1,5"],
]
NO_NUMBERS += ["nan", "NaN", "inf", "-Infinity", "1e", "e5", ".", "1.2.3", "1e5.5"]
HUGE = ["1" * 400, "-" + "9" * 5_000, "1" * 5_000_000, "0" * 5_000_000]
DEEP = ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000]


@pytest.mark.parametrize("text", [*NO_NUMBERS, *HUGE, "1.0", "1e3", "1" * 19], ids=lambda text: text[:12])
def test_no_whole_numbers(text):
    with pytest.raises(ValueError, match=r"^a whole number$"):
        parse_integer(text)


@pytest.mark.parametrize(
    "text", [*NO_NUMBERS, *HUGE[1:], "1e309", "-1e9999", "1e10000", "1" * 310, "1" * 400], ids=lambda text: text[:12]
)
def test_no_numbers(text):
    with pytest.raises(ValueError, match=r"^a number$"):
        parse_number(text)


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_whole_numbers(number):
    assert parse_integer(str(number)) == number
    assert parse_integer(f"{number:+d}") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers(number):
    assert parse_number(repr(number)) == number
    assert parse_number(f"{number:.17g}") == number


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("+7.", 7), (".5", 0.5), ("1E2", 100), ("-0", 0), ("1e-9999", 0)]
)
def test_ways_to_write_a_number(text, number):
    assert parse_number(text) == number


def test_json_is_what_json_says():
    text = '{"a": [1, -2.5, true, null, "x"], "b": {"c": 1e3}}'
    assert parse_json(text) == json.loads(text)


def test_whole_numbers_beyond_64_bits_are_floats():
    assert parse_json('{"t": 1732723456789012345, "s": -7}') == {"t": 1.732723456789012345e18, "s": -7}
    assert isinstance(parse_json("1" + "0" * 18), float)


def test_a_name_that_occurs_twice():
    with pytest.raises(RepeatedName, match=r"^b occurs twice in an object$") as error:
        parse_json('{"id": "x", "a": {"b": 1, "c": 2, "b": 3}}')
    assert error.value.value == {"id": "x", "a": {"b": 3, "c": 2}}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{'a':1}", "[1,]", "NaN", "[Infinity]", "[-Infinity]", "[1e999]"),
        *(f"[{number}]" for number in (*HUGE, "1" * 401, "1." + "1" * 5000)),
        *DEEP,
    ],
    ids=lambda text: text[:12],
)
def test_no_json(text):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"^JSON$"):
        parse_json(text)
    assert time.process_time() - started < 5
