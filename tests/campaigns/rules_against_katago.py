"""Random games by our rules and by KataGo's: legal moves, phases, scores and the networks' input, after every move.

    python -m tests.campaigns.rules_against_katago --source KATAGO/cpp [--games 1000] [--seed N] [--workers N]

`--source` is the folder `cpp` of KataGo's sources (https://github.com/lightvector/KataGo, made with 1.17.2). A C++
compiler builds a small program of ours with them, katago_rules.cpp. Boards from 1x1 to 25x25, rectangles included,
every combination of rules, handicap stones, moves out of turn, and moves after the end. Prints each difference and, at
the end, one line with the counts; the exit status is 1 if there was any difference.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from go_rules.board import neighbour
from go_rules.game import Game
from go_rules.phases import live_phase
from go_rules.points import N_POINTS, PASS, board_points, column_of, row_of
from go_rules.position import MARK_KO_RECAPTURE_BLOCKED
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, BONUS_NONE, SCORING_TERRITORY, Rules
from nets.features import AS_IS, AT_ROOT, IN_TREE, Scratch, encode, new_scratch

SOURCES = [
    *(f"game/{name}.cpp" for name in ("board", "boardhistory", "rules")),
    *(f"core/{name}.cpp" for name in ("global", "hash", "rand", "sha2", "md5", "test", "timer", "bsearch")),
    "neuralnet/nninputs.cpp",
]
HEADERS = ("", "external/nlohmann_json", "external/filesystem-1.5.8/include")

VIEWS = {IN_TREE: "in the tree", AT_ROOT: "at the root", AS_IS: "as it is"}
BONUSES = {BONUS_NONE: 0, BONUS_N: 1, BONUS_N_MINUS_1: 2}
"""KataGo's numbers of the rules for handicap stones."""

FIELDS = ["over", "no result", "phase", "to play", "legal", "blocked", "bonus", "handicap bonus", "score"]
NUMBERS = 19
GAMES_PER_JOB = 25
SHOWN = 5
"""Differences that are printed for each game."""

ALL_RULES = [
    Rules(ko, scoring, tax, suicide, button, bonus, friendly, cleanup)
    for ko, scoring, tax, suicide, button, bonus, friendly, cleanup in itertools.product(
        range(3), range(2), range(3), (False, True), (False, True), range(3), (False, True), (False, True)
    )
    if not (scoring == SCORING_TERRITORY and button) and (scoring == SCORING_TERRITORY or not cleanup)
]


