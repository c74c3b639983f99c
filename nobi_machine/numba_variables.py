"""The variables of the environment that numba reads, checked before numba is imported: `nobi gtp` does without it until
it has answered."""

from __future__ import annotations

import os
import re

from nobi_machine.parameters import ParameterError
from nobi_machine.text import printable

NUMBA_VARIABLES = (
    ("NUMBA_NUM_THREADS", "0*[1-9][0-9]{0,4}", "a number of threads from 1"),
    ("NUMBA_OPT", "[0-3]|max", "0, 1, 2, 3 or max"),
    ("NUMBA_CPU_FEATURES", "([+-][^,]+(,|$))*", "names of features such as +avx2,-fma"),
)
"""What variables may be; other values end numba or fill the terminal."""


def check_numba_variables() -> None:
    """Raise ParameterError if a variable has a value that numba cannot read."""
    for name, pattern, what in NUMBA_VARIABLES:
        value = os.environ.get(name, "")
        if value and not re.fullmatch(pattern, value):
            raise ParameterError(f"{name}={printable(value)}: numba takes {what}")
