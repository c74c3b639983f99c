"""What a turn costs beside thinking: the account of it, and what the engine does with it. No machine is measured."""

from __future__ import annotations

import random
import threading
import time

import pytest

from go_rules.points import BLACK, WHITE
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.commands import carry_out
from gtp_engine.session.clock import TimeControl, TimeLeft, full_time
from gtp_engine.session.lateness import FIRST_GUESS, MOST, SAME_TURN, Lateness, Pulse, Turn
from gtp_engine.session.time_management import SMALLEST, seconds_for_move
from search.request import SearchRequest
from search.result import SearchResult
from tests.gtp_engine.fakes import Dialogue, FakePlayer, call_of
from tests.systems import PATIENCE


def started(dialogue: Dialogue, period: float) -> Dialogue:
    """A dialogue whose engine is loaded, with a clock of one byo-yomi period."""
    dialogue.ask("boardsize 9", f"kgs-time_settings byoyomi 0 {period} 1")
    return dialogue


def seconds_of_last_search(dialogue: Dialogue) -> float:
    """The limit of the last search that had one: pondering has none."""
    return [request.limits.seconds for request in dialogue.player.searches if request.limits.seconds is not None][-1]


# --- The account --------------------------------------------------------------------------------------------------


def test_a_turn_begins_when_we_are_told_of_the_opponents_move() -> None:
    turn = Turn()
    assert turn.began(5.0) == 5.0
    turn.told(10.0, 10.2)
    assert turn.began(10.25) == 10.0
    assert turn.began(10.2 + 2 * SAME_TURN) == 10.2 + 2 * SAME_TURN
    turn.over()
    assert turn.began(10.25) == 10.25


def test_lateness_is_learned_at_once_and_forgotten_slowly() -> None:
    lateness = Lateness()
    assert lateness.expected == 2 * FIRST_GUESS
    lateness.waited(0.2)
    lateness.waited(0.1)
    lateness.moved(0.3)
    assert 0.4 < lateness.expected <= 0.5
    for _ in range(14):
        lateness.moved(-1.0)
    assert 0.2 < lateness.expected < 0.3
    for _ in range(120):
        lateness.moved(0.0)
    assert lateness.expected < 0.01


def test_the_end_of_pondering_is_forgotten_slowly() -> None:
    lateness = Lateness()
    lateness.pondered(0.5)
    lateness.pondered(0.1)
    assert lateness.pondering == 0.5
    for _ in range(14):
        lateness.moved(0.0)
    assert 0.2 < lateness.pondering < 0.3


def test_a_computer_that_slept_is_not_expected_to_sleep_again() -> None:
    lateness = Lateness()
    lateness.waited(3600.0)
    lateness.moved(3600.0)
    assert lateness.expected <= 2 * MOST


def test_pulse_notes_late_waits_and_looks_after_each() -> None:
    """The waits may be late by any time on a busy machine, so only that there are any is checked."""
    seen: list[float] = []

    class Recording(Lateness):
        def waited(self, late: float) -> None:
            seen.append(late)

    looks: list[int] = []
    pulse = Pulse(Recording())
    pulse.begin(lambda: looks.append(len(seen)))
    deadline = time.monotonic() + PATIENCE
    while len(looks) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    pulse.begin()
    assert len(looks) >= 3
    assert looks[:3] == [1, 2, 3]
    assert all(late >= 0 for late in seen)


def test_pulse_wakes_up_when_it_is_needed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.session.lateness.IDLE_SECONDS", 0.0)
    pulse, looked = Pulse(Lateness()), threading.Event()
    pulse.begin()
    time.sleep(0.1)  # it has nothing to do meanwhile, and rests
    pulse.begin(looked.set)
    assert looked.wait(PATIENCE)
    pulse.begin()


# --- What it is used for ------------------------------------------------------------------------------------------


def test_the_last_period_is_left_sooner_than_others() -> None:
    """A late move there loses the game; before, it costs a period."""
    last, spare = TimeControl.byoyomi(0, 1, 1), TimeControl.byoyomi(0, 1, 5)
    in_last, in_spare = (seconds_for_move(c, full_time(c), 100, 81, 0.3, late=0.2) for c in (last, spare))
    assert in_last == pytest.approx(1 - 0.3 - 3 * 0.2)
    assert in_spare == pytest.approx(1 - 0.1 - 0.3 - 0.2)
    assert seconds_for_move(last, full_time(last), 100, 81, 0.3, late=5.0) == SMALLEST
    # So it is where a move goes on into it from the period before.
    before_last = TimeLeft(0.0, True, period=0.2, periods=2)
    into_last = seconds_for_move(TimeControl.byoyomi(0, 1, 2), before_last, 100, 81, 0.3, late=0.2)
    assert into_last == pytest.approx(0.2 + 1 - 0.3 - 3 * 0.2)


def test_a_quiet_machine_costs_no_time() -> None:
    control = TimeControl.byoyomi(0, 1, 1)
    quiet, ideal = (seconds_for_move(control, full_time(control), 100, 81, 0.3, late) for late in (0.02, 0.0))
    assert quiet is not None
    assert ideal is not None
    assert quiet > 0.95 * ideal


def test_searches_that_end_late_get_less_time() -> None:
    dialogue = started(Dialogue(FakePlayer(thinks=0.01)), 10)
    dialogue.ask("genmove b")
    first = seconds_of_last_search(dialogue)
    dialogue.session.clock.correct(BLACK, 1, 1)
    dialogue.player.thinks = 1.2
    dialogue.ask("genmove b", "genmove b")
    assert seconds_of_last_search(dialogue) < first - 0.3


