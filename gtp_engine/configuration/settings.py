"""The engine's own parameters: everything that a GTP engine is told before its first command, except about its search.

Nothing heavy is imported here: `nobi gtp` reads this before it may answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gtp_engine.version import GTP_VERSION
from nets.devices import AUTO, named_device
from nets.devices import NAMES as DEVICE_NAMES
from nets.embedded import DEPARTED, EMBEDDED
from nets.human_profile import parse_profile
from nobi_machine.cache import expand_home
from nobi_machine.parameters import ParameterTable, parameter
from nobi_machine.text import shown

if TYPE_CHECKING:
    from search.request import Limits

MOST_VISITS, LONGEST = 1 << 50, 1e20
"""KataGo's own bounds, in visits and seconds: its configuration files write them for no limit."""
DEFAULT_SECONDS = 5.0
"""A move's thinking time where neither the user nor the controller limits anything."""

RULE_NAMES = (
    *("tromp-taylor", "chinese", "chinese-ogs", "chinese-kgs", "japanese", "korean", "stone-scoring"),
    *("ancient-territory", "aga", "bga", "aga-button", "new-zealand", "ing"),
)
"""The presets of go_rules/rule_names.py, which imports numpy. A test compares them."""
OTHER_RULE_NAMES = ("nz", "french", "goe", "ancient-area")
"""Its further names of presets; the same test compares these."""


def check_rules(text: str) -> None:
    """Raise ValueError with the reason if `text` names no rules in any of the ways that `rules_and_komi` reads."""
    if text not in RULE_NAMES and text.lower() not in OTHER_RULE_NAMES:
        from go_rules.rule_names import rules_and_komi  # numpy comes with it, which the usual names can do without

        rules_and_komi(text)


def parse_size(text: str) -> tuple[int, int]:
    """Read the width and the height of a board from `19` or `13x9`. Raises ValueError with the reason."""
    sides = text.lower().replace(":", "x").split("x")
    if not 1 <= len(sides) <= 2 or not all(
        s.isascii() and s.isdigit() and len(s) <= 2 and 2 <= int(s) <= 25 for s in sides
    ):
        raise ValueError(f"{shown(text)} is no board size (2 to 25, or WIDTHxHEIGHT)")
    return int(sides[0]), int(sides[-1])


