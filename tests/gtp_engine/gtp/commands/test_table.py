"""The table of commands and the handlers: each belongs to the other."""

from __future__ import annotations

import importlib
import inspect

from gtp_engine.gtp import commands


def test_every_handler_is_in_the_table_and_every_name_has_a_handler() -> None:
    for group in set(commands.GROUP_OF.values()):
        names = [name for name, of in commands.GROUP_OF.items() if of == group]
        module = importlib.import_module(f"gtp_engine.gtp.commands.{group}")
        functions = {
            name
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__
            and not name.startswith("_")
            and list(inspect.get_annotations(function).values()) == ["Session", "Call", "str"]
        }
        assert functions == {name.replace("-", "_") for name in names}, group


def test_no_command_is_in_two_groups() -> None:
    names = [name for _, group in commands.GROUPS for name in group.split()]
    assert len(set(names)) == len(names)
