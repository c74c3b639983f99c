"""The optimisers, Muon for large matrices and AdamW for the rest; the schedule of the learning rate; and the average of
the weights."""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from training.config import OptimiserConfig
from training.devices import is_faster_in_bf16
from training.network import Network

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
ADAMW_LIKE = 0.2
"""Root mean square of an orthogonal update times the root of its longer side. AdamW's updates have about the same, so
both can have one learning rate."""

ADAM_BETAS = (0.9, 0.99)

BLOCKS = "blocks."
"""Start of the names of all weights in blocks."""
POOLED = "to_bias.weight"
"""End of the names of the matrices that turn pooled values into biases."""
OTHERS_RATE = 0.3
"""Share of the learning rate for what AdamW moves, where a student begins with a network that must not forget its
heads."""
POOLED_RATE = 0.005
"""Share of the learning rate for these matrices. AdamW moves each weight by about the rate, and the inputs of these add
up to 200 and more: at the full rate a bias would move by a fifth in one step, and its channel soon never fire again."""


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonal updates of matrices (Jordan et al., "Muon", 2024), scaled as in Liu et al., "Muon is
    scalable for LLM training" (2025). Convolutions [out, in, y, x] count as matrices [out, in * y * x]."""

    def __init__(self, parameters: Any, lr: float, momentum: float, weight_decay: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Update all parameters by their gradients."""
        assert closure is None
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[parameter.shape].append(parameter)
            for parameters in by_shape.values():
                self._step(parameters, group)

    def _step(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        """Update all matrices of one shape together: on a GPU, a kernel launch for each would cost more."""
        updates = []
        for parameter in parameters:
            assert parameter.grad is not None
            state = self.state[parameter]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(parameter)
            momentum = state["momentum"]
            momentum.lerp_(parameter.grad, 1.0 - group["momentum"])
            updates.append(parameter.grad.lerp(momentum, group["momentum"]).flatten(1))  # Nesterov
        matrices = orthogonal(torch.stack(updates))
        rows, columns = matrices.shape[1:]
        scale = -group["lr"] * ADAMW_LIKE * max(rows, columns) ** 0.5
        for parameter, matrix in zip(parameters, matrices, strict=True):
            parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
            parameter.add_(matrix.view(parameter.shape), alpha=scale)


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices close to the nearest (semi-)orthogonal ones of [B, m, n], by Newton-Schulz steps: all singular
    values are near 1."""
    a, b, c = NEWTON_SCHULZ
    x = matrices.bfloat16() if is_faster_in_bf16(matrices.device) else matrices
    is_tall = x.shape[1] > x.shape[2]
    x = x.mT if is_tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return (x.mT if is_tall else x).to(matrices.dtype)


def rate_share(step: int, warm_up: int, spent: float, decay_share: float) -> float:
    """Share of the full learning rate at a leg's `step` (0, 1, ...), when `spent` (0 to 1) of its budget is used up.

    It rises linearly over `warm_up` steps, stays, and falls linearly to zero over the last `decay_share` of the budget:
    the shape of Hägele et al., "Scaling laws and compute-optimal training beyond fixed training durations" (2024).
    """
    warm = min(1.0, (step + 1) / (warm_up + 1))
    return warm * min(1.0, max(0.0, (1.0 - spent) / decay_share)) if decay_share > 0 else warm


def is_large(name: str, parameter: Tensor) -> bool:
    """Return whether the weights of this name are a matrix or convolution of a block, or a 3x3 convolution."""
    if name.startswith(BLOCKS):
        return parameter.ndim in (2, 4)
    return parameter.ndim == 4 and parameter.shape[-1] > 1


class Optimisers:
    """The optimisers of a run, used as one."""

    def __init__(self, network: nn.Module, config: OptimiserConfig, others_rate: float = 1.0) -> None:
        """Share out the parameters of `network`: its large matrices to Muon, and all others to AdamW, at the share
        `others_rate` of the learning rate or less."""
        self._config = config
        large, matrices, pooled, vectors = [], [], [], []
        for name, parameter in network.named_parameters():
            if name.endswith(POOLED):
                pooled.append(parameter)
            elif is_large(name, parameter):
                large.append(parameter)
            elif parameter.ndim in (2, 4):
                matrices.append(parameter)
            else:
                vectors.append(parameter)
        rate, decay = config.rate, config.weight_decay
        groups = [
            {"params": matrices, "weight_decay": decay, "share": others_rate},
            {"params": pooled, "weight_decay": decay, "share": POOLED_RATE},
            {"params": vectors, "weight_decay": 0.0, "share": others_rate},
        ]
        groups = [group for group in groups if group["params"]]
        on_cuda = next(network.parameters()).is_cuda
        adamw = torch.optim.AdamW(groups, rate, ADAM_BETAS, fused=on_cuda)
        self.parts: list[torch.optim.Optimizer] = [Muon(large, rate, config.momentum, decay), adamw]
        self._parameters = list(network.parameters())

    def step(self, rate_share: float) -> Tensor:
        """Clip the gradients, update at this share of the learning rate, and clear the gradients. Return the norm that
        they had before."""
        norm = nn.utils.clip_grad_norm_(self._parameters, self._config.clip)
        for optimiser in self.parts:
            for group in optimiser.param_groups:
                group["lr"] = self._config.rate * rate_share * group.get("share", 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return norm

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the state of each optimiser, for a checkpoint."""
        return [optimiser.state_dict() for optimiser in self.parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Restore the state of each optimiser. Momentum, weight decay and the like stay as configured."""
        for optimiser, state in zip(self.parts, states, strict=True):
            options = [{name: group[name] for name in group if name != "params"} for group in optimiser.param_groups]
            optimiser.load_state_dict(state)
            for group, own in zip(optimiser.param_groups, options, strict=True):
                group.update(own)


class Average:
    """The exponential moving average of a network's weights, which is measured and shipped."""

    def __init__(self, network: Network, decay: float) -> None:
        self.network = copy.deepcopy(network).requires_grad_(False).eval()
        self._decay = decay
        self._updates = 0

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move towards the weights of `network`; quickly at first, so that the start is forgotten."""
        self._updates += 1
        decay = min(self._decay, self._updates / (self._updates + 10.0))
        torch._foreach_lerp_(list(self.network.parameters()), list(network.parameters()), 1.0 - decay)

    def state_dict(self) -> dict[str, Any]:
        """Return the average and how often it was updated, for a checkpoint."""
        return {"weights": self.network.state_dict(), "updates": self._updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.network.load_state_dict(state["weights"])
        self._updates = int(state["updates"])
