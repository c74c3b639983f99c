"""Networks on an accelerator: sessions of one shape, and one queue in front of the device that all searches share.

onnxruntime's CUDA provider plans every convolution anew, 30 ms on an H200, whenever the shape of a session's input
changes. So a session has one shape for ever: there is one for each of SIZES on each board, fewer where the device has
too little memory, and what waits is padded to one of them. Two calls are under way: while the device computes one, the
next is ready for it.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.devices import USUAL_BATCH, Device
from nets.evaluator import (
    GLOBAL_FEATURES,
    SPATIAL_PLANES,
    DeviceFailed,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    EvaluatorAttributes,
    EvaluatorError,
    Pending,
)
from nets.graph.evaluator import NOT_FINITE, GraphEvaluator, first_line
from nets.human_profile import META_FEATURES, HumanProfile

SIZES = (4, 16, 32, 64)
"""The batches that there are sessions for, in positions."""
AS_GOOD = 0.93
"""A size that computes so much of what the best one does a second is large enough."""
LEAST_BATCH = 8
"""Positions of a request, however many searches share the device: besides them a request takes some 0.1 ms."""
CALLS = 2
"""How many calls of the device are under way at a time."""
TRIALS = 3
"""How often a session is called to see how long it takes, after a first call that plans."""
TRIAL_BOARD = 9, 9
MOST_BOARDS = 3
"""For how many sizes of boards sessions are kept; those that were used least lately go first."""
CLOSE_SECONDS = 1.0
"""How long the end of the process waits for a call."""


class Shape(NamedTuple):
    """The shape of a session: so many positions of boards of this size."""

    size: int
    height: int
    width: int


@dataclass
class Batch:
    """The memory of a call, used again and again, and the call itself."""

    inputs: dict[str, NDArray[np.float32]]
    """By the model's names; each row is a position."""
    outputs: Evaluation
    run: Callable[[], None]
    """Computes the outputs from the inputs."""


OpenSession = Callable[[Shape, frozenset[str]], Callable[[], Batch]]
"""Opens the session of a shape, for a model with inputs of these names, and returns a function that makes memory for
calls of it. Raises EvaluatorError."""


def new_inputs(names: frozenset[str], shape: Shape) -> dict[str, NDArray[np.float32]]:
    """Return arrays for a model's inputs of these names, with empty boards."""
    size, height, width = shape
    rows: dict[str, tuple[int, ...]] = {
        "spatial": (SPATIAL_PLANES, height, width),
        "global": (GLOBAL_FEATURES,),
        "optimism": (1,),
        "meta": (META_FEATURES,),
    }
    inputs = {name: np.zeros((size, *row), np.float32) for name, row in rows.items() if name in names}
    inputs["spatial"][:, 0] = 1.0
    return inputs


