"""Networks with random weights, of every model version and kind of block, evaluated by KataGo and by us.

    python -m tests.campaigns.against_katago --katago "katago" [--positions 3]

Prints a line for each network with the largest difference of `kata-raw-nn`'s figures, relative to the larger of 1 and
KataGo's; the exit status is 1 if one exceeds the limit.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from go_rules.game import Game
from go_rules.rule_names import preset
from gtp_engine.gtp.commands.analysis import raw_text
from nets.human_profile import parse_profile
from nets.open import open_network
from tests.campaigns.katago import raw_evaluations
from tests.go_rules.random_play import play_randomly
from tests.nets.random_networks import RandomNetwork

LIMIT = 1.1e-3
"""Some figures have three digits, and the last may be rounded otherwise; what agrees differs by 1e-6 or so."""
SIZE = 9
RULES = {"area": ("chinese-ogs", "tromp-taylor"), "all": ("chinese-ogs", "japanese", "stone-scoring", "aga-button")}
"""KataGo has networks of version 6 and older judge area scoring with superko only."""
PROFILES = ("preaz_5k", "rank_9d_20k", "proyear_1990")
Blocks = list[dict[str, Any]]
ORDINARY, POOLING = {"kind": "ordinary_block"}, {"kind": "gpool_block"}
NESTED: dict[str, Any] = {"kind": "nested_bottleneck_block", "inner": ("ordinary_block", "gpool_block")}
ATTENTION, FEED_FORWARD = {"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"}


def networks() -> Iterator[tuple[str, RandomNetwork, Blocks, dict[str, Any]]]:
    """Name, network to be written, blocks and options."""
    for version in range(3, 18):
        blocks: Blocks = [ORDINARY, POOLING, *([NESTED] if version >= 11 else [])]
        yield f"version {version}", RandomNetwork(version, channels=16), blocks, {}
    for name in ("IDENTITY", "MISH", "SILU"):
        yield name, RandomNetwork(14, activation=f"ACTIVATION_{name}", channels=16), [ORDINARY, POOLING, NESTED], {}
    for version in (15, 16, 17):
        network = RandomNetwork(version, activation="ACTIVATION_MISH", channels=16)
        yield f"HumanSL version {version}", network, [ORDINARY, NESTED], {"meta": True}
    for tip in ("batch", "rms", "rms_spatial"):
        yield f"tip {tip}", RandomNetwork(17, channels=16), [ORDINARY, ATTENTION, FEED_FORWARD, POOLING], {"tip": tip}
    for options in ({"rope": "learned"}, {"rope": "none"}, {"heads": 6, "kv_heads": 1, "sizes": (6, 5)}):
        yield f"attention {options}", RandomNetwork(17, channels=16), [{**ATTENTION, **options}], {}
    yield "text", RandomNetwork(17, channels=16, binary=False), [ORDINARY, ATTENTION], {"policy_channels": 4}


def random_game(rules: str, seed: int) -> Game:
    """A game that has come far enough for some chains to live for certain."""
    game = Game(SIZE, SIZE, preset(rules)[0], 6.5)
    play_randomly(game, random.Random(seed), 40 + 30 * seed, passes=0.0)
    return game


def figures(text: str) -> list[float]:
    """All numbers of an answer in order; NAN, for illegal moves, as -9."""
    words = text.replace("NAN", "-9").split()
    return [float(word) for word in words if not word[0].isalpha()]


def difference(ours: str, theirs: str) -> float:
    a, b = figures(ours), figures(theirs)
    if len(a) != len(b):
        return float("inf")
    return max(abs(x - y) / max(1.0, abs(y)) for x, y in zip(a, b, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--katago", required=True, help="KataGo's command")
    parser.add_argument("--positions", type=int, default=3)
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        for title, network, blocks, settings in networks():
            network.write(blocks, **settings)
            path = Path(name) / ("network.bin.gz" if network.binary else "network.txt.gz")
            path.write_bytes(network.compressed())
            profiles = PROFILES if "meta" in settings else ()
            kinds = RULES["area" if network.version < 7 else "all"]
            games = [(rules, random_game(rules, seed)) for rules in kinds for seed in range(options.positions)]
            answers = raw_evaluations(options.katago, path, games, profiles)
            evaluator: Any = open_network(path, "fp32", profile=parse_profile(profiles[0]) if profiles else None)
            player: Any = SimpleNamespace(evaluator=evaluator)
            ours = []
            for _, game in games:
                for profile in profiles or ("",):
                    if profile:
                        evaluator.use_profile(parse_profile(profile))
                    ours.append(raw_text(player, game, game.to_play, 0))
            largest = max(difference(a, b) for a, b in zip(ours, answers, strict=True))
            worst = max(worst, largest)
            print(f"{title:42} {largest:.1e} over {len(ours)} evaluations", flush=True)
    print(f"largest difference {worst:.1e}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
