"""KataGo's settings for a GTP engine, from its configuration files and `-override-config`, as parameters of ours.

What KataGo's users tune for a graphics card, such as the number of threads, says nothing about this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gtp_engine.configuration.fixed import fixed_name, require_fixed
from gtp_engine.configuration.katago_config import Settings
from gtp_engine.configuration.parameters import departed, known_parameter, unknown
from search.parameters import ParameterError, folded
from search.puct.human_parameters import HumanParameters

MACHINE = frozenset({"workers", "batch", "memory", "cache_memory", "seed"})
"""Parameters of the search that belong to the machine: the whole engine has them, not a file of KataGo's or a query."""

OTHER_NAMES = {folded("defaultBoardSize"): "size"}
"""Our parameters by names of KataGo's that GTP does not know."""

_ALSO: dict[str, tuple[str, Callable[[Any], Any]]] = {
    # A fixed advantage takes the place of the one by handicap, even if it is 0.
    folded("playoutDoublingAdvantage"): ("handicap_doublings", lambda _doublings: 0.0),
    # The setting for analysis is that for games too.
    folded("antiMirror"): ("counter_mirror", lambda is_on: is_on),
}
"""By KataGo's name, in files and in commands alike: the parameter of ours that it sets too, and to what. The analysis
engine plays no games, so there these two mean nothing."""


def implied(name: str, value: Any) -> dict[str, Any]:
    """Return what KataGo's setting of this name sets besides: values by our parameters' names, of those that nobody has
    named. `value` is the setting's own, of its type."""
    if folded(name) not in _ALSO:
        return {}
    target, make = _ALSO[folded(name)]
    return {target: make(value)}


class Adopted(NamedTuple):
    """What was made of KataGo's settings."""

    values: dict[str, Any]
    """Checked values by our parameters' names."""
    implied: dict[str, Any]
    """Further values, for parameters that are named nowhere."""
    unused: list[str]
    """Names that mean nothing here."""
    reasons: list[str]
    """Lines about settings that have one other value here, or none any more."""
    places: dict[str, str]
    """By our parameters' names, the file that a value comes from, as messages say it."""
    complaints: list[str]
    """Lines about what is wrong in files and does not hold."""


def adopt(given: Settings, has_human_net: bool = False) -> Adopted:
    """Sort KataGo's settings. Those of a human network have one value where there is none.

    Raises ParameterError for a value that a parameter cannot have."""
    adopted = Adopted({}, {}, [], [], {}, given.complaints)
    for name, value in given.texts.items():
        fixed = fixed_name(name)
        parameter = known_parameter(OTHER_NAMES.get(folded(name), name))
        if parameter is not None and parameter.section == HumanParameters.section and not has_human_net:
            parameter = None
        if parameter is not None and parameter.name not in MACHINE:
            if value or fixed is None:  # an empty humanSLProfile is no profile
                adopted.values[parameter.name] = parameter.convert(value, name, adopted.reasons.append)
                adopted.implied.update(implied(name, adopted.values[parameter.name]))
                adopted.places.pop(parameter.name, None)
                if name in given.places:
                    adopted.places[parameter.name] = given.places[name]
        elif fixed is not None:
            try:
                require_fixed(fixed, value)
            except ParameterError as error:
                adopted.reasons.append(str(error))
        elif departed(name):
            adopted.reasons.append(unknown(name))
        else:
            adopted.unused.append(name)
    return adopted
