"""The names of the files in a run's folder.

    training.toml     the configuration it was started with
    checkpoint/       the present state
    leg1/, ...        the states at the ends of legs
    student.bin.gz    the average of the weights as a KataGo file, which the engine opens
    student.json      its provenance and figures
    progress.jsonl    losses and yardstick figures; plots/ shows them

`nobi learn` adds the strongest network so far, the candidate that is to replace it, and the games of both.
"""

from __future__ import annotations

CONFIG, CHECKPOINT, LEG = "training.toml", "checkpoint", "leg"
LOG = "progress.jsonl"
STUDENT, CARD = "student.bin.gz", "student.json"
BEST, BEST_CARD = "best.bin.gz", "best.json"
CANDIDATE, CANDIDATE_CARD = "candidate.bin.gz", "candidate.json"
SELFPLAY, MATCHES, GENERATIONS = "selfplay", "matches", "learn.json"
