"""Analysis commands: reports while a search runs, and a network's evaluation without a search."""

from __future__ import annotations

import time

from gtp_engine.analysis.cgos import cgos_line
from gtp_engine.analysis.raw_network import raw_text
from gtp_engine.analysis.reports import AnalysisRequest, Reporter, interpret_request
from gtp_engine.commands.parameters import imitator
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_colour,
    interpret_float,
    interpret_integer,
    is_colour,
)
from gtp_engine.thinking.decide import CANCELLED, decide, move_text, play_decision
from nets.bare_evaluation import OPTIMISM
from nets.evaluator import Evaluator
from nets.symmetry import SYMMETRIES
from search.nobi.parameters import SearchParameters
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest, allows_a_move
from search.result import SearchResult

MOST_BENCHMARK_VISITS = 10_000_000


def lz_analyze(engine: Engine, call: Call) -> str:
    """Analyse until any input arrives, with reports in the format of Leela Zero."""
    return _analyze(engine, call, kata=False)


def kata_analyze(engine: Engine, call: Call) -> str:
    """Analyse until any input arrives, with reports in the format of KataGo."""
    return _analyze(engine, call, kata=True)


def lz_genmove_analyze(engine: Engine, call: Call) -> str:
    """Think of a move and play it, with reports in the format of Leela Zero."""
    return _genmove_analyze(engine, call, kata=False)


def kata_genmove_analyze(engine: Engine, call: Call) -> str:
    """Think of a move and play it, with reports in the format of KataGo."""
    return _genmove_analyze(engine, call, kata=True)


def cgos_genmove_analyze(engine: Engine, call: Call) -> str:
    """Reply with the analysis as one line of JSON, then with the move."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    decision = decide(engine, call, colour, report=OWNERSHIP_AT_THE_END)
    call.stream(cgos_line(decision.result, engine.game.height, engine.settings.longest_variation))
    return "play " + play_decision(engine, call, decision)


def kata_search_analyze(engine: Engine, call: Call) -> str:
    """Think of a move and do not play it, with reports in the format of KataGo."""
    return _genmove_analyze(engine, call, kata=True, plays=False)


def kata_search_analyze_cancellable(engine: Engine, call: Call) -> str:
    """Do as `kata-search_analyze` does, until any input ends it."""
    return _genmove_analyze(engine, call, kata=True, plays=False, may_cancel=True)


def kata_raw_human_nn(engine: Engine, call: Call) -> str:
    """Do as `kata-raw-nn` does, with the network that says what people would play."""
    evaluator = imitator(engine)
    if evaluator is None:
        raise GtpError("no network here imitates people: start with --human-net, or with --net and --human-profile")
    return _raw_texts(engine, call, evaluator)


def kata_raw_nn(engine: Engine, call: Call) -> str:
    """Reply with the network's evaluation of the position in one of the eight symmetries, or in all of them.

    The last argument is the share of the optimistic policy, where the network has one.
    """
    return _raw_texts(engine, call)


def kata_benchmark(engine: Engine, call: Call) -> str:
    """Search the present position without what earlier searches learned, and reply how fast that was."""
    call.expect(1)
    visits = interpret_integer(call.word(0))
    if not 1 <= visits <= MOST_BENCHMARK_VISITS:
        raise GtpError(SYNTAX_ERROR)
    player = engine.player
    player.clear()
    started = time.monotonic()
    result = player.search(
        SearchRequest(engine.game, engine.game.to_play, Limits(visits, may_stop_early=False), stop=call.stop)
    )
    seconds = max(1e-6, time.monotonic() - started)
    return (
        f"visits {result.visits} evaluations {result.evaluations} seconds {seconds:.3f} "
        f"visits/s {result.visits / seconds:.1f} evaluations/s {result.evaluations / seconds:.1f}"
    )


def _analyze(engine: Engine, call: Call, kata: bool) -> str:
    """Search and report until any input arrives."""
    reporter = _reporter(engine, call, kata)
    player, game = engine.player, engine.game
    call.stream()
    call.end_on_input()
    if not allows_a_move(game, reporter.request.colour, reporter.request.filter):
        call.stop.wait()
        return ""
    sent = 0

    def send(result: SearchResult) -> None:
        nonlocal sent
        sent += 1
        call.stream(reporter.line(result))

    result = player.search(
        SearchRequest(
            game,
            reporter.request.colour,
            Limits(may_stop_early=False),
            filter=reporter.request.filter,
            report=reporter.subscription(send),
            analysis=True,
            stop=call.stop,
            may_end_empty=True,
        )
    )
    if (sent == 0 or not call.stop.is_set()) and any(move.visits > 0 for move in result.moves):
        # No report was due yet; or the tree is as large as it may get and this is the last word.
        send(result)
    call.stop.wait()
    return ""


def _genmove_analyze(engine: Engine, call: Call, kata: bool, plays: bool = True, may_cancel: bool = False) -> str:
    """Report while thinking of a move. There is at least one report: CGOS's client waits for it."""
    reporter = _reporter(engine, call, kata)

    def send(result: SearchResult) -> None:
        call.stream(reporter.line(result))

    if may_cancel:
        engine.get_ready()
        call.end_on_input()
    request = reporter.request
    if not allows_a_move(engine.game, request.colour, request.filter):
        raise GtpError("no legal move is allowed")
    decision = decide(engine, call, request.colour, request.filter, reporter.subscription(send), may_cancel)
    if decision.result.moves:
        call.stream(reporter.line(decision.result, decision.point))
    if may_cancel and decision.is_cancelled:
        if not call.streaming:
            call.stream()  # the header has a line of its own, with or without a report
        return f"play {CANCELLED}"
    move = play_decision(engine, call, decision) if plays else move_text(decision.point, engine.game.height)
    return f"play {move}"


def _reporter(engine: Engine, call: Call, kata: bool) -> Reporter:
    game = engine.game
    request: AnalysisRequest = interpret_request(call.words, game.width, game.height, game.to_play, kata=kata)
    return Reporter(request, game.height, engine.settings.longest_variation, kata)


def _raw_texts(engine: Engine, call: Call, of_people: Evaluator | None = None) -> str:
    words = list(call.words)
    colour = interpret_colour(words.pop(0)) if words and is_colour(words[0]) else engine.game.to_play
    parameters = engine.player.parameters
    optimism = parameters.root_policy_optimism if isinstance(parameters, SearchParameters) else OPTIMISM
    if len(words) == 2 and of_people is None:
        optimism = interpret_float(words.pop())
    if len(words) > 1 or not 0 <= optimism <= 1:
        raise GtpError(SYNTAX_ERROR)
    which = words[0].lower() if words else "0"
    if which == "all":
        symmetries = range(SYMMETRIES)
    else:
        symmetry = interpret_integer(which)
        if not 0 <= symmetry < SYMMETRIES:
            raise GtpError(SYNTAX_ERROR)
        symmetries = range(symmetry, symmetry + 1)
    return "\n".join(
        raw_text(engine.player, engine.game, colour, symmetry, optimism, of_people) for symmetry in symmetries
    )
