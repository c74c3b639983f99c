"""One engine of a match: its command, its name, how it is prepared for a game, and what its answers mean."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rule_names import preset
from gtp_engine.match.client import EngineError, EngineTimeout, GtpFailure
from gtp_engine.match.engines import Engine, EngineLimits, TermsRefused, engine_command
from gtp_engine.session.clock import TimeControl
from tests.gtp_engine.match.conftest import stub_command, terms

ANSWERS = r"""
import sys, time
answers = {answers!r}
for line in sys.stdin:
    with open({log!r}, "a") as log:
        log.write(line)
    words = line.split()
    reply = answers.get(line.strip(), answers.get(words[0], "? unknown command"))
    time.sleep({pause})
    sys.stdout.write(reply + "\n\n")
    sys.stdout.flush()
    if words[0] == "quit":
        break
"""


class Scripted:
    """Engines that answer each command, or each name of one, as a table says. What they were sent is in `sent`."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "sent.txt"
        self._engines: list[Engine] = []

    def engine(self, answers: dict[str, str], limits: EngineLimits | None = None, pause: float = 0.0) -> Engine:
        """`pause`: seconds before each answer."""
        code = ANSWERS.format(answers=answers, log=str(self._log), pause=pause)
        engine = Engine([sys.executable, "-I", "-S", "-c", code], "the engine", limits=limits)
        self._engines.append(engine)
        return engine

    def sent(self) -> list[str]:
        """The lines since the last call."""
        lines = self._log.read_text().splitlines()
        self._log.write_text("")
        return lines

    def end(self) -> None:
        for engine in self._engines:
            engine.discard()


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Scripted]:
    scripted = Scripted(tmp_path)
    yield scripted
    scripted.end()


YES = dict.fromkeys(("boardsize", "clear_board", "komi", "time_settings", "play", "time_left"), "=")


# --- Commands and names -------------------------------------------------------------------------------------------


def test_nobi_stands_for_the_gtp_engine_of_this_installation() -> None:
    plain = engine_command("nobi")
    assert plain[-2:] == ["gtp_engine.cli", "gtp"]
    assert engine_command("nobi gtp") == plain
    assert engine_command("nobi --net 'a b' --visits 5") == [*plain, "--net", "a b", "--visits", "5"]
    assert engine_command("nobi gtp --visits 5") == [*plain, "--visits", "5"]
    assert engine_command("nobi --set gtp") == [*plain, "--set", "gtp"]
    assert engine_command("/usr/bin/nobi gtp 'x y'") == ["/usr/bin/nobi", "gtp", "x y"]


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ({"name": "= Some Engine", "version": "= 3.8"}, "Some Engine 3.8"),
        ({"name": "= Some Engine"}, "Some Engine"),
        ({"version": "= 3.8"}, "3.8"),
        ({"name": "=", "version": "="}, "the engine"),
        ({}, "the engine"),
        ({"name": "= first\nsecond", "version": "= 1\n2"}, "first 1"),
        (
            {"name": "= x", "version": "= 9", "list_commands": "= gomill-describe_engine",
             "gomill-describe_engine": "= Described 2\nand more"},
            "Described 2",
        ),
        (
            {"name": "= x", "version": "= 9", "list_commands": "= gomill-describe_engine",
             "gomill-describe_engine": "? not now"},
            "x 9",
        ),
    ],
)  # fmt: skip
def test_what_an_engine_is_called(scripted: Scripted, answers: dict[str, str], name: str) -> None:
    assert scripted.engine(answers).name() == name


def test_a_name_is_cut_to_sixty_characters(scripted: Scripted) -> None:
    name, version = scripted.engine({"name": "= " + "n" * 99, "version": "= " + "1" * 99}).name().split()
    assert (len(name), len(version)) == (60, 60)
    assert name.startswith("n" * 50)
    assert scripted.engine({"name": "= " + "n" * 60, "version": "="}).name() == "n" * 60


# --- Preparations -------------------------------------------------------------------------------------------------


def test_what_every_engine_is_told_before_a_game(scripted: Scripted) -> None:
    scripted.engine(YES).prepare(terms(width=9, height=9, komi=6.5))
    assert [line for line in scripted.sent() if line != "list_commands"] == ["boardsize 9", "clear_board", "komi 6.5"]


