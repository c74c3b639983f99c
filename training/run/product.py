"""The network that a run leaves, as a KataGo model, and what there is to say of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch

from nets.katago.model import Model
from training.config import TrainingConfig, read_config
from training.errors import TrainingError
from training.files import write_whole
from training.katago_file import write_katago
from training.run.checkpoint import Progress, has_checkpoint, load_checkpoint
from training.run.folder import CARD, CHECKPOINT, CONFIG, LEG, STUDENT
from training.run.yardstick import Measure
from training.samples.origin import Origin
from training.student.export import to_model
from training.student.network import Student, shape_name


class Card(msgspec.Struct):
    """What is written beside a network, as far as training goes on from it."""

    name: str
    positions: int = 0
    steps: int = 0
    teachers: tuple[str, ...] = ()


class Product(NamedTuple):
    """A network and its provenance."""

    model: Model
    facts: dict[str, Any]
    """Name, shape, how many positions it was trained on, and by which teachers' labels."""


def product_of(network: Student, config: TrainingConfig, progress: Progress) -> Product:
    """Of a run's averaged weights, where it stands now."""
    model = to_model(
        network,
        f"nobi-{shape_name(config.network)}-s{progress.samples}",
        has_optimistic=config.loss.optimistic > 0 and progress.origin.has_optimistic,
        pass_alive_under_suicide=progress.origin.pass_alive_under_suicide,
    )
    facts = {
        "name": model.name,
        "shape": msgspec.to_builtins(config.network),
        "parameters": network.parameter_count,
        "positions": progress.samples,
        "steps": progress.step,
        "teachers": list(progress.origin.teachers),
    }
    return Product(model, facts)


def learned_by(model: Model, file: Path) -> Progress:
    """What a network had learned, by the card beside its file, NAME.json beside NAME.bin.gz: nothing where that lacks,
    or is another network's. Raises TrainingError."""
    card = file.with_name(file.name.removesuffix(".bin.gz") + ".json")
    origin = Origin((), _has_optimistic(model), model.pass_alive_under_suicide)
    try:
        facts = msgspec.json.decode(card.read_bytes(), type=Card)
    except FileNotFoundError:
        return Progress(origin=origin)
    except OSError as error:
        raise TrainingError(f"{card}: {error.strerror or error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise TrainingError(f"{card}: damaged; remove it, and the network counts as of unknown origin") from None
    if facts.name != model.name:
        return Progress(origin=origin)
    return Progress(facts.steps, facts.positions, origin=msgspec.structs.replace(origin, teachers=facts.teachers))


def _has_optimistic(model: Model) -> bool:
    """Whether it learned an optimistic policy; else the plain one stands in for it (training/student/export.py)."""
    plain, optimistic = model.policy.second.weights
    return not np.array_equal(plain, optimistic)


def product_of_run(folder: Path) -> Product:
    """Of a run's last finished leg, or of the leg in progress. Neither teacher nor samples are needed. Raises
    TrainingError."""
    present = folder / CHECKPOINT
    if not has_checkpoint(present):
        raise TrainingError(f"{folder}: there is no checkpoint to export")
    cpu = torch.device("cpu")
    checkpoint = load_checkpoint(present, cpu)
    ended = folder / f"{LEG}{checkpoint.progress.legs}"
    if checkpoint.progress.leg_budget <= 0 and has_checkpoint(ended):
        checkpoint = load_checkpoint(ended, cpu)
    config = read_config(folder / CONFIG)
    network = Student(config.network)
    try:
        network.load_state_dict(checkpoint.average["weights"])
    except (RuntimeError, KeyError):
        raise TrainingError(f"{folder}: its checkpoint is not of the network that {CONFIG} describes") from None
    return product_of(network, config, checkpoint.progress)


def write_product(folder: Path, product: Product, measures: tuple[Measure, Measure] | None) -> None:
    """Write a run's network and what there is to say of it. Raises TrainingError."""
    facts = dict(product.facts)
    if measures is not None:
        facts["yardstick"] = {"19x19": asdict(measures[0]), "smaller": asdict(measures[1])}
    write_katago(product.model, folder / STUDENT)
    write_whole(folder / CARD, json.dumps(facts, indent=1).encode() + b"\n")
