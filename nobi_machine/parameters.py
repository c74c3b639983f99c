"""Parameters, each declared once: a field of a `ParameterTable` with its default, bounds, unit, text and uses.

    @dataclass(frozen=True)
    class PlayParameters(ParameterTable, section="play", title="Play"):
        \"\"\"How games are played.\"\"\"

        temperature: float = parameter(0.8, "Randomness of the moves.", low=0.0, high=5.0)

Everything else is made from such a table: command-line options, configuration files (TOML, read and written here),
GTP's parameter commands, the documents and the records that kernels read. Nothing heavy is imported here: the engine
reads its parameters before it answers the first command.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from nobi_machine.files import read_regular
from nobi_machine.memory import memory_for_search
from nobi_machine.text import (
    LONGEST_SHOWN,
    MOST_DIGITS,
    decode_text,
    parse_integer,
    parse_json,
    parse_number,
    printable,
    printable_path,
    shown,
)

MAX_FILE_BYTES = 1 << 18
"""A file that names every parameter and explains it has 10,000 bytes."""
MOST_PARTS = 32
"""Of a dotted key."""

_TOKEN = re.compile(r"""\"(?:[^"\\]|\\.)*(?:"|$)|'[^']*'|\#.*|[A-Za-z0-9]+|[ \t]+|.""", re.DOTALL)
"""What a line consists of, as far as dots that part a key are to be told from others."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises ParameterError, whose text begins with the path if the file is at fault."""
    import msgspec

    name = printable_path(path)
    try:
        content = decode_text(read_regular(path, MAX_FILE_BYTES))
        _measure(content)
        return msgspec.toml.decode(content, type=dict[str, Any])
    except OSError as error:
        raise ParameterError(f"{name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{name}: not TOML: not in UTF-8") from None
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: Python limits the digits of an integer
        raise ParameterError(f"{name}: not TOML: {printable(str(error))}") from None
    except RecursionError:
        raise ParameterError(f"{name}: not TOML that can be read: nested too deeply") from None


def _measure(content: str) -> None:
    """Raise ValueError for keys of many parts, `a.a.a. ...`, for which Python's parser takes quadratic time."""
    for line in content.splitlines():
        if line.count(".") < MOST_PARTS:
            continue
        parts = 0
        for token in _TOKEN.findall(line):
            parts += token == "."
            if not (token == "." or token.isspace() or token[0] in "\"'-_" or token.isalnum()):
                parts = 0
            if parts >= MOST_PARTS:
                raise ValueError(f"a key of more than {MOST_PARTS} parts")


def toml_value(value: object) -> str:
    """Write a value as TOML does; a table is written on one line."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()


T = TypeVar("T", bound="ParameterTable")

UNDECODED = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""How Python writes the bytes of a file's name that are not UTF-8."""

MOST_COMPLAINTS = 10
"""About one file."""


class ParameterError(ValueError):
    """A parameter that does not exist, or a value that it cannot have. The text is one line for the user."""


