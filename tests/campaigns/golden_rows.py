"""The golden rows that live in the repository: KataGo's own evaluations of positions by tiny networks of ours.

    make campaign-golden_rows ARGS="--katago KATAGO"

Writes tests/nets/golden_rows/ anew: for each network its file, and a JSON file with a row for each position, in the
form of the rows that tests/nets/golden.py reads. The networks have random weights, so their opinions mean nothing, but
every number must be KataGo's. The same seeds give the same networks and positions with the same version of numpy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from go_rules.game import Game
from go_rules.handicap import fixed_handicap
from go_rules.points import COLOUR_LETTERS, NO_POINT, PASS, board_points, to_vertex
from go_rules.rule_names import preset
from tests.campaigns.katago import raw_evaluations, version
from tests.conftest import REPOSITORY
from tests.go_rules.random_play import play_randomly
from tests.nets.random_networks import RandomNetwork

FOLDER = REPOSITORY / "tests" / "nets" / "golden_rows"
COMMAND = 'make campaign-golden_rows ARGS="--katago KATAGO"'
NETWORKS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    "convolutions": (
        {"version": 14, "activation": "ACTIVATION_MISH", "channels": 16},
        [
            {"kind": "ordinary_block"},
            {"kind": "gpool_block"},
            {"kind": "nested_bottleneck_block", "inner": ("ordinary_block", "gpool_block")},
        ],
        {},
    ),
    "transformer": (
        {"version": 17, "activation": "ACTIVATION_SILU", "channels": 16},
        [{"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"}] * 2,
        {"tip": "rms"},
    ),
}
"""Name: settings of the RandomNetwork, its blocks and its options."""

SEEDS = range(2000)
DIGITS = 5
"""Of the ownership. KataGo prints more, and the other figures with 3 and 6."""


def positions() -> Iterator[tuple[str, Game]]:
    """Twelve games, each with the name of its rules: what can differ from position to position, at least once."""

    def game(width: int, height: int, rules: str, handicap: int = 0, komi: float | None = None) -> Game:
        found = Game(width, height, *preset(rules))
        if komi is not None:
            found.set_komi(komi)
        if handicap:
            found.place_handicap(fixed_handicap(handicap, width, height))
        return found

    def played(rules: str, start: Game, moves: int, is_wanted: Callable[[Game], bool] = lambda game: True) -> Game:
        for seed in SEEDS:
            found = start.copy()
            play_randomly(found, random.Random(seed), moves, passes=0.0)
            if is_wanted(found) and not found.is_over:
                return found
        raise SystemExit(f"no random game of {moves} moves under {rules} rules is what was wanted")

    def has_ko(found: Game) -> bool:
        return bool(found.position["ko"] != NO_POINT)

    def has_superko(found: Game) -> bool:
        points = board_points(found.width, found.height)
        return any(found.violation(found.to_play, point) == "superko" for point in points)

    def passed(found: Game, times: int) -> Game:
        for _ in range(times):
            found.play(found.to_play, PASS)
        return found

    yield "chinese", game(13, 13, "chinese")
    yield "tromp-taylor", played("tromp-taylor", game(19, 19, "tromp-taylor"), 150)
    yield "japanese", played("japanese", game(13, 13, "japanese", handicap=4, komi=0.5), 60)
    yield "aga", played("aga", game(9, 9, "aga", handicap=2), 31)
    yield "chinese", played("chinese", game(9, 9, "chinese", komi=-3.0), 60, has_ko)
    yield "chinese-ogs", played("chinese-ogs", game(5, 5, "chinese-ogs"), 40, has_superko)
    yield "tromp-taylor", played("tromp-taylor", game(9, 9, "tromp-taylor"), 110)
    yield "japanese", played("japanese", game(7, 11, "japanese"), 55)
    yield "stone-scoring", played("stone-scoring", game(12, 4, "stone-scoring"), 33)
    yield "aga-button", passed(played("aga-button", game(6, 6, "aga-button"), 25), 1)
    yield "new-zealand", passed(played("new-zealand", game(7, 7, "new-zealand"), 40), 1)
    yield "korean", passed(played("korean", game(8, 8, "korean"), 50), 1)


def row_of(rules: str, game: Game, answer: str) -> dict[str, Any]:
    """A row as tests/nets/golden.py reads it, from what KataGo printed."""
    lines = answer.splitlines()
    policy, ownership = lines.index("policy"), lines.index("whiteOwnership")
    raw: dict[str, Any] = {name: float(value) for name, value in (line.split() for line in lines[1:policy])}
    rows = [line.split() for line in lines[policy + 1 : policy + 1 + game.height]]
    raw["policy"] = [[None if word == "NAN" else float(word) for word in words] for words in rows]
    raw["policyPass"] = float(lines[policy + 1 + game.height].split()[1])
    raw["ownership_white"] = [round(float(w), DIGITS) for line in lines[ownership + 1 :] for w in line.split()]
    return {
        "size": [game.width, game.height],
        "rules": rules,
        "komi": game.komi,
        "handicap": [to_vertex(point, game.height) for point in game.handicap],
        "moves": [[COLOUR_LETTERS[move.colour].lower(), to_vertex(move.point, game.height)] for move in game.moves],
        "to_play": COLOUR_LETTERS[game.to_play].lower(),
        "raw": raw,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--katago", required=True, help="KataGo's command")
    options = parser.parse_args()
    games = list(positions())
    FOLDER.mkdir(exist_ok=True)
    for name, (settings, blocks, more) in NETWORKS.items():
        network = RandomNetwork(**settings)
        network.write(blocks, **more)
        path = FOLDER / f"{name}.bin.gz"
        path.write_bytes(gzip.compress(bytes(network.content), 9, mtime=0))
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(path.read_bytes())
            answers = raw_evaluations(options.katago, copy, games)
            made_by = f"KataGo {version(options.katago, copy)} (version+network), asked by {COMMAND}"
        rows = [json.dumps(row_of(*game, answer)) for game, answer in zip(games, answers, strict=True)]
        text = f'{{"made by": {json.dumps(made_by)},\n"rows": [\n' + ",\n".join(rows) + "\n]}\n"
        (FOLDER / f"{name}.json").write_text(text)
        print(f"{name}: {path.stat().st_size} bytes of network, {len(rows)} rows of {len(text)} bytes")


if __name__ == "__main__":
    main()
