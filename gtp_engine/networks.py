"""The networks that a configuration names: opened, and checked before the first reply.

There may be two, the one that searches and the human network beside it. Nothing heavy is imported here until one is
opened.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gtp_engine.configuration.settings import DEFAULT_SECONDS
from gtp_engine.errors import UserError
from gtp_engine.version import VERSION
from nets.at_hand import FOR_PROCESSORS, PUBLISHED, AtHand, at_hand, fetched_folder, how_to_get, read_header, strongest
from nets.cache import remember, remember_opened, remembered, was_opened_before
from nets.devices import AUTO, CPU
from nets.embedded import EMBEDDED
from nets.human_profile import HumanProfile, parse_profile
from nobi_machine.streams import note
from nobi_machine.text import printable_path
from search.nobi.parameters import SearchParameters

if TYPE_CHECKING:
    from gtp_engine.configuration.configuration import Configuration
    from nets.bare_evaluation import HumanNetwork
    from nets.evaluator import Evaluator
    from search.player import Player

Opened = TypeVar("Opened")

RATED_BOARD = (19, 19)
"""The board on which the speed of networks is compared."""
ANY_PROFILE = "rank_1d"
"""Whom a human network imitates where nobody has said it yet."""


def open_evaluator(configuration: Configuration, of_people: bool = False, plays: bool = False) -> Evaluator:
    """Open the configured network, or the human one, and return it ready to run. Raises EvaluatorError.

    The device `auto` is the fastest for the network that searches, and the processor for the human one. Where the
    network `plays`, a device that does not start is a line on stderr, and the processor takes its place."""
    from gtp_engine.device_choice import open_on_fastest
    from nets.evaluator import DeviceFailed
    from nets.open import open_network

    net, engine = _net(configuration, of_people), configuration.engine

    def open_for(profile: HumanProfile | None) -> Evaluator:
        def open_on(device: str, precision: str) -> Evaluator:
            return open_network(net, precision, device, note=note, profile=profile, most=engine.device_batch)

        if engine.device == AUTO and not of_people:
            return open_on_fastest(configuration, open_on)
        try:
            return open_on(engine.device, engine.precision)
        except DeviceFailed as error:
            if not plays:
                raise
            note(f"{error}; the processor plays, more slowly")
            return open_on(CPU.name, "auto")

    with _fetched_anew(net):
        evaluator = _for_a_profile(configuration, of_people, open_for)
    remember_opened(net, _how(configuration))
    return evaluator


def check_network(configuration: Configuration, of_people: bool = False) -> None:
    """Open the configured network, or the human one, unless that was done before. Raises UserError, EvaluatorError."""
    net, engine = _net(configuration, of_people), configuration.engine
    if not net.exists():
        raise UserError(f"{printable_path(net)}: No such file or directory{how_to_get(str(net))}")
    if not was_opened_before(net, _how(configuration)):
        from nets import open as nets_open

        with _fetched_anew(net):
            _for_a_profile(
                configuration,
                of_people,
                lambda profile: nets_open.check_network(net, engine.precision, engine.device, profile),
            )


def human_network(player: Player) -> HumanNetwork | None:
    """Return the human network beside the one that a player searches with; None if it has none."""
    return getattr(player, "human", None)


def described(evaluator: Evaluator, path: Path, batch: int) -> dict[str, Any]:
    """Describe an opened network and its file as KataGo's `kata-get-models` and `query_models` do. `batch`: the most
    positions that a thread has evaluated at a time."""
    attributes, header = evaluator.attributes, read_header(path)
    return {
        "name": printable_path(path),
        "internalName": attributes.name,
        "maxBatchSize": batch,
        "usesHumanSLProfile": attributes.profile is not None,
        "usingFP16": "true" if attributes.precision == "fp16" else "false",
        "version": header.version if header is not None else 0,
    }


def suited_to(evaluator: Evaluator) -> SearchParameters:
    """Choose the default parameters of a search with this evaluator: the workers that suit its device."""
    return SearchParameters(workers=evaluator.suited_workers)


def keep_rate(configuration: Configuration, rate: float) -> None:
    """Remember how many evaluations a second a search with the configured network makes here, if that was on 19x19."""
    if configuration.net is not None and configuration.engine.board == RATED_BOARD:
        remember(configuration.net, _rated(configuration), f"{rate:.1f}")


def known_rate(configuration: Configuration) -> float | None:
    """Return the evaluations a second on 19x19 that `keep_rate` was last given for these settings; None if nothing."""
    found = None if configuration.net is None else remembered(configuration.net, _rated(configuration))
    return None if found is None else float(found)


def advice(configuration: Configuration, seconds: float | None = None) -> str:
    """Say in a few words how to play more strongly than with the embedded network; '' where another one plays, and
    where the stronger one is known to make too few evaluations in `seconds`, a move's time unless given."""
    if configuration.has_own_net or configuration.net is None:
        return ""
    found = next((each for each in at_hand() if each.name == FOR_PROCESSORS and each.is_whole), None)
    rate = known_rate(with_network(configuration, found)) if found is not None else None
    if rate is not None:
        seconds = seconds or configuration.engine.time or DEFAULT_SECONDS
        if strongest({FOR_PROCESSORS: rate}, seconds, RATED_BOARD[0] * RATED_BOARD[1]) is None:
            return ""
    return f"for stronger play: nobi networks {'get' if found is None else 'use'} {FOR_PROCESSORS}"


