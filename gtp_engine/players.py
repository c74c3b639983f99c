"""The registry of players: their names, and how each is made from a configuration.

A new player is a folder in search/ and an entry in PLAYERS, which also names its table of parameters. Nothing heavy is
imported here: a player's own module is imported when that player is made.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gtp_engine.configuration.configuration import SYNONYMS, WITH_NETWORK
from gtp_engine.errors import UserError, is_of_user
from gtp_engine.networks import ANY_PROFILE, check_network, human_network, open_evaluator, suited_to
from nets.devices import AUTO
from nets.embedded import EMBEDDED, NO_NETWORK, network_file
from nobi_machine.launch import python_command
from nobi_machine.memory import LEAST_ADDRESSES, lacking_addresses, usable_cores
from nobi_machine.numba_variables import check_numba_variables
from nobi_machine.parameters import ParameterError, ParameterTable, declared, declared_by
from nobi_machine.streams import note
from search.nobi.parameters import HumanParameters, SearchParameters
from search.textbook.parameters import AlphaZeroParameters, PlayoutParameters, UctParameters

if TYPE_CHECKING:
    import subprocess

    from gtp_engine.configuration.configuration import Configuration
    from nets.evaluator import Evaluator
    from search.player import Player

T = TypeVar("T")

IMITATION = SearchParameters(
    temperature_early=0.85, temperature=0.7, temperature_halflife=80.0, temperature_only_below=0.01
)
"""Defaults of the policy player where it imitates people: moves as likely as people play them, rare ones rarer (after
KataGo's gtp_human5k_example.cfg)."""


@dataclass(frozen=True)
class PlayerKind:
    """A kind of player, as the registry PLAYERS has it: what it is, and how one is made."""

    description: str
    """One line for `nobi players`."""
    make: Callable[[str, Configuration, Player | None], Player]
    """Makes the one of this name, which shares the networks of another player, if there is one."""
    parameters: type[ParameterTable]
    """The table of parameters that the player has."""
    needs_network: bool = True


def _network(_name: str, configuration: Configuration, beside: Player | None) -> Player:
    from search.nobi.player import PuctPlayer

    compile_beside(configuration)
    evaluator = _evaluator(configuration, beside)
    _compile_ends()
    parameters = configuration.fill(suited_to(evaluator))
    if configuration.human_net is None:
        return PuctPlayer(evaluator, parameters)
    from nets.bare_evaluation import HumanNetwork

    known = None if beside is None else human_network(beside)
    human = HumanNetwork(
        open_evaluator(configuration, of_people=True, plays=True) if known is None else known.evaluator
    )
    if known is None and human.evaluator.attributes.profile is not None and configuration.engine.human_profile is None:
        note(f"the human network imitates {ANY_PROFILE} until human_profile (humanSLProfile) says whom")
    return PuctPlayer(evaluator, configuration.fill(HumanParameters(**vars(parameters))), human)


def _evaluator(configuration: Configuration, beside: Player | None) -> Evaluator:
    """The network of another player, or the configured one, opened."""
    known = None if beside is None else beside.evaluator
    return open_evaluator(configuration, plays=True) if known is None else known


def _policy(_name: str, configuration: Configuration, beside: Player | None) -> Player:
    from search.nobi.player import PolicyPlayer

    compile_beside(configuration)
    base = IMITATION if configuration.engine.human_profile else SearchParameters()
    return PolicyPlayer(_evaluator(configuration, beside), configuration.fill(base))


def _textbook(name: str, configuration: Configuration, beside: Player | None) -> Player:
    from search.textbook.players import TEXTBOOK, RandomPlayer, TextbookPlayer

    evaluator = _evaluator(configuration, beside) if PLAYERS[name].needs_network else None
    machine = configuration.fill(SearchParameters() if evaluator is None else suited_to(evaluator))
    parameters = configuration.fill(TEXTBOOK[name].parameters)
    if isinstance(parameters, PlayoutParameters) and name == "random":
        return RandomPlayer(parameters, machine.workers, machine.seed)
    return TextbookPlayer(name, evaluator, parameters, machine.workers, machine.seed)


PLAYERS = {
    "nobi": PlayerKind(
        "the full search, PUCT guided by a network; the default (`network` means the same)", _network, HumanParameters
    ),
    "gumbel": PlayerKind(
        "Gumbel AlphaZero: sequential halving at the root, completed Q below it; for few visits",
        _textbook,
        AlphaZeroParameters,
    ),
    "puct": PlayerKind(
        "AlphaGo Zero and AlphaZero: the textbook search with N, W, Q and P", _textbook, AlphaZeroParameters
    ),
    "alphago": PlayerKind(
        "AlphaGo 2016: values of leaves are mixed from the network's and rollouts", _textbook, AlphaZeroParameters
    ),
    "value": PlayerKind(
        "no tree: each move's position is evaluated, and the best one played", _textbook, AlphaZeroParameters
    ),
    "policy": PlayerKind(
        "no search: moves drawn from the network's policy; the default with --human-profile", _policy, SearchParameters
    ),
    "rave": PlayerKind(
        "UCT with RAVE and tactical playouts, no network; the default with --net none",
        _textbook,
        UctParameters,
        needs_network=False,
    ),
    "uct": PlayerKind(
        "UCT as it was first: UCB1 in a tree over the same playouts", _textbook, UctParameters, needs_network=False
    ),
    "mc": PlayerKind(
        "flat Monte Carlo: equally many playouts for every move, without a tree",
        _textbook,
        PlayoutParameters,
        needs_network=False,
    ),
    "random": PlayerKind("any legal move that fills no own eye", _textbook, PlayoutParameters, needs_network=False),
}
"""The players by the name that `--player` takes."""

WITH_PROFILE, WITHOUT_NETWORK = "policy", "rave"
"""The players that are taken, besides WITH_NETWORK, if --player names none."""


def chosen_player(configuration: Configuration) -> str:
    """Choose the player to make by name: that of --player, its synonyms resolved, else the one that suits the network.

    Raises ParameterError.
    """
    engine, is_there = configuration.engine, configuration.net is not None
    imitates = bool(engine.human_profile) and configuration.human_net is None
    with_network = WITH_PROFILE if imitates else WITH_NETWORK
    asked = engine.player or (with_network if is_there or engine.net == EMBEDDED else WITHOUT_NETWORK)
    name = SYNONYMS.get(asked, asked)
    if name not in PLAYERS:
        raise ParameterError(f"unknown player {name} (known: {', '.join(PLAYERS)})")
    needs_network = PLAYERS[name].needs_network
    if "human_net" in configuration.by_hand and configuration.human_net is None and engine.human_net != NO_NETWORK:
        raise ParameterError(f"human_net is for the player {WITH_NETWORK} alone; the player {asked} has no use for it")
    if imitates and not (needs_network and configuration.has_own_net):
        raise ParameterError("human_profile needs a HumanSL network: --net FILE")
    if needs_network and not is_there:
        if engine.net == EMBEDDED:
            raise ParameterError(f"this installation lacks its network {EMBEDDED} ({network_file()})")
        raise ParameterError(f"the player {asked} needs a network: --net FILE")
    return str(name)


AT_ODDS = ("memory", "cache_memory", "batch", "workers", "device", "precision", "human_profile",
           "human_net", "player", "net")  # fmt: skip
"""Parameters whose values may be right alone, and not with others or on this machine."""


def check(configuration: Configuration, addresses: int = LEAST_ADDRESSES) -> Configuration:
    """Find out before the first GTP reply what would prevent the player from being made.

    Return the configuration without values of the user's files that would, each with a complaint: what cannot be had on
    this machine, and all values that do not go together, unless the command line gave them. A network of the user's is
    opened when it is seen for the first time, which takes a second or two; the embedded one is trusted. `addresses`:
    the bytes of address space that the command needs. Raises ParameterError, UserError and EvaluatorError.
    """
    while (failure := _failure(configuration, addresses)) is not None:
        guilty = _guilty(configuration, failure, addresses)
        if not guilty:
            raise failure.error
        configuration = configuration.without(guilty, failure.error)
    if configuration.net is None and configuration.engine.net is None and configuration.engine.player is None:
        note(f"this installation lacks its network ({network_file()}): playing without one, which is weak")
    return configuration


def check_files(configuration: Configuration) -> Configuration:
    """Return the configuration as `check` does, but leave to those who make the player whatever else prevents it."""
    with contextlib.suppress(Exception):
        return check(configuration)
    return configuration


class _Failure(NamedTuple):
    passed: int
    """How many steps were passed before."""
    error: Exception

    def is_still_there(self, other: _Failure | None) -> bool:
        """Whether another configuration fails for the same reason, or for one that is found before it."""
        if other is None or other.passed != self.passed:
            return other is not None and other.passed < self.passed
        gist, gist_of_other = (re.sub(r"\d+", "", str(each.error)) for each in (self, other))
        return gist == gist_of_other


def _failure(configuration: Configuration, addresses: int) -> _Failure | None:
    """What prevents the player from being made. Internal errors are raised."""
    passed = 0
    try:
        for _ in _steps(configuration, addresses):
            passed += 1
    except Exception as error:
        if not is_of_user(error):
            raise
        return _Failure(passed, error)
    return None


def _guilty(configuration: Configuration, failure: _Failure, addresses: int) -> list[str]:
    """The parameters without whose values from files this failure would not be: each that alone makes the difference,
    else all; empty if the files are innocent."""
    named = [name for name in AT_ODDS if name in configuration.places]

    def is_still_there_without(names: Iterable[str]) -> bool:
        return failure.is_still_there(_failure(configuration.without(names, ""), addresses))

    guilty = [name for name in named if not is_still_there_without([name])]
    return guilty or ([] if not named or is_still_there_without(named) else named)


def _steps(configuration: Configuration, addresses: int) -> Iterator[None]:
    """Look for what would prevent the player from being made, one step after another. Raises what `check` raises."""
    _require_compiler()
    lacking = lacking_addresses(addresses)
    if lacking is not None:
        raise UserError(lacking)
    yield
    name = chosen_player(configuration)
    yield
    tables: list[type[ParameterTable]] = [PLAYERS[name].parameters, SearchParameters]
    for table in dict.fromkeys(tables):
        configuration.fill(table())
    yield
    _refuse_what_it_lacks(name, configuration)
    yield
    if configuration.net is None or not PLAYERS[name].needs_network:
        return
    if configuration.human_net is not None:
        check_network(configuration, of_people=True)
    yield
    if configuration.engine.device != AUTO or configuration.engine.precision == "fp16":
        from nets.open import check_device

        check_device(configuration.engine.device, configuration.engine.precision)
    yield
    if configuration.has_own_net:
        check_network(configuration)


def _require_compiler() -> None:
    """Raise UserError or ParameterError if variables of the environment keep numba from compiling."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        raise UserError("NUMBA_DISABLE_JIT=1 turns numba's compiler off, without which no player runs")
    check_numba_variables()


OF_EVERY_PLAYER = frozenset({"workers", "seed"})
"""The parameters of SearchParameters that every player has."""
OF_A_NETWORK = frozenset({"net", "device", "precision"})


def _refuse_what_it_lacks(name: str, configuration: Configuration) -> None:
    """Raise ParameterError if the command line sets a parameter, or names a network, that only other players have.

    A configuration file serves all players, so it may set what this one lacks.
    """
    if not PLAYERS[name].needs_network and configuration.engine.net != NO_NETWORK:
        for lacking in sorted(OF_A_NETWORK & configuration.by_hand):
            raise ParameterError(f"the player {name} uses no network, so {lacking} means nothing to it")
    known = {each.name for each in declared(PLAYERS[name].parameters)} | OF_EVERY_PLAYER
    others = {each.name for kind in PLAYERS.values() for each in declared(kind.parameters)} - known
    for lacking in sorted(others & configuration.by_hand):
        raise ParameterError(f"the player {name} has no parameter {lacking}")
    if configuration.human_net is None:
        of_people = {each.name for each in declared_by(HumanParameters)}
        for lacking in sorted(of_people & configuration.by_hand):
            raise ParameterError(f"{lacking} means nothing without a human network: --human-net FILE")


_compiler: subprocess.Popen[bytes] | None = None
"""The process ends when our end of its pipe is closed. The reference keeps the pipe open as long as we live."""


def compile_beside(configuration: Configuration) -> None:
    """Start a second process that compiles the search, once, if the configured player has a network and this process
    had to compile anything: then all the rest must be compiled too. The search is not imported yet."""
    global _compiler
    import subprocess

    import nobi_machine.jit

    is_useless = nobi_machine.jit.compilations == 0 or usable_cores() < 2
    if is_useless or _compiler is not None or not PLAYERS[chosen_player(configuration)].needs_network:
        return
    with contextlib.suppress(OSError):
        _compiler = subprocess.Popen(
            python_command("search.nobi.compile_ahead"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _compile_ends() -> None:
    """Where this process had to compile: what the second one comes to last."""
    import nobi_machine.jit

    if nobi_machine.jit.compilations > 0:
        from search.nobi.compile_ahead import compile_ends

        compile_ends()


def make_player(configuration: Configuration, beside: Player | None = None) -> Player:
    """Make the configured player, as `make_surely` does. `beside`: another one of the same configuration, whose
    networks it shares. Raises ParameterError and EvaluatorError."""

    def make(each: Configuration) -> Player:
        name = chosen_player(each)
        return PLAYERS[name].make(name, each, beside)

    return make_surely(configuration, make)


def make_surely(configuration: Configuration, make: Callable[[Configuration], T]) -> T:
    """Call `make`, and if it fails again without what the user's files say of devices and of networks, which may turn
    out only now to be impossible. Says so on stderr. Raises what `make` raises."""
    for names in (("device", "precision"), ("human_net", "human_profile", "net")):
        given = [name for name in names if name in configuration.places]
        if given:
            try:
                return make(configuration)
            except Exception as error:
                if not is_of_user(error):
                    raise
                configuration = configuration.without(given, error)
                note(configuration.complaints[-1])
    return make(configuration)
