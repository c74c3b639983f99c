"""What a change is worth, move by move: engines choose in the same positions, and a stronger network judges.

    make campaign-judged_moves ARGS="'nobi --visits 50' 'nobi --visits 200' --games FOLDER --judge strong --out FOLDER"

It takes minutes where games take days. The engines are GTP commands as in `nobi match`. The positions are those before
moves of recorded games: SGF files in a folder, which may be the record of a match, or `--records`, a file of `nobi
records`. Each engine is asked twice in each position, with the same limits:

    empty trees   boardsize, clear_board, komi, rules, `clear_cache`, the game's moves by `play`, the search
    kept trees    the same, but it also searches before the last moves of its own side (`--walk`), and the game's move
                  is played whatever it finds: of the tree is kept what is below the moves of the game, as in a game

A search is `kata-search_analyze`, which plays no move; `reg_genmove` for engines without it. Its first report comes
after a hundredth of the time of the engine's search before (10 ms at least). So "at once" in the output is how many
visits the root had at its start, and a few more: where trees are kept, it is more than from empty trees.

Where an engine's move is another than the first engine's, the judge searches the positions after both, with one
symmetry and without chance. Equal moves differ by exactly 0 and cost nothing. Points of the lead and percent of the
winning chance are seen by the side that moves: + is better than the first engine. Points say little where the game is
decided. Positions of one game are not independent, so the 95 % intervals are those of a bootstrap over games. Believe
what both halves of the games show: the pairs of games 1, 2, 5, 6, ... and 3, 4, 7, 8, ... (in a match, both games of a
pair have the same opening).

"Apart" is the share of its visits that an engine would have to move to have the first engine's: half the summed
difference of the shares of all moves (total variation). It needs no judge, and shows a difference between two searches
long before the moves do, if neither has chance in it. Two engines that search alike with one network are 0 % apart,
except on symmetric boards, where each may look at another of equal moves:

    'katago gtp -model NETWORK -config gtp_example.cfg -override-config numSearchThreads=1,maxVisits=100,maxTime=1000,
        nnRandomize=false,chosenMoveTemperature=0,chosenMoveTemperatureEarly=0,searchFactorWhenWinning=1,
        searchFactorAfterOnePass=1,searchFactorAfterTwoPass=1,allowResignation=false'
    'nobi --net NETWORK --precision fp32 --workers 1 --batch 1 --visits 100 --set random_symmetry=false
        --set temperature=0 --set temperature_early=0'

The judge has to read as deeply as the engines, or it does not see what they saw, and likes what needs no search. 200
visits won 44, drew 10 and lost 6 games on 9x9 against 50. In 700 positions of these games they chose better by 0.6 ±
0.3 % from empty and 0.9 ± 0.4 % from kept trees for `strong` with 150 visits; with 8 visits it said -0.1 ± 0.5 % and
-0.6 ± 0.5 %, and the much stronger b10c384h6nbttflrs with 8 said 0.2 ± 0.4 % and 0.3 ± 0.5 %.

A position is left out where an engine resigns or refuses a move of the game. Every answer is at once a line in the
folder of `--out`: the same command goes on after an interruption, one with more `--positions` adds to them, and one
with another judge asks no engine again.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import os
import re
import string
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, COLOUR_NAMES, PASS, WHITE, VertexError, from_vertex, point_at
from go_rules.rule_names import DEFAULT_KOMI, rules_to_sgf
from go_rules.rules import SCORING_AREA
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import SgfGame, read_sgf
from go_rules.sgf.writer import to_sgf
from gtp_engine.configuration.configuration import network_path
from gtp_engine.errors import UserError, explain, is_of_user
from gtp_engine.match.client import EngineError, GtpFailure
from gtp_engine.match.engines import Engine, Terms, engine_command
from gtp_engine.match.statistics import Z_95
from nets.open import open_network
from nobi_machine.files import PUBLIC, append_regular, read_regular, write_whole
from nobi_machine.units import Batch, Pool, Unit
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest
from training.config import RecordsConfig
from training.positions.records import SIZE, load_records, sgf_files

TREES = ("empty", "kept")
LETTERS = string.ascii_uppercase
FIGURES = ("points", "winrate")
SEARCH = "kata-search_analyze"
ROOT_VISITS = re.compile(r"rootInfo\b.*?\bvisits (\d+)")
MOVE_VISITS = re.compile(r"\binfo move (\S+) visits (\d+)(?: edgeVisits (\d+))?")
LONGEST_SEARCH = 3600.0
"""Seconds."""
MOST_REPORTED = 1 << 27
"""Bytes of a search's reports: hundreds of them, each of which says what is known of every move."""
RESAMPLES = 4000
"""Of the bootstrap."""
MOST_SHOWN = 10
MOST_BYTES = 1 << 28
"""Of the file of answers."""
TERMS = ("engines", "visits", "walk", "seed")
"""The options on which the engines' answers depend."""
Json = dict[str, Any]


