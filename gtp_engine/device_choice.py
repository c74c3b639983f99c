"""What `--device auto` means: the processor, unless another device was measured to be faster with the same network.

Each of them makes a short search on 19×19, or on 9×9 where the first board is small; the figures are kept. A device
that computes fast need not search fast, so nothing less than a search tells.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nets.at_hand import ONNX_SUFFIX, SMALL
from nets.cache import remember, remembered
from nets.devices import CPU, Device, MissingDevice, accelerator, driver, runtime_version
from nets.evaluator import EvaluatorError, ProfileMissing
from nobi_machine.memory import usable_cores
from nobi_machine.streams import note
from search.nobi.parameters import SearchParameters

if TYPE_CHECKING:
    from gtp_engine.configuration.configuration import Configuration
    from nets.evaluator import Evaluator

WINS = 1.3
"""How many times the processor's evaluations a second a device must make: with less, its larger batches, chosen before
the results of others are known, are not paid for."""
SECONDS = 1.0
"""Of the search that is measured, about, and of the one before it."""
LEAST_VISITS = 8
LONG_ENOUGH = 0.8
"""The share of these seconds after which it ends."""
MOST_GAIN = 12.0
"""No kernels of ours are so many times as fast as the processor in fp32, which is measured in an instant: a network has
to be calibrated for them, which may take a minute."""

OpenOn = Callable[[str, str], "Evaluator"]
"""Opens a network, on the device and in the precision of these names. Raises EvaluatorError."""


@dataclass(frozen=True)
class Comparison:
    """What was measured of a network."""

    device: str
    rate: float
    """The evaluations a second of a search on the device."""
    processor: float
    """The same of the processor, or what it cannot exceed."""
    is_bound: bool
    """Whether it is the latter."""

    @property
    def is_won(self) -> bool:
        """Whether the device plays."""
        return self.rate > WINS * self.processor

    def __str__(self) -> str:
        processor = f"{'at most ' * self.is_bound}{self.processor:,.0f}"
        return f"{self.device} makes {self.rate:,.0f} evaluations/s in a search, the processor {processor}"


def open_on_fastest(configuration: Configuration, open_on: OpenOn) -> Evaluator:
    """Open the configured network on the device with which it was measured to be faster, which is done here the first
    time. Raises EvaluatorError.

    A device that does not start, or is not installed as it should be, is a line on stderr. On a machine that has to
    compile first nothing is measured yet, since that takes cores away: the processor plays.
    """
    from nobi_machine import jit

    precision = configuration.engine.precision
    try:
        device, known = accelerator(precision), known_comparison(configuration)
        if known is not None and known.is_won:
            return open_on(known.device, precision)
        if device is not None and known is None and jit.compilations == 0:
            evaluator = _compare(configuration, device, open_on)
            if evaluator is not None:
                return evaluator
    except ProfileMissing:
        raise
    except (EvaluatorError, MissingDevice) as error:
        note(f"{error}; the processor plays")
    return open_on(CPU.name, precision)


def known_comparison(configuration: Configuration) -> Comparison | None:
    """Return what was measured of the configured network; None if nothing was."""
    with contextlib.suppress(MissingDevice):
        device = accelerator(configuration.engine.precision)
        if device is not None and configuration.net is not None:
            found = remembered(configuration.net, _key(configuration, device))
            return None if found is None else Comparison(**json.loads(found))
    return None


def _compare(configuration: Configuration, device: Device, open_on: OpenOn) -> Evaluator | None:
    """Measure, remember and say it. Returns the network on the device if that won. Raises EvaluatorError."""
    net, precision = configuration.net, configuration.engine.precision
    assert net is not None
    evaluator = open_on(device.name, precision)
    note(f"{net.name}: comparing {device.name} with the processor, once; this takes some seconds")
    rate = _rate(configuration, evaluator)
    if evaluator.attributes.provider != device.provider:  # it failed meanwhile, which was said
        return None
    plain = open_on(CPU.name, precision if net.name.lower().endswith(ONNX_SUFFIX) else "fp32")
    found = Comparison(device.name, rate, MOST_GAIN * usable_cores() / _seconds(plain, _side(configuration)), True)
    if not found.is_won:
        found = Comparison(device.name, rate, _rate(configuration, open_on(CPU.name, precision)), False)
    remember(net, _key(configuration, device), json.dumps(dataclasses.asdict(found)))
    note(f"{found}; {device.name if found.is_won else 'the processor'} plays")
    return evaluator if found.is_won else None


def _seconds(evaluator: Evaluator, side: int) -> float:
    """The seconds of an evaluation."""
    evaluator.warm_up(1, side, side)
    started = time.perf_counter()
    evaluator.warm_up(1, side, side)
    return time.perf_counter() - started


def _rate(configuration: Configuration, evaluator: Evaluator) -> float:
    """The evaluations a second of a search."""
    from go_rules.game import Game
    from go_rules.points import BLACK
    from search.nobi.search import Search
    from search.request import Limits, SearchRequest

    side = _side(configuration)
    parameters = configuration.fill(SearchParameters(workers=evaluator.suited_workers))
    with contextlib.closing(Search(evaluator, parameters)) as search:
        search.warm_up(side, side)
        game = Game(side, side)
        # Batches grow with the tree. What is measured has visits: at the end of a time what is under way is lost.
        last = search.run(SearchRequest(game, BLACK, Limits(seconds=SECONDS, may_stop_early=False)))
        spent, evaluations = 0.0, 0
        while spent < LONG_ENOUGH * SECONDS:
            playouts = max(LEAST_VISITS, round(last.new_visits / last.seconds * (SECONDS - spent)))
            last = search.run(SearchRequest(game, BLACK, Limits(playouts=playouts, may_stop_early=False)))
            spent, evaluations = spent + last.seconds, evaluations + last.evaluations
    return evaluations / spent


def _side(configuration: Configuration) -> int:
    return 9 if math.prod(configuration.engine.board) <= SMALL else 19


def _key(configuration: Configuration, device: Device) -> str:
    """What the figures depend on besides the network."""
    search = configuration.fill(SearchParameters())
    machine = f"{runtime_version()} {driver()} {usable_cores()}"
    engine = configuration.engine
    options = f"{engine.precision} {engine.device_batch} {search.workers} {search.batch}"
    return f"auto {device.name} {_side(configuration)} {options} {machine}"
