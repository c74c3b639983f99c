"""Order, termination, partial reports and failures: every position gets exactly one last reply."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gtp_engine.json_engine.query import Query
from gtp_engine.json_engine.schedule import Schedule
from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest, EvaluatorError
from tests.gtp_engine.json_engine.spoken import Spoken, asking
from tests.systems import PATIENCE

ENDLESS = 10**9


@pytest.fixture
def own() -> Iterator[Spoken]:
    spoken = Spoken()
    yield spoken
    spoken.end()


def test_the_highest_priority_first_and_then_the_oldest(own: Spoken) -> None:
    own.say(asking("busy", maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
    assert own.next()["isDuringSearch"]
    own.say(asking("low", priority=-1), asking("first"), asking("second"), asking("high", priority=7))
    own.say(asking("turns", analyzeTurns=[0, 1, 2], priorities=[1, 3, 2]))
    own.say({"id": "t", "action": "terminate", "terminateId": "busy"})
    answers = [own.next() for _ in range(9)]
    last = [answer for answer in answers if not answer.get("isDuringSearch", True)]
    while len(last) < 8:
        answer = own.next()
        last += [answer] if not answer.get("isDuringSearch", True) else []
    order = [(answer["id"], answer["turnNumber"]) for answer in last]
    assert order == [
        ("busy", 2), ("high", 2), ("turns", 1), ("turns", 2), ("turns", 0), ("first", 2), ("second", 2), ("low", 2),
    ]  # fmt: skip


def test_what_waits_has_no_results_and_what_runs_has_some(own: Spoken) -> None:
    own.say(asking("runs", maxVisits=ENDLESS, reportDuringSearchEvery=1000, firstReportDuringSearchAfter=0.01))
    first = own.next()
    assert first["isDuringSearch"]
    own.say(asking("waits", analyzeTurns=[0, 1, 2]))
    own.say({"id": "t", "action": "terminate", "terminateId": "waits", "turnNumbers": [0, 2]})
    none = {"id": "waits", "isDuringSearch": False, "noResults": True}
    assert [own.next(), own.next()] == [{**none, "turnNumber": 0}, {**none, "turnNumber": 2}]
    assert own.next() == {"id": "t", "action": "terminate", "terminateId": "waits", "turnNumbers": [0, 2]}
    own.say({"id": "all", "action": "terminate_all"})
    answers = [own.next() for _ in range(3)]
    assert {**none, "turnNumber": 1} in answers
    assert {"id": "all", "action": "terminate_all"} in answers
    (result,) = [answer for answer in answers if answer["id"] == "runs"]
    assert not result["isDuringSearch"]
    assert result["rootInfo"]["visits"] >= first["rootInfo"]["visits"]
    own.say({"id": "t", "action": "terminate", "terminateId": "runs"}, asking("next"))
    assert own.next()["action"] == "terminate"
    assert own.next()["id"] == "next"


def test_a_listener_who_is_behind_gets_only_the_last_reply(own: Spoken) -> None:
    own.is_behind = lambda: True
    (answer,) = own.ask(asking(maxVisits=3000, reportDuringSearchEvery=0.001))
    assert not answer["isDuringSearch"]


class Failing(ConstantEvaluator):
    """Fails while `fails` is set."""

    fails = False

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        if self.fails:
            raise EvaluatorError("the network is broken")
        return super().evaluate(request)


def test_a_search_that_fails_is_answered_and_ends_nothing() -> None:
    evaluator = Failing()
    own = Spoken(evaluator=evaluator)
    evaluator.fails = True
    error, last = own.ask(asking("bad"), 2)
    assert error == {"id": "bad", "error": "the network is broken"}
    assert last == {"id": "bad", "isDuringSearch": False, "noResults": True, "turnNumber": 2}
    evaluator.fails = False
    assert own.ask(asking("good"))[0]["rootInfo"]["visits"] == 5
    own.end()


def test_a_reply_that_cannot_be_sent_ends_nothing(own: Spoken, capsys: pytest.CaptureFixture[str]) -> None:
    def send(reply: dict[str, Any]) -> None:
        if reply["id"] == "bad":
            raise MemoryError
        own.replies.put(reply)

    own.send = send
    own.say(asking("bad"))
    assert own.ask(asking("good"))[0]["rootInfo"]["visits"] == 5
    assert capsys.readouterr().err == "nobi: a reply was lost: out of memory\n"


def test_a_query_that_cannot_be_read_is_answered(own: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> Query:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("gtp_engine.json_engine.engine.read_query", read)
        assert own.ask(asking("bad")) == [{"id": "bad", "error": "out of memory"}]
    assert own.ask(asking("good"))[0]["rootInfo"]["visits"] == 5


def test_many_positions_many_slots_and_much_termination() -> None:
    """Whatever happens in whatever order, each position has one last reply."""
    own = Spoken(slots=5, workers=3)
    asked: Counter[tuple[str, int]] = Counter()
    for i in range(60):
        query = asking(f"q{i % 7}", maxVisits=60, analyzeTurns=[i % 3, 2], boardYSize=9 - i % 2)
        asked.update((query["id"], turn) for turn in set(query["analyzeTurns"]))
        own.say(query)
        if i % 5 == 4:
            own.say({"id": "t", "action": "terminate", "terminateId": f"q{i % 7}"})
        if i % 20 == 19:
            own.say({"id": "c", "action": "clear_cache"})
    answered: Counter[tuple[str, int]] = Counter()
    while answered.total() < asked.total():
        answer = own.next()
        assert "error" not in answer
        if "turnNumber" in answer:
            answered[answer["id"], answer["turnNumber"]] += 1
    assert answered == asked
    own.end()


def queries(*priorities: int) -> Iterator[Query]:
    spare: Any = None
    for number, priority in enumerate(priorities):
        yield Query(str(number), spare, ((0, priority),), spare)


def test_a_search_of_long_standing_keeps_none_from_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.json_engine.schedule.PATIENCE", 0.05)
    schedule = Schedule(slots=2, workers=1)
    for query in queries(0, 0):
        schedule.add(query, 1)
    first = schedule.take(0)
    assert first is not None
    assert schedule.shares() == {0: 1}
    taken: list[Any] = []
    thread = threading.Thread(target=lambda: taken.append(schedule.take(1)))
    thread.start()
    thread.join(PATIENCE)
    assert taken[0].query.id == "1"
    schedule.finish(first)
    schedule.finish(taken[0])
    schedule.close()
    assert schedule.take(0) is None


def test_there_is_room_for_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.json_engine.schedule.MOST_WAITING", 2)
    monkeypatch.setattr("gtp_engine.json_engine.schedule.MOST_WAITING_BYTES", 100)
    schedule = Schedule(slots=1, workers=1)
    first, second, third, fourth = queries(0, 0, 0, 0)
    assert schedule.add(first, 60)
    assert not schedule.add(second, 60)
    assert schedule.add(third, 40)
    assert not schedule.add(fourth, 0)
    assert [position.query.id for position in schedule.terminate()] == ["0", "2"]
    assert schedule.add(fourth, 100)
