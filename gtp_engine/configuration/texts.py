"""Texts made from the declarations of parameters: a configuration file to edit, and the document of all of them."""

from __future__ import annotations

from gtp_engine.configuration.parameters import parameters

SECTION_TITLES = {
    "engine": "The engine",
    "search": "The search with a network",
    "playouts": "The search without one",
}


def template() -> str:
    """A configuration file that changes nothing: every parameter, explained and commented out."""
    lines = ["# Nobi's configuration. Remove the # before a line to change a default."]
    section = ""
    for parameter in parameters():
        if parameter.section != section:
            section = parameter.section
            lines += ["", f"[{section}]"]
        notes = [text for text in (parameter.unit, parameter.bounds()) if text]
        notes += [f"default: {parameter.absent}"] if parameter.default is None else []
        lines += ["", f"# {parameter.help}" + (f" ({'; '.join(notes)})" if notes else "")]
        shown = parameter.example if parameter.default is None else parameter.default
        lines.append(f"# {parameter.name} = {toml_value(shown)}")
    return "\n".join(lines) + "\n"


def document() -> str:
    """docs/parameters.md: every parameter in a table."""
    lines = [
        "# Parameters",
        "",
        "Made by `make docs` from the declarations. Any of them can be given as `--set name=value` or as a line",
        "`name = value` of the configuration file (`nobi config --write` creates one); what can change while the",
        "engine runs is reached by `kata-set-param`. The more common ones are options of `nobi gtp`, too.",
    ]
    section = ""
    for parameter in parameters():
        if parameter.section != section:
            section = parameter.section
            lines += ["", f"## {SECTION_TITLES[section]}", "", "| name | default | | limits | KataGo's name |"]
            lines += ["| --- | --- | --- | --- | --- |"]
        shown = parameter.absent if parameter.default is None else f"`{toml_value(parameter.default)}`"
        limits = "; ".join(text for text in (parameter.unit, parameter.bounds()) if text)
        kata = f"`{parameter.kata}`" if parameter.kata else ""
        explanation = parameter.help.replace("|", "\\|")
        lines.append(f"| `{parameter.name}` | {shown} | {explanation} | {limits} | {kata} |")
    return "\n".join(lines) + "\n"


def toml_value(value: object) -> str:
    """A bool, number or string as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
