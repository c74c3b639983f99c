"""Errors that the user can mend, and one line of text for any error."""

from __future__ import annotations

import sys

USER_ERRORS = (
    ("go_rules.rules", "RulesError"),
    ("go_rules.sgf.reader", "SgfError"),
    ("nets.evaluator", "EvaluatorError"),
    ("search.parameters", "ParameterError"),
    ("training.errors", "TrainingError"),
)
"""Module and name of every other exception whose text is one line for the user. Modules are named and not imported,
because an exception that was raised has had its module imported."""


class UserError(Exception):
    """Something that the user can mend. The text is one line."""

    exit_code = 1


def explain(error: BaseException) -> str:
    """Say in one line for the user what `error` means."""
    if isinstance(error, UserError):
        return str(error)
    for module, name in USER_ERRORS:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(error, kind):
            return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the Python package {error.name} is missing; reinstall Nobi, or its extra that this command needs"
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"internal error: {type(error).__name__}: {error} (NOBI_DEBUG=1 shows where)"
