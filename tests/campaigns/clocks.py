"""Games of the real engine against a strict clock, on a busy machine.

    make campaign-clocks ARGS="--games 300 --busy 2 --ponder --control byoyomi:0:1:1"

The clock is the controller's: it runs from the first byte of the opponent's `play` to the last byte of the reply to
`genmove`, and forgives nothing. The opponent moves at random near the last move, so that nearly all time is the
engine's. Prints for each kind of game how many were played and forfeited, and how much of its time the engine used;
the exit status is 1 if there was a forfeit.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path

from go_rules.game import Game
from go_rules.points import BLACK, COLOUR_NAMES, PASS, WHITE, from_vertex, opponent, to_vertex
from go_rules.rule_names import preset
from gtp_engine.match.clock import SideClock, announcements, parse_control
from gtp_engine.session.clock import System, TimeControl

CONTROLS = (
    "byoyomi:0:1:1",
    "byoyomi:2:1:3",
    "byoyomi:0:0.6:3",
    "byoyomi:0:0.8:9",
    "0:1:1",
    "0:5:5",
    "2:1.5:3",
    "fischer:1:0.2",
    "fischer:5:0.5",
    "fischer-capped:3:0.5:4:1",
    "fischer-capped:5:0.5:-1:-1",
    "absolute:10",
)
"""Time controls as `nobi match` writes them."""
PLAIN, KGS, KATA = "time_settings", "kgs-time_settings", "kata-time_settings"
WAYS = {
    System.ABSOLUTE: (PLAIN, KGS, KATA),
    System.BYOYOMI: (PLAIN, KGS, KATA),
    System.CANADIAN: (PLAIN, KGS, KATA),
    System.FISCHER: (PLAIN, KATA),
    System.FISCHER_CAPPED: (KATA,),
}
"""The commands by which controllers announce each system. PLAIN says byo-yomi as gtp2ogs does, the periods but one as
main time, and Fischer time without its increment: such an engine knows less than the clock allows."""
SIZES = (9, 13, 19)
RESTS = (0.0, 0.0, 0.03, 0.3)
"""Seconds that the opponent takes for a move, for a pondering engine to fill."""
TOLD = ("never", "whole", "exactly", "late")
"""What the controller says of the clock before a move: nothing, whole seconds rounded down, or the truth; or the truth
when a part of the turn is over already, where that costs no game: in a byo-yomi period before the last."""
RULES = "tromp-taylor"
OVERTIME = "overtime"
NEAR = 2
"""How far from the last move the opponent plays, in points."""


@dataclass(frozen=True)
class Terms:
    """One kind of game."""

    control: str
    size: int
    ponder: bool
    told: str
    way: str
    """The command that announces the control, one of WAYS."""
    network_lag: float
    """Seconds that the clock charges for each move beside the time that the engine takes."""
    moves: int
    """The engine's moves after which the game is over."""


@dataclass
class Played:
    """One game as it went."""

    terms: Terms
    seconds: list[float] = field(default_factory=list)
    """What each of the engine's moves took, by the controller's watch."""
    shares: list[float] = field(default_factory=list)
    """The same with the network's lag, as a share of what the clock allowed."""
    end: str = ""
    """`overtime` if the engine lost on time; what else ended the game."""