class Position(NamedTuple):
    """A position of a recorded game. Move `move` of the game, counted from 1, is chosen anew."""

    number: int
    game: int
    path: Path
    sgf: SgfGame
    move: int

    def reached(self) -> Game:
        """Return the game up to this position."""
        return self.sgf.to_game(self.move)

    @property
    def colour(self) -> int:
        """The side that moves."""
        return self.sgf.moves[self.move - 1].colour

    def point(self, vertex: str) -> int | None:
        """Return the point of an engine's answer; None if it is no legal move."""
        game = self.reached()
        try:
            point = from_vertex(vertex, game.width, game.height)
        except VertexError:
            return None
        return point if game.is_legal(self.colour, point) else None


def write_games(records: Path, folder: Path, first: int, last: int) -> None:
    """Write games of a file of `nobi records` as SGF files, so that one can look at them."""
    read = load_records(RecordsConfig(path=str(records)))
    folder.mkdir(exist_ok=True)
    for number in range(first, min(last, len(read.offsets) - 1)):
        komi = float(read.komi[number])
        game = Game(SIZE, SIZE, komi=DEFAULT_KOMI if math.isnan(komi) else komi)
        try:
            for index, cell in enumerate(read.moves[read.offsets[number] : read.offsets[number + 1]].tolist()):
                colour = (BLACK, WHITE)[(int(read.first_player[number]) + index) % 2]
                game.play_lenient(colour, PASS if cell == SIZE**2 else point_at(cell % SIZE, cell // SIZE))
        except RuleViolation:  # it had a handicap, of which such files say nothing
            continue
        write_whole(folder / f"{number:06d}.sgf", to_sgf(game).encode(), PUBLIC)


def read_games(folder: Path, first: int, last: int) -> list[tuple[Path, SgfGame]]:
    """Read those games of a folder that an engine can be told: with no stones set up but a handicap's. Raises
    UserError where there is none."""
    found = []
    for path in itertools.islice(sgf_files([folder]), first, last):
        try:
            game = read_sgf(path)
            end = game.to_game()
        except SgfError:
            continue
        if game.moves and len(end.moves) == len(game.moves) and len(end.setup) == len(end.handicap):
            found.append((path, game))
    if not found:
        raise UserError(f"{folder}: has no SGF files of games without stones set up")
    return found


def positions(games: Sequence[tuple[Path, SgfGame]], seed: int) -> Iterator[Position]:
    """Yield positions: one of each game in turn, drawn at random. Their order depends on nothing else."""
    orders = [
        1 + np.random.default_rng([seed, index]).permutation(len(sgf.moves)) for index, (_, sgf) in enumerate(games)
    ]
    count = itertools.count()
    for turn, (index, (path, sgf)) in itertools.product(range(max(map(len, orders))), enumerate(games)):
        if turn < len(orders[index]) and not sgf.to_game(move := int(orders[index][turn])).is_over:
            yield Position(next(count), index, path, sgf, move)


class Answers:
    """What engines and judge have said, and the file that keeps it: its terms in line 1, then an answer a line."""

    def __init__(self, path: Path, terms: Json, judge: str) -> None:
        """Open or begin the file. What other judges than `judge` have said is not looked at. Raises UserError if it has
        other terms, and OSError."""
        self._path, self.judge, self._lock = path, judge, threading.Lock()
        self.moves: dict[tuple[int, str, int], Json] = {}
        """By the position's number, the tree and the engine."""
        self.values: dict[tuple[int, str], Json] = {}
        """By the position's number and the move."""
        content = read_regular(path, MOST_BYTES) if path.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):  # we were stopped in the middle of a line
            os.truncate(path, len(complete))
        try:
            known, *entries = [json.loads(line) for line in complete.splitlines()] or [terms]
            changed = [name for name in terms if terms[name] != known.get(name)]
            for entry in entries:
                self._take(entry)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: is no file of answers ({error}); choose another --out") from None
        if changed:
            raise UserError(f"{path}: has other terms (different {', '.join(changed)}); choose another --out")
        if not complete:
            append_regular(path, json.dumps(terms).encode() + b"\n")

    def add(self, entry: Json) -> None:
        """Keep an answer. Any thread may call this."""
        entry = entry if "tree" in entry else {"judge": self.judge, **entry}
        with self._lock:
            append_regular(self._path, json.dumps(entry).encode() + b"\n")
            self._take(entry)

    def _take(self, entry: Json) -> None:
        if "tree" in entry:
            self.moves[entry["position"], entry["tree"], entry["engine"]] = entry
        elif entry["judge"] == self.judge:
            self.values[entry["position"], entry["move"]] = entry


class Chooser(Engine):
    """An engine that is asked for moves."""

    _interval = 1
    """Centiseconds between two reports."""

    def choose(self, position: Position, visits: int, walk: int) -> Json:
        """Have the engine choose a move, after searches at its last `walk` turns before; `visits` as in Terms. Raises
        UserError if it fails."""
        game, colour, seconds = position.reached(), position.colour, self.limits.reply
        name = rules_to_sgf(game.rules).lower()
        terms = (game.width, game.height, game.komi, name, game.rules, None, visits, game.handicap)
        own = [index for index, move in enumerate(game.moves) if move.colour == colour]
        searched = own[len(own) - min(walk, len(own)) :]
        try:
            self.prepare(Terms(*terms))
            if self.client.knows("clear_cache", seconds):
                self.client.send("clear_cache", seconds)
            for index, move in enumerate(game.moves):
                if index in searched:
                    self._search(colour)
                self.play(move.colour, move.point, game.height, seconds)
            return self._search(colour)
        except GtpFailure as refusal:
            return {"move": "", "refusal": str(refusal)}
        except EngineError as error:
            raise UserError(f"{self.label}: {error}; its last words: {self.last_words() or 'none'}") from None

    def _search(self, colour: int) -> Json:
        name, began = COLOUR_NAMES[colour], time.monotonic()
        if not self.client.knows(SEARCH, self.limits.reply):
            return {"move": self.client.send(f"reg_genmove {name}", LONGEST_SEARCH).upper()}
        question = f"{SEARCH} {name} {self._interval} rootInfo true"
        text = self.client.send(question, LONGEST_SEARCH, MOST_REPORTED)
        self._interval = max(1, round(time.monotonic() - began))
        visits = [int(number) for number in ROOT_VISITS.findall(text)] or [0]
        last = ["", *(line for line in text.splitlines() if line.startswith("info"))][-1]
        moves = {move.upper(): int(edge or count) for move, count, edge in MOVE_VISITS.findall(last)}
        return {"move": text.split()[-1].upper(), "visits": visits[-1], "at_once": visits[0], "moves": moves}


def ask_all(answers: Answers, asked: Sequence[Position], options: Any) -> None:
    """Ask the engines what they have not answered yet, each in several processes. Raises UserError."""
    kinds = list(itertools.product(TREES, range(len(options.engines))))
    missing = [each for each in asked if any((each.number, *kind) not in answers.moves for kind in kinds)]
    commands = {
        f"engine {letter}": engine_command(text) for letter, text in zip(LETTERS, options.engines, strict=False)
    }
    tables = [
        [Chooser(command, label) for label, command in commands.items()]
        for _ in range(min(options.parallel, len(missing)))
    ]
    done = itertools.count(len(asked) - len(missing) + 1)

    def choose(unit: Unit, place: int) -> bytes:
        position = asked[int(unit.arguments)]
        for tree, engine in kinds:
            if (position.number, tree, engine) not in answers.moves:
                answer = tables[place][engine].choose(position, options.visits, options.walk if tree == "kept" else 0)
                answers.add({"position": position.number, "tree": tree, "engine": engine, **answer})
        return b""

    def tell(_unit: Unit, _nothing: bytes) -> None:
        print(f"{next(done)} of {len(asked)} positions", end="\r", file=sys.stderr)

    units = (Unit(f"position {each.number}", "choose", str(asked.index(each)).encode()) for each in missing)
    try:
        Pool(len(tables), choose).run([Batch("positions", units)], tell)
    finally:
        for chooser in itertools.chain(*tables):
            chooser.stop()


def judge_all(answers: Answers, asked: Sequence[Position], options: Any) -> None:
    """Have the judge value the moves that differ, as far as it has not yet. Raises EvaluatorError."""
    player: PuctPlayer | None = None
    for position, tree, engine in itertools.product(asked, TREES, range(1, len(options.engines))):
        moves = {answers.moves[position.number, tree, each]["move"] for each in (0, engine)}
        points = {move: position.point(move) for move in moves}
        for move, point in points.items() if len(moves) == 2 and None not in points.values() else ():
            if point is not None and (position.number, move) not in answers.values:
                player = player or judge(options.judge)
                lead, winrate = value(player, options.judge_visits, position, point)
                answers.add({"position": position.number, "move": move, "points": lead, "winrate": winrate})
    if player is not None:
        player.close()


def judge(network: str) -> PuctPlayer:
    """Open a network by its name or file, for searches without chance. Raises UserError and EvaluatorError."""
    parameters = SearchParameters(workers=1, random_symmetry=False, analysis_wide_root_noise=0.0, seed=1)
    return PuctPlayer(open_network(network_path(network) or network), parameters)


def value(player: PuctPlayer, visits: int, position: Position, point: int) -> tuple[float, float]:
    """Return the lead in points and the winrate, 0..1, of the side that moves, after this move of it."""
    colour, after = position.colour, position.reached()
    after.play(colour, point)
    if after.is_no_result:
        return 0.0, 0.5
    if after.is_over and after.rules.scoring == SCORING_AREA and not after.rules.friendly_pass:
        lead = after.score() if colour == WHITE else -after.score()
        return lead, 0.5 + 0.5 * float(np.sign(lead))
    if after.is_over:  # the players agree on what is dead; the network knows it while the game goes on
        after.undo()
        after.undo()
    limits = Limits(visits=visits, may_stop_early=False)
    result = player.search(SearchRequest(after, after.to_play, limits, analysis=True, fresh=True))
    own = result.colour == colour
    return (result.lead, result.winrate) if own else (-result.lead, 1.0 - result.winrate)


def apart(one: dict[str, int], two: dict[str, int]) -> float | None:
    """Return the total variation, 0..1, between the shares that moves have of two searches' visits; None if a search
    did not tell them."""
    totals = sum(one.values()), sum(two.values())
    if min(totals) == 0:
        return None
    return 0.5 * sum(abs(one.get(move, 0) / totals[0] - two.get(move, 0) / totals[1]) for move in {*one, *two})


def differences(answers: Answers, asked: Sequence[Position], engines: int) -> Iterator[Json]:
    """Yield how much better an engine's move is than the first engine's, and how far their visits are apart, wherever
    both chose a move."""
    nothing = dict.fromkeys(FIGURES, 0.0)
    for position, tree, engine in itertools.product(asked, TREES, range(1, engines)):
        said = [answers.moves[position.number, tree, each] for each in (0, engine)]
        moves = [entry["move"] for entry in said]
        is_same = moves[0] == moves[1] and position.point(moves[0]) is not None
        one, two = (nothing if is_same else answers.values.get((position.number, move)) for move in moves)
        if one is not None and two is not None:
            place = {"file": str(position.path), "game": position.game, "move": position.move}
            gains = {name: two[name] - one[name] for name in FIGURES}
            distance = apart(*(entry.get("moves", {}) for entry in said))
            yield {**place, "tree": tree, "engine": LETTERS[engine], "moves": moves, "apart": distance, **gains}


def parts_of(difference: Json, bounds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the parts of the games in which a difference counts, each with its place in the output."""
    starts = [0, *sorted(bounds)]
    phase = sum(difference["move"] > start for start in starts)
    yield 0, "all moves"
    yield phase, f"moves {starts[phase - 1]}" + (f"-{starts[phase] - 1}" if phase < len(starts) else "+")
    half = difference["game"] // 2 % 2
    yield len(starts) + 1 + half, f"half {1 + half}"


def mean(values: Sequence[float], games: Sequence[int]) -> Json:
    """Return the mean of values, and half of its 95 % interval by a bootstrap over their games; None for one game."""
    places = np.unique(games, return_inverse=True)[1]
    sums, counts = np.bincount(places, values), np.bincount(places)
    drawn = np.random.default_rng(1).integers(0, len(counts), (RESAMPLES, len(counts)))
    spread = float((sums[drawn].sum(1) / counts[drawn].sum(1)).std())
    return {"mean": float(np.mean(values)), "radius": Z_95 * spread if len(counts) > 1 else None}


def average(rows: Sequence[Json], name: str) -> Json | None:
    """Return the `mean` of a figure over the rows that have it; None if none does."""
    known = [row for row in rows if row[name] is not None]
    return mean([row[name] for row in known], [row["game"] for row in known]) if known else None


def outcome(answers: Answers, asked: Sequence[Position], engines: Sequence[str], bounds: Sequence[int]) -> Json:
    """Return the result: what the searches had, the comparisons by parts of the games, and the largest differences."""
    searches = []
    for tree, engine in itertools.product(TREES, range(len(engines))):
        said = [answers.moves[each.number, tree, engine] for each in asked]
        visits = {name: sum(entry.get(name, 0) for entry in said) / len(said) for name in ("visits", "at_once")}
        refusals = sorted({entry["refusal"] for entry in said if "refusal" in entry})
        searches.append({"tree": tree, "engine": LETTERS[engine], **visits, "refusals": refusals})
    found = list(differences(answers, asked, len(engines)))
    parts: defaultdict[tuple[str, str, tuple[int, str]], list[Json]] = defaultdict(list)
    for each in found:
        for part in parts_of(each, bounds):
            parts[each["engine"], each["tree"], part].append(each)
    comparisons = []
    for (engine_name, tree, (_, part_name)), rows in sorted(parts.items(), key=lambda item: item[0]):
        counts = {"positions": len(rows), "different": sum(row["moves"][0] != row["moves"][1] for row in rows)}
        counts["better"] = sum(row["winrate"] > 0 for row in rows)
        means = {name: average(rows, name) for name in (*FIGURES, "apart")}
        comparisons.append({"engine": engine_name, "tree": tree, "part": part_name, **counts, **means})
    return {
        "engines": dict(zip(LETTERS, engines, strict=False)),
        "judge": answers.judge,
        "positions": len(asked),
        "games": len({each.game for each in asked}),
        "searches": searches,
        "comparisons": comparisons,
        "largest": sorted(filter(itemgetter("points"), found), key=lambda row: -abs(row["points"]))[:MOST_SHOWN],
    }


def lines(result: Json) -> Iterator[str]:
    """Yield the result as text."""
    yield f"{result['positions']} positions of {result['games']} games"
    yield from (f"{letter}: {command}" for letter, command in result["engines"].items())
    yield f"judge: {result['judge']}"
    for row in result["searches"]:
        line = f"{row['tree']} trees, {row['engine']}: {row['visits']:.1f} visits, {row['at_once']:.1f} of them at once"
        yield line + "".join(f"; it refused: {text}" for text in row["refusals"])
    for row in result["comparisons"]:
        if row["part"] == "all moves":
            yield f"{row['engine']} against A, {row['tree']} trees"
        counts = f"{row['positions']:4} positions, {row['different']:4} different, {row['better']:4} better"
        shown = f"  {row['part']:13} {counts}"
        for name, unit, factor in (("points", "points", 1), ("winrate", "%", 100)):
            radius = math.nan if row[name]["radius"] is None else factor * row[name]["radius"]
            shown += f"  {factor * row[name]['mean']:+.3f} ± {radius:.3f} {unit}"
        yield shown if row["apart"] is None else f"{shown}  {100 * row['apart']['mean']:.1f} % apart"
    for row in result["largest"]:
        choice = f"A {row['moves'][0]}, {row['engine']} {row['moves'][1]}, {row['tree']} trees"
        gain = f"{row['points']:+6.1f} points {100 * row['winrate']:+4.0f} %"
        yield f"{gain}  {choice}: {row['file']} move {row['move']}"


def run(options: argparse.Namespace) -> Json:
    """Ask and judge what is missing, and return the result. Raises OSError and the errors of a user."""
    options.out.mkdir(parents=True, exist_ok=True)
    folder, first, last = options.games, options.skip, options.skip + options.most_games
    if options.records:
        folder = options.out / "games"
        write_games(options.records, folder, first, last)
        first, last = 0, options.most_games
    games = read_games(folder, first, last)
    contents = hashlib.sha256(b"".join(path.read_bytes() for path, _ in games)).hexdigest()
    terms = {"games": contents, **{name: getattr(options, name) for name in TERMS}}
    answers = Answers(options.out / "answers.jsonl", terms, f"{options.judge}, {options.judge_visits} visits")
    asked = list(itertools.islice(positions(games, options.seed), options.positions))
    ask_all(answers, asked, options)
    judge_all(answers, asked, options)
    return outcome(answers, asked, options.engines, options.phases)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign and print its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="+", metavar="ENGINE", help="two GTP engines' commands or more")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--games", type=Path, help="a folder of SGF files")
    source.add_argument("--records", type=Path, help="a file of `nobi records`")
    parser.add_argument("--skip", type=int, default=0, help="games at the start that are not taken")
    parser.add_argument("--most-games", type=int, default=200, help="how many are taken")
    parser.add_argument("--positions", type=int, default=240)
    parser.add_argument("--phases", type=int, nargs="*", default=[50, 150], help="moves after which a phase begins")
    parser.add_argument("--walk", type=int, default=3, help="own turns before the position, for kept trees")
    parser.add_argument("--visits", type=int, default=0, help="of all engines; 0: what their commands say")
    parser.add_argument("--judge", required=True, help="a network's name or file")
    parser.add_argument("--judge-visits", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=1, help="processes of each engine")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of positions")
    parser.add_argument("--out", type=Path, required=True, help="folder for the answers; those found there are kept")
    parser.add_argument("--json", type=Path, help="file for the result as JSON")
    options = parser.parse_args(arguments)
    if len(options.engines) < 2 or min(options.walk, options.positions, options.most_games, options.parallel) < 1:
        parser.error("two engines are needed, and numbers above 0")
    try:
        result = run(options)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    except Exception as error:
        if not is_of_user(error) and not isinstance(error, OSError):
            raise
        print(explain(error), file=sys.stderr)
        return 1
    print("\n".join(lines(result)))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
