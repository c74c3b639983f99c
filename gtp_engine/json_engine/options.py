"""What holds for a query of the JSON engine: limits, perspective, lengths and the search's parameters.

KataGo's names of settings come from its configuration files, from `-override-config` and from a query's
`overrideSettings`; all three are read here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from go_rules.points import COLOURS, EMPTY
from gtp_engine.configuration.katago import MACHINE, Adopted, Settings, adopt
from gtp_engine.configuration.settings import EngineSettings
from nets.human_profile import HumanProfile, parse_profile
from nobi_machine.parameters import Parameter, ParameterError, declared, folded
from nobi_machine.text import shown
from search.nobi.parameters import SearchParameters

DEFAULT_VISITS = 500
"""Of a query where nothing says how many, as in KataGo's example of a configuration."""
VARIATION = 15
"""The moves of a principal variation after the first, where nothing says how many."""

PERSPECTIVE = "reportAnalysisWinratesAs"
"""KataGo's setting of whose winrates are reported: BLACK in all files that come with it, the side to move where a file
says nothing."""
SIDE_TO_MOVE = EMPTY
PERSPECTIVES = {**COLOURS, "sidetomove": SIDE_TO_MOVE}
WARNS = Parameter("", True, "warnUnusedFields", bool)

OF_QUERIES = frozenset({"visits", "playouts", "time", "analysis_pv", "human_profile"})
"""The engine's own parameters that a query may give."""

IN_ANALYSIS = {
    folded("wideRootNoise"): "analysis_wide_root_noise",
    folded("ignorePreRootHistory"): "analysis_ignore_history",
}
"""Settings of which this engine has KataGo's own for analysis, where a GTP engine has two."""

NEUTRAL = {folded("preventCleanupPhase"): "true", folded("assumeMultipleStartingBlackMovesAreHandicap"): "true"}
"""KataGo's settings of the analysis engine alone of which this is the only value here."""


@dataclass(frozen=True)
class Options:
    """What holds for a query where it says nothing else: limits, perspective, lengths and the search's parameters."""

    parameters: SearchParameters = field(default_factory=SearchParameters)
    """HumanParameters where there is a human network."""
    engine: EngineSettings = field(default_factory=lambda: EngineSettings(visits=DEFAULT_VISITS, analysis_pv=VARIATION))
    """Of these count OF_QUERIES."""
    perspective: int = SIDE_TO_MOVE
    """Whose view reports take: BLACK, WHITE or SIDE_TO_MOVE."""
    warn_unused: bool = True
    """Whether unknown fields of a query are worth a warning."""

    @property
    def profile(self) -> HumanProfile | None:
        """Whom the human network imitates; None where it is not asked."""
        return parse_profile(self.engine.human_profile) if self.engine.human_profile else None

    def with_settings(self, given: Settings) -> tuple[Options, Adopted]:
        """Put KataGo's settings in place of these options' own. Returns the new options, and what became of the
        settings. Raises ParameterError for a value that a setting cannot have."""
        own: dict[str, Any] = {}
        texts: dict[str, str] = {}
        for name, text in given.texts.items():
            key = folded(name)
            if text and key == folded(PERSPECTIVE):
                if folded(text) not in PERSPECTIVES:
                    raise ParameterError(f"{name} must be one of BLACK, WHITE, SIDETOMOVE, not {shown(text)}")
                own["perspective"] = PERSPECTIVES[folded(text)]
            elif text and key == folded(WARNS.name):
                own["warn_unused"] = WARNS.convert(text, name)
            elif NEUTRAL.get(key) != text.lower():
                texts[name] = text
        meant = OF_QUERIES.union(each.name for each in declared(type(self.parameters))) - MACHINE
        adopted = adopt(given._replace(texts=texts), meant, IN_ANALYSIS)
        return dataclasses.replace(self, **own).with_values(adopted.values), adopted

    def with_values(self, values: Mapping[str, Any]) -> Options:
        """Put checked values, by the names of our parameters, in place of these options' own."""
        of_engine = {name: value for name, value in values.items() if name in OF_QUERIES}
        of_search = {name: value for name, value in values.items() if name not in OF_QUERIES}
        engine = dataclasses.replace(self.engine, **of_engine) if of_engine else self.engine
        parameters = dataclasses.replace(self.parameters, **of_search) if of_search else self.parameters
        return dataclasses.replace(self, engine=engine, parameters=parameters)
