"""How much of a network's judgement a lower precision loses, and how much it may lose to be used by itself."""

from __future__ import annotations

import hashlib
import math
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, from_vertex, to_vertex
from go_rules.rule_names import PRESETS
from nets.devices import runtime_version
from nets.evaluator import (
    GLOBAL_FEATURES,
    LEAD,
    NO_RESULT,
    SPATIAL_PLANES,
    WIN,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    softmax,
)
from nets.features import GLOBAL_ADVANTAGE, GLOBAL_HAS_ADVANTAGE, IN_TREE, MOST_DOUBLINGS, Scratch, encode
from nobi_machine.fingerprint import source_fingerprint

BATCH = 8
CHECKED = 3
"""Every so many-th position of a calibration is kept apart to measure the loss with."""


@dataclass(frozen=True)
class PrecisionLoss:
    """How far a network's evaluations are from those in fp32, over many positions."""

    winrate_mean: float
    """Mean difference of the winning chance, 0 to 1."""
    winrate_p99: float
    """The difference of the winning chance that 1 % of the positions exceed."""
    lead_mean: float
    """Mean difference of the lead, in points."""
    policy_kl: float
    """Mean Kullback-Leibler divergence of the policies, in nats."""
    other_top_moves: float
    """Share of positions whose best move by policy is another, one not counted: among few it may be chance."""
    close_lead_mean: float = 0.0
    """Like `lead_mean`, but where the lead L in fp32 exceeds DECIDED points, the difference is divided by |L| over
    DECIDED: what is off there is of no use to anyone, and positions of our own have more such leads than games of
    others."""
    winrate_worst_5_percent: float = 0.0
    """Mean of the largest 5 % of the differences of the winning chance: among few positions it says more about
    `winrate_p99` of others than the one or two differences that determine it there."""


class Answer(NamedTuple):
    """What a network says of a batch of positions."""

    spatial: NDArray[np.float32]
    """[N, 22, H, W] planes of the positions."""
    evaluation: Evaluation
    seconds: float
    """The processor time that it took."""


DECIDED = 20.0
"""A lead of so many points decides a game."""
LIMITS = PrecisionLoss(
    winrate_mean=0.008,
    winrate_p99=0.03,
    winrate_worst_5_percent=math.inf,
    lead_mean=0.3,
    close_lead_mean=math.inf,
    policy_kl=0.01,
    other_top_moves=0.07,
)
"""What precision `auto` accepts."""
GROSS = 3.0
"""A check on few positions accepts so many times the limits: it is to find machines that compute wrongly."""
SLOWEST = 0.95
"""A network that takes more than this share of the time that fp32 takes is not worth its loss."""


def shared_out(kept: Sequence[Positions]) -> tuple[list[Positions], list[Positions]]:
    """Share positions out: most of them to calibrate with, one in CHECKED to measure the loss on. Return both."""
    checked = [(spatial[::CHECKED], global_[::CHECKED]) for spatial, global_ in kept]
    others = [
        (np.delete(spatial, np.s_[::CHECKED], axis=0), np.delete(global_, np.s_[::CHECKED], axis=0))
        for spatial, global_ in kept
        if len(spatial) > 1
    ]
    return others, checked


def reason_against(loss: PrecisionLoss, share: float, tolerance: float = 1.0, limits: PrecisionLoss = LIMITS) -> str:
    """Return why `auto` does not use a network with this loss, in a few words; empty if it may use it.

    `share` is its time as a share of fp32's time. `tolerance` times the `limits` are allowed.
    """
    for name, limit in limits.__dict__.items():
        value = getattr(loss, name)
        if not value <= tolerance * limit:
            return f"its {name.replace('_', ' ')} is {value:.4f} where {tolerance * limit:g} is allowed"
    return "" if share <= SLOWEST else f"it takes {share:.2f} of the time that fp32 takes"


def compare(reference: Evaluator, candidate: Evaluator, positions: Sequence[Positions]) -> tuple[PrecisionLoss, float]:
    """Evaluate the same positions with both. Return what `candidate` loses, and its time as a share of the reference's.

    The share is the median over the sizes of boards, since a busy machine makes some batches slow; those of one size
    are added up, since some clocks count in steps that are longer than a batch takes. Raises EvaluatorError."""
    return compare_answers(answers(reference, positions), answers(candidate, positions))


