"""Parameters as kernels read them: the numbers and truth values of a table, as a record of numpy's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from nobi_machine.parameters import ParameterTable, declared

TYPES: Mapping[type, str] = {float: "f8", int: "i8", bool: "i1"}
"""How a parameter is stored, by its kind."""


def record_fields(table: type[ParameterTable]) -> list[tuple[str, str]]:
    """List the fields of a table's record: name and numpy's type of each number and truth value that cannot be None."""
    parameters = (each for each in declared(table) if each.default is not None)
    return [(each.field, TYPES[each.kind]) for each in parameters if each.kind in TYPES]


def record_of(parameters: ParameterTable, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """Return the parameters that a record has fields for in such a record, an array of one. Its other fields are 0."""
    record = np.zeros(1, kind)
    for name, _ in record_fields(type(parameters)):
        if name in (kind.fields or ()):
            record[name] = getattr(parameters, name)
    return record
