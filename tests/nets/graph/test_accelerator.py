"""An accelerator: sessions of one shape, requests of many threads in one queue, and a device that fails."""

from __future__ import annotations

import dataclasses
import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
import pytest

from nets.devices import CPU, DEVICES, MissingDevice, named_device
from nets.evaluator import Evaluation, EvaluationRequest, EvaluatorError
from nets.graph.accelerator import SIZES, AcceleratedEvaluator, Batch, OpenSession, Shape, new_inputs
from nets.graph.bound import bound_sessions
from nets.graph.convert import convert
from nets.graph.evaluator import OnnxEvaluator
from nets.graph.simulated import simulated_sessions
from tests.nets.random_networks import content_of

DEVICE = dataclasses.replace(DEVICES[0], provider=CPU.provider, needs_cuda=False, options={})
"""The processor in the place of an accelerator."""
THREADS = 12
pytestmark = pytest.mark.filterwarnings("ignore:Duplicate provider")


@pytest.fixture(scope="module")
def content() -> bytes:
    """A network with an optimistic policy."""
    return convert(content_of(16, [{"kind": "gpool_block"}]), "random", "")


def asked(count: int, size: int = 7, number: int = 0) -> EvaluationRequest:
    random = np.random.default_rng((number, count, size))
    spatial = (random.random((count, 22, size, size)) < 0.3).astype(np.float32)
    spatial[:, 0] = 1.0
    return EvaluationRequest(spatial, random.random((count, 19), np.float32), random.random(count, np.float32))


def assert_close(found: Evaluation, wanted: Evaluation) -> None:
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