def answers(evaluator: Evaluator, positions: Sequence[Positions]) -> list[Answer]:
    """Evaluate positions in batches. Raises EvaluatorError."""
    result = []
    for spatial, global_ in positions:
        for start in range(0, len(spatial), BATCH):
            batch = EvaluationRequest(spatial[start : start + BATCH], global_[start : start + BATCH])
            started = time.thread_time()
            evaluation = evaluator.evaluate(batch)
            result.append(Answer(batch.spatial, evaluation, time.thread_time() - started))
    return result


def compare_answers(reference: Sequence[Answer], candidate: Sequence[Answer]) -> tuple[PrecisionLoss, float]:
    """Return what `compare` returns, of answers to the same positions."""
    pairs = list(zip(reference, candidate, strict=True))
    differences = [_differences(ours.evaluation, theirs.evaluation, ours.spatial) for ours, theirs in pairs]
    totals: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for ours, theirs in pairs:
        shape = ours.spatial.shape[2:]
        totals[shape] = totals.get(shape, np.zeros(2)) + np.array([theirs.seconds, ours.seconds])
    shares = [theirs / max(ours, 1e-9) for theirs, ours in totals.values()]
    winrate, lead, kl, other, close = np.concatenate(differences, axis=1)
    loss = PrecisionLoss(
        winrate_mean=float(winrate.mean()),
        winrate_p99=float(np.quantile(winrate, 0.99)),
        lead_mean=float(lead.mean()),
        policy_kl=float(kl.mean()),
        other_top_moves=float(max(0.0, other.sum() - 1) / len(other)),
        close_lead_mean=float(close.mean()),
        winrate_worst_5_percent=float(np.sort(winrate)[-math.ceil(len(winrate) / 20) :].mean()),
    )
    return loss, float(np.median(shares))


def _differences(ours: Evaluation, theirs: Evaluation, spatial: NDArray[np.float32]) -> NDArray[np.float64]:
    """[5, N]: differences of winrate and lead, divergence of the policies, whether the best moves differ, and the
    differences of the lead again, where it decides the game as shares."""
    p, q = (_probabilities(each.policy, spatial) for each in (ours, theirs))
    winrates = [each.value[:, WIN] + each.value[:, NO_RESULT] / 2 for each in (ours, theirs)]
    divergence = np.where(p > 0, p * np.log(np.maximum(p, 1e-30) / np.maximum(q, 1e-30)), 0).sum(axis=1)
    lead = np.abs(ours.score[:, LEAD] - theirs.score[:, LEAD])
    return np.stack(
        [
            np.abs(winrates[0] - winrates[1]),
            lead,
            divergence,
            p.argmax(axis=1) != q.argmax(axis=1),
            lead / np.maximum(1, np.abs(ours.score[:, LEAD]) / DECIDED),
        ]
    ).astype(np.float64)


def _probabilities(logits: NDArray[np.float32], spatial: NDArray[np.float32]) -> NDArray[np.float64]:
    """Softmax over the empty points that ko leaves, and the pass."""
    barred = (spatial[:, 1] + spatial[:, 2] + spatial[:, 6] > 0).reshape(len(logits), -1)
    masked = logits.astype(np.float64)
    masked[:, :-1][barred] = -np.inf
    return softmax(masked)


def measurement_fingerprint(module: str, more: str) -> str:
    """Hash what a measurement by `module` depends on besides the network: sources, processor, onnxruntime, the games
    that its positions are from, and `more`."""
    here = f"{runtime_version()} {platform.machine()} {platform.processor()}"
    games = hashlib.sha256(_content()).hexdigest()
    return hashlib.sha256(f"{here} {source_fingerprint(module)} {games} {more}".encode()).hexdigest()


# --- The games that networks are calibrated and measured on ----------------------------------------------------------
# FILE beside this module has the games. They do not depend on the network that is calibrated, nor on how fast a machine
# could play them. The embedded network of November 2026 played them (`make campaign-calibration_games`): some are even
# and tidy, some lost and absurd.

