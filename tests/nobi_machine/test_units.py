"""Units of work: which thread takes which, what ends them, and that results are kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nobi_machine.units import Batch, Lines, Pool, Results, Unit
from tests.systems import PATIENCE


def units(*names: str) -> Iterator[Unit]:
    return iter([Unit(name, "task", name.encode()) for name in names])


def test_a_thread_stays_with_its_batch_and_then_helps_where_fewest_are() -> None:
    """Two threads and two groups: each has its own, until nothing is left of one."""
    order: list[tuple[str, int]] = []
    places: list[int] = []
    both = threading.Barrier(2)

    def do(unit: Unit, place: int) -> bytes:
        both.wait(PATIENCE)  # each thread does as many as the other
        return b"%d" % place

    pool = Pool(2, do, places.append)
    batches = [Batch("a", units("a1", "a2")), Batch("a", units("a3")), Batch("b", units("b1", "b2", "b3", "b4", "b5"))]
    pool.run(batches, lambda unit, result: order.append((unit.name, int(result))))
    by_place = [{name for name, place in order if place == each} for each in (0, 1)]
    assert {"a1", "a2", "a3"} in [{name for name in those if name[0] == "a"} for those in by_place]
    assert [name for name, _ in order if name[0] == "a"] == ["a1", "a2", "a3"]
    assert sorted(name for name, _ in order if name[0] == "b") == ["b1", "b2", "b3", "b4", "b5"]
    assert sorted(places) == [0, 1]


def test_an_error_ends_all_units_and_names_its_own() -> None:
    released = threading.Event()
    kept: list[str] = []

    def do(unit: Unit, _place: int) -> bytes | None:
        if unit.name == "bad":
            raise ValueError("no such thing")
        released.wait(PATIENCE)
        return None

    pool = Pool(2, do, lambda _place: pytest.fail("nothing is left in order"), released.set)
    with pytest.raises(ValueError, match="no such thing") as caught:
        pool.run([Batch("", units("long", "bad", "never"))], lambda unit, _: kept.append(unit.name))
    assert vars(caught.value)["unit"] == "bad"
    assert kept == [], "what was interrupted counts for nothing"
    assert released.is_set()


def test_an_interruption_while_threads_begin_ends_those_that_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may be at work before the main thread has left its `start`."""
    released, begun, ended = threading.Event(), threading.Event(), threading.Event()
    start = threading.Thread.start

    def start_and_be_interrupted(thread: threading.Thread) -> None:
        start(thread)
        begun.wait(PATIENCE)
        raise KeyboardInterrupt

    def do(_unit: Unit, _place: int) -> bytes | None:
        begun.set()
        released.wait(PATIENCE)
        ended.set()
        return None

    monkeypatch.setattr(threading.Thread, "start", start_and_be_interrupted)
    with pytest.raises(KeyboardInterrupt):
        Pool(2, do, interrupt=released.set).run([Batch("", units("long", "never"))], lambda _unit, _result: None)
    assert ended.is_set()


def test_what_cannot_be_kept_ends_the_work() -> None:
    def keep(_unit: Unit, _result: bytes) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        Pool(3, lambda unit, _place: b"").run([Batch("", units(*"abcdef"))], keep)


def test_a_key_stands_for_the_task_and_its_arguments() -> None:
    keys = {Unit("x", task, arguments).key for task, arguments in (("a", b"b"), ("a", b"c"), ("ab", b""), ("", b"ab"))}
    assert len(keys) == 4
    assert Unit("one", "a", b"b").key == Unit("other", "a", b"b").key
    assert 0 <= Unit("x", "a", b"b").seed < 2**31


def test_results_are_there_again_but_for_one_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "results"
    first, second = units("first", "second")
    results = Results(path)
    results.add(first, b'{"a b": 1}')
    path.write_bytes(path.read_bytes() + second.key.encode() + b' {"a')
    results = Results(path)
    assert results[first] == b'{"a b": 1}'
    assert second not in results
    results.add(second, b"2")
    assert [Results(path)[unit] for unit in (first, second)] == [b'{"a b": 1}', b"2"]


@pytest.mark.parametrize("content", [b"a letter\n", b"\n", b"no line", b"0123456789abcdef0123456789abcdef0 1\n"])
def test_a_file_of_something_else_is_refused_and_stays(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a file of results"):
        Results(path)
    assert path.read_bytes() == content


def test_lines_that_were_cut_off_are_replaced_when_one_is_added(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntw")
    lines = Lines(path)
    assert (lines.lines, lines.rest, path.read_bytes()) == ([b"one"], b"tw", b"one\ntw")
    lines.append(b"two")
    lines.append(b"three")
    assert path.read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "lines").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="a link, and not a file"):
        Lines(tmp_path / "lines")
    assert not (tmp_path / "mine").exists()
