"""Mutated SGF text, as much as asked for: each is either a game or refused with one short printable line.

A game survives being written and read again: its moves, position, komi, rules and handicap. First come texts that would
cost a careless reader time or memory, up to 100 MB and 100,000 deep and more: they are refused within SLOW_SECONDS of
processor time and MOST_MEGABYTES. Then come games with texts in many encodings, truly or wrongly stated or not at all,
with characters that end with the byte of a bracket or were cut: no reader loses a move, a property or a byte of a text.

    python -m tests.campaigns.sgf [--files 1000000] [--foreign 100000] [--seed N]

Prints each failure and, at the end, one line with the counts and the slowest file; the exit status is 1 if any failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from go_rules.game import Game, Move
from go_rules.points import BLACK, PASS, point_at
from go_rules.rule_names import DEFAULT_RULES
from go_rules.rules import KOMI_LIMIT
from go_rules.sgf.annotation import Note, Variation, annotated
from go_rules.sgf.grammar import SgfError, parse_game, split_games
from go_rules.sgf.reader import parse_sgf, read_sgf
from go_rules.sgf.writer import to_sgf
from tests.campaigns.stopping import until_stopped
from tests.go_rules.sgf.foreign import ENCODINGS, WRITERS, Foreign, foreign_game
from tests.go_rules.sgf.hostile import ACCEPTED, HOSTILE, cost

PIECES = [b"(", b")", b";", b"[", b"]", b"\\", b":", b"\n", b"\xff", b"\0", b"B[aa]", b"W[tt]", b"AB[aa:cc]", b"AE[bb]"]
PIECES += [b"SZ[5:7]", b"SZ[25]", b"SZ[-1]", b"KM[nan]", b"HA[9]", b"CA[big5]", b"RU[koSIMPLE]", b"PL[W]", b"C[x\\]y]"]
PIECES += [b"KM[%b]" % komi for komi in (b"1e39", b"375", b"375.5", b"-0", b"999", b"0.1", b"9" * 500)]
PIECES += [b"HA[99]", b"RU[Japanese]", b"RU[koSITUATIONALscoreAREAtaxALLsui1button1whbN-1]", b"PL[B]"]
PIECES += [b";AB[aa]AW[bb]", b"AE[aa:yy]"]
SLOW_SECONDS = 1.0
MOST_MEGABYTES = 100
SAME = ("board", "hash", "captured", "white_bonus", "move_number", "ko", "to_play", "passes", "phase", "button")
"""Fields of a position that do not depend on the order in which stones were set up."""


def samples(rng: random.Random) -> list[bytes]:
    """Well-formed games to mutate."""
    found = []
    for side in (1, 3, 5, 9, 19, 25):
        game = Game(side, rng.randint(1, 25), DEFAULT_RULES)
        for _ in range(rng.randint(0, 30)):
            game.play(game.to_play, rng.choice(game.legal_moves(game.to_play)))
        found.append(to_sgf(game, black="b", white="w", comments={0: "a [b\\] c"}, result="B+1").encode())
        found.append(foreign_game(rng, rng.choice(ENCODINGS), rng.choice(WRITERS), rng.choice(ENCODINGS)).data)
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


def complaint_of(data: bytes) -> str | None:
    """Why a text is refused; None if it is a game, which must then survive being written and read again."""
    try:
        record = parse_sgf(data)
        game = record.to_game()
    except SgfError as error:
        text = str(error)
        assert text.isprintable(), "an unprintable refusal"
        assert 0 < len(text) < 300, "a long refusal"
        return text
    text = to_sgf(game, black=record.black, white=record.white, result=record.result, komi=record.komi)
    again = parse_sgf(text.encode("utf-8"))
    replayed = again.to_game()
    assert again.komi == (game.komi if record.komi is None else record.komi), "another komi"
    assert abs(game.komi) <= KOMI_LIMIT
    assert replayed.komi == game.komi
    assert replayed.rules == game.rules, "other rules"
    assert replayed.moves == game.moves, "other moves"
    assert replayed.handicap_stones == game.handicap_stones, "another handicap"
    for field in SAME:
        assert np.array_equal(replayed.position[field], game.position[field]), f"another {field}"
    return None


def require_whole(game: Foreign, path: Path) -> None:
    """Read a game by every way in which a command does, and write notes into it."""
    moves = [
        Move(BLACK if name == "B" else 3 - BLACK, point_at(*(byte - ord("a") for byte in values[0])))
        for node in game.main_line
        for name, values in node.items()
        if name in ("B", "W")
    ]
    path.write_bytes(game.data)
    assert read_sgf(path).moves == moves, "loadsgf reads other moves"
    assert parse_sgf(b"a note\n" + game.data).moves == moves, "review, picture and play read other moves"
    collection = game.data + b"\n" + game.data
    assert [parse_sgf(each).moves for each in split_games(collection)] == [moves] * 2, "training reads other moves"
    assert [node.properties for node in parse_game(game.data).nodes] == game.main_line, "other values"
    notes = {number: Note("said 本", {}, (Variation((Move(BLACK, PASS),), "v"),)) for number in range(len(moves) + 1)}
    written = parse_game(annotated(game.data, notes)).nodes
    assert len(written) == len(game.main_line), "a review has other nodes"
    for node, before in zip(written, game.main_line, strict=True):
        assert node.properties["C"][0].startswith(before.get("C", [b""])[0]), "a review has another comment"
        same = before.keys() - {"C", "CA"}
        assert {name: node.properties[name] for name in same} == {name: before[name] for name in same}


def try_foreign(games: int, rng: random.Random) -> int:
    """Read games with texts in many encodings. Returns how many failed."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(games):
            stated = rng.choice([None, *ENCODINGS])
            game = foreign_game(rng, rng.choice(ENCODINGS), rng.choice(WRITERS), stated)
            try:
                require_whole(game, Path(folder) / "game.sgf")
            except (AssertionError, SgfError, KeyError):
                failures += 1
                print(f"failed on {game.data!r}\n{traceback.format_exc()}", flush=True)
    print(f"{games} games in many encodings: {failures} failures", flush=True)
    return failures


