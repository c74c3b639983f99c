"""What holds for a query of the JSON engine: limits, perspective, lengths and the search's parameters.

KataGo's names of settings come from its configuration files, from `-override-config` and from a query's
`overrideSettings`; all three are read here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from go_rules.points import BLACK, EMPTY, WHITE
from gtp_engine.configuration.katago import MACHINE, fixed_name, require_fixed
from gtp_engine.configuration.parameters import departed, known_parameter, unknown
from gtp_engine.configuration.settings import LONGEST, MOST_VISITS
from nets.human_profile import HumanProfile, parse_profile
from nobi_machine.parameters import Parameter, ParameterError, declared, folded
from nobi_machine.text import shown
from search.nobi.parameters import SearchParameters

DEFAULT_VISITS = 500
"""Of a query where nothing says how many, as in KataGo's example of a configuration."""
VARIATION, LONGEST_VARIATION = 15, 1000
"""The moves of a principal variation after the first: where nothing says how many, and at most."""

SIDE_TO_MOVE = EMPTY
PERSPECTIVES = {"black": BLACK, "b": BLACK, "white": WHITE, "w": WHITE, "sidetomove": SIDE_TO_MOVE}

IN_ANALYSIS = {
    folded(kata): ours
    for kata, ours in {
        "wideRootNoise": "analysis_wide_root_noise",
        "ignorePreRootHistory": "analysis_ignore_history",
    }.items()
}
"""Settings of which this engine has KataGo's own for analysis, where a GTP engine has two."""

NEUTRAL = {folded("preventCleanupPhase"): "true", folded("assumeMultipleStartingBlackMovesAreHandicap"): "true"}
"""KataGo's settings of the analysis engine alone of which this is the only value here."""


@dataclass(frozen=True)
class Options:
    """What holds for a query where it says nothing else: limits, perspective, lengths and the search's parameters."""

    parameters: SearchParameters = field(default_factory=SearchParameters)
    """HumanParameters where there is a human network."""
    visits: int = DEFAULT_VISITS
    playouts: int = MOST_VISITS
    seconds: float | None = None
    perspective: int = SIDE_TO_MOVE
    """Whose view reports take: BLACK, WHITE or SIDE_TO_MOVE."""
    variation: int = VARIATION
    """The moves of a principal variation after the first, at most."""
    profile: HumanProfile | None = None
    """Whom the human network imitates; None where it is not asked."""
    warn_unused: bool = True
    """Whether unknown fields of a query are worth a warning."""

    def with_settings(self, settings: Mapping[str, str]) -> tuple[Options, list[str], list[str]]:
        """Put KataGo's settings in place of these options' own. Returns the new options; the names that mean nothing
        here; and what to say of settings that are known, but have another value here, or none any more.

        Raises ParameterError for a value that a setting cannot have.
        """
        options, unused, other = self, list[str](), list[str]()
        for name, value in settings.items():
            fixed = fixed_name(name)
            changed = options._with(name, value.strip())
            if changed is not None:
                options = changed
            elif fixed is not None:
                try:
                    require_fixed(fixed, value)
                except ParameterError as error:
                    other.append(str(error))
            elif departed(name):
                other.append(unknown(name))
            else:
                unused.append(name)
        return options, unused, other

    def _with(self, name: str, value: str) -> Options | None:
        """These options with one setting; None where it means nothing here. Raises ParameterError."""
        key = folded(name)
        if key == "reportanalysiswinratesas":
            if folded(value) not in PERSPECTIVES:
                raise ParameterError(f"{name} must be one of BLACK, WHITE, SIDETOMOVE, not {shown(value)}")
            return dataclasses.replace(self, perspective=PERSPECTIVES[folded(value)])
        if key == "humanslprofile":
            try:
                return dataclasses.replace(self, profile=parse_profile(value) if value else None)
            except ValueError as error:
                raise ParameterError(f"{name}: {error}") from None
        if key in _OWN:
            return dataclasses.replace(self, **{_OWN[key].name: _OWN[key].convert(value, name)})
        parameter = _parameter(name)
        if parameter is None:
            return self if NEUTRAL.get(key) == value.lower() else None
        if parameter.name in MACHINE or parameter not in declared(type(self.parameters)):
            return None
        parameters = self.parameters.with_value(parameter.name, value, name)
        return dataclasses.replace(self, parameters=parameters)


_OWN = {
    "maxvisits": Parameter("", DEFAULT_VISITS, "visits", int, low=1, high=MOST_VISITS),
    "maxplayouts": Parameter("", MOST_VISITS, "playouts", int, low=1, high=MOST_VISITS),
    "maxtime": Parameter("", None, "seconds", float, low=0.0, high=LONGEST),
    "analysispvlen": Parameter("", VARIATION, "variation", int, low=1, high=LONGEST_VARIATION),
    "warnunusedfields": Parameter("", True, "warn_unused", bool),
}
"""Our own fields by KataGo's folded name."""


def without(settings: Mapping[str, str], decided: Set[str]) -> dict[str, str]:
    """Return KataGo's settings without those that mean a parameter in `decided`, our names: a source that counts more
    has given it a value."""
    kept = dict(settings)
    for name in settings:
        parameter = _parameter(name)
        if parameter is not None and parameter.name in decided:
            del kept[name]
    return kept


def _parameter(name: str) -> Parameter | None:
    """What KataGo's setting means in this engine, where we have such a parameter."""
    return known_parameter(IN_ANALYSIS.get(folded(name), name))
