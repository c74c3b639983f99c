"""Analysis commands: their arguments, reports while a search runs, and a network's evaluation without a search.

The formats of reports are those of Leela Zero (`lz-`) and KataGo (`kata-`), as clients expect them. Every value in them
is the view of the side to move.
"""

from __future__ import annotations

import json
import math
import string
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import WHITE, to_vertex
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.commands.parameters import imitator
from gtp_engine.gtp.commands.play import CANCELLED, decide, play_decision
from gtp_engine.gtp.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_boolean,
    interpret_colour,
    interpret_float,
    interpret_integer,
    interpret_vertex,
    is_colour,
)
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
from search.request import OWNERSHIP_AT_THE_END, Limits, MoveFilter, ReportRequest, SearchRequest, allows_a_move
from search.result import LOWEST_UTILITY, MoveInfo, SearchResult, StopReason

FLAGS = frozenset(
    (
        *("rootinfo", "ownership", "ownershipstdev", "movesownership", "movesownershipstdev"),
        *("pvvisits", "pvedgevisits", "noresultvalue"),
    )
)
"""Keys of kata-analyze whose value is true or false, in lower case."""

FASTEST, SLOWEST = 0.01, 1e6
"""Seconds between two reports. Where none are given it is SLOWEST: only the end of the search is reported."""

Restrictions = dict[int, list[tuple[frozenset[int], int]]]
"""By colour, points and the depth to which they are meant."""

MOST_BENCHMARK_VISITS = 10_000_000