def build(source: Path, folder: Path) -> Path:
    """Compile katago_rules.cpp against KataGo's sources; exits with one line where that fails."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        sys.exit("no C++ compiler found: nothing was compared")
    program = folder / "katago_rules"
    command = [compiler, "-O1", "-std=c++17", "-DCOMPILE_MAX_BOARD_LEN=25", *(f"-I{source / name}" for name in HEADERS)]
    command += ["-o", str(program), str(Path(__file__).with_name("katago_rules.cpp"))]
    done = subprocess.run([*command, *(str(source / name) for name in SOURCES), "-lpthread"], capture_output=True)
    if done.returncode:
        sys.exit(f"katago_rules.cpp does not compile: {done.stderr.decode(errors='replace').strip()[:300]}")
    return program


class OneGame:
    """One random game: the lines that tell KataGo's rules of it, and the answers expected."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.questions: list[str] = []
        self.answers: list[list[str]] = []
        rng = self.rng
        largest = rng.choice([3, 5, 9, 13, 19, 25])
        width = rng.randint(1, largest)
        height = width if rng.random() < 0.5 else rng.randint(1, largest)
        self.rules = rng.choice(ALL_RULES)
        komi = rng.choice([0.0, 6.5, 7.0, -3.5, rng.randint(-300, 300) / 2])
        self.for_life = rng.random() < 0.3
        self.scratch = new_scratch(self.for_life)
        self.game = Game(width, height, self.rules, komi)
        self._begin(komi)
        self._play()

    def _begin(self, komi: float) -> None:
        game, r = self.game, self.rules
        terms = [game.width, game.height, r.ko, r.scoring, r.tax, int(r.suicide), int(r.has_button)]
        terms += [BONUSES[r.white_handicap_bonus], int(r.friendly_pass), int(r.cleanup)]
        self._ask(f"game {' '.join(map(str, terms))} {komi} {int(self.for_life)}")
        stones = min(self.rng.choice([0, 0, 0, 2, 5]), game.width * game.height // 4)
        if stones:
            points = self.rng.sample(board_points(game.width, game.height), stones)
            try:
                game.place_handicap(points)
            except ValueError:
                return
            self._ask("handicap " + " ".join(f"{column_of(p)} {row_of(p)}" for p in points))

    def _play(self) -> None:
        game, rng = self.game, self.rng
        out_of_turn = rng.choice([0.0, 0.0, 0.05])
        passing = rng.choice([0.02, 0.1, 0.3])
        area = game.width * game.height
        for _ in range(rng.randint(1, 3) * area + 20):
            if game.is_over and rng.random() < 0.8:
                return
            colour = game.to_play if rng.random() >= out_of_turn else 3 - game.to_play
            legal = game.legal_moves(colour)
            point = PASS if rng.random() < passing else self._choose(legal)
            if point != PASS and game.position["board"][point] != 0:
                self.counts["passes for ko on a stone"] += 1
            game.play(colour, point)
            place = "-1 -1" if point == PASS else f"{column_of(point)} {row_of(point)}"
            self._ask(f"play {colour} {place}")

    def _choose(self, legal: list[int]) -> int:
        """A legal move, rather at or beside the last one or among stones: for kos, captures and suicides."""
        rng, board = self.rng, self.game.position["board"]
        if self.game.moves and rng.random() < 0.3:
            last = self.game.moves[-1].point
            near = [p for p in [last, *(neighbour(last, i) for i in range(4))] if p != PASS and p in legal]
            if near:
                return int(rng.choice(near))
        candidates = [rng.choice(legal) for _ in range(3)]
        crowded = [sum(board[neighbour(p, i)] in (1, 2) for i in range(4)) if p != PASS else -1 for p in candidates]
        return candidates[int(np.argmax(crowded))] if rng.random() < 0.6 else candidates[0]

    def _ask(self, question: str) -> None:
        game = self.game
        self.questions.append(question)
        position = game.position
        phase = int(live_phase(position, game.record))
        self.counts["positions"] += 1
        self.counts[f"phase {phase}"] += 1
        points = board_points(game.width, game.height)
        colour = game.to_play
        legal = set(game.legal_moves(colour))
        ban = np.zeros(N_POINTS, np.int8)
        for point in points:
            ban[point] = point not in legal and game.violation(colour, point) == "superko"
        score = game.score() if not self.for_life or self.rules.suicide else None
        answer = [str(int(game.is_over)), str(int(game.is_no_result)), str(phase), str(colour)]
        answer.append("".join(str(int(p in legal)) for p in points))
        answer.append("".join(str(int(position["marks"][p] & MARK_KO_RECAPTURE_BLOCKED != 0)) for p in points))
        answer += [_number(position["white_bonus"]), _number(game.record["handicap_bonus"])]
        answer.append("?" if score is None else _number(score))
        for view in VIEWS:
            answer += features(game, view, ban, self.scratch)
        self.answers.append(answer)


def features(game: Game, view: int, ban: np.ndarray, scratch: Scratch) -> list[str]:
    """The planes as one string of 0 and 1, and the numbers."""
    spatial = np.zeros((22, game.height, game.width), np.float32)
    global_ = np.zeros(NUMBERS, np.float32)
    encode(game.stack, game.length - 1, game.to_play, game.record, 0.0, view, ban, scratch, spatial, global_)
    planes = "".join(str(int(value)) for value in spatial.astype(np.int8).ravel())
    return [planes, *(_number(float(value)) for value in global_)]


def _number(value: float) -> str:
    text = f"{value:.6g}"
    return "0" if text == "-0" else text


def differences(game: OneGame, replies: list[str]) -> Iterator[str]:
    """One line for each thing that KataGo says otherwise."""
    terms = f"seed {game.seed}, {game.game.width}x{game.game.height}, {game.rules}"
    if len(replies) != len(game.questions):
        yield f"{terms}: {len(replies)} answers to {len(game.questions)} questions"
    names = list(FIELDS)
    for name in VIEWS.values():
        names += [f"planes {name}", *(f"number {i} {name}" for i in range(NUMBERS))]
    for turn, (expected, reply) in enumerate(zip(game.answers, replies, strict=False)):
        theirs = ["0" if word == "-0" else word for word in reply.split()]
        for name, ours, other in itertools.zip_longest(names, expected, theirs):
            if ours != other and ours != "?":
                planes = _which_planes(name or "", ours or "", other or "")
                said = f"{name}: ours {ours}, KataGo's {other}"[:600]
                yield f"{terms}, after {game.questions[turn]} ({turn}): {said}{planes}"


def _which_planes(name: str, ours: str, theirs: str) -> str:
    if not name.startswith("planes") or len(ours) != len(theirs):
        return ""
    area = len(ours) // 22
    return f" planes {sorted({i // area for i in range(len(ours)) if ours[i] != theirs[i]})}"


def run_job(job: tuple[Path, int, int]) -> tuple[Counter[str], list[str]]:
    """Play `games` games from a seed on; returns (counts, differences)."""
    program, seed, games = job
    rng = random.Random(seed)
    played = [OneGame(rng.getrandbits(48)) for _ in range(games)]
    text = "\n".join(line for game in played for line in game.questions) + "\n"
    done = subprocess.run([program], input=text, capture_output=True, text=True)
    replies = done.stdout.splitlines()
    counts: Counter[str] = Counter(games=games)
    found: list[str] = []
    for game in played:
        counts += game.counts
        n = len(game.questions)
        lines = list(differences(game, replies[:n]))
        replies = replies[n:]
        counts["differences"] += len(lines)
        found += lines[:SHOWN]
    return counts, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, help="the folder cpp of KataGo's sources")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.source is None or not (options.source / SOURCES[0]).is_file():
        print("KataGo's sources are not at hand (--source KATAGO/cpp): nothing was compared")
        return 0
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        program = build(options.source, Path(folder))
        jobs = [
            (program, options.seed * 1_000_003 + i, min(GAMES_PER_JOB, options.games - first))
            for i, first in enumerate(range(0, options.games, GAMES_PER_JOB))
        ]
        with ProcessPoolExecutor(options.workers) as pool:
            for job_counts, found in pool.map(run_job, jobs):
                counts += job_counts
                for line in found:
                    print(line, flush=True)
    differing = counts.pop("differences", 0)
    print(f"{differing} differences; " + ", ".join(f"{n} {name}" for name, n in counts.items()))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
