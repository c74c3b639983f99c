"""Configuration files written: changing parameters while everything else stays as the user wrote it, a file to begin
with, and the document of all parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit

from gtp_engine.configuration.parameters import TABLES, find_parameter, formerly, known_parameter
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from nobi_machine.files import PUBLIC, put_in_place, read_regular, written_beside
from nobi_machine.parameters import MAX_FILE_BYTES, Parameter, declared_by, toml_value
from nobi_machine.text import decode_text, printable_path


def template() -> str:
    """Write the text of a configuration file that changes nothing: every parameter, explained and commented out."""
    lines = ["# Nobi's configuration. Remove the # before a line to change a default."]
    for table in TABLES:
        lines += ["", f"[{table.section}]"]
        for parameter in declared_by(table):
            limits = parameter.limits()
            notes = [limits] if limits else []
            notes += [f"default: {parameter.absent}"] if parameter.default is None else []
            lines += ["", f"# {parameter.help}" + (f" ({'; '.join(notes)})" if notes else "")]
            shown = parameter.example if parameter.default is None else parameter.default
            lines.append(f"# {parameter.key} = {toml_value(shown)}")
    return "\n".join(lines) + "\n"


def document() -> str:
    """Write the text of docs/parameters.md: every parameter in a table."""
    lines = [
        "# Parameters",
        "",
        "Made by `make docs` from the declarations. Any of them can be given as `--set name=value` or as a line",
        "`name = value` of the configuration file (`nobi config --write` creates one); what can change while the",
        "engine runs is reached by `kata-set-param`. The more common ones are options of `nobi gtp`, too. What comes",
        "before a dot is whose parameter it is; in the file, `uct.exploration = 0.3` is also `exploration = 0.3` below",
        "`[uct]`. What is wrong in the file is a line on stderr and ignored; `nobi doctor` shows these lines.",
    ]
    for table in TABLES:
        lines += ["", f"## {table.title}", "", "| name | default | | limits | KataGo's name |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for parameter in declared_by(table):
            shown = parameter.absent if parameter.default is None else f"`{toml_value(parameter.default)}`"
            kata = f"`{parameter.kata}`" if parameter.kata else ""
            explanation = parameter.help.replace("|", "\\|")
            lines.append(f"| `{parameter.name}` | {shown} | {explanation} | {parameter.limits()} | {kata} |")
    return "\n".join(lines) + "\n"


def changed(text: str, values: Mapping[str, object]) -> str:
    """Set these parameters, by their own names, in the text of a TOML file and return the new text.

    A parameter that the file gives a value to gets the new one in its place. Any other gets a line of its own: below
    the line that has it commented out, else below its section's heading, else at the end.
    """
    document = tomlkit.parse(text)
    missing = [name for name, value in values.items() if not _replaced(document, name, value)]
    text = tomlkit.dumps(document)
    ending = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
    for name in missing:
        _insert(lines, name, toml_value(values[name]), ending)
    return "".join(lines)


def write_values(path: Path, values: Mapping[str, object]) -> None:
    """Set parameters in the file at `path`, which is created where there is none.

    What is wrong in the file stays as it is. Raises UserError where the file cannot be edited, and OSError.
    """
    path = path.resolve()  # a link stays one
    is_new = not path.exists()
    before = {} if is_new else load(path, [], {}).values
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b"" if is_new else read_regular(path, MAX_FILE_BYTES)
    wanted = ", ".join(f"{name} = {toml_value(value)}" for name, value in values.items())
    too_difficult = UserError(
        f"{printable_path(path)}: its form is beyond what can be edited safely; set {wanted} in it yourself"
    )
    try:
        new_text = changed(decode_text(content), values)
    except (ValueError, RecursionError):  # no TOML, or what Python's parser reads and tomlkit's does not
        raise too_difficult from None
    with written_beside(path, new_text.encode("utf-8"), PUBLIC, durable=True) as new:
        if load(new, [], {}).values != {**before, **values}:
            raise too_difficult
        put_in_place(new, path, like_before=not is_new)


def _replaced(table: MutableMapping[str, Any], name: str, value: object, heading: str = "") -> bool:
    """Give a parameter its value where a table, or a table in it, has it already."""
    for key, present in table.items():
        if isinstance(present, MutableMapping):
            if _replaced(present, name, value, key):
                return True
        elif _is(key, heading, name):
            table[key] = value
            return True
    return False


def _insert(lines: list[str], name: str, value: str, ending: str) -> None:
    parameter = find_parameter(name)
    heading = f"[{parameter.section}]"
    places = [i for i, line in enumerate(lines) if _is_commented(line, parameter)]
    places += [i for i, line in enumerate(lines) if line.partition("#")[0].replace(" ", "").strip() == heading]
    if not places:
        lines += [ending, heading + ending] if lines else [heading + ending]
        places = [len(lines) - 1]
    lines.insert(places[0] + 1, f"{parameter.key} = {value}{ending}")


def _is_commented(line: str, parameter: Parameter) -> bool:
    """Whether a line, such as one of the template, is this parameter's with a # before it."""
    key, equals, _ = line.strip().removeprefix("#").partition("=")
    return line.lstrip().startswith("#") and bool(equals) and _is(key.strip(), parameter.section, parameter.name)


def _is(key: str, heading: str, name: str) -> bool:
    """Whether a key below a heading is a name of this parameter, or was one."""
    parameter = known_parameter(key, heading) or formerly(key)
    return parameter is not None and parameter.name == name