def with_network(configuration: Configuration, network: AtHand) -> Configuration:
    """Copy a configuration with this network in place of its own, and with someone to imitate if it needs that."""
    value = network.name if network.name == EMBEDDED else str(network.path)
    values = {**configuration.values, "net": value}
    if network.header is not None and network.header.imitates_people:
        values = {"human_profile": ANY_PROFILE, **values}
    return dataclasses.replace(configuration, values=values)


def _rated(configuration: Configuration) -> str:
    """What a network's speed depends on, as far as it is configured."""
    from gtp_engine.device_choice import known_comparison

    search = configuration.fill(SearchParameters())
    engine = configuration.engine
    device = (known_comparison(configuration) if engine.device == AUTO else None) or engine.device
    return f"rate {engine.precision} {device} {search.workers} {search.batch}"


def _net(configuration: Configuration, of_people: bool) -> Path:
    net = configuration.human_net if of_people else configuration.net
    assert net is not None
    return net


@contextlib.contextmanager
def _fetched_anew(net: Path) -> Iterator[None]:
    """Have an error of opening a network say so where the file is another than the one that was to be fetched."""
    try:
        yield
    except Exception as error:
        from nets.evaluator import EvaluatorError

        path, folder = os.path.abspath(net), os.path.abspath(fetched_folder())
        known = next((each for each in PUBLISHED if path == os.path.join(folder, each.file_name)), None)
        if isinstance(error, EvaluatorError) and known is not None and not known.is_in(net):
            raise EvaluatorError(f"{error}; `nobi networks get {known.name}` fetches it anew") from None
        raise


def _for_a_profile(
    configuration: Configuration, of_people: bool, open_it: Callable[[HumanProfile | None], Opened]
) -> Opened:
    """Open a network for the people whom it is to imitate.

    Where there is a human network these are its own, for ANY_PROFILE if none is named. The other one imitates nobody,
    unless it is a HumanSL network too.
    """
    named = _profile(configuration)
    if configuration.human_net is None or (of_people and named is not None):
        return open_it(named)
    from nets.evaluator import ProfileMissing

    try:
        return open_it(None)
    except ProfileMissing:
        return open_it(named or parse_profile(ANY_PROFILE))


def _profile(configuration: Configuration) -> HumanProfile | None:
    name = configuration.engine.human_profile
    return parse_profile(name) if name else None


def _how(configuration: Configuration) -> str:
    """What a network was opened by and for, as far as it may make a difference."""
    engine = configuration.engine
    told = "human" if engine.human_profile else ""
    beside = "beside" if configuration.human_net else ""
    return f"{VERSION} {engine.precision} {engine.device} {told} {beside}"
