"""Small students, and positions to show them."""

from __future__ import annotations

from tests.training.pytorch import torch
from training.config import NetworkConfig
from training.network import Network
from training.student.beginning import random_model

SHAPE = NetworkConfig(blocks=3, channels=16, policy_channels=8, value_channels=8, value_hidden=16)
TRANSFORMER, NESTED = (
    NetworkConfig(
        kind=kind, blocks=2, channels=16, attention_heads=2, policy_channels=8, value_channels=8, value_hidden=16
    )
    for kind in ("transformer", "nested")
)
SHAPES = {"residual": SHAPE, "transformer": TRANSFORMER, "nested": NESTED}
"""A student of each kind."""


def untrained(config: NetworkConfig = SHAPE, seed: int = 3) -> Network:
    """A student as training begins with it."""
    return Network(random_model(config, seed))


def new_student(config: NetworkConfig = SHAPE, seed: int = 3) -> Network:
    """A student whose every weight matters."""
    student = untrained(config, seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
    return student


def inputs(count: int, size: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Random planes [count, 22, size, size] and global features."""
    generator = torch.Generator().manual_seed(seed)
    spatial = (torch.rand(count, 22, size, size, generator=generator) > 0.7).float()
    spatial[:, 0] = 1
    global_ = torch.rand(count, 19, generator=generator)
    global_[:, 6] = torch.arange(count) % 2  # simple ko and superko
    global_[:, 9] = 0
    return spatial, global_


def padded(spatial: torch.Tensor, canvas: int) -> torch.Tensor:
    """The same boards on a larger canvas."""
    size = spatial.shape[2]
    return torch.nn.functional.pad(spatial, (0, canvas - size, 0, canvas - size))