@dataclass(frozen=True)
class Parameter:
    """What is known about one parameter."""

    help: str
    """One sentence for the user."""
    default: Any
    """None where leaving the parameter out means something of its own; `absent` says what."""
    name: str = ""
    """What users call it: `field`, after the table's section where that is a scope. Options write `-` for `_`."""
    kind: type = str
    """bool, int, float, str, tuple or dict (with texts as keys)."""
    item: type = str
    """Kind of the items of a tuple, or of the values of a dict."""
    section: str = ""
    """The table that declares the parameter, and its heading in files."""
    field: str = ""
    """The field of that table which declares it."""
    unit: str = ""
    low: float | None = None
    """The smallest value."""
    high: float | None = None
    """The largest value."""
    above: float | None = None
    """Values are greater than this."""
    below: float | None = None
    """Values are smaller than this."""
    choices: tuple[str, ...] = ()
    """The values of a str, where only these are allowed; where there is a `check` too, it decides on any other."""
    departed: tuple[str, ...] = ()
    """Values of a str that earlier versions had; the default, or what it stands for, is taken in place of them."""
    absent: str = ""
    """What a default of None means."""
    example: Any = None
    """A value to show in files where the default is None."""
    kata: str = ""
    """KataGo's name, where KataGo has the same parameter."""
    live: bool | None = None
    """Whether GTP may change the parameter while the engine runs. None: as its table says."""
    commands: tuple[str, ...] = ()
    """The subcommands of `nobi` that have an option for it."""
    metavar: str = "N"
    """What the help of a command shows for the option's value."""
    check: Callable[[str], Any] | None = None
    """A further check of a str. It raises ValueError with the reason."""

    def convert(self, value: object, given: str = "", note: Callable[[str], object] | None = None) -> Any:
        """Convert a value to the parameter's type and check it: a text, or what a TOML or JSON file holds.

        An empty text is a value only where it is the default. `none` gives None where that is the default of a number.
        Raises ParameterError, whose text has the name `given` where the user knows the parameter by another one than
        ours. A departed value gives what the default means, if there is a `note` to tell it; else it is an error too.
        """
        named = shown(given) if given else self.name
        if value == "" and self.default == "":
            return value
        if value == "none" and self.default is None and self.kind in (int, float):
            return None  # as GTP shows it
        try:
            converted = _convert(self.kind, self.item, value)
        except ValueError as error:
            raise ParameterError(f"{named} must be {error}, not {shown(value)}") from None
        if self.choices:
            known = (*self.choices, *self.departed)
            converted = next((each for each in known if folded(each) == folded(converted)), converted)
        if converted in self.departed:
            instead = self.absent if self.default is None else self.default
            gone = f"{named} {converted} is gone: {instead} instead"
            if note is None:
                raise ParameterError(gone)
            note(gone)
            return instead
        self.verify(converted, value, named)
        return converted

    def verify(self, value: Any, written: object = None, named: str = "") -> None:
        """Raise ParameterError for a value that has the right type but is not allowed.

        `written` is the value as the user wrote it, `named` what the message calls the parameter if not by our name.
        """
        if value is None and self.default is None:
            return
        if self.kind in (int, float):
            allowed = self._is_within(value)
        else:
            allowed = not self.choices or value in self.choices or self.check is not None
        if not allowed:
            raise ParameterError(
                f"{named or self.name} must be {self.bounds()}, not {shown(value if written is None else written)}"
            )
        if self.check is not None:
            try:
                self.check(value)
            except ValueError as error:
                raise ParameterError(f"{named or self.name}: {error}") from None

    def bounds(self) -> str:
        """Describe the allowed values: `0 to 1`, `at least 1`, `true or false`, `one of ...`,
        `names: ...`. Empty for any text."""
        if self.choices:
            return f"{'one of' if self.check is None else 'names:'} {', '.join(self.choices)}"
        if self.kind is bool:
            return "true or false"
        if self.kind not in (int, float):
            return ""
        if self.low is not None and self.high is not None:
            return f"{_number(self.low)} to {_number(self.high)}"
        ends = (("at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below))
        return " and ".join(f"{words} {_number(end)}" for words, end in ends if end is not None) or "a number"

    @property
    def key(self) -> str:
        """The name as files have it below the section's heading."""
        return self.name.removeprefix(f"{self.section}.")

    def limits(self) -> str:
        """Describe the unit and the bounds, as documents show them. Empty where there are none."""
        return "; ".join(text for text in (self.unit, self.bounds()) if text)

    def _is_within(self, number: float) -> bool:
        return (
            (isinstance(number, int) or math.isfinite(number))
            and (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


def parameter(default: Any, help: str, **facts: Any) -> Any:
    """Declare a parameter as a field of a `ParameterTable`. `facts` are the other fields of `Parameter`.

    The field's annotation gives the kind: bool, int, float, str, `tuple[str, ...]`, `dict[str, float]`, each of them
    with `| None` where the default is None.
    """
    metadata = {"parameter": Parameter(help, default, **facts)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class ParameterTable:
    """The base class of frozen dataclasses whose fields are parameters, or tables of parameters.

    Every instance is valid: making one raises ParameterError for a value that its parameter cannot have.
    """

    section: ClassVar[str] = ""
    """The heading in files."""
    scoped: ClassVar[bool] = False
    """Whether the section is part of the parameters' names: `uct.exploration`. Not twice: `gumbel_noise` in a section
    gumbel is `gumbel.noise`."""
    title: ClassVar[str] = ""
    """The heading in documents."""
    live: ClassVar[bool] = False
    """Whether GTP may change the table's parameters while the engine runs."""

    def __init_subclass__(cls, section: str = "", title: str = "", live: bool = False, scoped: bool = False) -> None:
        cls.section, cls.title, cls.live, cls.scoped = section, title, live, scoped

    def __post_init__(self) -> None:
        """Raise ParameterError for the first value that is not allowed."""
        for each in declared(type(self)):
            each.verify(getattr(self, each.field))

    def with_value(self: T, name: str, value: object, given: str = "") -> T:
        """Return this table with one value changed: a value of its type, or its text. `name` is ours or KataGo's.

        Raises ParameterError; `given` is as in Parameter.convert.
        """
        wanted = folded(name)
        for each in declared(type(self)):
            if wanted in (folded(each.name), folded(each.kata)):
                return dataclasses.replace(self, **{each.field: each.convert(value, given)})
        raise ParameterError(f"unknown parameter: {shown(name)}")

    def suited(self: T) -> T:
        """Return this table, with smaller values where the machine is too small for these."""
        return self

    def check_memory(self) -> None:
        """Raise ParameterError for values that ask for more memory than this machine has for a search."""


def require_memory(needs: Mapping[str, float], values: Mapping[str, float], threads_bytes: int = 0) -> None:
    """Raise ParameterError if this machine has no memory for all of `needs`: bytes, by the name of a parameter.

    The message names the parameter that takes most of it, whose value is in `values`, and the most it can be.
    `threads_bytes`: what `memory_for_search` has taken off for threads, where `needs` counts these.
    """
    room, wanted = memory_for_search() + threads_bytes, sum(needs.values())
    if wanted <= room:
        return
    name = max(needs, key=lambda each: needs[each])
    share = max(0.0, needs[name] - (wanted - room)) / needs[name]
    most = int(values[name] * share)
    raise ParameterError(
        f"{name} must be at most {most} with the memory that this machine has, not {_number(values[name])}"
    )


_declared: dict[type[ParameterTable], tuple[Parameter, ...]] = {}


def declared(table: type[ParameterTable]) -> tuple[Parameter, ...]:
    """Return the parameters that a table's fields declare, in their order: those of tables it extends come first."""
    if table not in _declared:
        _declared[table] = tuple(_read_declarations(table))
    return _declared[table]


def declared_by(table: type[ParameterTable]) -> tuple[Parameter, ...]:
    """Return the parameters that a table declares itself, without those of the tables it extends."""
    own = inspect.get_annotations(table)
    return tuple(each for each in declared(table) if each.field in own)


def extended(table: type[ParameterTable]) -> tuple[type[ParameterTable], ...]:
    """Return the table and those that it extends, as far as they declare anything, the most basic first."""
    return tuple(each for each in reversed(_line(table)) if declared_by(each))


def _line(table: type[ParameterTable]) -> list[type[ParameterTable]]:
    """The table and those that it extends, itself first."""
    return [each for each in table.__mro__ if issubclass(each, ParameterTable)]


def _read_declarations(table: type[ParameterTable]) -> Iterator[Parameter]:
    hints = get_type_hints(table)
    for field in dataclasses.fields(table):
        if "parameter" in field.metadata:
            declaration: Parameter = field.metadata["parameter"]
            kind, item = _kinds(hints[field.name])
            owner = next(each for each in _line(table) if field.name in inspect.get_annotations(each))
            yield dataclasses.replace(
                declaration,
                name=f"{owner.section}.{field.name.removeprefix(f'{owner.section}_')}" if owner.scoped else field.name,
                field=field.name,
                kind=kind,
                item=item,
                section=owner.section,
                live=owner.live if declaration.live is None else declaration.live,
            )


class Complaints:
    """What is wrong in a file of the user's and does not hold, a line each: of many only the first, and how many more,
    because a GUI that reads no stderr stops an engine that writes much."""

    def __init__(self, place: str) -> None:
        """`place` is the file, as lines begin with it."""
        self._place = place
        self._lines: list[str] = []
        self._more = 0

    def add(self, reason: object, outcome: str = "ignored") -> None:
        """Add a complaint. A function is called for the reason only if that is shown: to find a suggestion takes long.
        `outcome`: what became of it."""
        if len(self._lines) < MOST_COMPLAINTS:
            self._lines.append(f"{self._place}: {reason() if callable(reason) else reason}; {outcome}")
        else:
            self._more += 1

    def lines(self) -> list[str]:
        """Return the lines to show."""
        return [*self._lines, *([f"{self._place}: and {self._more} more; ignored"] if self._more else [])]


def from_values(
    base: T,
    values: Mapping[str, object],
    place: str = "",
    complaints: Complaints | None = None,
    hint: Callable[[str], str] = lambda _name: "",
) -> T:
    """Make a table from nested mappings, such as a TOML file holds. What is missing keeps its value in `base`.

    `place` goes before the names in messages; `hint` says of an unknown name, with its place, what to write instead,
    or nothing. What is wrong is added to `complaints` and left out; without complaints it raises ParameterError.
    """
    known = {each.field: each for each in declared(type(base))}
    tables = {name: part for name, part in vars(base).items() if isinstance(part, ParameterTable)}
    given: dict[str, Any] = {}

    def refuse(reason: object) -> None:
        if complaints is None:
            raise ParameterError(str(reason() if callable(reason) else reason))
        complaints.add(reason)

    def unknown(name: str) -> str:
        found = hint(name)
        return f"unknown parameter: {shown(name)}" + (f" ({found})" if found else "")

    for name, value in values.items():
        if name in known:
            try:
                given[name] = known[name].convert(value)
            except ParameterError as error:
                refuse(f"{place}{error}")
        elif name not in tables:
            refuse(partial(unknown, f"{place}{name}"))
        elif isinstance(value, Mapping):
            given[name] = from_values(tables[name], value, f"{place}{name}.", complaints, hint)
        else:
            refuse(f"{place}{name} must be a table, not {shown(value)}")
    return dataclasses.replace(base, **given)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `did you mean X?` with the known name that is written most like `name` and begins alike, or an empty text
    if none is."""
    import difflib

    wanted = folded(name[:LONGEST_SHOWN])
    names = {folded(each): each for each in known if folded(each)[:1] == wanted[:1]}
    near = difflib.get_close_matches(wanted, names, n=1)
    return f"did you mean {names[near[0]]}?" if near else ""


def folded(name: str) -> str:
    """Return a name in small letters and without `-`, `_` and spaces, which users may write in different ways."""
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def _kinds(hint: Any) -> tuple[type, type]:
    """The kind of a field and of its items, from its annotation."""
    parts = [part for part in get_args(hint) if part not in (type(None), ...)]
    origin = get_origin(hint)
    if origin in (tuple, dict):
        return origin, parts[-1]
    kind: type = parts[0] if parts else hint
    return kind, kind


def _convert(kind: type, item: type, value: object) -> Any:
    """Raises ValueError that says what the value must be."""
    if kind in (tuple, dict):
        return _convert_items(kind, item, value)
    if kind is bool:
        text = str(value).strip().lower() if isinstance(value, (str, int)) else ""
        if text in ("true", "yes", "on", "1", "false", "no", "off", "0"):
            return text in ("true", "yes", "on", "1")
        raise ValueError("true or false")
    if kind is str:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10**MOST_DIGITS
        text = str(value) if isinstance(value, str) or is_number else ""
        if text and all(character.isprintable() or character in UNDECODED for character in text):
            return text
        raise ValueError("a text")
    return _convert_number(kind, value)


def _convert_number(kind: type, value: object) -> float:
    """An int or a float that fits into 64 bits, from one or from its text. Raises ValueError."""
    if isinstance(value, str):
        return parse_integer(value.strip()) if kind is int else parse_number(value.strip())
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**MOST_DIGITS:
        return kind(value)
    if isinstance(value, float) and kind is float and math.isfinite(value):
        return value
    raise ValueError("a whole number" if kind is int else "a number")


def _convert_items(kind: type, item: type, value: object) -> Any:
    """A tuple or a dict, from such a thing or from its text in JSON."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            value = None
    if kind is dict and isinstance(value, Mapping):
        return {str(key): _convert(item, item, each) for key, each in value.items()}
    if kind is tuple and isinstance(value, (list, tuple)):
        return tuple(_convert(item, item, each) for each in value)
    raise ValueError("a list" if kind is tuple else "a table")


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:g}"
