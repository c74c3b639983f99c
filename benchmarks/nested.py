"""Writes networks with random weights, to measure the speed of a shape before any network of it is trained.

`b18c384nbt` has the shape of KataGo's newer networks: 18 nested bottlenecks of 384 channels, mish, and every third
block with a pooling one inside. `b6c64` has 6 ordinary blocks of 64 channels and ReLU. `b12c128mix` has 12 blocks that
are in turn an ordinary one, attention and feed-forward; `b6c256nbtmix` has 6 nested bottlenecks with these three and a
pooling block inside. Any numbers can stand there.

    python -m benchmarks.nested b10c128nbt b6c64 FOLDER
    nobi benchmark --net FOLDER/b6c64.bin.gz --precision fp32,int16 --size 9,13,19
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tests.nets.random_networks import RandomNetwork

NAME = re.compile(r"b(\d+)c(\d+)(nbt)?(mix)?")
POOLING_EVERY = 3


def content(blocks: int, channels: int, is_nested: bool, is_mixed: bool) -> bytes:
    """The file of a network of so many blocks."""
    heads = (48, 48, 96, 128) if channels > 128 else (32, 32, 64, 80)
    middle = channels // 2 if is_nested else channels
    pooled = max(32, middle // 3 // 8 * 8)
    ordinary = {"kind": "ordinary_block", "middle": middle}
    pooling = {"kind": "gpool_block", "sizes": (middle - pooled, pooled)}
    attention = {
        "kind": "transformer_attention_block",
        "heads": middle // 32,
        "kv_heads": middle // 32,
        "sizes": (32, 32),
    }
    mixed = [ordinary, attention, {"kind": "transformer_ffn_block", "hidden": middle * 8 // 3 // 32 * 32}]
    layers: list[dict[str, Any]] = [ordinary] * blocks
    if is_mixed and is_nested:
        layers = [{"kind": "nested_bottleneck_block", "middle": middle, "inner": (*mixed, pooling)}] * blocks
    elif is_mixed:
        layers = [mixed[number % len(mixed)] for number in range(blocks)]
    elif is_nested:
        layers = [
            {
                "kind": "nested_bottleneck_block",
                "middle": middle,
                "inner": (pooling if number % POOLING_EVERY == 2 else ordinary, ordinary),
            }
            for number in range(blocks)
        ]
    version, activation = (14, "ACTIVATION_MISH") if is_nested else (8, "ACTIVATION_RELU")
    if is_mixed:
        version = 15
    network = RandomNetwork(version, channels=channels, activation=activation, heads=heads)
    network.write(layers)
    return network.compressed()


def main() -> None:
    *names, folder = sys.argv[1:]
    for name in names:
        match = NAME.fullmatch(name)
        if match is None:
            sys.exit(f"nested: {name} is no shape like b18c384nbt or b40c256")
        path = Path(folder) / f"{name}.bin.gz"
        path.write_bytes(content(int(match[1]), int(match[2]), bool(match[3]), bool(match[4])))
        print(path)


if __name__ == "__main__":
    main()