@dataclass(frozen=True)
class EngineSettings(ParameterTable, section="engine", title="The engine"):
    """The parameters of the engine itself."""

    # fmt: off
    net: str | None = parameter(
        None, "The network: a KataGo file (.bin.gz, .txt.gz), an .onnx file, or one by its name of those that "
        "`nobi networks` lists; none plays without one.", absent=EMBEDDED, example="network.bin.gz",
        departed=DEPARTED, metavar="FILE",
        commands=("gtp", "play", "web", "picture", "review", "benchmark", "tune", "doctor"),
    )
    player: str | None = parameter(
        None, "The search, by name; `nobi players` lists them.", absent="by the network", example="nobi",
        metavar="NAME", commands=("gtp", "play", "web", "picture", "review", "benchmark", "doctor"),
    )
    visits: int | None = parameter(
        None, "Visits a move at most.", unit="visits", low=1, high=MOST_VISITS, absent="no limit", example=800,
        kata="maxVisits", live=True, commands=("gtp", "play", "web", "picture", "review"),
    )
    playouts: int | None = parameter(
        None, "Visits that a search adds at most to those of the tree kept.", unit="visits", low=1, high=MOST_VISITS,
        absent="no limit", example=800, kata="maxPlayouts", live=True,
    )
    time: float | None = parameter(
        None, "Thinking time of a move at most, clock or no clock.", unit="seconds", low=0, high=LONGEST,
        absent=f"{DEFAULT_SECONDS:g} if nothing else limits a move; `longest` on a clock", example=5.0, kata="maxTime",
        live=True, metavar="SECONDS", commands=("gtp", "play", "web", "tune"),
    )
    longest: float = parameter(
        120.0, "Thinking time of a move at most on a clock, where `time` is not set: some clocks allow days.",
        unit="seconds", low=0.001, high=LONGEST, live=True,
    )
    early_answer: bool = parameter(
        False, "Answer as soon as the rest of a search cannot change the move, even where the time left over is lost: "
        "with `time`, and in a byo-yomi period. On other clocks it always does.", live=True,
    )
    precision: str = parameter(
        "auto", "Arithmetic of the network.", choices=("auto", "int16", "fp32", "fp16"), departed=("int8",),
        commands=("gtp", "benchmark", "doctor"),
    )
    device: str = parameter(
        AUTO, "What computes the network; auto is the fastest, measured once with each network.",
        choices=DEVICE_NAMES, check=named_device,
        metavar="NAME", commands=("gtp", "benchmark", "tune", "doctor"),
    )
    device_batch: int = parameter(
        0, "Positions that a device other than the processor evaluates at a time at most; 0 is as many as suit it.",
        unit="positions", low=0, high=65536, kata="nnMaxBatchSize",
    )
    human_net: str | None = parameter(
        None, "A network that says what people would play, usually a HumanSL one, beside the network that searches; "
        "other parameters of this name say what is made of it.", absent="none", example="b18c384nbt-humanv0",
        departed=DEPARTED, metavar="FILE", commands=("gtp",),
    )
    human_profile: str | None = parameter(
        None, "Whom a HumanSL network (human_net, else net) imitates: rank_5k, preaz_9d, rank_9d_5k, proyear_1990, ...",
        absent="none", example="rank_5k", kata="humanSLProfile", check=parse_profile, live=True, metavar="NAME",
        commands=("gtp", "play", "web", "benchmark", "tune", "doctor"),
    )
    size: str = parameter(
        "19", "The first board: N or WIDTHxHEIGHT.", check=parse_size,
        commands=("gtp", "play", "web", "picture", "benchmark", "tune"),
    )
    komi: float | None = parameter(
        None, "Points for white.", unit="points", low=-1000, high=1000, absent="customary", example=7.5, metavar="K",
        commands=("gtp", "play", "web", "picture", "review"),
    )
    rules: str = parameter(
        "chinese-ogs", "The rule set, by name, in KataGo's notation (koSIMPLEscoreTERRITORY) or as JSON.",
        choices=RULE_NAMES, check=check_rules, metavar="NAME",
        commands=("gtp", "play", "web", "picture", "review"),
    )
    ponder: bool = parameter(
        False, "Think on the opponent's time.", kata="ponderingEnabled", live=True, commands=("gtp",)
    )
    ponder_visits: int | None = parameter(
        None, "Visits at most while pondering.", unit="visits", low=1, high=MOST_VISITS, absent="no limit",
        example=10000, kata="maxVisitsPondering", live=True,
    )
    ponder_playouts: int | None = parameter(
        None, "Visits that pondering adds at most.", unit="visits", low=1, high=MOST_VISITS, absent="no limit",
        example=10000, kata="maxPlayoutsPondering", live=True,
    )
    ponder_time: float | None = parameter(
        None, "Time at most for pondering a move.", unit="seconds", low=0, high=LONGEST, absent="no limit",
        example=60.0, kata="maxTimePondering", live=True,
    )
    lag: float = parameter(
        0.3, "Time a controller's clock charges beyond our own thinking.", unit="seconds a move", low=0, high=60,
        kata="lagBuffer", live=True,
    )
    delay_scale: float = parameter(
        0.0, "How long a move is held back, so that it does not come at once, about: longer for less likely moves, and "
        "never beyond the time that the move may take.", unit="seconds", low=0, high=10000, kata="delayMoveScale",
        live=True,
    )
    delay_max: float = parameter(
        1e6, "The longest that a move is held back.", unit="seconds", low=0, high=1e6, kata="delayMoveMax", live=True
    )
    gtp_name: str = parameter(
        "Nobi", "What `name` answers; some GUIs choose their dialect by it.", metavar="NAME", commands=("gtp",)
    )
    gtp_version: str = parameter(
        GTP_VERSION, "What `version` answers, in KataGo's or Leela Zero's count; GUIs leave out what that one lacked.",
        metavar="VERSION",
    )
    analysis_pv: int = parameter(
        20, "Moves of a principal variation shown after the first, at most.", unit="moves", low=1, high=1000,
        kata="analysisPVLen", live=True,
    )
    ogs_chat: bool = parameter(
        False, "Write a line to stderr after each move for gtp2ogs to show.", kata="ogsChatToStderr", live=True
    )
    log: str | None = parameter(
        None, "File for the GTP dialogue and the tracebacks of internal errors.", absent="none", example="nobi.log",
        metavar="FILE",
    )
    # fmt: on

    @property
    def board(self) -> tuple[int, int]:
        """Width and height of the board before the first `boardsize`."""
        return parse_size(self.size)

    @property
    def longest_variation(self) -> int:
        """The moves of a principal variation shown at most."""
        return 1 + self.analysis_pv

    @property
    def log_file(self) -> Path | None:
        """The path of the log, with `~` expanded; None where nothing is to be logged."""
        return expand_home(self.log) if self.log else None

    def limits(self, may_stop_early: bool = True) -> Limits:
        """Return the limits of a search without a clock. If the user limits nothing, it has DEFAULT_SECONDS."""
        from search.request import Limits  # numpy comes with it

        is_unlimited = self.visits is None and self.time is None and self.playouts is None
        seconds = DEFAULT_SECONDS if is_unlimited else self.time
        is_kept = self.early_answer or self.time is None
        return Limits(self.visits, seconds, may_stop_early, self.playouts, unused_time_carries_over=is_kept)
