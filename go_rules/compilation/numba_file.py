"""Keeps numba from a file of settings in the current directory, which anybody may have put there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_numba_file() -> Iterator[None]:
    """Have numba, which is imported in the body, read no settings from the current directory.

    Where PyYAML is installed, it would take any of its settings from a file `.numba_config.yaml` there: for example
    kernels that are not optimised, which the cache would keep. Without PyYAML it only warns of the file.
    """
    warnings.filterwarnings("ignore", "A Numba config file is found")
    yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment] # which means: not installed
    try:
        yield
    finally:
        del sys.modules["yaml"]
        if yaml is not None:
            sys.modules["yaml"] = yaml
