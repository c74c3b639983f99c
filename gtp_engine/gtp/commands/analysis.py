"""Analysis commands: reports while a search runs, and a network's evaluation without a search."""

from __future__ import annotations

import json
import string
import time
from typing import Any

import numpy as np

from go_rules.game import Game
from go_rules.points import WHITE, to_vertex
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.commands.parameters import imitator
from gtp_engine.gtp.commands.play import CANCELLED, decide, play_decision
from gtp_engine.gtp.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_colour,
    interpret_float,
    interpret_integer,
    is_colour,
)
from gtp_engine.gtp.reports import Reporter, interpret_request
from gtp_engine.session.session import Session
from gtp_engine.session.thinking import move_text, pv_text
from nets.bare_evaluation import OPTIMISM, evaluate, legal_mask
from nets.evaluator import (
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    VAR_TIME_LEFT,
    WIN,
    Evaluator,
    softmax,
)
from nets.symmetry import SYMMETRIES
from search.nobi.doublings import fixed_doublings
from search.nobi.parameters import SearchParameters
from search.player import Player
from search.request import OWNERSHIP_AT_THE_END, Limits, ReportRequest, SearchRequest, allows_a_move
from search.result import SearchResult, StopReason

MOST_BENCHMARK_VISITS = 10_000_000


def kata_analyze(session: Session, call: Call) -> str:
    """Analyse until any input arrives, with reports in the format of KataGo, for `lz-analyze` in that of Leela Zero."""
    reporter = _reporter(session, call)
    request = reporter.request
    _ = session.player  # what prevents it is said before a header says that all is well
    call.stream()
    call.end_on_input()
    if not allows_a_move(session.game, request.colour, request.filter):
        call.stop.wait()
        return ""
    sent = 0

    def send(result: SearchResult) -> None:
        nonlocal sent
        sent += 1
        call.stream(reporter.line(result))

    result = session.analyse(
        Limits(may_stop_early=False),
        call.stop,
        colour=request.colour,
        filter=request.filter,
        report=ReportRequest.of(send, request.flags, request.every),
        may_end_empty=True,
    )
    if (sent == 0 or result.reason is not StopReason.INTERRUPTED) and any(move.visits > 0 for move in result.moves):
        # No report was due yet; or the tree is as large as it may get and this is the last word.
        send(result)
    call.stop.wait()
    return ""


lz_analyze = kata_analyze


def kata_genmove_analyze(session: Session, call: Call) -> str:
    """Think of a move and play it, with reports as those of `kata-analyze` or of `lz-analyze`."""
    return _think(session, call)


lz_genmove_analyze = kata_genmove_analyze


def cgos_genmove_analyze(session: Session, call: Call) -> str:
    """Reply with the analysis as one line of JSON, then with the move."""
    call.expect(1)
    colour = interpret_colour(call.word(0))
    decision = decide(session, call, colour, report=OWNERSHIP_AT_THE_END)
    call.stream(cgos_line(decision.result, session.game.height, session.settings.longest_variation))
    return "play " + play_decision(session, call, decision)


def kata_search_analyze(session: Session, call: Call) -> str:
    """Think of a move and do not play it, with reports in the format of KataGo."""
    return _think(session, call, plays=False)


def kata_search_analyze_cancellable(session: Session, call: Call) -> str:
    """Do as `kata-search_analyze` does, until any input ends it."""
    return _think(session, call, plays=False, may_cancel=True)


def kata_raw_human_nn(session: Session, call: Call) -> str:
    """Do as `kata-raw-nn` does, with the network that says what people would play."""
    evaluator = imitator(session)
    if evaluator is None:
        raise GtpError("no network here imitates people: start with --human-net, or with --net and --human-profile")
    return _raw_texts(session, call, evaluator)


def kata_raw_nn(session: Session, call: Call) -> str:
    """Reply with the network's evaluation of the position in one of the eight symmetries, or in all of them.

    The last argument is the share of the optimistic policy, where the network has one.
    """
    return _raw_texts(session, call)


def kata_benchmark(session: Session, call: Call) -> str:
    """Search the present position without what earlier searches learned, and reply how fast that was."""
    call.expect(1)
    visits = interpret_integer(call.word(0), 1, MOST_BENCHMARK_VISITS)
    player = session.player
    player.clear()
    started = time.monotonic()
    limits = Limits(visits, may_stop_early=False)
    result = session.log.search(player, SearchRequest(session.game, session.game.to_play, limits, stop=call.stop))
    seconds = max(1e-6, time.monotonic() - started)
    return (
        f"visits {result.visits} evaluations {result.evaluations} seconds {seconds:.3f} "
        f"visits/s {result.visits / seconds:.1f} evaluations/s {result.evaluations / seconds:.1f}"
    )


def _think(session: Session, call: Call, plays: bool = True, may_cancel: bool = False) -> str:
    """Report while thinking of a move. There is at least one report: CGOS's client waits for it."""
    reporter = _reporter(session, call)
    request = reporter.request

    def send(result: SearchResult) -> None:
        call.stream(reporter.line(result))

    if may_cancel:
        session.get_ready()
        call.end_on_input()
    if not allows_a_move(session.game, request.colour, request.filter):
        raise GtpError("no legal move is allowed")
    report = ReportRequest.of(send, request.flags, request.every)
    decision = decide(session, call, request.colour, request.filter, report, may_cancel)
    if decision.result.moves:
        call.stream(reporter.line(decision.result, decision.point))
    if may_cancel and decision.is_cancelled:
        if not call.streaming:
            call.stream()  # the header has a line of its own, with or without a report
        return f"play {CANCELLED}"
    move = play_decision(session, call, decision) if plays else move_text(decision.point, session.game.height)
    return f"play {move}"