def test_a_board_that_is_no_square_by_the_command_that_is_known(scripted: Scripted) -> None:
    known = {"list_commands": "= rectangular_boardsize", "rectangular_boardsize": "="}
    scripted.engine(YES | known).prepare(terms(width=9, height=7))
    assert "rectangular_boardsize 9 7" in scripted.sent()
    shape = {"play b J7": "=", "play b A8": "? illegal move"}
    scripted.engine(YES | shape).prepare(terms(width=9, height=7))
    assert "boardsize 9 7" in scripted.sent()
    shape = {"play b G9": "=", "play b H1": "? illegal move"}
    scripted.engine(YES | shape).prepare(terms(width=7, height=9))
    assert "boardsize 7 9" in scripted.sent()
    for corner, beyond in (("?", "?"), ("=", "=")):
        shape = {"play b J7": corner, "play b A8": beyond}
        with pytest.raises(TermsRefused, match="the engine has no board of 9x7, though it took `boardsize`"):
            scripted.engine(YES | shape).prepare(terms(width=9, height=7))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chinese", "chinese"),
        ("chinese-ogs", "chinese"),
        ("aga", "aga"),
        ("bga", "aga"),
        ("japanese", "japanese"),
        ("korean", "japanese"),
        ("new-zealand", "new_zealand"),
        ("tromp-taylor", None),
    ],
)
def test_rules_by_the_name_that_kgs_has_for_them(scripted: Scripted, name: str, told: str | None) -> None:
    """An engine that refuses them plays all the same: many know one set of rules and no name of it."""
    for answer in ("=", "? unknown rules"):
        known = {"list_commands": "= kgs-rules", "kgs-rules": answer}
        scripted.engine(YES | known).prepare(terms(rules_name=name, rules=preset(name)[0]))
        found = [line for line in scripted.sent() if line.startswith("kgs-rules")]
        assert found == ([] if told is None else [f"kgs-rules {told}"])


def test_rules_in_full_are_insisted_on(scripted: Scripted) -> None:
    known = {"list_commands": "= kgs-rules\nkata-set-rules", "kgs-rules": "=", "kata-set-rules": "="}
    scripted.engine(YES | known).prepare(terms())
    sent = scripted.sent()
    assert any(line.startswith('kata-set-rules {"') for line in sent)
    assert not any(line.startswith("kgs-rules") for line in sent)
    with pytest.raises(TermsRefused, match="the engine refuses `kata-set-rules"):
        scripted.engine(YES | known | {"kata-set-rules": "? no"}).prepare(terms())


def test_visits_and_handicap_stones_are_insisted_on(scripted: Scripted) -> None:
    known = {"list_commands": "= kata-set-param", "kata-set-param": "=", "set_free_handicap": "="}
    stones = (from_vertex("C3", 5, 5), from_vertex("D4", 5, 5))
    scripted.engine(YES | known).prepare(terms(visits=7, handicap=stones))
    assert scripted.sent()[-2:] == ["kata-set-param maxVisits 7", "set_free_handicap C3 D4"]
    for refused in ("kata-set-param", "set_free_handicap"):
        with pytest.raises(TermsRefused, match=f"the engine refuses `{refused}"):
            scripted.engine(YES | known | {refused: "? no"}).prepare(terms(visits=7, handicap=stones))
    with pytest.raises(TermsRefused, match="takes no visits by GTP"):
        scripted.engine(YES).prepare(terms(visits=7))


def test_the_limit_of_all_preparations_is_one(scripted: Scripted) -> None:
    """Each of four answers is in time, and all of them together are not."""
    engine = scripted.engine(YES, EngineLimits(start=1.0), pause=0.3)
    with pytest.raises(EngineTimeout, match=r"^not ready within 1 s: no reply to '.+' within "):
        engine.prepare(terms())


# --- Clocks -------------------------------------------------------------------------------------------------------

BYOYOMI = TimeControl.byoyomi(10, 0.5, 3)


def test_the_best_announcement_that_is_accepted(scripted: Scripted) -> None:
    for answers, last in (
        ({"kgs-time_settings": "="}, "kgs-time_settings byoyomi 10 0.5 3"),
        ({}, "time_settings 11 0.5 1"),
        ({"time_settings 11 0.5 1": "? syntax error"}, "time_settings 11 1 1"),
    ):
        scripted.engine(YES | answers).prepare(terms(control=BYOYOMI))
        assert scripted.sent()[-1] == last
    with pytest.raises(TermsRefused, match="the engine refuses `time_settings 11 1 1`"):
        scripted.engine(YES | {"time_settings": "? no"}).prepare(terms(control=BYOYOMI))


