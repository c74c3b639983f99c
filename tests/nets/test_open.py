"""Opening networks: kinds of files, the conversion cache, threads, silence."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.open import load_onnx, open_network
from tests.nets.random_networks import content_of

pytestmark = pytest.mark.usefixtures("own_cache")
OTHER = content_of(8, [{"kind": "gpool_block"}], seed=1)


def position(count: int = 1, size: int = 9) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(size)
    return random.random((count, 22, size, size), np.float32), random.random((count, 19), np.float32)


def test_conversion_is_kept(network: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_onnx(network)
    monkeypatch.setattr("nets.graph.convert.convert", None)
    assert load_onnx(network) == first
    assert [path.suffix for path in (own_cache / "networks").iterdir()] == [".onnx"]


def test_changed_file_is_converted_again(network: Path) -> None:
    first = load_onnx(network)
    network.write_bytes(OTHER)
    assert load_onnx(network) != first


def test_entry_of_another_network_is_not_used(network: Path, own_cache: Path, tmp_path: Path) -> None:
    """Two valid conversions swapped: each network would be computed as the other, and nobody would know."""
    second = tmp_path / "second.bin.gz"
    second.write_bytes(OTHER)
    wanted = [load_onnx(network), load_onnx(second)]
    one, two = (own_cache / "networks").iterdir()
    one.rename(tmp_path / "one")
    two.rename(one)
    (tmp_path / "one").rename(two)
    assert [load_onnx(network), load_onnx(second)] == wanted


def test_onnx_file(network: Path, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(load_onnx(network))
    ours, converted = open_network(path), open_network(network)
    for a, b in zip(
        ours.evaluate(EvaluationRequest(*position())), converted.evaluate(EvaluationRequest(*position())), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    attributes = ours.attributes
    assert (attributes.name, attributes.precision, attributes.provider) == ("random", "fp32", "CPUExecutionProvider")


@pytest.mark.parametrize("name", ["network", "network.h5", "network.bin.gz.tmp"])
def test_unknown_kinds_of_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(EvaluatorError, match="known endings"):
        open_network(tmp_path / name)
    with pytest.raises(EvaluatorError, match="No such file"):
        open_network(tmp_path / f"absent_{name}")


@pytest.mark.parametrize("arguments", [{"precision": "int3"}, {"device": "abacus"}])
def test_unknown_settings(network: Path, arguments: dict[str, str]) -> None:
    with pytest.raises(EvaluatorError, match="unknown"):
        open_network(network, **arguments)  # type: ignore[arg-type]


def test_rows_do_not_depend_on_their_batch(network: Path) -> None:
    evaluator = open_network(network)
    spatial, global_ = position(6, 13)
    together = evaluator.evaluate(EvaluationRequest(spatial, global_))
    for row in range(6):
        alone = evaluator.evaluate(EvaluationRequest(spatial[row : row + 1], global_[row : row + 1]))
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_allclose(a[0], b[row], rtol=1e-4, atol=1e-4)


def test_many_threads_at_once(network: Path) -> None:
    evaluator = open_network(network)
    inputs = [position(1 + size % 3, size) for size in range(5, 20)]
    truth = [evaluator.evaluate(EvaluationRequest(*each)) for each in inputs]

    def work(seed: int) -> None:
        for which in np.random.default_rng(seed).integers(0, len(inputs), 60):
            got = evaluator.evaluate(EvaluationRequest(*inputs[which]))
            assert all(np.array_equal(a, b) for a, b in zip(got, truth[which], strict=True)), which

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_nothing_is_printed(network: Path) -> None:
    """Whatever onnxruntime and its C++ have to say would break a GTP stream."""
    script = (
        "import sys, numpy as np\n"
        "from nets.evaluator import EvaluationRequest\n"
        "from nets.open import open_network\n"
        "network = open_network(sys.argv[1])\n"
        "network.evaluate(EvaluationRequest(np.zeros((2, 22, 19, 19), np.float32), np.zeros((2, 19), np.float32)))\n"
        "try: open_network(sys.argv[2])\n"
        "except Exception: pass\n"
    )
    broken = network.with_suffix(".onnx")
    content = load_onnx(network)
    broken.write_bytes(content.replace(b"board_size", b"nonono_siz", 1))
    done = subprocess.run([sys.executable, "-c", script, network, broken], capture_output=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
