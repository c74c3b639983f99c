"""Which attacks there are, and what must become of each: shared by the tests and by tests/campaigns/opponents.py."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from gtp_engine.match.client import ErrorLog
from gtp_engine.match.engines import Engine, EngineLimits
from gtp_engine.match.record import FAULTS, GameRecord
from gtp_engine.match.referee import Conduct, Referee
from tests.gtp_engine.match.conftest import stub_command, terms
from tests.systems import PATIENCE

HANG = 10.0
TOO_LONG = 2 * PATIENCE
"""An engine that hangs is waited for once or twice, for HANG seconds. A machine may have much else to do."""

HOSTILE = Path(__file__).with_name("hostile_engine.py")

FLOODS = ("lines", "one line", "newlines", "nuls", "blanks", "answers", "long answer", "endless failure", "drip lines")
SILENCES = ("mute", "blind", "half", "drip", "stops", "stderr")
DEATHS = ("closes stdout", "closes stdin", "dies", "leaves and dies", "stops supervisor", "kills supervisor")
LIES = ("unread", "twice")
HARMLESS = ("leaves", "much stderr", "ignores signals", "chatter")
"""The game goes on as if nothing had happened."""
NONSENSE = ("refuses", "nasty", "binary", "empty")

KINDS = (*FLOODS, *SILENCES, *DEATHS, *LIES, *HARMLESS, *NONSENSE)
MOMENTS = ("start", "name", "list_commands", "boardsize", "genmove", "play", "other", "final_score", "between", "quit")

UNHARMED = {
    # Answers that are nonsense for a move are none for these questions: the engine may be called anything, its list of
    # commands may be wrong, and GTP has no reply to `play` or `clear_board` that is too long.
    *(
        (kind, moment)
        for kind in ("nasty", "binary", "empty")
        for moment in ("name", "list_commands", "boardsize", "play")
    ),
    *((kind, moment) for kind in NONSENSE for moment in ("name", "list_commands")),
    # The score: its word is none, and the other's counts.
    *((kind, "final_score") for kind in (*NONSENSE, "unread")),
}


def command(kind: str, moment: str, mark: str = "no-mark") -> list[str]:
    """The command of a hostile engine; `-I -S` make Python start in 15 ms."""
    return [sys.executable, "-I", "-S", str(HOSTILE), kind, moment, mark]


def is_attack(kind: str, moment: str) -> bool:
    """Whether this kind can attack at this moment: answers need a question."""
    return moment not in ("start", "other", "between") or kind not in ("refuses", "nasty", "binary", "empty")


def must_lose(kind: str, moment: str) -> bool:
    """Whether the attack costs the engine the game in which it happens. Otherwise nobody is harmed."""
    if moment in ("between", "quit") or kind in HARMLESS:
        return False
    return (kind, moment) not in UNHARMED


def misjudged(game: GameRecord, kind: str, moment: str, honest: int) -> str:
    """What is wrong with the record of a game in which an engine attacked the other one, `honest`; empty if nothing."""
    if not all(text.isprintable() for text in (game.detail, game.result, game.reason)):
        return f"control characters in {game.detail!r}"
    if kind == "unread":  # where its answers come in time by luck, they are as good as any, and it loses by the score
        return "" if game.winner != 1 - honest else f"{game.result}, {game.reason}: {game.detail}"
    if must_lose(kind, moment):
        return "" if game.winner == honest and game.reason in FAULTS else f"{game.result}, {game.reason}: {game.detail}"
    if game.reason in FAULTS and game.winner != honest:
        return f"the honest engine lost: {game.reason}, {game.detail}"
    may_end = kind not in HARMLESS and moment in ("between", "quit")  # and so loses the next game
    return "" if game.reason not in FAULTS or may_end else f"a fault: {game.reason}, {game.detail}"


def play(folder: Path, kind: str, moment: str, honest: int) -> str:
    """Play a game against a hostile engine; returns what went wrong, or nothing."""
    mark = f"{folder.name}-{kind}-{moment}-{honest}".replace(" ", "-")
    silent = kind not in HARMLESS and moment not in ("between", "quit")
    limits = EngineLimits(PATIENCE, HANG, HANG) if silent else EngineLimits(PATIENCE, PATIENCE, PATIENCE)
    if silent and moment in ("start", "list_commands", "boardsize"):
        limits = EngineLimits(HANG, HANG, HANG)
    stub = stub_command("--moves", "C3,C2,B3", "--score", "BW"[honest] + "+2.5")
    good = Engine(stub, "honest", ErrorLog(folder / f"{mark}-honest"), EngineLimits(PATIENCE, PATIENCE, PATIENCE))
    bad = Engine(command(kind, moment, mark), "hostile", ErrorLog(folder / f"{mark}-hostile"), limits)
    engines = (good, bad) if honest == 0 else (bad, good)
    started = time.monotonic()
    try:
        conduct = Conduct(hang_seconds=HANG if silent else PATIENCE)
        game = Referee(0, engines, 0, terms(), conduct, ()).play()
    finally:
        for engine in engines:
            engine.close()
    complaint = misjudged(game, kind, moment, honest)
    if time.monotonic() - started > TOO_LONG:
        complaint = f"took {time.monotonic() - started:.1f} s"
    left = processes_with(mark)
    gone_by = time.monotonic() + PATIENCE
    while left and time.monotonic() < gone_by:
        time.sleep(0.1)
        left = processes_with(mark)
    return f"{kind}, {moment}: {complaint or f'left {left}'}" if complaint or left else ""


def processes_with(mark: str) -> list[int]:
    """The processes that have this word in their arguments, by /proc, but for this one. Empty on other systems."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                arguments = Path("/proc", name, "cmdline").read_bytes()
                zombie = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
            except OSError:
                continue
            if mark.encode() in arguments and not zombie:
                found.append(int(name))
    return found