@pytest.mark.parametrize(
    ("reads_fractions", "seconds", "stones", "told"),
    [
        (True, 9.876, 0, "time_left white 9.88 0"),
        (False, 9.876, 0, "time_left white 9 0"),
        (False, 0.4, 0, "time_left white 0 0"),
        # Zero seconds of a period would say that it is over.
        (False, 0.4, 3, "time_left white 1 3"),
        (True, 0.4, 3, "time_left white 0.40 3"),
    ],
)
def test_a_clock_in_whole_seconds_unless_the_engine_reads_fractions(
    scripted: Scripted, reads_fractions: bool, seconds: float, stones: int, told: str
) -> None:
    known = {"list_commands": "= time_left"} | ({} if reads_fractions else {"time_settings 11 0.5 1": "? syntax error"})
    engine = scripted.engine(YES | known)
    engine.prepare(terms(control=BYOYOMI))
    engine.time_left(WHITE, seconds, stones, 30)
    assert scripted.sent()[-1] == told


def test_an_engine_that_knows_no_clock_or_refuses_it_plays_on(scripted: Scripted) -> None:
    engine = scripted.engine(YES)
    engine.time_left(BLACK, 5, 0, 30)
    assert scripted.sent() == ["list_commands"]
    engine = scripted.engine(YES | {"list_commands": "= time_left", "time_left": "? no"})
    engine.time_left(BLACK, 5, 0, 30)
    assert scripted.sent()[-1] == "time_left black 5 0"


@pytest.mark.parametrize("limits", [EngineLimits(reply=0.3), EngineLimits()])
def test_an_answer_has_the_shorter_of_two_limits(limits: EngineLimits) -> None:
    given = 60.0 if limits.reply < 1 else 0.3
    hanging = stub_command("--bad", "hang-play@1", "--bad", "hang-time_left@1", "--lists", "time_left")
    for ask in ("play", "time_left"):
        engine = Engine(hanging, "the engine", limits=limits)
        assert engine.client.knows("time_left", 60.0)
        with pytest.raises(EngineTimeout, match=r"within 0\.3 s"):
            engine.play(BLACK, from_vertex("C3", 5, 5), 5, given) if ask == "play" else engine.time_left(
                BLACK, 5, 0, given
            )
        engine.discard()


# --- Answers ------------------------------------------------------------------------------------------------------


def test_moves_and_scores_are_read(scripted: Scripted) -> None:
    engine = scripted.engine({"genmove black": "= PASS", "genmove white": "? no", "final_score": "= w+1.5 or so"})
    assert engine.genmove(BLACK, 30) == "pass"
    with pytest.raises(GtpFailure):
        engine.genmove(WHITE, 30)
    assert engine.final_score() == "W+1.5"
    assert scripted.engine({}).final_score() is None


@pytest.mark.parametrize(
    ("answer", "dead"),
    [
        ("= C3 D4\nE5", {"C3", "D4", "E5"}),
        ("=", set()),
        ("= C3 pass", {"C3"}),
        ("= C3 Z9", None),
        ("= none", None),
        ("? no", None),
    ],
)
def test_dead_stones_are_read(scripted: Scripted, answer: str, dead: set[str] | None) -> None:
    known = {"list_commands": "= final_status_list", "final_status_list dead": answer}
    points = None if dead is None else {from_vertex(vertex, 5, 5) for vertex in dead}
    assert scripted.engine(known).dead_stones(5, 5) == points
    assert scripted.engine({"final_status_list dead": answer}).dead_stones(5, 5) is None


def test_questions_about_the_score_have_a_limit_of_their_own() -> None:
    """To count may take an engine longer than to take note of a move."""
    for bad, limits in (("final_score", EngineLimits(score=0.3)), ("final_status_list", EngineLimits(score=0.3))):
        engine = Engine(stub_command("--bad", f"hang-{bad}@1", "--lists", "final_status_list"), "x", limits=limits)
        with pytest.raises(EngineTimeout, match=r"within 0\.3 s"):
            engine.final_score() if bad == "final_score" else engine.dead_stones(5, 5)
        engine.discard()


def test_an_engine_that_was_stopped_is_not_started_again() -> None:
    engine = Engine(stub_command(), "the engine")
    assert engine.stray_lines() == 0
    assert engine.name() == "Stub 1.0"
    engine.discard()
    assert engine.name() == "Stub 1.0"
    engine.stop()
    assert engine.stray_lines() == 0
    with pytest.raises(EngineError, match="the match was stopped"):
        engine.name()
