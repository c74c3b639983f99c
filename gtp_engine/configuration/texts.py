"""Texts made from the declarations of parameters: a configuration file to edit, and the document of all of them."""

from __future__ import annotations

from gtp_engine.configuration.parameters import TABLES
from search.parameters import declared_by
from search.toml import toml_value


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
            lines.append(f"# {parameter.name} = {toml_value(shown)}")
    return "\n".join(lines) + "\n"


def document() -> str:
    """Write the text of docs/parameters.md: every parameter in a table."""
    lines = [
        "# Parameters",
        "",
        "Made by `make docs` from the declarations. Any of them can be given as `--set name=value` or as a line",
        "`name = value` of the configuration file (`nobi config --write` creates one); what can change while the",
        "engine runs is reached by `kata-set-param`. The more common ones are options of `nobi gtp`, too. What is",
        "wrong in the file is a line on stderr and ignored; `nobi doctor` shows these lines.",
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