class Fake:
    """A device of the test's own: its answers repeat the numbers that a position came with."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        """Of the sessions, in the order in which they were opened."""
        self.calls: list[Shape] = []
        self.fails = False
        self.seconds = 0.002
        self.may_end = threading.Event()
        self.may_end.set()
        self.most = SIZES[-1]
        """Positions of a call for which it has memory."""
        self.most_sessions = 100
        """For which it has memory."""
        self.sessions = weakref.WeakSet[Callable[[], Batch]]()

    def open(self, shape: Shape, names: frozenset[str]) -> Callable[[], Batch]:
        self.shapes.append(shape)
        if len(self.sessions) >= self.most_sessions:
            raise EvaluatorError("out of memory")

        def memory() -> Batch:
            inputs, outputs = new_inputs(names, shape), Evaluation.zeros(*shape)

            def run() -> None:
                self.calls.append(shape)
                time.sleep(self.seconds)
                self.may_end.wait()
                if self.fails:
                    raise RuntimeError("device lost\nat line 80")
                if shape.size > self.most:
                    raise RuntimeError("out of memory")
                outputs.value[:] = inputs["global"][:, :3]
                outputs.score[:, 0] = inputs["optimism"][:, 0]

            return Batch(inputs, outputs, run)

        self.sessions.add(memory)
        return memory


def evaluator_on(open_session: OpenSession, content: bytes) -> AcceleratedEvaluator:
    return AcceleratedEvaluator(content, "random", DEVICE, open_session)


def test_no_session_sees_two_shapes(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[int, ...]] = []

    class Watched(onnxruntime.InferenceSession):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            # A session whose inputs have no free dimension refuses every other shape.
            assert all(isinstance(size, int) for each in self.get_inputs() for size in each.shape)
            opened.append(tuple(self.get_inputs()[0].shape))

    monkeypatch.setattr(onnxruntime, "InferenceSession", Watched)
    evaluator = evaluator_on(bound_sessions(content, DEVICE), content)
    for size in (9, 5):
        assert evaluator.suited_batch(size, size) in [each // 2 for each in SIZES]
        for count in (1, 2, 5, 17, 33, 64, 70, 3):
            evaluator.evaluate(asked(count, size))
    assert sorted(opened) == sorted((size, 22, side, side) for side in (5, 9) for size in SIZES)


@pytest.mark.parametrize("count", [1, 4, 5, 30, 64, 65, 200])
def test_padding_changes_no_output(content: bytes, count: int) -> None:
    evaluator, truth = evaluator_on(bound_sessions(content, DEVICE), content), OnnxEvaluator(content, "random")
    evaluator.evaluate(asked(64, number=1))  # leaves its positions in the memory
    assert_close(evaluator.evaluate(asked(count)), truth.evaluate(asked(count)))


def test_every_request_gets_its_own_answer(content: bytes) -> None:
    fake = Fake()
    evaluator = evaluator_on(fake.open, content)

    def ask(number: int) -> None:
        request = asked(1 + number % 3, 9 if number % 4 else 7, number)
        answer = evaluator.evaluate(request)
        np.testing.assert_array_equal(answer.value, request.global_[:, :3])
        np.testing.assert_array_equal(answer.score[:, 0], request.optimism)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(200)))
    assert len(fake.calls) < 150, "requests that wait together are evaluated together"
    assert len(set(fake.shapes)) == len(fake.shapes)


def test_sessions_of_boards_that_are_long_gone_are_closed(content: bytes) -> None:
    fake = Fake()
    fake.seconds = 0.0
    evaluator = evaluator_on(fake.open, content)
    for size in (5, 6, 9, 7, 6, 8, 9):
        evaluator.evaluate(asked(1, size))
    assert [shape.height for shape in fake.shapes] == [9, 5, 6, 7, 8, 9]


def test_a_request_that_comes_while_another_is_computed_waits_in_line(content: bytes) -> None:
    fake = Fake()
    evaluator = evaluator_on(fake.open, content)
    fake.calls.clear()
    fake.may_end.clear()
    pending = [evaluator.submit(asked(4, number=number)) for number in range(6)]
    assert len(fake.calls) <= 2
    fake.may_end.set()
    for number, each in enumerate(pending):
        np.testing.assert_array_equal(each().value, asked(4, number=number).global_[:, :3])
    assert len(fake.calls) < 6


def test_many_searches_get_smaller_requests(content: bytes) -> None:
    evaluator = evaluator_on(Fake().open, content)
    with evaluator.searching():
        assert evaluator.fair_batch(32) == 32
        with evaluator.searching():
            assert evaluator.fair_batch(32) == 16
    assert evaluator.fair_batch(32) == 32


def test_the_processor_goes_on_where_a_device_fails(content: bytes) -> None:
    fake, notes = Fake(), list[str]()
    evaluator, truth = evaluator_on(fake.open, content), OnnxEvaluator(content, "random")
    evaluator.fall_back_on(lambda: OnnxEvaluator(content, "random"), notes.append)
    evaluator.evaluate(asked(3))
    fake.fails = True
    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(evaluator.evaluate, [asked(3)] * 30):
            assert_close(found, truth.evaluate(asked(3)))
    assert notes == ["device cuda failed (evaluation failed: device lost): the processor goes on, more slowly"]
    assert evaluator.suited_batch(13, 13) == truth.suited_batch(13, 13)
    before = len(fake.calls)
    assert_close(evaluator.evaluate(asked(100)), truth.evaluate(asked(100)))
    assert len(fake.calls) == before


def test_threads_end_with_the_evaluator_whose_they_are(content: bytes) -> None:
    before = set(threading.enumerate())
    evaluator = evaluator_on(Fake().open, content)
    evaluator.evaluate(asked(1))
    own = set(threading.enumerate()) - before
    assert len(own) == 2
    del evaluator
    gc.collect()
    assert not any(thread.is_alive() for thread in own)


def test_a_device_that_fails_on_another_board(content: bytes) -> None:
    fake, notes = Fake(), list[str]()
    evaluator = evaluator_on(fake.open, content)
    evaluator.fall_back_on(lambda: OnnxEvaluator(content, "random"), notes.append)
    fake.fails = True
    assert evaluator.suited_batch(19, 19) == OnnxEvaluator(content, "random").suited_batch(19, 19)
    assert len(notes) == 1


@pytest.mark.parametrize("fits", [32, 4])
def test_smaller_batches_where_the_largest_do_not_fit(content: bytes, fits: int) -> None:
    """Whether that shows in the middle of a game or as a board is measured, nothing is lost."""
    fake, notes = Fake(), list[str]()
    evaluator = evaluator_on(fake.open, content)
    evaluator.fall_back_on(lambda: OnnxEvaluator(content, "random"), notes.append)
    evaluator.warm_up(1, 9, 9)
    fake.most = fits
    pending = [evaluator.submit(asked(count, 9)) for count in (60, 64, 40)]
    for count, each in zip((60, 64, 40), pending, strict=True):
        np.testing.assert_array_equal(each().value, asked(count, 9).global_[:, :3])
    assert notes == [f"device cuda takes batches of {fits}, not more (evaluation failed: out of memory)"]
    assert evaluator.suited_batch(9, 9) <= fits // 2
    assert evaluator.suited_batch(13, 13) <= fits // 2
    fake.most = 4
    assert evaluator.suited_batch(19, 19) == 2
    assert evaluator.attributes.provider == DEVICE.provider
    assert len(notes) == (2 if fits > 4 else 1)


@pytest.mark.parametrize(("most", "largest"), [(40, 32), (16, 16), (1, 4)])
def test_a_limit_of_the_positions_of_a_call(content: bytes, most: int, largest: int) -> None:
    fake = Fake()
    evaluator = AcceleratedEvaluator(content, "random", DEVICE, fake.open, most=most)
    assert evaluator.evaluate(asked(100, 9)).value.shape == (100, 3)
    assert evaluator.suited_batch(9, 9) <= largest // 2
    assert max(shape.size for shape in fake.shapes) == largest


def test_the_sessions_of_other_boards_make_room(content: bytes) -> None:
    fake = Fake()
    evaluator = evaluator_on(fake.open, content)
    evaluator.warm_up(1, 9, 9)
    fake.most_sessions = len(SIZES)
    evaluator.warm_up(1, 13, 13)
    assert evaluator.evaluate(asked(64, 13)).value.shape == (64, 3)
    assert max(shape.size for shape in fake.calls if shape.height == 13) == 64


def test_answers_that_are_no_numbers_are_a_failure(content: bytes) -> None:
    class Broken(Fake):
        def open(self, shape: Shape, names: frozenset[str]) -> Callable[[], Batch]:
            made = super().open(shape, names)

            def memory() -> Batch:
                batch = made()
                batch.outputs.policy[:] = np.nan
                return batch

            return memory

    with pytest.raises(EvaluatorError, match="device cuda does not work: an output is not finite"):
        evaluator_on(Broken().open, content)


def test_a_simulated_device_takes_its_time_and_answers_by_the_stones(content: bytes) -> None:
    evaluator = evaluator_on(simulated_sessions(0.02, 0.001), content)
    request = asked(8)
    started = time.perf_counter()
    answer = evaluator.evaluate(request)
    assert time.perf_counter() - started >= 0.02 + 0.008
    np.testing.assert_array_equal(evaluator.evaluate(request).policy, answer.policy)
    assert len({row.tobytes() for row in answer.policy}) > 4
    np.testing.assert_allclose(answer.value.sum(axis=1), 1.0, rtol=1e-6)


def test_one_simulated_call_at_a_time(content: bytes) -> None:
    memory = simulated_sessions(0.03, 0.0)(Shape(4, 5, 5), frozenset({"spatial", "global"}))
    started = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda batch: batch.run(), [memory() for _ in range(4)]))
    assert time.perf_counter() - started >= 4 * 0.03


@pytest.mark.parametrize("name", ["simulated:", "simulated:1", "simulated:1:2:3", "simulated:nan:0", "simulated:-1:0"])
def test_simulated_devices_that_are_none(name: str) -> None:
    with pytest.raises(MissingDevice, match="a simulated device is simulated:SECONDS:SECONDS_PER_POSITION, not"):
        named_device(name)
    assert named_device("simulated:0.5:1e-4").simulated == (0.5, 1e-4)
