"""Tables of parameters: what a declaration becomes, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from nobi_machine.parameters import (
    MOST_COMPLAINTS,
    Complaints,
    ParameterError,
    ParameterTable,
    declared,
    declared_by,
    extended,
    from_values,
    parameter,
    read_toml,
    suggestion,
    toml_value,
)
from nobi_machine.records import record_fields
from search.nobi.memory.context import SETTINGS, make_settings
from search.nobi.parameters import SearchParameters
from search.textbook.parameters import AlphaZeroParameters, UctParameters
from search.textbook.rules import UCB1
from search.textbook.walk import PLAYOUT, new_context
from search.textbook.walk import SETTINGS as TEXTBOOK_SETTINGS


@dataclass(frozen=True)
class Inner(ParameterTable):
    """A table in a table."""

    share: float = parameter(0.5, "A share.", low=0, below=1)
    folders: tuple[str, ...] = parameter((), "Some folders.")
    sizes: tuple[int, ...] = parameter((9, 19), "Boards.")


@dataclass(frozen=True)
class Outer(ParameterTable, section="outer", live=True):
    """A table of every kind of parameter."""

    rate: float = parameter(0.1, "A rate.", above=0, kata="learningRate")
    steps: int | None = parameter(None, "Steps.", low=1, absent="no limit", live=False)
    kind: str = parameter("one", "Which.", choices=("one", "the-other"))
    path: str = parameter("", "A file; empty: none.")
    flag: bool = parameter(True, "Whether.")
    rules: dict[str, float] = parameter({"chinese": 0.25}, "Shares.")
    inner: Inner = Inner()


def test_what_a_declaration_says() -> None:
    kinds = {each.name: (each.kind, each.item) for each in declared(Outer)}
    assert kinds == {
        "rate": (float, float),
        "steps": (int, int),
        "kind": (str, str),
        "path": (str, str),
        "flag": (bool, bool),
        "rules": (dict, float),
    }
    assert [each.live for each in declared(Outer)] == [True, False, True, True, True, True]
    assert [each.name for each in declared(Inner)] == ["share", "folders", "sizes"]
    bounds = {each.name: each.bounds() for each in (*declared(Outer), *declared(Inner))}
    assert bounds["rate"] == "above 0"
    assert bounds["share"] == "at least 0 and below 1"
    assert bounds["kind"] == "one of one, the-other"


def test_nested_values_and_files(tmp_path: Path) -> None:
    assert from_values(Outer(), {}) == Outer()
    file = tmp_path / "outer.toml"
    values = {"kind": "The_Other", "rules": {"aga": 1}, "inner": {"sizes": [7], "folders": ["a"], "share": 0}}
    file.write_text("".join(f"{name} = {toml_value(value)}\n" for name, value in values.items()))
    table = from_values(Outer(), read_toml(file))
    assert table == Outer(kind="the-other", rules={"aga": 1.0}, inner=Inner(0.0, ("a",), (7,)))
    assert Outer().with_value("learning-rate", "2").rate == 2.0
    assert Inner().with_value("sizes", "[5, 7]").sizes == (5, 7)
    assert Outer(path="x").with_value("path", "").path == ""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 0}, "rate must be above 0, not 0"),
        ({"steps": 10**400, "x": 1}, "steps must be a whole number, not 1000"),
        ({"steps": 1, "x": 1}, "unknown parameter: x"),
        ({"rate": 10**400}, "rate must be a number, not 1000"),
        ({"inner": {"share": 1}}, "inner.share must be at least 0 and below 1, not 1"),
        ({"inner": {"sizes": ["x"]}}, "inner.sizes must be a whole number, not ['x']"),
        ({"inner": {"sizes": 9}}, "inner.sizes must be a list, not 9"),
        ({"inner": {"deep": 9}}, "unknown parameter: inner.deep"),
        ({"inner": 1}, "inner must be a table, not 1"),
        ({"rules": 1}, "rules must be a table, not 1"),
        ({"kind": ""}, "kind must be a text, not "),
    ],
)
def test_refused_values(values: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        from_values(Outer(), values)
    assert str(caught.value).startswith(message)


def test_what_is_wrong_can_be_left_out() -> None:
    """The rest holds, and what is left out keeps the value that it had."""
    complaints = Complaints("here")
    base = Outer(rate=3.0, inner=Inner(0.25))
    values = {"rate": 0, "steps": 7, "tabel": 1, "inner": {"share": "x", "sizes": [7], "share2": 1}, "rules": 1}
    table = from_values(base, values, complaints=complaints, hint=lambda name: f"not {name}")
    assert table == Outer(rate=3.0, steps=7, inner=Inner(0.25, sizes=(7,)))
    assert complaints.lines() == [
        "here: rate must be above 0, not 0; ignored",
        "here: unknown parameter: tabel (not tabel); ignored",
        "here: inner.share must be a number, not x; ignored",
        "here: unknown parameter: inner.share2 (not inner.share2); ignored",
        "here: rules must be a table, not 1; ignored",
    ]


def test_of_many_complaints_few_are_shown() -> None:
    complaints = Complaints("here")
    from_values(Outer(), {f"x{i}": i for i in range(500)}, complaints=complaints)
    lines = complaints.lines()
    assert len(lines) == MOST_COMPLAINTS + 1
    assert lines[-1] == f"here: and {500 - MOST_COMPLAINTS} more; ignored"


def test_suggestions() -> None:
    names = ("visits", "maxVisits", "komi")
    assert suggestion("visit_limit", names) == "did you mean visits?"
    assert suggestion("Max-Visit", names) == "did you mean maxVisits?"
    assert suggestion("sivits", names) == suggestion("x" * 100_000, names) == suggestion("", names) == ""


def test_a_table_may_extend_another() -> None:
    """What it inherits belongs to the table that declares it: its section, and whether it may change."""

    @dataclass(frozen=True)
    class More(Outer, section="more"):
        """A table with one parameter more."""

        width: float = parameter(1.0, "A width.")

    assert [each.name for each in declared(More)] == [*(each.name for each in declared(Outer)), "width"]
    assert [each.name for each in declared_by(More)] == ["width"]
    assert {each.section for each in declared(More)} == {"outer", "more"}
    assert [each.live for each in declared(More)] == [*(each.live for each in declared(Outer)), False]
    assert extended(More) == (Outer, More)
    assert extended(Inner) == (Inner,)
    assert More().with_value("learningRate", 0.5).rate == 0.5


def test_no_instance_is_invalid() -> None:
    with pytest.raises(ParameterError, match="rate must be above 0, not -1"):
        Outer(rate=-1)
    with pytest.raises(ParameterError, match="cpuct must be 0 to 10, not nan"):
        SearchParameters(cpuct=float("nan"))
    with pytest.raises(ParameterError, match="unknown parameter: no_such"):
        Outer().with_value("no_such", 1)


def test_the_kernels_records_are_the_declarations() -> None:
    for table in (UctParameters, AlphaZeroParameters):
        assert {name: TEXTBOOK_SETTINGS[name] for name, _ in record_fields(table)} == {
            name: np.dtype(kind) for name, kind in record_fields(table)
        }
    assert record_fields(Outer) == [("rate", "f8"), ("flag", "i1")]
    fields = dict(record_fields(SearchParameters))
    assert (fields["cpuct"], fields["graph_repetition_bound"], fields["lcb"]) == ("f8", "i8", "i1")
    assert {name: SETTINGS[name] for name in fields} == {name: np.dtype(kind) for name, kind in fields.items()}
    parameters = SearchParameters(cpuct=1.5, lcb=False, root_noise=True, wide_root_noise=0.25)
    settings = make_settings(parameters, 81)
    expected = {name: getattr(parameters, name) for name in fields} | {"root_fpu_reduction": 0.0}
    assert {name: settings[name] for name in fields} == expected
    assert make_settings(parameters, 81, analysis=True)["wide_root_noise"] == 0.04
    assert new_context(UctParameters(widening=0.75), UCB1, PLAYOUT).settings["widening"][0] == 0.75
