"""The parameters of a search beside which a human network says what people would play, after KataGo's `humanSL...`."""

from __future__ import annotations

from dataclasses import dataclass

from search.parameters import parameter
from search.puct.parameters import SearchParameters


@dataclass(frozen=True)
class HumanParameters(SearchParameters, section="human", title="People's moves in the search", live=True):
    """The search's parameters where a human network is given (`human_net`)."""

    # fmt: off
    human_prop: float = parameter(
        0.0, "Probability that the move is one that people would play, and not the search's.", low=0.0, high=1.0,
        kata="humanSLChosenMoveProp",
    )
    human_lambda: float = parameter(
        1e9, "A move that the search finds worse by so much utility is played e times less often than people play it.",
        unit="utility", above=0.0, high=1e9, kata="humanSLChosenMovePiklLambda",
    )
    human_ignore_pass: bool = parameter(
        False, "Let the search alone decide when to pass.", kata="humanSLChosenMoveIgnorePass"
    )
    human_weightless: float = parameter(
        0.0, "Share of the visits that look at a move because people might play it, and count for that move alone.",
        low=0.0, high=1.0, kata="humanSLRootExploreProbWeightless",
    )
    human_weightful: float = parameter(
        0.0, "Share of the visits that look at such a move and count as any other.", low=0.0, high=1.0,
        kata="humanSLRootExploreProbWeightful",
    )
    human_cpuct: float = parameter(
        1.0, "Exploration of such visits, constant part.", low=0.0, high=1000.0, kata="humanSLCpuctExploration"
    )
    human_cpuct_permanent: float = parameter(
        0.0, "Exploration of such visits, part that never fades: moves worse by so much utility stay in sight.",
        unit="utility", low=0.0, high=1000.0, kata="humanSLCpuctPermanent",
    )
    # fmt: on

    @property
    def asks_people(self) -> bool:
        """Whether what people would play makes any difference."""
        return self.human_prop > 0.0 or self.human_weightless > 0.0 or self.human_weightful > 0.0
