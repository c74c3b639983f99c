"""The parameters that searches share, whichever player they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from nobi_machine.parameters import ParameterTable, parameter


@dataclass(frozen=True)
class TreeSearchParameters(ParameterTable, section="trees", title="All searches that grow a tree", live=True):
    """What all searches have that grow a tree."""

    virtual_loss: float = parameter(
        1.0,
        "Losses a visit under way counts for.",
        unit="visits",
        low=0.0,
        high=1000.0,
        kata="numVirtualLossesPerThread",
    )
    memory: int = parameter(
        1024,
        "Memory for the tree; where none is named, at most half of what the machine has for a search (a quarter for "
        "the players of the textbook).",
        unit="MB",
        low=4,
        high=1 << 20,
    )


@dataclass(frozen=True)
class NetworkSearchParameters(ParameterTable, section="network", title="All searches with a network", live=True):
    """What all searches have that ask a network."""

    random_symmetry: bool = parameter(True, "Show the network each position in a random one of its 8 symmetries.")
