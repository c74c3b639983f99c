"""The names of the files in a run's folder, and the shape of the network in it.

    training.toml     the configuration it was started with
    start.bin.gz      the network that it began with, if not with random weights; start.json has its provenance
    checkpoint.pt     the present state
    student.bin.gz    the average of the weights as a KataGo file, which the engine opens
    leg1.bin.gz, ...  what that was at the ends of legs
    student.json      its provenance and figures
    progress.jsonl    losses and yardstick figures; plots/ shows them

`nobi learn` adds the strongest network so far, the candidate that is to replace it, and the games of both.
"""

from __future__ import annotations

from pathlib import Path

from training.config import DEFAULT_NETWORK, NetworkConfig, read_config

CONFIG, CHECKPOINT, LEG = "training.toml", "checkpoint.pt", "leg"
START, START_CARD = "start.bin.gz", "start.json"
LOG = "progress.jsonl"
STUDENT, CARD = "student.bin.gz", "student.json"
BEST, BEST_CARD = "best.bin.gz", "best.json"
CANDIDATE, CANDIDATE_CARD = "candidate.bin.gz", "candidate.json"
SELFPLAY, MATCHES, GENERATIONS = "selfplay", "matches", "learn.json"


def card_beside(network: Path) -> Path:
    """Return the path of the file NAME.json with the provenance of a network NAME.bin.gz."""
    return network.with_name(network.name.removesuffix(".bin.gz") + ".json")


def kept_shape(folder: Path) -> NetworkConfig:
    """Return the network's shape in the configuration of a run's folder, or the default one where it has none. Raises
    TrainingError."""
    own = folder / CONFIG
    return read_config(own).network if own.exists() else DEFAULT_NETWORK
