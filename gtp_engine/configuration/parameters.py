"""Every parameter of the engine, declared once: default, unit, bounds and what it is for.

Those of the search are declared in search/puct/parameters.py and listed here with the engine's own. The command line's
options and --set, the configuration file, GTP's parameter commands and the table of `nobi config` come from here.

Light on purpose: `nobi gtp` reads this before it may answer, so nothing here imports numpy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gtp_engine.configuration.settings import DEFAULT_SECONDS, EngineSettings
from nets.devices import AUTO
from nets.devices import NAMES as DEVICE_NAMES
from nets.human_profile import parse_profile
from search.puct.parameters import SearchParameters
from search.uct.parameters import UctParameters

RULE_NAMES = (
    "tromp-taylor",
    "chinese",
    "chinese-ogs",
    "chinese-kgs",
    "japanese",
    "korean",
    "stone-scoring",
    "ancient-territory",
    "aga",
    "bga",
    "aga-button",
    "new-zealand",
)
"""The presets of go_rules/rules.py, which imports numpy. A test compares them."""

_DEFAULTS = EngineSettings()


class ConfigError(ValueError):
    """A parameter or configuration file that cannot be used. One line, fit for a user."""


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter."""

    name: str
    """In files and --set; options write `-` for `_`."""
    kind: type
    """bool, int, float or str."""
    default: Any
    """None where leaving it out means something of its own; `absent` says what."""
    help: str
    section: str = "engine"
    """`engine`, `search` or `playouts`."""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    absent: str = ""
    example: Any = None
    """A value to show in files where the default is None."""
    kata: str = ""
    """KataGo's name, where it has the same parameter."""
    check: Callable[[str], Any] | None = None
    """Further check of a str; raises ValueError with the bare reason."""

    def convert(self, value: object) -> Any:
        """A checked value of the right kind from a TOML value or from text. Raises ConfigError."""
        try:
            converted = _convert(self.kind, value)
        except ValueError as error:
            raise ConfigError(f"{self.name} must be {error}, not {value}") from None
        if self.kind in (int, float) and not _within(converted, self.low, self.high):
            raise ConfigError(f"{self.name} must be {self.bounds()}, not {value}")
        if self.choices:
            converted = next((c for c in self.choices if _folded(c) == _folded(converted)), None)
            if converted is None:
                raise ConfigError(f"{self.name} must be one of {', '.join(self.choices)}, not {value}")
        if self.check is not None:
            try:
                self.check(converted)
            except ValueError as error:
                raise ConfigError(f"{self.name}: {error}") from None
        return converted

    def bounds(self) -> str:
        """`0 to 1`, `at least 1`, `true or false`, `one of ...`; empty for free text."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return ""
        if self.low is not None and self.high is not None:
            return f"{_number(self.low)} to {_number(self.high)}"
        return f"at least {_number(self.low)}" if self.low is not None else "a number"


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from `19` or `13x9`. Raises ValueError with the reason."""
    sides = text.lower().replace(":", "x").split("x")
    if not 1 <= len(sides) <= 2 or not all(s.isascii() and s.isdigit() and 2 <= int(s[:4]) <= 25 for s in sides):
        raise ValueError(f"{text} is no board size (2 to 25, or WIDTHxHEIGHT)")
    return int(sides[0]), int(sides[-1])