Positions = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Features [N, 22, H, W] and [N, 19] of positions on boards of one size."""

FILE = "calibration_games.txt"
FEW = 12
"""One in so many of the positions is enough for a check."""
UNEVEN = 4
"""One in so many of the positions is shown once more as that of a handicap game."""


class RecordedGame(NamedTuple):
    """A game, in which each side in turn played `moves`, and which of its positions are kept."""

    width: int
    height: int
    rules: str
    """The name of a preset (go_rules/rule_names.py)."""
    komi: float
    interval: int
    """A position is kept after every `interval` moves."""
    moves: tuple[int, ...]
    """Points, or PASS."""

    @classmethod
    def of(cls, game: Game, interval: int) -> RecordedGame:
        """Record a game that is under a preset's rules."""
        rules = next(name for name, (rules, _) in PRESETS.items() if rules == game.rules)
        return cls(game.width, game.height, rules, game.komi, interval, tuple(move.point for move in game.moves))

    @classmethod
    def from_line(cls, line: str) -> RecordedGame:
        """Read a line that `to_line` wrote."""
        board, interval, rules, komi, *moves = line.split()
        width, height = map(int, board.split("x"))
        points = tuple(from_vertex(vertex, width, height) for vertex in moves)
        return cls(width, height, rules, float(komi), int(interval), points)

    def to_line(self) -> str:
        """Return the board, the interval, the rules, the komi and the moves as a line of FILE."""
        moves = (to_vertex(point, self.height) for point in self.moves)
        return " ".join((f"{self.width}x{self.height}", str(self.interval), self.rules, f"{self.komi:g}", *moves))


def positions_of(games: Iterable[RecordedGame], scratch: Scratch) -> list[Positions]:
    """Return the positions kept of games, those of successive games on boards of one size together, turn by turn."""
    kept = []
    for (width, height), same in groupby(games, lambda each: (each.width, each.height)):
        played = [(Game(width, height, PRESETS[each.rules][0], each.komi), each) for each in same]
        turns = []
        for turn in range(max(len(each.moves) for _, each in played)):
            going_on = [(board, each) for board, each in played if turn < len(each.moves)]
            wanted = [board for board, each in going_on if turn % each.interval == each.interval - 1]
            if wanted:
                turns.append(encoded(wanted, scratch))
            for board, each in going_on:
                board.play(board.to_play, each.moves[turn])
        spatial, global_ = zip(*turns, strict=True)
        kept.append((np.concatenate(spatial), np.concatenate(global_)))
    return kept


def encoded(games: Sequence[Game], scratch: Scratch) -> Positions:
    """Encode the present positions of games on boards of one size, as a search does."""
    spatial = np.zeros((len(games), SPATIAL_PLANES, games[0].height, games[0].width), np.float32)
    global_ = np.zeros((len(games), GLOBAL_FEATURES), np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for row, game in enumerate(games):
        last = game.length - 1
        encode(game.stack, last, game.to_play, game.record, 0.0, IN_TREE, ban, scratch, spatial[row], global_[row])
    return spatial, global_


def recorded_positions(scratch: Scratch) -> list[Positions]:
    """Return the positions kept of the games in FILE, for a network that `scratch` is for."""
    lines = _content().decode().splitlines()
    return positions_of((RecordedGame.from_line(line) for line in lines if not line.startswith("#")), scratch)


def with_doublings(positions: Sequence[Positions]) -> list[Positions]:
    """Return one in UNEVEN of the positions once more, with one side in turns stronger by many playout doublings.

    In handicap games networks that learned of doublings are told some, and some activations go further then than in
    any other game. Without these positions g170-b6c96 had errors of up to 0.1 in its winning chances.
    """
    told = []
    for spatial, global_ in positions:
        numbers = global_[::UNEVEN].copy()
        numbers[:, GLOBAL_HAS_ADVANTAGE] = 1.0
        numbers[:, GLOBAL_ADVANTAGE] = np.where(
            np.arange(len(numbers)) % 2, -0.5 * MOST_DOUBLINGS, 0.5 * MOST_DOUBLINGS
        )
        told.append((spatial[::UNEVEN], numbers))
    return told


def few_recorded(scratch: Scratch) -> list[Positions]:
    """Return one in FEW of these positions, evenly spread: enough to see whether a machine computes rightly."""
    return [(spatial[::FEW], global_[::FEW]) for spatial, global_ in recorded_positions(scratch)]


def _content() -> bytes:
    return Path(__file__).with_name(FILE).read_bytes()
