"""A GTP engine with a script: plays the given moves, then passes, and misbehaves where it is told to.

    stub_engine.py [--moves C3,D4] [--score B+1.5] [--bad KIND@N]... [--name NAME] [--lists COMMAND]...

KIND at its N-th genmove (from 1): illegal, nonsense, crash, hang, garbage, fail, slow. At `play` N: refuse. At any
command: slow-COMMAND, hang-COMMAND, refuse-COMMAND.
"""

from __future__ import annotations

import argparse
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--moves", default="")
parser.add_argument("--score", default="")
parser.add_argument("--bad", action="append", default=[])
parser.add_argument("--name", default="Stub")
parser.add_argument("--lists", action="append", default=[])
parser.add_argument("--log", default="")
parser.add_argument("--deaf", action="store_true", help="ignore quit and end of input")
options = parser.parse_args()
trouble = {tuple(entry.split("@")) for entry in options.bad}
log = open(options.log, "a", buffering=1) if options.log else None  # noqa: SIM115


def reply(text: str = "", status: str = "=") -> None:
    sys.stdout.write(f"{status} {text}".rstrip() + "\n\n")
    sys.stdout.flush()


def misbehaves(kind: str, count: int) -> bool:
    return (kind, str(count)) in trouble


def genmove(count: int) -> None:
    if misbehaves("crash", count):
        print("stub: crashing now", file=sys.stderr)
        sys.exit(7)
    if misbehaves("hang", count):
        time.sleep(3600)
    if misbehaves("slow", count):
        time.sleep(0.4)
    if misbehaves("fail", count):
        return reply("no idea", "?")
    if misbehaves("illegal", count):
        return reply(last_seen or "A1")
    if misbehaves("nonsense", count):
        return reply("Z99")
    if misbehaves("garbage", count):
        sys.stdout.write("loading the network...\n")
    moves = [move for move in options.moves.split(",") if move]
    reply(moves[count - 1] if count <= len(moves) else "pass")


sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
genmoves = plays = 0
last_seen = ""
asked: dict[str, int] = {}
while True:
    line = sys.stdin.readline()
    if not line:
        if options.deaf:
            time.sleep(3600)
        break
    words = line.split()
    if log:
        print(line.strip(), file=log)
    command = words[0] if words else ""
    asked[command] = asked.get(command, 0) + 1
    if misbehaves(f"slow-{command}", asked[command]):
        time.sleep(1.0)
    if misbehaves(f"hang-{command}", asked[command]):
        time.sleep(3600)
    if misbehaves(f"refuse-{command}", asked[command]):
        reply("never", "?")
        continue
    if command == "quit":
        if options.deaf:
            continue
        reply()
        break
    if command == "name":
        reply(options.name)
    elif command == "version":
        reply("1.0")
    elif command == "list_commands":
        reply("\n".join(["name", "play", "genmove", "quit", *options.lists]))
    elif command == "clear_board":
        genmoves = plays = 0
        reply()
    elif command == "play":
        plays += 1
        last_seen = words[2]
        if misbehaves("refuse", plays):
            reply("illegal move", "?")
        else:
            reply()
    elif command == "genmove":
        genmoves += 1
        genmove(genmoves)
    elif command == "final_score":
        reply(options.score) if options.score else reply("cannot score", "?")
    elif command in ("boardsize", "komi", "time_settings", "time_left", *options.lists):
        reply()
    else:
        reply("unknown command", "?")
