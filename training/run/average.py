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
from dataclasses import asdict
from pathlib import Path

import torch

from training.errors import TrainingError
from training.files import read_network
from training.run.trained_network import TrainedNetwork, progress_of
from training.student.export import to_model
from training.student.network import Student, shape_name
from training.student.restore import restore


def average_networks(files: Sequence[Path]) -> TrainedNetwork:
    """Average the weights of one or more networks that Nobi's training wrote. One that is named several times counts as
    often.

    The mean counts as drawn from as many samples as the network that learned longest. Raises TrainingError where a file
    is no such network, or of another shape than the first one.
    """
    models = [read_network(file) for file in files]
    students = [restore(model) for model in models]
    progress = [progress_of(model, file) for model, file in zip(models, files, strict=True)]
    origins = [each.origin for each in progress]
    for file, student, origin in zip(files, students, origins, strict=True):
        if student.config != students[0].config:
            raise TrainingError(f"{file}: of another shape than {files[0]}")
        if origin.pass_alive_under_suicide != origins[0].pass_alive_under_suicide:
            raise TrainingError(f"{file}: it counts pass-alive groups in another way than {files[0]}")
    samples = max(each.samples for each in progress)
    shares = Counter(model.name for model in models)
    mean = _mean(students)
    model = to_model(
        mean,
        f"nobi-{shape_name(mean.config)}-s{samples}-mean{len(shares)}",
        has_optimistic=all(origin.has_optimistic for origin in origins),
        pass_alive_under_suicide=origins[0].pass_alive_under_suicide,
    )
    facts = {
        "name": model.name,
        "shape": asdict(mean.config),
        "parameters": mean.parameter_count,
        "positions": samples,
        "steps": max(each.step for each in progress),
        "teachers": list(dict.fromkeys(teacher for origin in origins for teacher in origin.teachers)),
        "mean_of": dict(shares),
    }
    return TrainedNetwork(model, facts)


@torch.no_grad()
def _mean(students: Sequence[Student]) -> Student:
    """Return a student with the mean of the weights of students of one shape."""
    mean = Student(students[0].config)
    states = [student.state_dict() for student in students]
    mean.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    return mean