def try_large(scale: int) -> int:
    """Read every hostile text as a file, in a process with limits. Returns how many failed."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for case, data in HOSTILE.items():
            path = Path(folder) / "hostile.sgf"
            path.write_bytes(data * (1 if case in ACCEPTED else scale))
            found = cost(path)
            good = found.refusal.isprintable() and found.seconds < SLOW_SECONDS and found.megabytes < MOST_MEGABYTES
            good = good and bool(found.refusal) == (case not in ACCEPTED)
            failures += not good
            size = path.stat().st_size / 1e6
            print(
                f"{'' if good else 'FAILED '}{case}, {size:.0f} MB: {found.seconds:.2f} s, {found.megabytes} MB more,"
                f" {found.refusal or 'a game'}",
                flush=True,
            )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--foreign", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    failures = try_large(1) + try_large(10) + try_foreign(options.foreign, rng)
    games = refused = crashes = 0
    slowest = 0.0
    with until_stopped():
        for number in range(options.files):
            if number % 1000 == 0:
                texts = samples(rng)
            text = mutated(rng, rng.choice(texts))
            started = time.process_time()
            try:
                is_refused = complaint_of(text) is not None
                refused += is_refused
                games += not is_refused
            except Exception:
                failures += 1
                crashes += 1
                print(f"failed on {text!r}\n{traceback.format_exc()}", flush=True)
            seconds = time.process_time() - started
            slowest = max(slowest, seconds)
            if seconds > SLOW_SECONDS:
                failures += 1
                print(f"{seconds:.1f} s for {text!r}", flush=True)
    tried = games + refused + crashes
    print(
        f"{2 * len(HOSTILE)} large files and {tried} mutated ones: {games} games, {refused} refused,"
        f" {failures} failures, slowest {slowest:.3f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