class AcceleratedEvaluator(GraphEvaluator):
    """An evaluator that has an accelerator compute, for any number of threads and searches at once."""

    suited_workers = 2
    requests_in_flight = 2

    def __init__(
        self,
        content: bytes,
        source: str,
        device: Device,
        open_session: OpenSession,
        optimism: float = 1.0,
        profile: HumanProfile | None = None,
        most: int = SIZES[-1],
    ) -> None:
        """The arguments are those of `GraphEvaluator`, but `open_session`, and `most`, the positions of a call at most,
        of which a call of the smallest of SIZES may have more. Raises EvaluatorError, DeviceFailed if
        the device does not start, or starts and cannot compute."""
        super().__init__(content, source, device.provider, optimism, profile)
        inputs = self.facts.inputs
        sizes = tuple(size for size in SIZES if size <= most) or SIZES[:1]
        self._queue = _Queue(lambda shape: open_session(shape, inputs), device.name, sizes)
        weakref.finalize(self, self._queue.close)
        self._searches = 0
        self._counting = threading.Lock()
        self._queue.memory(Shape(SIZES[0], *TRIAL_BOARD), 0)
        try:
            super().warm_up(1, *TRIAL_BOARD)
        except EvaluatorError as error:
            raise DeviceFailed(f"device {device.name} does not work: {error}") from None

    @property
    def attributes(self) -> EvaluatorAttributes:
        """What this evaluator is and wants, or what answers in its place, as `Evaluator.attributes` says."""
        return self._attributes if self._queue.other is None else self._queue.other.attributes

    def fall_back_on(self, open_other: Callable[[], Evaluator], note: Callable[[str], None]) -> None:
        """Have the evaluator that `open_other` opens answer if the device fails from now on, and `note` told of it."""
        self._queue.open_other, self._queue.note = open_other, note

    def use_profile(self, profile: HumanProfile) -> None:
        """Imitate other players from now on, as `Evaluator.use_profile` says."""
        super().use_profile(profile)
        self._queue.use_profile(profile)

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says."""
        return self.submit(request)()

    def submit(self, request: EvaluationRequest) -> Pending:
        """Begin to evaluate a request as `Evaluator.submit` says."""
        if self._queue.other is not None:
            return self._queue.other.submit(request)
        count, most = len(request.spatial), self._queue.sizes[-1]
        if count <= most:
            return self._queue.add(_Ticket(request, self.feed(request)))
        parts = [self.submit(_rows(request, start, start + most)) for start in range(0, count, most)]
        return lambda: _joined([part() for part in parts])

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Count a search as one of those that share the device, as `Evaluator.searching` says."""
        with self._counting:
            self._searches += 1
        try:
            yield
        finally:
            with self._counting:
                self._searches -= 1

    def fair_batch(self, batch: int) -> int:
        """Return how many positions a request may have now, as `Evaluator.fair_batch` says."""
        if self._queue.other is not None:
            return min(batch, USUAL_BATCH)
        return min(batch, max(LEAST_BATCH, batch // max(1, self._searches)))

    def suited_batch(self, height: int, width: int) -> int:
        """Return half of the smallest size that is large enough: two threads with two requests each keep two calls of
        that size under way. Raises EvaluatorError for a board that the network does not take."""
        self.check_board(height, width)
        if self._queue.other is not None:
            return self._queue.other.suited_batch(height, width)
        try:
            rates = self._queue.rates(height, width)
        except EvaluatorError as error:
            return self._queue.replace(error).suited_batch(height, width)
        return next(size for size, rate in zip(SIZES, rates, strict=False) if rate >= AS_GOOD * max(rates)) // 2

    def warm_up(self, count: int, height: int, width: int) -> None:
        """Open the sessions for such boards, as `Evaluator.warm_up` says."""
        self.suited_batch(height, width)


def _rows(request: EvaluationRequest, start: int, end: int) -> EvaluationRequest:
    return EvaluationRequest(*(None if part is None else part[start:end] for part in request))  # type: ignore[arg-type]


def _joined(parts: Sequence[Evaluation]) -> Evaluation:
    return Evaluation(*map(np.concatenate, zip(*parts, strict=True)))


class _Ticket:
    """A request that waits or is being evaluated."""

    def __init__(self, request: EvaluationRequest, feed: dict[str, NDArray[np.float32]]) -> None:
        self.request, self.feed = request, feed
        self.rows = len(request.spatial)
        self.board: tuple[int, int] = request.spatial.shape[2:]
        self._answer: Evaluation | Exception | None = None
        self._pending = threading.Lock()
        """Held until there is an answer."""
        self._pending.acquire()

    def parts(self, size: int) -> Iterator[_Ticket]:
        """Divide the request into requests for no more than so many positions."""
        for start in range(0, self.rows, size):
            feed = {name: rows[start : start + size] for name, rows in self.feed.items()}
            yield _Ticket(_rows(self.request, start, start + size), feed)

    def give(self, answer: Evaluation | Exception) -> None:
        """Let those who wait have the answer, or the error."""
        self._answer = answer
        self._pending.release()

    def __call__(self) -> Evaluation:
        """Wait for the answer, as a Pending does."""
        with self._pending:
            assert self._answer is not None
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer


@dataclass
class _Board:
    """What is kept for the boards of one size."""

    sessions: dict[int, Callable[[], Batch]] = field(default_factory=dict)
    """By the size of the batch."""
    memory: dict[tuple[int, int], Batch] = field(default_factory=dict)
    """By the size of the batch and the thread's number."""
    rates: list[float] = field(default_factory=list)
    """Positions a second in batches of each size; empty before they are measured."""


class _Queue:
    """The requests that wait for the device, and the threads that call it."""

    def __init__(
        self, open_session: Callable[[Shape], Callable[[], Batch]], device: str, sizes: tuple[int, ...]
    ) -> None:
        self._open_session, self._device = open_session, device
        self.sizes = sizes
        """The batches that the device computes, in positions: the first ones of SIZES."""
        self.other: Evaluator | None = None
        """What answers in place of a device that failed."""
        self._profile: HumanProfile | None = None
        self.open_other: Callable[[], Evaluator] | None = None
        self.note: Callable[[str], None] = lambda line: None
        self._changed = threading.Condition()
        """Protects the requests. Notified when a call may be due."""
        self._waiting: list[_Ticket] = []
        self._running = 0
        """Positions whose evaluation is under way."""
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._opening = threading.RLock()
        """Protects the sessions, and the replacement of the device."""
        self._boards: dict[tuple[int, int], _Board] = {}

    def add(self, ticket: _Ticket) -> _Ticket:
        """Take a ticket, and return it."""
        with self._changed:
            for number in range(len(self._threads), CALLS):
                thread = threading.Thread(target=self._serve, args=(number,), name=f"device-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._waiting.append(ticket)
            if self._is_due():
                self._changed.notify()
        return ticket

    def close(self) -> None:
        """End the threads after the calls that are under way."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(CLOSE_SECONDS)

    def rates(self, height: int, width: int) -> list[float]:
        """Return how many positions a second the device computes in batches of each of `sizes`, measured once. Raises
        EvaluatorError where it computes none."""
        with self._opening:
            board = self._board(height, width)
        if not board.rates:
            rates: list[float] = []
            for size in self.sizes:
                try:
                    rates.append(size / self._seconds_with_room(Shape(size, height, width)))
                except EvaluatorError as error:
                    if not rates:
                        raise
                    self._keep_to(self.sizes[len(rates) - 1], error)
                    break
            board.rates = rates
        return board.rates[: len(self.sizes)]

    def replace(self, error: Exception) -> Evaluator:
        """Return what answers in place of the device, which failed. Raises EvaluatorError where nothing does."""
        with self._opening:
            if self.other is None:
                text = first_line(error)
                if self.open_other is None:
                    raise EvaluatorError(text) from None
                self.note(f"device {self._device} failed ({text}): the processor goes on, more slowly")
                other = self.open_other()
                if self._profile is not None:
                    other.use_profile(self._profile)
                self.other = other
                self._boards.clear()
            return self.other

    def use_profile(self, profile: HumanProfile) -> None:
        """Have what answers in place of a device that failed imitate these players."""
        with self._opening:
            self._profile = profile
            if self.other is not None:
                self.other.use_profile(profile)

    # --- The sessions -----------------------------------------------------------------------------------------

    def _board(self, height: int, width: int) -> _Board:
        """What is kept for boards of this size. Hold `_opening`."""
        known = self._boards.pop((height, width), None) or _Board()
        self._boards[height, width] = known  # as the last one
        if len(self._boards) > MOST_BOARDS:
            del self._boards[next(iter(self._boards))]
        return known

    def memory(self, shape: Shape, number: int) -> Batch:
        """Return the memory for a thread's calls of this shape. Raises EvaluatorError."""
        with self._opening:
            board = self._board(shape.height, shape.width)
            if shape.size not in board.sessions:
                board.sessions[shape.size] = self._open_session(shape)
            if (shape.size, number) not in board.memory:
                board.memory[shape.size, number] = board.sessions[shape.size]()
            return board.memory[shape.size, number]

    def _keep_to(self, most: int, error: Exception) -> None:
        """Call the device with no more than so many positions from now on: more have failed, for want of memory most
        likely."""
        with self._opening:
            if self.sizes[-1] > most:
                self.note(f"device {self._device} takes batches of {most}, not more ({first_line(error)})")
            self.sizes = tuple(size for size in self.sizes if size <= most)
            for board in self._boards.values():
                board.sessions = {size: opened for size, opened in board.sessions.items() if size <= most}
                board.memory = {key: batch for key, batch in board.memory.items() if key[0] <= most}

    def _seconds_with_room(self, shape: Shape) -> float:
        """What `_seconds` returns, if need be without the sessions of other boards, which take memory."""
        try:
            return self._seconds(shape)
        except EvaluatorError:
            with self._opening:
                if len(self._boards) < 2:
                    raise
                self._boards = {shape[1:]: self._board(*shape[1:])}
            return self._seconds(shape)

    def _seconds(self, shape: Shape) -> float:
        """The seconds that a call takes: the least of some, since others may use the device too. Raises
        EvaluatorError."""
        batch = self.memory(shape, CALLS)
        seconds = []
        for _ in range(1 + TRIALS):
            started = time.perf_counter()
            _run(batch)
            seconds.append(time.perf_counter() - started)
        return min(seconds[1:])

    # --- The threads ------------------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether to begin a call: when as many positions wait as are under way, which keeps batches even."""
        return bool(self._waiting) and sum(each.rows for each in self._waiting) >= min(self._running, self.sizes[-1])

    def _serve(self, number: int) -> None:
        """What a thread runs: call the device whenever that is due."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._is_due())
                if self._closed:
                    return
                shape, tickets = self._take()
                rows = sum(each.rows for each in tickets)
                self._running += rows
            answers: Sequence[Evaluation | Exception]
            try:
                answers = self._answers(shape, number, tickets)
            except Exception as error:
                answers = [self._answer_of_other(error, each) for each in tickets]
            with self._changed:
                self._running -= rows
                if self._is_due():
                    self._changed.notify()
            for ticket, answer in zip(tickets, answers, strict=True):
                ticket.give(answer)

    def _take(self) -> tuple[Shape, list[_Ticket]]:
        """The requests of the next call, the first of them among it, and the call's shape: the one in which most of the
        positions that wait are computed a second."""
        first = self._waiting[0]
        alike = [each for each in self._waiting if each.board == first.board]
        rows = sum(each.rows for each in alike)
        board = self._boards.get(first.board)
        sizes = [size for size in self.sizes if size >= first.rows] or [SIZES[-1]]  # asked for before more failed
        size = next((each for each in sizes if each >= rows), sizes[-1])
        if board is not None and board.rates and len(sizes) > 1:
            speed = dict(zip(SIZES, board.rates, strict=False))
            size = max(sizes, key=lambda each: min(rows, each) / each * speed[each])
        taken, room = [], size
        for each in alike:
            if each.rows <= room:
                taken.append(each)
                room -= each.rows
        self._waiting = [each for each in self._waiting if each not in taken]
        return Shape(next(each for each in SIZES if each >= size - room), *first.board), taken

    def _answers(self, shape: Shape, number: int, tickets: list[_Ticket]) -> list[Evaluation]:
        """The device's answers, in smaller batches where one of this size fails. Raises whatever its failures raise."""
        try:
            return self._evaluations(self.memory(shape, number), tickets)
        except Exception as error:
            for size in sorted((size for size in self.sizes if size < shape.size), reverse=True):
                with contextlib.suppress(Exception):
                    batch = self.memory(shape._replace(size=size), number)
                    answers = [
                        _joined([self._evaluations(batch, [part])[0] for part in each.parts(size)]) for each in tickets
                    ]
                    self._keep_to(size, error)
                    return answers
            raise

    def _evaluations(self, batch: Batch, tickets: list[_Ticket]) -> list[Evaluation]:
        """The device's answers. Raises whatever its failures raise."""
        ends = np.cumsum([each.rows for each in tickets]).tolist()
        places = [slice(end - each.rows, end) for each, end in zip(tickets, ends, strict=True)]
        for name, array in batch.inputs.items():
            for each, place in zip(tickets, places, strict=True):
                array[place] = each.feed[name]
        _run(batch)
        if not all(np.isfinite(part[: ends[-1]]).all() for part in batch.outputs):
            raise EvaluatorError(NOT_FINITE)
        return [Evaluation(*(part[place].copy() for part in batch.outputs)) for place in places]

    def _answer_of_other(self, error: Exception, ticket: _Ticket) -> Evaluation | Exception:
        try:
            return self.replace(error).evaluate(ticket.request)
        except Exception as another:
            return another


def _run(batch: Batch) -> None:
    try:
        batch.run()
    except Exception as error:  # onnxruntime's exceptions have no common type of their own
        raise EvaluatorError(f"evaluation failed: {first_line(error)}") from None