def kata_analyze(session: Session, call: Call) -> str:
    """Analyse until any input arrives, with reports in the format of KataGo, for `lz-analyze` in that of Leela Zero."""
    asked = _asked(session, call)
    _ = session.player  # what prevents it is said before a header says that all is well
    call.stream()
    call.end_on_input()
    if not allows_a_move(session.game, asked.colour, asked.filter):
        call.stop.wait()
        return ""
    sent = 0

    def send(result: SearchResult) -> None:
        nonlocal sent
        sent += 1
        call.stream(asked.report(result))

    result = session.analyse(
        Limits(may_stop_early=False),
        call.stop,
        colour=asked.colour,
        filter=asked.filter,
        report=ReportRequest.of(send, asked.flags, asked.every),
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
    asked = _asked(session, call)

    def send(result: SearchResult) -> None:
        call.stream(asked.report(result))

    if may_cancel:
        session.get_ready()
        call.end_on_input()
    if not allows_a_move(session.game, asked.colour, asked.filter):
        raise GtpError("no legal move is allowed")
    report = ReportRequest.of(send, asked.flags, asked.every)
    decision = decide(session, call, asked.colour, asked.filter, report, may_cancel)
    if decision.result.moves:
        call.stream(asked.report(decision.result, decision.point))
    if may_cancel and decision.is_cancelled:
        if not call.streaming:
            call.stream()  # the header has a line of its own, with or without a report
        return f"play {CANCELLED}"
    move = play_decision(session, call, decision) if plays else move_text(decision.point, session.game.height)
    return f"play {move}"


# --- Arguments ----------------------------------------------------------------------------------------------------


def _asked(session: Session, call: Call) -> Analysis:
    """Read the arguments `[colour] [interval] (key value)*`; intervals are in centiseconds. Raises GtpError."""
    game, is_kata = session.game, not call.command.name.startswith("lz-")
    rest = list(call.words)
    colour, every, min_moves, max_moves = game.to_play, SLOWEST, 0, None
    flags: set[str] = set()
    restrictions: dict[str, Restrictions] = {"allow": {}, "avoid": {}}
    if rest and is_colour(rest[0]):
        colour = interpret_colour(rest.pop(0))
    if rest and not rest[0][0].isalpha():
        every = _interval(rest.pop(0))
    while rest:
        key = rest.pop(0).lower()
        if key == "interval":
            every = _interval(_pop(rest))
        elif key == "minmoves":
            min_moves = interpret_integer(_pop(rest), 0)
        elif key == "maxmoves":
            max_moves = interpret_integer(_pop(rest), 0)
        elif key in restrictions:
            side = interpret_colour(_pop(rest))
            vertices = [vertex for vertex in _pop(rest).split(",") if vertex]  # `D4, 1`: nothing behind the comma
            points = frozenset(interpret_vertex(vertex, game.width, game.height) for vertex in vertices)
            restrictions[key].setdefault(side, []).append((points, interpret_integer(_pop(rest), 1)))
        elif is_kata and key in FLAGS:
            (flags.add if interpret_boolean(_pop(rest)) else flags.discard)(key)
        else:
            raise GtpError(SYNTAX_ERROR)
    filter, longest = _filter(**restrictions), session.settings.longest_variation
    return Analysis(colour, every, min_moves, max_moves, filter, frozenset(flags), is_kata, game.height, longest)


def _filter(allow: Restrictions, avoid: Restrictions) -> MoveFilter | None:
    if not allow and not avoid:
        return None
    if avoid.keys() & allow.keys() or any(len(each) > 1 for each in allow.values()):
        raise GtpError("allow may be given once for each colour, and not together with avoid for the same colour")
    return MoveFilter(
        {side: each for side, (each,) in allow.items()}, {side: tuple(each) for side, each in avoid.items()}
    )


def _pop(words: list[str]) -> str:
    if not words:
        raise GtpError(SYNTAX_ERROR)
    return words.pop(0)


def _interval(word: str) -> float:
    return min(SLOWEST, max(FASTEST, interpret_float(word, 0) / 100))


# --- Reports ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Analysis:
    """What an analysis command asks for. It turns the snapshots of a search into lines of text."""

    colour: int
    every: float
    """Seconds between reports."""
    min_moves: int
    """How many moves are shown at least, even if they have no visits."""
    max_moves: int | None
    filter: MoveFilter | None
    flags: frozenset[str]
    """The members of FLAGS that are true."""
    is_kata: bool
    """Whether reports have KataGo's format."""
    height: int
    longest_pv: int

    def report(self, result: SearchResult, chosen: int | None = None) -> str:
        """Write a snapshot as one report. It is never empty if the result has a move; the chosen one is in it."""
        shown = self._shown(result)
        missing = [move for move in result.moves if move.point == chosen and move not in shown]
        shown = [*shown[: len(shown) - len(missing) if self.max_moves else None], *missing]
        moves = [self._kata_move(move) if self.is_kata else self._lz_move(move) for move in shown]
        if self.is_kata:
            moves += self._root(result)
        return " ".join(moves)

    def _shown(self, result: SearchResult) -> list[MoveInfo]:
        visited = [move for move in result.moves if move.visits > 0]
        shown = list(result.moves[: max(len(visited), self.min_moves)]) or list(result.moves[:1])
        return shown if self.max_moves is None else shown[: max(1, self.max_moves)]

    def _pv(self, move: MoveInfo) -> str:
        return pv_text(move.pv or (move.point,), self.height, self.longest_pv)

    def _along(self, visits: tuple[int, ...], first: int) -> str:
        """Numbers for the moves of a variation; `first` is that of a variation about which no more is known."""
        return " ".join(str(count) for count in visits[: self.longest_pv]) or str(first)

    def _lz_move(self, move: MoveInfo) -> str:
        return (
            f"info move {to_vertex(move.point, self.height)} visits {move.visits} winrate {_per_myriad(move.winrate)} "
            f"prior {_per_myriad(move.prior)} lcb {_per_myriad(move.lcb)} order {move.order} pv {self._pv(move)}"
        )

    def _kata_move(self, move: MoveInfo) -> str:
        wants = self.flags.__contains__
        parts = [
            f"info move {to_vertex(move.point, self.height)} visits {move.visits} edgeVisits {move.edge_visits}",
            f"utility {_number(move.utility)} winrate {_share(move.winrate)}",
            _scores(move.lead, move.score_stdev, move.score_mean),
        ]
        if wants("noresultvalue"):
            parts.append(f"noResultValue {_share(move.no_result)}")
        parts += [
            f"prior {_share(move.prior)} lcb {_share(move.lcb)}",
            f"utilityLcb {_number(max(LOWEST_UTILITY, move.utility_lcb))}",
            f"weight {_number(move.weight, 2)}",
        ]
        if move.symmetry_of is not None:
            parts.append(f"isSymmetryOf {to_vertex(move.symmetry_of, self.height)}")
        parts.append(f"order {move.order} pv {self._pv(move)}")
        if wants("pvvisits"):
            parts.append(f"pvVisits {self._along(move.pv_visits, move.visits)}")
        if wants("pvedgevisits"):
            parts.append(f"pvEdgeVisits {self._along(move.pv_edge_visits, move.edge_visits)}")
        if wants("movesownership") and move.ownership is not None:
            parts.append(f"movesOwnership {_plane(move.ownership)}")
        if wants("movesownershipstdev") and move.ownership_stdev is not None:
            parts.append(f"movesOwnershipStdev {_plane(move.ownership_stdev)}")
        return " ".join(parts)

    def _root(self, result: SearchResult) -> Iterator[str]:
        wants, raw = self.flags.__contains__, result.raw
        if wants("rootinfo"):
            errors = (
                (-1.0, -1.0, -1.0)
                if raw is None
                else (raw.shortterm_winloss_error, raw.shortterm_score_error, raw.var_time_left)
            )
            yield (
                f"rootInfo visits {result.visits} utility {_number(result.utility)} winrate {_share(result.winrate)} "
                f"{_scores(result.lead, result.score_stdev, result.score_mean)} weight {_number(result.weight, 2)} "
                f"rawStWrError {_number(errors[0])} rawStScoreError {_number(errors[1])} "
                f"rawVarTimeLeft {_number(errors[2])}"
            )
        if wants("ownership") and result.ownership is not None:
            yield f"ownership {_plane(result.ownership)}"
        if wants("ownershipstdev") and result.ownership_stdev is not None:
            yield f"ownershipStdev {_plane(result.ownership_stdev)}"


def _scores(lead: float, stdev: float, selfplay: float) -> str:
    """The scores of a report. As in KataGo, scoreMean is the lead, too, because old clients read it as that."""
    lead_text = _number(lead)
    return f"scoreMean {lead_text} scoreStdev {_number(stdev)} scoreLead {lead_text} scoreSelfplay {_number(selfplay)}"


def _number(value: float, digits: int = 5) -> str:
    """Plain decimals: not every client reads exponents, and none reads `nan`."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "0"


def _share(value: float) -> str:
    """A number from 0 to 1; a confidence bound may lie outside."""
    return _number(min(1.0, max(0.0, value)), 6)


def _per_myriad(value: float) -> int:
    return round(10_000 * min(1.0, max(0.0, value))) if math.isfinite(value) else 0


def _plane(values: NDArray[np.float32]) -> str:
    numbers = np.nan_to_num(values).tolist()
    return " ".join(["%.4f"] * len(numbers)) % tuple(numbers)


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


# --- A network's evaluation ---------------------------------------------------------------------------------------


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
