"""The network that a run has trained, as a KataGo model, with its provenance."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch

from nets.katago.model import Model
from nets.katago.writer import encode_model
from training.config import TrainingConfig, read_config
from training.errors import TrainingError
from training.files import CARD, CHECKPOINT, CONFIG, LEG, START, STUDENT, card_beside, named_errors, write_whole
from training.labels.samples import Origin
from training.network import Network
from training.run.checkpoint import Progress, load_checkpoint
from training.student.beginning import random_model, read_student, shape_name
from training.yardstick import Measure


class Card(msgspec.Struct):
    """The part of the file beside a network, student.json, that training needs to go on from it."""

    name: str
    positions: int = 0
    steps: int = 0
    teachers: tuple[str, ...] = ()
    began_as: str = ""


class TrainedNetwork(NamedTuple):
    """A network and its provenance."""

    model: Model
    facts: dict[str, Any]
    """Its name, how many positions it was trained on, and the names of its teachers."""


def describe_network(network: Network, config: TrainingConfig, progress: Progress) -> TrainedNetwork:
    """Convert the average of a run's weights, at this progress of the run."""
    model = network.to_model(
        f"nobi-{shape_name(network.model)}-s{progress.samples}",
        has_optimistic=config.loss.optimistic > 0 and progress.origin.has_optimistic,
        pass_alive_under_suicide=progress.origin.pass_alive_under_suicide,
    )
    facts = {
        "name": model.name,
        "parameters": network.parameter_count,
        "positions": progress.samples,
        "steps": progress.step,
        "teachers": list(progress.origin.teachers),
    }
    if progress.began_as:
        facts["began_as"] = progress.began_as
    return TrainedNetwork(model, facts)


def progress_of(model: Model, file: Path) -> Progress:
    """Return the progress that NAME.json tells of the network in NAME.bin.gz. Where that file is missing or is about
    another network there is none, and the network counts as its own teacher and beginning: what learns on from it has
    its name in the provenance. Raises TrainingError where the file is damaged."""
    card = card_beside(file)
    has_optimistic = not np.array_equal(*model.policy.second.weights)  # if it was not learned, export made them equal
    origin = Origin((model.name,), has_optimistic, model.pass_alive_under_suicide)
    unknown = Progress(origin=origin, began_as=model.name)
    if not card.exists():
        return unknown
    try:
        with named_errors(card):
            facts = msgspec.json.decode(card.read_bytes(), type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise TrainingError(f"{card}: damaged; remove it, and the network counts as of unknown origin") from None
    if facts.name != model.name:
        return unknown
    origin = msgspec.structs.replace(origin, teachers=facts.teachers)
    # How many came from records is not told. After so many samples of records come only new ones.
    return Progress(facts.steps, facts.positions, records_drawn=facts.positions, origin=origin, began_as=facts.began_as)


def start_of(folder: Path) -> Path | None:
    """Return the network that the run in `folder` began with, or will begin with: its last leg's, where nothing else of
    it is there. None: random weights."""
    if (folder / START).exists():
        return folder / START
    is_new = not (folder / CHECKPOINT).exists() and (folder / STUDENT).exists()
    return folder / STUDENT if is_new else None


def read_trained_network(folder: Path, *others: Path) -> TrainedNetwork:
    """Read the network of a run's last leg, ended or in progress; of several runs the mean of theirs, which is of use
    where they began with the same network. It needs neither teacher nor samples. Raises TrainingError."""
    network, config, progress, _ = _read_run(folder)
    weights = [network.state_dict()]
    for other in others:
        another, _, its_progress, begun = _read_run(other)
        weights.append(another.state_dict())
        if _shape(another) != _shape(network):
            raise TrainingError(f"{other}: its network has another shape than that of {folder}")
        progress = replace(
            progress,
            step=progress.step + its_progress.step - begun.step,
            samples=progress.samples + its_progress.samples - begun.samples,
            origin=progress.origin.joined_with(its_progress.origin),
        )
    network.load_state_dict({name: torch.stack([each[name] for each in weights]).mean(0) for name in weights[0]})
    return describe_network(network, config, progress)


def _shape(network: Network) -> tuple[str, dict[str, torch.Size]]:
    return shape_name(network.model), {name: each.shape for name, each in network.state_dict().items()}


def _read_run(folder: Path) -> tuple[Network, TrainingConfig, Progress, Progress]:
    """Read a run's network, its configuration, its progress, and that with which it began. Raises TrainingError."""
    checkpoint = load_checkpoint(folder / CHECKPOINT, torch.device("cpu"))
    config = read_config(folder / CONFIG)
    start = start_of(folder)
    model = random_model(config.network, config.run.seed) if start is None else read_student(start)
    network = Network(model)
    try:
        network.load_state_dict(checkpoint.weights if checkpoint.average is None else checkpoint.average["weights"])
    except (RuntimeError, KeyError):
        raise TrainingError(f"{folder}: its checkpoint is not of the network that it began with") from None
    return network, config, checkpoint.progress, Progress() if start is None else progress_of(model, start)


def write_trained_network(
    folder: Path, trained: TrainedNetwork, measures: tuple[Measure, Measure] | None, leg: int | None = None
) -> None:
    """Write a run's network, student.bin.gz, and its provenance and figures, student.json; at the end of a `leg` also
    what keeps that leg's network. Raises TrainingError."""
    facts = dict(trained.facts)
    if measures is not None:
        facts["yardstick"] = {"19x19": asdict(measures[0]), "smaller": asdict(measures[1])}
    content = encode_model(trained.model)
    if leg is not None:
        write_whole(folder / f"{LEG}{leg}.bin.gz", content)
    write_whole(folder / STUDENT, content)
    write_whole(folder / CARD, json.dumps(facts, indent=1).encode() + b"\n")
