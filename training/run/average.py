"""The mean of the weights of several networks, which is often better than each of them.

Networks of one shape that learned on from the same weights lie close together, so that their mean is a network too, and
there is less in it of what each of them learned by chance. In the mean of networks that
are too far apart the side to move is underrated, which `nobi yardstick` shows as a bias.

Sources: Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018; Wortsman et al.,
"Model soups", 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nets.katago.model import Rope
from training.errors import TrainingError
from training.network import Network
from training.run.trained_network import TrainedNetwork, progress_of
from training.student.beginning import read_student, shape_name


def average_networks(files: Sequence[Path]) -> TrainedNetwork:
    """Average the weights of one or more networks that can learn. One that is named several times counts as often.

    The mean counts as drawn from as many samples as the network that learned longest. Raises TrainingError where a file
    has no such network, or one of another shape than the first.
    """
    models = [read_student(file) for file in files]
    progress = [progress_of(model, file) for model, file in zip(models, files, strict=True)]
    origins = [each.origin for each in progress]
    for file, model, origin in zip(files, models, origins, strict=True):
        if not is_alike(model, models[0]):
            raise TrainingError(f"{file}: of another shape than {files[0]}")
        if origin.pass_alive_under_suicide != origins[0].pass_alive_under_suicide:
            raise TrainingError(f"{file}: it counts pass-alive groups in another way than {files[0]}")
    samples = max(each.samples for each in progress)
    shares = Counter(model.name for model in models)
    mean = _mean([Network(model) for model in models])
    model = mean.to_model(
        f"nobi-{shape_name(mean.model)}-s{samples}-mean{len(shares)}",
        has_optimistic=all(origin.has_optimistic for origin in origins),
        pass_alive_under_suicide=origins[0].pass_alive_under_suicide,
    )
    facts = {
        "name": model.name,
        "parameters": mean.parameter_count,
        "positions": samples,
        "steps": max(each.step for each in progress),
        "teachers": list(dict.fromkeys(teacher for origin in origins for teacher in origin.teachers)),
        "mean_of": dict(shares),
    }
    began_as = dict.fromkeys(each.began_as for each in progress if each.began_as)
    if began_as:
        facts["began_as"] = ", ".join(began_as)
    return TrainedNetwork(model, facts)


def is_alike(one: Any, other: Any) -> bool:
    """Return whether two networks, or parts of them, differ in nothing but names and what learns."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.shape == other.shape
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_alike, one, other))
    if isinstance(one, Rope):  # which does not learn
        return np.array_equal(one.frequencies, other.frequencies)
    if not is_dataclass(one):
        return bool(one == other)
    names = {field.name for field in fields(one)} - {"name", "pass_alive_under_suicide"}
    return all(is_alike(getattr(one, name), getattr(other, name)) for name in names)


@torch.no_grad()
def _mean(networks: Sequence[Network]) -> Network:
    """Return a network with the mean of the weights of networks of one shape."""
    mean = Network(networks[0].model)
    states = [network.state_dict() for network in networks]
    mean.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    return mean