def test_a_late_machine_gets_less_time_from_the_next_move_on() -> None:
    dialogue = started(Dialogue(), 10)
    dialogue.ask("genmove b")
    first = seconds_of_last_search(dialogue)
    dialogue.session.lateness.waited(0.3)
    dialogue.ask("genmove b")
    assert seconds_of_last_search(dialogue) < first - 0.2


def test_a_machine_that_becomes_busy_during_a_search_ends_it() -> None:
    """The search would have half a second; then the machine turns out to be late by as much."""

    class Surprised(FakePlayer):
        def search(self, request: SearchRequest) -> SearchResult:
            assert request.stop is not None
            look = dialogue.pulse.look
            assert look is not None
            look()
            assert not request.stop.is_set()
            for _ in range(3):
                dialogue.session.lateness.waited(1.0)
                dialogue.session.lateness.moved(1.0)
            time.sleep(2 * SMALLEST)
            look()
            assert request.stop.is_set()
            return super().search(request)

    dialogue = started(Dialogue(Surprised(thinks=20.0)), 4)
    dialogue.session.lateness = Lateness(0.0)
    dialogue.ask("genmove b")
    assert not dialogue.player.searching.is_set()
    decision = dialogue.session.decision
    assert decision is not None
    assert not decision.is_cancelled, "the clock ended it, and nobody else"
    assert decision.due <= time.monotonic(), "it was to end when the clock ended it"


def test_no_clock_no_early_end() -> None:
    dialogue = Dialogue()
    dialogue.ask("genmove b")
    assert dialogue.pulse.look is None


# --- Pondering ----------------------------------------------------------------------------------------------------


def pondering_dialogue(ends_late: float, period: float = 10) -> Dialogue:
    """An engine that ponders after its first move, and takes so long to end that."""
    dialogue = started(Dialogue(FakePlayer(ends_late=ends_late), EngineSettings(size="9", ponder=True)), period)
    dialogue.ask("genmove b")
    assert dialogue.player.searching.wait(PATIENCE)
    return dialogue


def test_play_does_not_wait_for_the_end_of_pondering() -> None:
    dialogue = pondering_dialogue(ends_late=2.0)
    dialogue.ask("play w e5")
    assert dialogue.player.searching.is_set()
    dialogue.ask("genmove b")
    assert dialogue.player.searches[2].limits.seconds is not None


def test_the_end_of_pondering_is_thinking_time() -> None:
    """It is the same turn, so the search gets less; and what was waited for is charged to our clock."""
    dialogue = pondering_dialogue(ends_late=0.5)
    before = seconds_of_last_search(dialogue)
    dialogue.ask("play w e5", "genmove b")
    assert seconds_of_last_search(dialogue) <= before - 0.45


def test_no_pondering_that_does_not_end_in_time() -> None:
    """The last one took half a second to end, and the next move has no more than a second and a half."""
    dialogue = pondering_dialogue(ends_late=0.5, period=1.5)
    dialogue.ask("play w e5", "genmove b")
    assert not dialogue.player.searching.wait(0.2)
    assert dialogue.session.lateness.pondering >= 0.4


def test_a_search_of_the_root_alone_is_as_short_as_can_be() -> None:
    """Its network is slow, and thinking less the next time would not help."""
    lateness, dialogue = Lateness(0.0), started(Dialogue(FakePlayer(thinks=0.5)), 10)
    dialogue.session.lateness = lateness
    dialogue.session.clock.correct(BLACK, 0.1, 1)
    dialogue.player.new_visits = 1
    dialogue.ask("genmove b")
    assert lateness.expected < 0.3
    dialogue.session.clock.correct(BLACK, 0.1, 1)
    dialogue.player.new_visits = 2
    dialogue.ask("genmove b")
    assert lateness.expected >= 0.4


def test_what_play_took_is_charged_to_our_clock() -> None:
    """The controller told of a move half a minute ago, which is the account of the one who answers it, and of nobody
    after that."""
    dialogue = Dialogue(settings=EngineSettings(size="9", lag=0.0))
    dialogue.ask("boardsize 9", "time_settings 100 0 0")
    assert carry_out(dialogue.session, call_of("play w e5", received=time.monotonic() - 30.0))
    dialogue.ask("genmove b", "genmove w")
    left = dialogue.session.clock.left
    assert left[BLACK].main <= 70.0
    assert left[WHITE].main > 70.0


# --- Whole games --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network_lag", [0.0, 0.2])
@pytest.mark.parametrize("busy", [0.0, 0.03, 0.06])
def test_no_last_period_is_lost_on_a_busy_machine(network_lag: float, busy: float) -> None:
    """A model of a machine where each step waits for an exponential time, `busy` seconds on average, 0.15 at most."""
    control, rng = TimeControl.byoyomi(0, 1, 1), random.Random(1)
    left, used = full_time(control), []
    for _ in range(50):
        lateness = Lateness()
        for move in range(60):
            wait = [min(0.15, rng.expovariate(1 / busy)) if busy else 0.0 for _ in range(6)]
            for _ in range(20):
                lateness.waited(min(0.15, rng.expovariate(1 / busy)) if busy else 0.0)
            planned = seconds_for_move(control, left, move, 81, 0.3, lateness.expected)
            assert planned is not None
            seen_before = wait[1] + wait[2]
            thinking = max(SMALLEST, planned - seen_before)
            seen_after = wait[3] + wait[4]
            lateness.moved(seen_after)
            total = wait[0] + seen_before + thinking + seen_after + wait[5] + network_lag
            used.append(total)
    assert max(used) < 1.0
    if not busy:
        assert sum(used) / len(used) > 0.55
