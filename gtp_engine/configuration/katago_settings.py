"""KataGo's settings for a GTP engine, from its configuration files and `-override-config`, as parameters of ours.

What KataGo's users tune for a graphics card, such as the number of threads, says nothing about this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gtp_engine.configuration.fixed import fixed_name, require_fixed
from gtp_engine.configuration.parameters import find_parameter
from search.parameters import ParameterError, folded
from search.puct.human_parameters import HumanParameters

MACHINE = frozenset({"workers", "batch", "memory", "cache_memory", "seed"})
"""Parameters of the search that belong to the machine: the whole engine has them, not a file of KataGo's or a query."""

OTHER_NAMES = {folded("defaultBoardSize"): "size"}
"""Our parameters by names of KataGo's that GTP does not know."""


class Adopted(NamedTuple):
    """What was made of KataGo's settings."""

    values: dict[str, Any]
    """Checked values by our parameters' names."""
    unused: list[str]
    """Names that mean nothing here."""
    reasons: list[str]
    """Lines about settings that have one other value here."""


def adopt(given: Mapping[str, str], has_human_net: bool = False) -> Adopted:
    """Sort KataGo's settings. Those of a human network have one value where there is none.

    Raises ParameterError for a value that a parameter cannot have."""
    adopted = Adopted({}, [], [])
    for name, value in given.items():
        fixed = fixed_name(name)
        try:
            parameter = find_parameter(OTHER_NAMES.get(folded(name), name))
        except ParameterError:
            parameter = None
        if parameter is not None and parameter.section == HumanParameters.section and not has_human_net:
            parameter = None
        if parameter is not None and parameter.name not in MACHINE:
            if value or fixed is None:  # an empty humanSLProfile is no profile
                adopted.values[parameter.name] = parameter.convert(value, name)
        elif fixed is None:
            adopted.unused.append(name)
        else:
            try:
                require_fixed(fixed, value)
            except ParameterError as error:
                adopted.reasons.append(str(error))
    if "playout_doublings" in adopted.values:
        adopted.values.setdefault("handicap_doublings", 0.0)  # as in KataGo, where one alone takes the other's place
    return adopted
