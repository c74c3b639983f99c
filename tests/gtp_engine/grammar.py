"""Random GTP: lines for every command with arguments that suit it or almost do, sequences that lead far, raw bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from gtp_engine.gtp.commands import GROUP_OF

COMMANDS = tuple(name for name in GROUP_OF if name != "quit")
"""Every command but the one that ends the dialogue."""

_NUMBERS = """
0 1 2 3 5 7 9 13 19 25 26 -1 -0 +3 007 1.5 .5 5. 1e3 1e9 1e39 -1e39 1e400 1e-400 nan inf -inf 0x10 1_000 \u0663 \u0968
99999999999 2147483647 2147483648 4294967296 9223372036854775808 100000000000000000000 0.1 0.3 7.5 375.5 10000 10001
-10000.5 1000000 1000001 3,5 1/2 one
"""
NUMBERS = [*_NUMBERS.split(), "9" * 400, "0." + "0" * 300 + "1", "-" + "1" * 30]
_VERTICES = """
a1 A1 d4 D4 e5 t19 T19 j9 J9 i5 z25 Z25 pass PASS Pass resign a0 a26 aa1 a-1 a01 a1.0 4d d 4 \u00e41 \uff21\uff11
"""
VERTICES = _VERTICES.split()
_COLOURS = "b w B W black white Black WHITE e empty blue bw \u0412 1"
COLOURS = _COLOURS.split()
_WORDS = """
true false TRUE 1 0 all none ownership interval avoid allow minmoves maxmoves pvVisits movesOwnership rootInfo
a1,b2 a1,pass , chinese japanese aga tromp-taylor korean new-zealand stone-scoring bga byoyomi absolute canadian fischer
fischer-capped maxVisits maxTime lagBuffer ponderingEnabled analysisPVLen playoutDoublingAdvantage humanSLProfile net
size ko SIMPLE POSITIONAL SITUATIONAL scoring AREA TERRITORY tax SEKI suicide hasButton whiteHandicapBonus N-1 alive
dead seki { } [] {} null "x" \\ ' ; -- ../.. ~ % %s $(id) \u00e9 \u4e2d \ufeff \u200b \ufffd
"""
WORDS = _WORDS.split()
CONTROLS = ["\x00", "\x01", "\t", "\r", "\x1b[2J", "\x7f", "\x85", "\u2028", "\x0c", "#", "\ufeff", " ", "\x9b31m"]
_IDS = "0 1 7 0007 2147483647 2147483648 99999999999 00000000012 -1 +1 1.0 \u0661"
IDS = (*_IDS.split(), "9" * 30)
RULES = ("tromp-taylor", "chinese", "japanese", "korean", "aga", "bga", "new-zealand", "chinese-ogs", "stone-scoring")
RULE_VALUES: dict[str, tuple[str, ...]] = {
    "ko": ("SIMPLE", "POSITIONAL", "SITUATIONAL"),
    "scoring": ("AREA", "TERRITORY"),
    "tax": ("NONE", "SEKI", "ALL"),
    "suicide": ("true", "false"),
    "hasButton": ("true", "false"),
    "whiteHandicapBonus": ("0", "N-1", "N"),
    "friendlyPassOk": ("true", "false"),
}
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

Make = Callable[["Grammar"], str]


class Grammar:
    """Makes lines out of one source of random numbers. It is told the size of the board, to name points on it."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        """`folder`: where files may be written, and where `write_files` has put some."""
        self.rng = rng
        self.folder = folder
        self.width = self.height = 9
        self._planned: list[str] = []
        self._written = 0

    def line(self) -> str:
        """The next line, without a newline."""
        if self._planned:
            return self._planned.pop(0)
        dice = self.rng.random()
        if dice < 0.02:
            self._planned = self._sequence()
            return self._planned.pop(0)
        if dice < 0.07:
            return self._garbage()
        return self._command(hurt=dice < 0.45)

    # --- Arguments that suit ----------------------------------------------------------------------------------

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def colour(self) -> str:
        return self.pick("b", "w", "B", "W", "black", "white")

    def vertex(self) -> str:
        column, row = self.rng.randrange(self.width), self.rng.randrange(self.height)
        return "pass" if self.rng.random() < 0.04 else f"{COLUMNS[column]}{row + 1}"

    def integer(self, low: int, high: int) -> str:
        return str(self.rng.randint(low, high))

    def number(self, low: float, high: float) -> str:
        return f"{self.rng.uniform(low, high):.{self.rng.randrange(4)}f}"

    def stones(self, most: int) -> str:
        """Pairs of colours and vertices; no vertex is named twice."""
        vertices = dict.fromkeys(self.vertex() for _ in range(self.rng.randrange(most + 1)))
        return " ".join(f"{self.colour()} {vertex}" for vertex in vertices)

    def existing_file(self) -> str:
        return str(self.folder / self.pick(*FILES))

    def new_file(self) -> str:
        self._written += 1
        return str(self.folder / f"written {self._written % 50}.sgf")

    def rules(self) -> str:
        if self.rng.random() < 0.6:
            return self.pick(*RULES)
        keys = self.rng.sample(list(RULE_VALUES), self.rng.randint(1, 4))
        return json.dumps({key: _json_value(self.pick(*RULE_VALUES[key])) for key in keys})

    def rule(self) -> str:
        key = self.pick(*RULE_VALUES)
        return f"{key} {self.pick(*RULE_VALUES[key])}"

    def analysis(self) -> str:
        words = [self.colour()] if self.rng.random() < 0.5 else []
        words += [self.integer(1, 200)] if self.rng.random() < 0.5 else []
        for _ in range(self.rng.randrange(4)):
            words.append(
                self.pick(
                    f"interval {self.integer(1, 100)}",
                    f"minmoves {self.integer(0, 9)}",
                    f"maxmoves {self.integer(0, 9)}",
                    f"avoid {self.colour()} {self.vertex()},{self.vertex()} {self.integer(1, 9)}",
                    f"allow {self.colour()} {self.vertex()} 1",
                    f"ownership {self.pick('true', 'false')}",
                    "ownershipStdev true",
                    "movesOwnership true",
                    "pvVisits true",
                    "pvEdgeVisits true",
                    "rootInfo true",
                    "noResultValue true",
                )
            )
        return " ".join(words)

    def parameter(self) -> str:
        return self.pick(
            f"maxVisits {self.integer(1, 50)}",
            f"maxTime {self.number(0.1, 3)}",
            f"lagBuffer {self.number(0, 2)}",
            f"ponderingEnabled {self.pick('true', 'false')}",
            f"analysisPVLen {self.integer(1, 30)}",
            f"ogsChatToStderr {self.pick('true', 'false')}",
            "playoutDoublingAdvantage 0.0",
            "maxVisits none",
        )

    def parameters(self) -> str:
        pairs = [self.parameter().split(" ") for _ in range(self.rng.randint(1, 3))]
        return json.dumps(dict(pairs))

    def kata_time(self) -> str:
        system, counts = self.rng.choice(
            (("none", 0), ("absolute", 1), ("byoyomi", 2), ("canadian", 2), ("fischer", 2), ("fischer-capped", 4))
        )
        words = [system, *(self.number(0, 600) for _ in range(counts))]
        return " ".join([*words, self.integer(0, 30)] if system in ("byoyomi", "canadian") else words)

    # --- Lines ------------------------------------------------------------------------------------------------

    def _command(self, hurt: bool) -> str:
        name = self.rng.choices(COMMANDS, _WEIGHTS)[0]
        line = f"{name} {ARGUMENTS[name](self)}".rstrip() if name in ARGUMENTS else name
        if hurt:
            line = self._hurt(line)
        dice = self.rng.random()
        if dice < 0.15:
            line = f"{self.integer(0, 2**31 - 1)} {line}"
        elif dice < 0.18:
            line = f"{self.pick(*IDS)} {line}"
        return line

    def _hurt(self, line: str) -> str:
        """A line that no longer quite suits."""
        rng = self.rng
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            words = line.split(" ")
            at = rng.randrange(len(words))
            kind = rng.randrange(8)
            if kind < 3 and len(words) > 1:
                words[max(1, at)] = self._any_word()
            elif kind == 3:
                words.append(self._any_word())
            elif kind == 4:
                words.insert(at + 1, self._any_word())
            elif kind == 5 and len(words) > 1:
                del words[max(1, at)]
            elif kind == 6:
                words = [self.pick("  ", "\t", " ").join(words)]
            else:
                i = rng.randrange(len(line) + 1)
                words = [
                    line[:i] + self.pick("", "", *CONTROLS, chr(rng.randrange(256))) + line[i + rng.randrange(2) :]
                ]
            line = " ".join(words)
        return line

    def _any_word(self) -> str:
        dice = self.rng.randrange(6)
        if dice == 0:
            return self.vertex()
        return self.pick(*(NUMBERS, NUMBERS, VERTICES, COLOURS, WORDS)[dice - 1])

    def _garbage(self) -> str:
        rng, dice = self.rng, self.rng.random()
        if dice < 0.5:
            return "".join(
                chr(rng.choice((rng.randrange(256), rng.randrange(0x3000)))) for _ in range(rng.randrange(40))
            )
        if dice < 0.7:
            return rng.randbytes(rng.randrange(60)).decode("utf-8", "replace")
        if dice < 0.8:
            return self.pick("", " ", "#", "# interrupt", "\t\t", "#" + self.vertex(), "\r", "\x00")
        return " ".join([self.pick(*IDS, *COMMANDS), *(self._any_word() for _ in range(rng.randrange(8)))])

    def _sequence(self) -> list[str]:
        """Lines that lead together to where single lines seldom come."""
        start = [
            self.pick("clear_board", f"boardsize {self.integer(1, 25)}", f"boardsize {self.pick('5', '9', '13', '19')}")
        ]
        colour, other = self.rng.sample(("b", "w"), 2)
        size = f"{self.integer(1, 25)} {self.integer(1, 25)}"
        passes = [f"play {c} pass" for c in (colour, other)] * self.rng.randint(1, 4)
        undo = [self.pick("undo", "undo", f"gg-undo {self.integer(0, 5)}")] * self.rng.randint(1, 4)
        play = [f"{self.pick('play', 'play', 'genmove')} {c} {self.vertex()}" for c in "bw" * self.rng.randint(1, 20)]
        ask = self.rng.sample(("final_score", "final_status_list dead", "showboard", "printsgf", "kata-get-rules"), 2)
        middle = self.rng.choice(
            (
                [f"fixed_handicap {self.integer(2, 9)}", *play, *undo],
                [f"place_free_handicap {self.integer(2, 9)}", *undo, *play],
                [
                    f"set_free_handicap {self.vertex()} {self.vertex()} {self.vertex()}",
                    *play,
                    *undo,
                    f"komi {self.number(-9, 9)}",
                ],
                [f"loadsgf {self.existing_file()}", *undo, *play],
                [f"loadsgf {self.existing_file()} {self.integer(0, 60)}", *undo, *ask],
                [f"set_position {self.stones(12)}", *undo, *play, *undo],
                [f"gogui-setup {self.stones(6)}", f"gogui-setup_player {colour}", *play],
                ["kata-set-rules japanese", *play, *passes, *ask, *play, *undo],
                [f"kata-set-rules {self.rules()}", *play, f"kata-set-rule {self.rule()}", *passes, *ask, *undo],
                [f"rectangular_boardsize {size}", f"fixed_handicap {self.integer(2, 9)}", *play, *passes, *ask],
                [f"komi {self.pick(*NUMBERS)}", *passes, *ask, "get_komi"],
                [*passes, f"kgs-genmove_cleanup {colour}", *ask, *undo],
                [f"kata-time_settings {self.kata_time()}", *play, f"time_left {colour} {self.number(0, 9)} 0", *play],
                [f"gogui-play_sequence {self.stones(30)}", *undo],
                [f"printsgf {self.new_file()}", "clear_board", f"loadsgf {self.folder}/written 1.sgf", *undo],
                [f"kata-set-params {self.parameters()}", *play, f"kata-set-param {self.parameter()}"],
            )
        )
        return start + middle


_FILES = "good handicap setup rectangular japanese komi broken empty absent bytes"
FILES = (*(f"{name}.sgf" for name in _FILES.split()), "folder", "with a space.sgf")


def write_files(folder: Path) -> None:
    """Write the files that `existing_file` names."""
    texts = {
        "good.sgf": b"(;GM[1]SZ[9]KM[6.5];B[ee];W[cc];B[gc];W[];B[cg](;W[gg])(;W[aa]))",
        "handicap.sgf": b"(;SZ[19]HA[2]AB[dd][pp]RU[Japanese];W[pd];B[dp])",
        "setup.sgf": b"(;SZ[5]AB[aa][bb]AW[ab][cc]PL[W];W[dd];AE[aa];B[ee])",
        "rectangular.sgf": b"(;SZ[5:7]KM[-3];B[ag];W[ea];B[tt])",
        "japanese.sgf": b"(;SZ[7]RU[Japanese]KM[0];B[dd];W[cd];B[];W[];B[dc];W[])",
        "komi.sgf": b"(;SZ[9]KM[1e39];B[ee])",
        "broken.sgf": b"(;SZ[9];B[ee",
        "empty.sgf": b"",
        "with a space.sgf": b"(;SZ[3];B[bb])",
        "bytes.sgf": b"\x00\xff(;SZ[9]C[\xff\x1b[2J];B[zz])",
    }
    (folder / "folder").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text)


def _json_value(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


ARGUMENTS: dict[str, Make] = {
    "known_command": lambda g: g.pick(*COMMANDS),
    "boardsize": lambda g: g.pick(
        g.integer(1, 25), f"{g.integer(1, 25)} {g.integer(1, 25)}", f"{g.integer(2, 9)}:{g.integer(2, 9)}"
    ),
    "rectangular_boardsize": lambda g: f"{g.integer(1, 25)} {g.integer(1, 25)}",
    "komi": lambda g: g.number(-400, 400),
    "set_position": lambda g: g.stones(20),
    "gogui-setup": lambda g: g.stones(5),
    "gogui-setup_player": Grammar.colour,
    "fixed_handicap": lambda g: g.integer(0, 10),
    "place_free_handicap": lambda g: g.integer(0, 30),
    "set_free_handicap": lambda g: " ".join(g.vertex() for _ in range(g.rng.randint(1, 9))),
    "play": lambda g: f"{g.colour()} {g.vertex()}",
    "gogui-play_sequence": lambda g: g.stones(12),
    "genmove": Grammar.colour,
    "reg_genmove": Grammar.colour,
    "kgs-genmove_cleanup": Grammar.colour,
    "gg-undo": lambda g: g.integer(0, 6),
    "time_settings": lambda g: f"{g.integer(0, 900)} {g.integer(0, 60)} {g.integer(0, 30)}",
    "time_left": lambda g: f"{g.colour()} {g.number(0, 900)} {g.integer(0, 9)}",
    "kgs-time_settings": Grammar.kata_time,
    "kata-time_settings": Grammar.kata_time,
    "lz-analyze": Grammar.analysis,
    "kata-analyze": Grammar.analysis,
    "lz-genmove_analyze": Grammar.analysis,
    "kata-genmove_analyze": Grammar.analysis,
    "cgos-genmove_analyze": Grammar.colour,
    "kata-raw-nn": lambda g: g.pick("all", g.integer(0, 8), f"{g.colour()} {g.integer(0, 7)}"),
    "kata-benchmark": lambda g: g.integer(1, 20),
    "kata-set-rules": Grammar.rules,
    "kata-set-rule": Grammar.rule,
    "kgs-rules": lambda g: g.pick("chinese", "aga", "japanese", "new_zealand"),
    "final_status_list": lambda g: g.pick("alive", "dead", "seki"),
    "loadsgf": lambda g: g.existing_file() + g.pick("", f" {g.integer(0, 40)}"),
    "printsgf": lambda g: g.pick("", "", g.new_file(), g.existing_file()),
    "kata-get-param": lambda g: g.parameter().split(" ")[0],
    "kata-set-param": Grammar.parameter,
    "kata-set-params": Grammar.parameters,
    "cgos-opponent_name": lambda g: g.pick(*WORDS),
    "cgos-opponent_rating": lambda g: g.pick(*NUMBERS),
    "cgos-gameover": lambda g: g.pick(*WORDS),
    "kgs-chat": lambda g: f"private {g.pick(*WORDS)} {g.pick(*WORDS)}",
}
"""What follows a command that takes arguments."""

_SELDOM = {"boardsize", "rectangular_boardsize", "clear_board", "loadsgf", "set_position", "kata-benchmark"}
"""Commands that begin anew, or take longer: rather rare, so that games grow."""
_OFTEN = {"play": 8.0, "genmove": 4.0, "gogui-play_sequence": 2.0}
_WEIGHTS = [_OFTEN.get(name, 0.3 if name in _SELDOM else 1.0) for name in COMMANDS]
