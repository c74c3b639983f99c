"""Errors that the user can mend, and one line of text for any error."""

from __future__ import annotations

import os
import traceback

from gtp_engine.installation import REMEDY, damage
from nobi_machine.text import printable

LONGEST = 2000
"""Characters of the longest explanation."""

USER_ERRORS = (
    ("go_rules.rules", "RulesError"),
    ("go_rules.sgf.grammar", "SgfError"),
    ("gtp_engine.errors", "UserError"),
    ("nets.devices", "MissingDevice"),
    ("nets.evaluator", "EvaluatorError"),
    ("nobi_machine.parameters", "ParameterError"),
    ("training.errors", "TrainingError"),
)
"""Of every exception whose text is one line for the user, the module that defines it and its name. They are named and
not imported, because some of these modules take long to import."""


class UserError(Exception):
    """Something that the user can mend. The text is one line."""


class Refused(UserError):
    """A session cannot do what was asked, and has changed nothing."""


def explain(error: BaseException, hint: str = " (NOBI_DEBUG=1 shows where)") -> str:
    """Say in one line for the user what `error` means, after the name of the unit of work (nobi_machine/units.py) that
    it ended, if it did. Control characters in it are written out.

    `hint`: what follows where it is an error of our own. Its traceback goes to stderr if NOBI_DEBUG is set.
    """
    unit = vars(error).get("unit")
    return printable(f"{unit}: {_text(error, hint)}" if unit else _text(error, hint), LONGEST)


def is_of_user(error: BaseException) -> bool:
    """Return whether the text of `error` is one line about what the user can mend."""
    return any((kind.__module__, kind.__name__) in USER_ERRORS for kind in type(error).__mro__)


def _text(error: BaseException, hint: str) -> str:
    if is_of_user(error):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return "the system gives this process no more threads: fewer workers, or higher limits (ulimit -v, -u)"
    if found := damage():
        return f"{found}; {REMEDY} ({type(error).__name__}: {error})"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the Python package {error.name} is missing; reinstall Nobi, or its extra that this command needs"
    if os.environ.get("NOBI_DEBUG"):
        traceback.print_exception(error)
    return f"internal error: {type(error).__name__}: {error}{hint}"