def _reporter(session: Session, call: Call) -> Reporter:
    game, kata = session.game, not call.command.name.startswith("lz-")
    request = interpret_request(call.words, game.width, game.height, game.to_play, kata=kata)
    return Reporter(request, game.height, session.settings.longest_variation, kata)


def _raw_texts(session: Session, call: Call, of_people: Evaluator | None = None) -> str:
    words = list(call.words)
    colour = interpret_colour(words.pop(0)) if words and is_colour(words[0]) else session.game.to_play
    parameters = session.player.parameters
    optimism = parameters.root_policy_optimism if isinstance(parameters, SearchParameters) else OPTIMISM
    if len(words) == 2 and of_people is None:
        optimism = interpret_float(words.pop(), 0, 1)
    if len(words) > 1:
        raise GtpError(SYNTAX_ERROR)
    which = words[0].lower() if words else "0"
    symmetries = range(SYMMETRIES) if which == "all" else (interpret_integer(which, 0, SYMMETRIES - 1),)
    return "\n".join(raw_text(session.player, session.game, colour, each, optimism, of_people) for each in symmetries)


def raw_text(
    player: Player,
    game: Game,
    colour: int,
    symmetry: int,
    optimism: float = OPTIMISM,
    of_people: Evaluator | None = None,
) -> str:
    """Write the reply to `kata-raw-nn` for `colour` to move, in one of KataGo's eight symmetries, with the parameter
    `playout_doublings`.

    `of_people` is the network to ask in place of the player's, for the reply to `kata-raw-human-nn`. Raises GtpError if
    there is neither, and EvaluatorError.
    """
    evaluator = of_people or player.evaluator
    if evaluator is None:
        raise GtpError("this player has no network")
    parameters, doublings, sign = player.parameters, 0.0, 1.0 if colour == WHITE else -1.0
    if isinstance(parameters, SearchParameters):
        doublings = sign * fixed_doublings(parameters, colour)
    evaluation = evaluate(evaluator, game, colour, (symmetry,), optimism, doublings)
    win, loss = (WIN, LOSS) if colour == WHITE else (LOSS, WIN)
    value, score = evaluation.value[0], evaluation.score[0]
    mean, stdev = float(score[SCORE_MEAN]), float(score[SCORE_STDEV])
    square = mean * mean + stdev * stdev
    legal = legal_mask(game, colour)
    policy = softmax(evaluation.policy[0], legal)
    lines = [
        f"symmetry {symmetry}",
        f"whiteWin {value[win]:.6f}",
        f"whiteLoss {value[loss]:.6f}",
        f"noResult {value[NO_RESULT]:.6f}",
        *(
            (
                f"whiteLead {sign * score[LEAD]:.3f}",
                f"whiteScoreSelfplay {sign * mean:.3f}",
                f"whiteScoreSelfplaySq {square:.3f}",
                f"varTimeLeft {score[VAR_TIME_LEFT]:.3f}",
            )
            if of_people is None
            else (f"whiteScore {sign * mean:.3f}", f"whiteScoreSq {square:.3f}")
        ),
        f"shorttermWinlossError {score[SHORTTERM_WINLOSS_ERROR]:.3f}",
        f"shorttermScoreError {score[SHORTTERM_SCORE_ERROR]:.3f}",
        "policy",
    ]
    cells = ["    NAN " if not ok else f"{p:8.6f} " for p, ok in zip(policy.tolist(), legal.tolist(), strict=True)]
    width = game.width
    lines += ["".join(cells[y * width : (y + 1) * width]) for y in range(game.height)]
    lines += [f"policyPass {cells[-1]}", "whiteOwnership"]
    ownership = (sign * evaluation.ownership[0]).reshape(game.height, width)
    lines += ["".join(f"{value:9.7f} " for value in row) for row in ownership.tolist()]
    return "\n".join(lines)


LEVELS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
MOVES_SHOWN = 20


def cgos_line(result: SearchResult, height: int, longest_pv: int) -> str:
    """Write a search's result as the line of JSON that CGOS expects before a move, in the view of the side to move."""
    moves: list[dict[str, Any]] = [
        {
            "move": to_vertex(move.point, height),
            "winrate": round(move.winrate, 4),
            "score": round(move.lead, 2),
            "prior": round(move.prior, 5),
            "visits": move.visits,
            # The client puts the move itself in front.
            "pv": pv_text(move.pv[1:], height, longest_pv - 1),
        }
        for move in result.moves[:MOVES_SHOWN]
        if move.visits > 0 or move.order == 0
    ]
    content: dict[str, Any] = {
        "winrate": round(result.winrate, 4),
        "score": round(result.lead, 2),
        "visits": result.visits,
        "moves": moves,
    }
    if result.ownership is not None:
        levels = np.rint((np.nan_to_num(result.ownership) + 1) / 2 * 62).clip(0, 62).astype(int)
        content["ownership"] = "".join(LEVELS[level] for level in levels.tolist())
    return json.dumps(content, separators=(",", ":"))
