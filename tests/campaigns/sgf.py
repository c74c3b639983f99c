"""Mutated SGF text, as much as asked for: each is either a game or refused with one printable line.

    python -m tests.campaigns.sgf [--files 1000000] [--seed N]

Prints each failure and, at the end, one line with the counts and the slowest file; the exit status is 1 if any failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

from go_rules.game import Game
from go_rules.rules import DEFAULT_RULES
from go_rules.sgf.reader import SgfError, parse_sgf
from go_rules.sgf.writer import to_sgf

PIECES = [b"(", b")", b";", b"[", b"]", b"\\", b":", b"\n", b"\xff", b"\0", b"B[aa]", b"W[tt]", b"AB[aa:cc]", b"AE[bb]"]
PIECES += [b"SZ[5:7]", b"SZ[25]", b"SZ[-1]", b"KM[nan]", b"HA[9]", b"CA[big5]", b"RU[koSIMPLE]", b"PL[W]", b"C[x\\]y]"]
SLOW_SECONDS = 1.0


def samples(rng: random.Random) -> list[bytes]:
    """Well-formed games to mutate."""
    found = []
    for side in (1, 3, 5, 9, 19, 25):
        game = Game(side, rng.randint(1, 25), DEFAULT_RULES)
        for _ in range(rng.randint(0, 30)):
            game.play(game.to_play, rng.choice(game.legal_moves(game.to_play)))
        found.append(to_sgf(game, black="b", white="w", comments={0: "a [b\\] c"}, result="B+1").encode())
    return found


def mutated(rng: random.Random, text: bytes) -> bytes:
    """A few insertions, deletions, repetitions and changed bytes."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(text))
        end = min(len(text), at + rng.randint(0, 20))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[end:]
        elif kind == 2:
            text = text[:at] + text[at:end] * rng.randint(2, 5) + text[end:]
        else:
            text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    games = refused = failures = 0
    slowest = 0.0
    for number in range(options.files):
        if number % 1000 == 0:
            texts = samples(rng)
        text = mutated(rng, rng.choice(texts))
        started = time.perf_counter()
        try:
            parse_sgf(text).to_game()
            games += 1
        except SgfError as error:
            refused += 1
            if not str(error).isprintable():
                failures += 1
                print(f"unprintable refusal of {text!r}")
        except Exception:
            failures += 1
            print(f"crash on {text!r}\n{traceback.format_exc()}")
        seconds = time.perf_counter() - started
        slowest = max(slowest, seconds)
        if seconds > SLOW_SECONDS:
            print(f"{seconds:.1f} s for {text!r}")
    print(f"{options.files} files: {games} games, {refused} refused, {failures} failures, slowest {slowest:.3f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