class Controller:
    """The controller's side of one engine process."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()

    def ask(self, line: str) -> str:
        """The text of the reply to a line. AssertionError if it is a refusal."""
        os.write(self._stdin, line.encode() + b"\n")
        reply = b""
        while not reply.endswith(b"\n\n"):
            chunk = os.read(self._stdout, 1 << 16)
            assert chunk, f"the engine has ended at {line!r}"
            reply += chunk
        text = reply.decode().strip()
        assert text.startswith("="), f"{line!r}: {text!r}"
        return text[1:].strip()

    def close(self) -> None:
        """End the engine."""
        with contextlib.suppress(OSError, AssertionError):
            self.ask("quit")
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def announcement(control: TimeControl, way: str) -> str:
    """The line that announces a control in one of WAYS."""
    if way == PLAIN:
        return announcements(control)[-2 if control.period % 1 else -1]
    if control.system in (System.FISCHER, System.FISCHER_CAPPED):
        return announcements(control)[0]
    numbers = [control.main]
    if control.system is System.BYOYOMI:
        numbers += [control.period, control.periods]
    elif control.system is System.CANADIAN:
        numbers += [control.period, control.stones]
    return f"{way} {control.system.value} " + " ".join(f"{number:g}" for number in numbers)


def left_text(clock: SideClock, terms: Terms, gone: float = 0.0) -> str:
    """The arguments of `time_left` after the colour, where so many seconds of the turn are over."""
    seconds, stones = clock.time_left()
    if terms.way == PLAIN and clock.control.system is System.BYOYOMI:
        spare = (clock.left.periods if clock.left.in_overtime else clock.control.periods) - 1
        main = 0.0 if clock.left.in_overtime else seconds
        seconds, stones = (clock.control.period, 1) if main + spare <= 0 else (main + spare * clock.control.period, 0)
    return f"{int(seconds)} {stones}" if terms.told == "whole" else f"{seconds - gone:.2f} {stones}"


def play_game(controller: Controller, terms: Terms, rng: random.Random) -> Played:
    """One game against the engine, which may play either colour."""
    control = parse_control(terms.control)
    clock, game, played = SideClock(control), Game(terms.size, terms.size, preset(RULES)[0], 7.5), Played(terms)
    announced = announcement(control, terms.way)
    for line in (f"boardsize {terms.size}", "clear_board", f"kata-set-rules {RULES}", announced):
        controller.ask(line)
    controller.ask(f"kata-set-param ponderingEnabled {str(terms.ponder).lower()}")
    ours = rng.choice((BLACK, WHITE))
    while not game.is_over and len(played.seconds) < terms.moves:
        told = []
        if game.to_play != ours:
            time.sleep(rng.choice(RESTS))
            point = near_move(game, rng)
            game.play(game.to_play, point)
            told.append(f"play {COLOUR_NAMES[opponent(ours)]} {to_vertex(point, terms.size)}")
        gone = rng.uniform(0.0, control.period) if terms.told == "late" and clock.left.periods > 1 else 0.0
        if terms.told != "never":
            told.append(f"time_left {COLOUR_NAMES[ours]} {left_text(clock, terms, gone)}")
        allowed = clock.allowance()
        started = time.monotonic()
        time.sleep(gone)
        for line in told:
            controller.ask(line)
        answer = controller.ask(f"genmove {COLOUR_NAMES[ours]}")
        took = time.monotonic() - started
        played.seconds.append(took)
        played.shares.append((took + terms.network_lag) / allowed)
        if clock.spend(took + terms.network_lag) > 0:
            played.end = OVERTIME
            return played
        if answer == "resign":
            break
        game.play(ours, from_vertex(answer, terms.size, terms.size))
    played.end = "ended"
    return played


def near_move(game: Game, rng: random.Random) -> int:
    """A random legal move near the last one; any legal move where there is none, or a pass."""
    legal = [point for point in game.legal_moves(game.to_play) if point != PASS]
    if not legal:
        return PASS
    last = game.moves[-1].point if game.moves else PASS
    if last == PASS:
        return rng.choice(legal)
    row, column = divmod(last, 26)
    near = [p for p in legal if abs(p // 26 - row) <= NEAR and abs(p % 26 - column) <= NEAR]
    return rng.choice(near or legal)


def session(seed: int, games: list[Terms], arguments: list[str]) -> list[Played]:
    """Several games with one process of the engine."""
    controller = Controller([sys.executable, "-m", "gtp_engine.cli", "gtp", *arguments])
    rng = random.Random(seed)
    try:
        return [play_game(controller, terms, rng) for terms in games]
    finally:
        controller.close()


@contextlib.contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Processes that take all the time of a core that they can get."""
    processes = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report(name: str, games: Sequence[Played]) -> str:
    """One line about games of a kind."""
    shares = [share for game in games for share in game.shares]
    forfeits = sum(game.end == OVERTIME for game in games)
    quantiles = " ".join(
        f"{label} {quantile(shares, q):.3f}" for label, q in (("50% ", 0.5), ("99%", 0.99), ("99.9%", 0.999))
    )
    return (
        f"{name:32} {len(games):4} games {len(shares):6} moves {forfeits:3} forfeits; of the time allowed: "
        f"mean {sum(shares) / len(shares):.3f} {quantiles} most {max(shares):.3f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=300)
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside the games")
    parser.add_argument("--parallel", type=int, default=1, help="games at a time")
    parser.add_argument("--moves", type=int, default=60, help="the engine's moves of a game at most")
    parser.add_argument("--per-process", type=int, default=4, help="games with one process of the engine")
    parser.add_argument("--control", action="append", help="time control; may be repeated")
    parser.add_argument("--size", type=int, action="append", help="board size; may be repeated")
    parser.add_argument("--ponder", action=argparse.BooleanOptionalAction, help="only with or only without pondering")
    parser.add_argument("--told", choices=TOLD, action="append", help="what time_left says; may be repeated")
    parser.add_argument("--network-lag", type=float, default=0.0, help="seconds charged beside each move")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a file for every game in JSON")
    parser.add_argument("arguments", nargs="*", help="of nobi gtp, after --")
    options = parser.parse_args()
    ponder = (True, False) if options.ponder is None else (options.ponder,)
    kinds = [
        Terms(control, size, ponders, told, way, options.network_lag, options.moves)
        for control, size, ponders, told in itertools.product(
            options.control or CONTROLS, options.size or SIZES, ponder, options.told or TOLD
        )
        for way in WAYS[parse_control(control).system]
    ]
    rng = random.Random(options.seed)
    order = [kind for _ in range(-(-options.games // len(kinds))) for kind in rng.sample(kinds, len(kinds))]
    order = order[: options.games]
    jobs = [
        (options.seed * 1_000_003 + at, order[at : at + options.per_process], options.arguments)
        for at in range(0, len(order), options.per_process)
    ]
    started = time.monotonic()
    games: list[Played] = []
    with busy_processes(options.busy), ProcessPoolExecutor(options.parallel) as pool:
        for job in as_completed([pool.submit(session, *job) for job in jobs]):
            played = job.result()
            games += played
            for game in played:
                if options.log is not None:
                    with options.log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(game)) + "\n")
                if game.end == OVERTIME:
                    print(f"forfeit: {game.terms}, move {len(game.seconds)}: {game.seconds[-1]:.3f} s", flush=True)
            print(
                f"{len(games)} games, {sum(game.end == OVERTIME for game in games)} forfeits",
                file=sys.stderr,
                flush=True,
            )
    for control in dict.fromkeys(game.terms.control for game in games):
        for ponders in (False, True):
            chosen = [game for game in games if game.terms.control == control and game.terms.ponder == ponders]
            if chosen:
                print(report(f"{control}{' pondering' if ponders else ''}", chosen))
    for way in (PLAIN, KGS, KATA):
        chosen = [game for game in games if game.terms.way == way]
        if chosen:
            print(report(f"announced by {way}", chosen))
    print(report("all", games))
    print(f"{options.busy} busy processes, {options.parallel} games at a time, {time.monotonic() - started:.0f} s")
    return 1 if any(game.end == OVERTIME for game in games) else 0


if __name__ == "__main__":
    sys.exit(main())
