"""The network in PyTorch: every kind of file computes what was written into it, on canvases too, learns, and comes back
through a file; and attention as processors compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.evaluator import Evaluation, EvaluationRequest
from nets.katago.model import Model
from nets.katago.reader import decompress, parse_model
from nets.katago.writer import encode_model
from nets.open import open_network
from tests.nets.random_networks import RandomNetwork
from tests.training.networks import inputs, padded
from tests.training.pytorch import torch
from training.errors import TrainingError
from training.files import read_network
from training.network import (
    OPTIMISTIC,
    PLAIN,
    REPLY,
    SOFT,
    Network,
    NetworkEvaluation,
    attend,
    evaluate_with,
    load_network,
    rotated,
)
from training.positions.canvas import OFF_BOARD

GOLDEN = Path(__file__).parents[1] / "nets" / "golden_rows"
CONVOLUTIONS = ({"kind": "ordinary_block", "dilation": 2}, {"kind": "gpool_block"})
ATTENTION = ({"kind": "transformer_attention_block"}, {"kind": "transformer_ffn_block"})
KINDS: dict[str, tuple[int, tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "g170": (8, CONVOLUTIONS, {}),
    "roots": (12, CONVOLUTIONS, {}),
    "convolutions": (15, CONVOLUTIONS, {}),
    "nested": (15, ({"kind": "nested_bottleneck_block", "inner": ("ordinary_block", *CONVOLUTIONS)},), {}),
    "transformer": (17, ATTENTION, {"tip": "rms", "policy_channels": 4}),
    "other transformer": (
        16,
        (
            {"kind": "transformer_attention_block", "rope": "learned", "heads": 3, "kv_heads": 3},
            {"kind": "transformer_ffn_block", "gated": False},
            {"kind": "transformer_attention_block", "rope": "none"},
        ),
        {},
    ),
    "nested transformer": (
        15,
        ({"kind": "nested_bottleneck_block", "inner": ATTENTION * 2},),
        {"tip": "rms_spatial"},
    ),
    "mixed": (15, (*CONVOLUTIONS, *ATTENTION), {}),
}
"""A network of each kind: its version, its blocks, and options of RandomNetwork.write."""
LEARN = [name for name, (version, _, _) in KINDS.items() if version >= 15]
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def random_network(kind: str) -> tuple[Model, Callable[..., dict[str, np.ndarray]]]:
    """A network of this kind, and its slow forward pass."""
    version, blocks, options = KINDS[kind]
    network = RandomNetwork(version, activation="ACTIVATION_SILU", seed=len(kind))
    forward = network.write(list(blocks), **options)
    return parse_model(bytes(network.content)), forward


@torch.no_grad()
def both(network: Network, count: int, sizes: tuple[int, int] = (9, 6)) -> list[tuple[Any, Any, dict[str, np.ndarray]]]:
    """The planes and features of positions of two sizes, and what the network makes of them on one canvas."""
    canvas = max(sizes)
    boards = [inputs(count, size, seed=size) for size in sizes]
    spatial = torch.cat([padded(planes, canvas) for planes, _ in boards])
    found = network.evaluate(spatial, torch.cat([numbers for _, numbers in boards]), False)
    results = []
    for number, ((planes, numbers), size) in enumerate(zip(boards, sizes, strict=True)):
        part = NetworkEvaluation(*(None if each is None else each[number * count :][:count] for each in found))
        points = (np.arange(size)[:, None] * canvas + np.arange(size)).ravel()
        outside = np.setdiff1d(np.arange(canvas * canvas), points)
        assert (part.policy[:, outside] == OFF_BOARD).all()
        moves = [*points, canvas * canvas]
        evaluation = {"policy": part.policy[:, moves], "value": part.value, "score": part.score}
        evaluation["ownership"] = part.ownership[:, points]
        if part.optimistic is not None:
            evaluation["optimistic"] = part.optimistic[:, moves]
        results.append((planes.numpy(), numbers.numpy(), {name: each.numpy() for name, each in evaluation.items()}))
    return results


def assert_close(given: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name, want in wanted.items():
        np.testing.assert_allclose(given[name], want, **CLOSE, err_msg=name)


def again(network: Network) -> Network:
    """The network after it was written to a file and read again."""
    content = encode_model(network.to_model("again", has_optimistic=True))
    return Network(parse_model(decompress(content))).eval()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_computes_what_its_file_says(kind: str) -> None:
    model, forward = random_network(kind)
    network = Network(model).eval()
    for planes, numbers, found in both(network, 2):
        assert_close(found, forward(planes, numbers))
        if "optimistic" in found:
            np.testing.assert_allclose(found["optimistic"], forward(planes, numbers, 1.0)["policy"], **CLOSE)
        else:
            assert not network.has_optimistic
        alone = evaluate_with(network)(planes, numbers)
        assert_close(alone._asdict(), {name: found[name] for name in Evaluation._fields})


@pytest.mark.parametrize("kind", LEARN)
def test_what_learns_comes_back_through_its_file(kind: str) -> None:
    network = Network(random_network(kind)[0]).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    for (_, _, given), (_, _, want) in zip(both(again(network), 2), both(network, 2), strict=True):
        assert_close(given, want)
    model = network.to_model("learned", has_optimistic=False, pass_alive_under_suicide=True)
    assert (model.name, model.version, model.pass_alive_under_suicide) == ("learned", 15, True)
    assert np.array_equal(*model.policy.second.weights)
    assert np.array_equal(*model.policy.pass_second.T)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["transformer", "convolutions"])
def test_the_networks_that_katago_evaluated_compute_the_same(name: str) -> None:
    path = GOLDEN / f"{name}.bin.gz"
    evaluator = open_network(path, "fp32")
    for planes, numbers, found in both(load_network(path), 3, (13, 9)):
        plain, ones = np.zeros(3, np.float32), np.ones(3, np.float32)
        assert_close(found, evaluator.evaluate(EvaluationRequest(planes, numbers, plain))._asdict())
        optimistic = evaluator.evaluate(EvaluationRequest(planes, numbers, ones)).policy
        np.testing.assert_allclose(found["optimistic"], optimistic, **CLOSE)


@pytest.mark.parametrize("kind", LEARN)
@pytest.mark.parametrize("is_low", [False, True])
def test_gradients_reach_all_that_learns(kind: str, is_low: bool) -> None:
    network = Network(random_network(kind)[0])
    spatial, global_ = inputs(4, 9)
    spatial[:2, :, 7:], spatial[:2, :, :, 7:] = 0.0, 0.0
    with torch.autocast("cpu", torch.bfloat16, enabled=is_low):
        outputs = network(spatial, global_, False)
    assert {each.dtype for each in outputs} == {torch.float32}
    on_board = torch.cat([spatial[:, 0].flatten(1), torch.ones(4, 1)], 1)
    chances = outputs.policy.softmax(2) * on_board[:, None]
    loss = sum(part.square().mean() for part in (chances, outputs.value, outputs.score / 10, outputs.ownership))
    loss.backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@pytest.mark.parametrize("kind", ["transformer", "nested transformer"])
def test_compiled_blocks_learn_the_same(kind: str) -> None:
    network = Network(random_network(kind)[0])
    spatial, global_ = inputs(3, 9)

    def gradients() -> list[torch.Tensor]:
        network.zero_grad()
        outputs = network(spatial, global_)
        (outputs.policy.log_softmax(2).square().mean() + outputs.value.square().mean()).backward()
        return [each.grad for each in network.blocks.parameters() if each.grad is not None]

    want, calls = gradients(), []
    for block in network.blocks:
        block.register_forward_pre_hook(lambda *_: calls.append(1))
        block.compile(dynamic=False, backend="aot_eager")
    network.compiled_for = frozenset()
    torch.testing.assert_close(gradients(), want)
    assert not calls
    network.compiled_for = frozenset({(3, 9)})
    torch.testing.assert_close(gradients(), want)
    assert len(calls) == len(network.blocks)
    network(*inputs(2, 9))
    with torch.no_grad():
        network(spatial, global_)
    network(spatial, global_, False)
    assert len(calls) == len(network.blocks)
    assert not network.has_wide_convolutions
    assert Network(random_network("nested")[0]).has_wide_convolutions


def test_the_policies_that_no_file_has_begin_as_they_should() -> None:
    policy = Network(random_network("mixed")[0])(*inputs(2, 9)).policy
    torch.testing.assert_close(policy[:, SOFT], policy[:, PLAIN] / 4)
    assert not policy[:, REPLY].any()
    assert not torch.equal(policy[:, PLAIN], policy[:, OPTIMISTIC])
    policy = Network(random_network("g170")[0])(*inputs(2, 9)).policy
    assert torch.equal(policy[:, PLAIN], policy[:, OPTIMISTIC])


@torch.no_grad()
def test_a_lower_precision_stays_close() -> None:
    for kind in KINDS:
        model, _ = random_network(kind)
        spatial, global_ = inputs(4, 9)
        exact = Network(model).evaluate(spatial, global_)
        with torch.autocast("cpu", torch.bfloat16):
            low = Network(model).evaluate(spatial, global_)
        assert (exact.policy.softmax(1) - low.policy.softmax(1)).abs().sum(1).mean() < 0.1
        assert (exact.value - low.value).abs().mean() < 0.02
        assert low.policy.dtype == low.value.dtype == low.ownership.dtype == torch.float32


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(b"hello")
    with pytest.raises(TrainingError, match=r"teacher\.bin\.gz"):
        load_network(path)
    with pytest.raises(TrainingError, match="No such file"):
        load_network(tmp_path / "none.bin.gz")
    old = RandomNetwork(6)
    old.write([{"kind": "ordinary_block"}])
    path.write_bytes(bytes(old.content))
    with pytest.raises(TrainingError, match="networks of this kind cannot teach"):
        load_network(path)


def test_a_written_model_is_read_as_it_was(tmp_path: Path) -> None:
    """What is neither trained nor of a network's kind stays: units, activations, epsilons."""
    model = random_network("nested transformer")[0]
    path = tmp_path / "network.bin.gz"
    path.write_bytes(encode_model(Network(model).to_model(model.name, has_optimistic=True)))
    read = read_network(path)
    assert read.multipliers == model.multipliers
    for one, other in ((read.trunk.tip, model.trunk.tip), (read.policy.first_norm, model.policy.first_norm)):
        assert one.activation == other.activation
    assert replace(read.trunk.tip, gamma=0, beta=0) == replace(model.trunk.tip, gamma=0, beta=0)  # type: ignore