ENGINE_PARAMETERS = (
    Parameter(
        "net", str, None, "The network: a KataGo file (.bin.gz, .txt.gz) or an .onnx file; none plays without one.",
        absent="the embedded one", example="network.bin.gz",
    ),
    Parameter(
        "player", str, None, "The search, by name; `nobi players` lists them.", absent="by the network",
        example="network",
    ),
    Parameter(
        "visits", int, None, "Visits a move at most.", unit="visits", low=1, high=10**12, absent="no limit",
        example=800, kata="maxVisits",
    ),
    Parameter(
        "time", float, None, "Thinking time of a move at most, clock or no clock.", unit="seconds", low=0.001, high=1e7,
        absent=f"{DEFAULT_SECONDS:g} if nothing else limits a move", example=5.0, kata="maxTime",
    ),
    Parameter(
        "precision", str, "auto", "Arithmetic of the network.", choices=("auto", "int16", "int8", "fp32", "fp16")
    ),
    Parameter(
        "device", str, AUTO, "What computes the network; auto is a GPU where onnxruntime has one to offer.",
        choices=DEVICE_NAMES,
    ),
    Parameter(
        "human_profile", str, None, "Whom a HumanSL network imitates: rank_5k, preaz_9d, rank_9d_5k, proyear_1990, ...",
        absent="none", example="rank_5k", kata="humanSLProfile", check=parse_profile,
    ),
    Parameter("size", str, str(_DEFAULTS.width), "The first board: N or WIDTHxHEIGHT.", check=parse_size),
    Parameter(
        "komi", float, None, "Points for white.", unit="points", low=-1000, high=1000, absent="customary",
        example=7.5,
    ),
    Parameter("rules", str, _DEFAULTS.rules, "The rule set.", choices=RULE_NAMES),
    Parameter("ponder", bool, _DEFAULTS.ponder, "Think on the opponent's time.", kata="ponderingEnabled"),
    Parameter(
        "lag", float, _DEFAULTS.lag, "Time a controller's clock charges beyond our own thinking.",
        unit="seconds a move", low=0, high=60, kata="lagBuffer",
    ),
    Parameter("gtp_name", str, _DEFAULTS.gtp_name, "What `name` answers; some GUIs choose their dialect by it."),
    Parameter(
        "analysis_pv", int, _DEFAULTS.analysis_pv, "Moves of a principal variation shown at most.", unit="moves", low=1,
        high=1000, kata="analysisPVLen",
    ),
    Parameter(
        "ogs_chat", bool, _DEFAULTS.ogs_chat, "Write a line to stderr after each move for gtp2ogs to show.",
        kata="ogsChatToStderr",
    ),
    Parameter(
        "log", str, None, "File for the GTP dialogue and the tracebacks of internal errors.", absent="none",
        example="nobi.log",
    ),
)  # fmt: skip


def parameters() -> Iterator[Parameter]:
    """All parameters: the engine's, the network-guided search's, the playout search's."""
    yield from ENGINE_PARAMETERS
    yield from _declared(SearchParameters, "search")
    yield from _declared(UctParameters, "playouts")


def _declared(kind: type, section: str) -> Iterator[Parameter]:
    """The parameters that the fields of a dataclass of knobs declare."""
    for each in dataclasses.fields(kind):
        spec = each.metadata["knob"]
        bounds = {"low": spec.low, "high": spec.high}
        value = each.default
        yield Parameter(each.name, type(value), value, spec.help, section, spec.unit, kata=spec.kata, **bounds)


def find_parameter(name: str) -> Parameter:
    """A parameter by our name or KataGo's; case, `-` and `_` are free. Raises ConfigError."""
    wanted = _folded(name)
    for parameter in parameters():
        if wanted in (_folded(parameter.name), _folded(parameter.kata)):
            return parameter
    raise ConfigError(f"unknown parameter: {name} (`nobi config` lists them)")


def _convert(kind: type, value: object) -> Any:
    """Raises ValueError that says what the value must be."""
    if kind is bool:
        if str(value).strip().lower() in ("true", "yes", "on", "1", "false", "no", "off", "0"):
            return str(value).strip().lower() in ("true", "yes", "on", "1")
        raise ValueError("true or false")
    if kind is str:
        text = str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
        if text and text.isprintable():
            return text
        raise ValueError("a text")
    wanted = "a whole number" if kind is int else "a number"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(wanted)
    try:
        number = float(value) if kind is float else int(value if isinstance(value, (int, str)) else str(value))
    except ValueError:
        raise ValueError(wanted) from None
    return number


def _within(number: float, low: float | None, high: float | None) -> bool:
    return math.isfinite(number) and (low is None or number >= low) and (high is None or number <= high)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()
