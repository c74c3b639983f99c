"""The table of commands and the handlers: each belongs to the other."""

from __future__ import annotations

import importlib
import inspect

from gtp_engine import commands


def test_every_handler_is_in_the_table_and_every_name_has_a_handler() -> None:
    for group, names in commands.GROUPS.items():
        module = importlib.import_module(f"gtp_engine.commands.{group}")
        functions = {
            name
            for name, function in inspect.getmembers(module, inspect.isfunction)
            if function.__module__ == module.__name__
            and not name.startswith("_")
            and list(inspect.get_annotations(function).values()) == ["Engine", "Call", "str"]
        }
        assert functions == {name.replace("-", "_") for name in names}, group


def test_no_command_is_in_two_groups() -> None:
    names = [name for group in commands.GROUPS.values() for name in group]
    assert len(set(names)) == len(names)