@pytest.mark.parametrize("masked", [False, True])
def test_bf16_on_a_processor_mixes_and_learns_as_float32_does(masked: bool) -> None:
    torch.manual_seed(1)
    query, key, value = parts = [torch.randn(3, 2, 25, width).bfloat16().requires_grad_() for width in (8, 8, 6)]
    exact = [part.detach().float().requires_grad_() for part in parts]
    visible = torch.rand(3, 1, 1, 25) < 0.6 if masked else None
    gradient = torch.randn(3, 2, 25, 6)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = attend(query, key, value, visible)
    wanted = torch.nn.functional.scaled_dot_product_attention(exact[0], exact[1], exact[2], attn_mask=visible)
    assert mixed.dtype == torch.bfloat16
    assert (mixed.float() - wanted).abs().max() < 0.03
    found = torch.autograd.grad(mixed, parts, gradient.bfloat16())
    for each, right in zip(found, torch.autograd.grad(wanted, exact, gradient), strict=True):
        assert each.dtype == torch.bfloat16
        assert (each.float() - right).abs().max() < 0.03 * right.abs().max()


def test_pairs_are_rotated_by_their_angles_and_gradients_back() -> None:
    torch.manual_seed(1)
    x, gradient = torch.randn(2, 4, 3, 6, requires_grad=True), torch.randn(2, 4, 3, 6)
    angle = torch.randn(4, 1, 3)
    a, b, c, d = (each[..., half::2] for each in (x, gradient) for half in (0, 1))
    cosine, sine = angle.cos(), angle.sin()
    (result,) = rotated(angle, x)
    torch.testing.assert_close(result[..., ::2], a * cosine - b * sine)
    torch.testing.assert_close(result[..., 1::2], a * sine + b * cosine)
    (back,) = torch.autograd.grad(result, x, gradient)
    torch.testing.assert_close(back[..., ::2], c * cosine + d * sine)
    torch.testing.assert_close(back[..., 1::2], d * cosine - c * sine)
