"""KataGo's configuration files and `-override-config`, lines of `name = value`, as parameters of ours.

What KataGo's users tune for a graphics card, such as the number of threads, says nothing about a processor; where
another device is named, the largest batch and fp16 mean what they mean there. Some of
KataGo's parameters have one value here: clients may read them and set them to that value, and to no other. At each such
value KataGo does what Nobi does, so nobody is told that something is set which changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gtp_engine.configuration.parameters import departed, find_parameter, known_parameter, parameters, unknown
from gtp_engine.errors import UserError
from nets.devices import AUTO, CPU
from nobi_machine.files import read_regular
from nobi_machine.parameters import Complaints, ParameterError, declared_by, folded
from nobi_machine.streams import note
from nobi_machine.text import decode_text, parse_number, printable_path, shown
from search.nobi.parameters import HumanParameters

_NO_HUMAN_NET = "there is no human network (-human-model)"
_ROOT_ALONE = "what people would play is looked at in the position itself, not further down the tree"
_ONE_TIME = "the clock alone divides the time here"
_OWN_TREE = "the tree is built in another way here"

FIXED: dict[str, tuple[bool | int | float | str, str]] = {
    "avoidMYTDaggerHackPla": (0, "no opening is avoided here"),
    "avoidRepeatedPatternUtility": (0.0, "no pattern is avoided here"),
    "alwaysComputePassAliveUnderSuicideRules": (False, "each network sees what it was trained with"),
    "enablePassingHacks": (True, "networks are never told of a pass in the tree that would lose the game as it stands"),
    "fillDameBeforePass": (False, "dame are not filled for their own sake"),
    "ignoreAllHistory": (False, "only history before the root can be hidden: ignorePreRootHistory"),
    "fpuParentWeight": (0.0, "fpuParentWeightByVisitedPolicy decides"),
    "fpuParentWeightByVisitedPolicy": (True, "the other way is not known here"),
    "uncertaintyExponent": (1.0, "weights fall with the error itself here"),
    "noisePruningCap": (1e50, "weight is pruned without a cap here"),
    "useNonBuggyLcb": (True, "confidence bounds are always right here"),
    "nnPolicyTemperature": (1.0, "only the root's policy can be flattened: rootPolicyTemperature"),
    "rootPolicyTemperatureEarly": (1.0, "one temperature holds for the whole game: rootPolicyTemperature"),
    "rootDesiredPerChildVisitsCoeff": (0.0, "no visits are forced here"),
    "useEvalCache": (False, "only the networks' own evaluations are remembered"),
    "evalCacheMinVisits": (0, "only the networks' own evaluations are remembered"),
    "graphSearchCatchUpLeakProb": (0.0, _OWN_TREE),
    "nodeTableShardsPowerOfTwo": (0, _OWN_TREE),
    "subtreeValueBiasTableNumShards": (1, _OWN_TREE),
    "minPlayoutsPerThread": (8.0, "no more threads search than have eight visits each to make"),
    "midgameTimeFactor": (1.0, _ONE_TIME),
    "midgameTurnPeakTime": (0.0, _ONE_TIME),
    "endgameTurnTimeDecay": (0.0, _ONE_TIME),
    "obviousMovesTimeFactor": (1.0, _ONE_TIME),
    "obviousMovesPolicyEntropyTolerance": (0.0, _ONE_TIME),
    "obviousMovesPolicySurpriseTolerance": (0.0, _ONE_TIME),
    "overallocateTimeFactor": (1.0, _ONE_TIME),
    "treeReuseCarryOverTimeFactor": (0.0, _ONE_TIME),
    "futileVisitsThreshold": (0.0, "a search that may end early does so once the rest will hardly change the move"),
    "searchFactorAfterOnePass": (1.0, "passes do not shorten a search"),
    "searchFactorAfterTwoPass": (1.0, "passes do not shorten a search"),
    "humanSLProfile": ("", "there is no HumanSL network"),
    "humanSLChosenMoveIgnorePass": (False, _NO_HUMAN_NET),
    "humanSLChosenMovePiklLambda": (1e9, _NO_HUMAN_NET),
    "humanSLChosenMoveProp": (0.0, _NO_HUMAN_NET),
    "humanSLCpuctExploration": (1.0, _NO_HUMAN_NET),
    "humanSLCpuctPermanent": (0.0, _NO_HUMAN_NET),
    "humanSLOppExploreProbWeightful": (0.0, _ROOT_ALONE),
    "humanSLOppExploreProbWeightless": (0.0, _ROOT_ALONE),
    "humanSLPlaExploreProbWeightful": (0.0, _ROOT_ALONE),
    "humanSLPlaExploreProbWeightless": (0.0, _ROOT_ALONE),
    "humanSLRootExploreProbWeightful": (0.0, _NO_HUMAN_NET),
    "humanSLRootExploreProbWeightless": (0.0, _NO_HUMAN_NET),
}
"""KataGo's name: the value, and why there is no other."""


def value_text(value: object) -> str:
    """Return a parameter's value as GTP shows it; None means that there is no limit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


_NAMES = {folded(name): name for name in FIXED}


def fixed_name(name: str) -> str | None:
    """Find KataGo's spelling of a parameter with only one value here; None for any other. Case, `-` and `_` are
    free."""
    return _NAMES.get(folded(name))


def require_fixed(name: str, value: object) -> None:
    """Raise ParameterError unless `value`, or its text, is the one value that the parameter has. `name` is in FIXED."""
    fixed, reason = FIXED[name]
    text = value_text(value).strip().lower()
    try:
        is_equal = parse_number(text) == fixed
    except ValueError:
        is_equal = text == value_text(fixed)
    if not is_equal:
        raise ParameterError(f"{name} can only be {value_text(fixed) or 'empty'} here: {reason}")


MACHINE = frozenset({"workers", "batch", "device_batch", "memory", "cache_memory", "seed"})
"""Parameters of the search that belong to the machine: the whole engine has them, not a file of KataGo's or a query."""

OTHER_NAMES = {folded("defaultBoardSize"): "size"}
"""Our parameters by names of KataGo's that GTP does not know."""


def implied(name: str, value: Any) -> dict[str, Any]:
    """Return what KataGo's setting of this name sets besides, in files and in commands alike: values by our parameters'
    names, of those that nobody has named. `value` is the setting's own, of its type. The analysis engine plays no
    games, so there these mean nothing."""
    if folded(name) == folded("playoutDoublingAdvantage"):
        return {"handicap_doublings": 0.0}  # a fixed advantage takes the place of the one by handicap, even if it is 0
    if folded(name) == folded("antiMirror"):
        return {"counter_mirror": value}  # the setting for analysis is that for games too
    return {}


_FP16 = {"true": "fp16", "false": "fp32", "auto": AUTO}
_USES_FP16 = frozenset(map(folded, ("useFP16", "cudaUseFP16", "trtUseFP16", "openclUseFP16", "metalUseFP16")))


def take_for_device(given: Settings, device: str) -> dict[str, Any]:
    """Take the settings of a graphics card out of those that are given, if `--device` names one: the values by our
    parameters' names. Raises ParameterError for a value that a setting cannot have."""
    values: dict[str, Any] = {}
    for name, text in list(given.texts.items()) if device not in (AUTO, CPU.name) else ():
        if text and folded(name) == folded("nnMaxBatchSize"):
            values["device_batch"] = find_parameter("device_batch").convert(text, name)
        elif text and folded(name) in _USES_FP16:
            if text.lower() not in _FP16:
                raise ParameterError(f"{name} must be true, false or auto, not {shown(text)}")
            values["precision"] = _FP16[text.lower()]
        else:
            continue
        del given.texts[name]
    return values


class Adopted(NamedTuple):
    """What was made of KataGo's settings."""

    values: dict[str, Any]
    """Checked values by our parameters' names."""
    implied: dict[str, Any]
    """Further values, for parameters that are named nowhere."""
    unused: list[str]
    """Names that mean nothing here."""
    reasons: list[str]
    """Lines about settings that have one other value here, or none any more."""
    places: dict[str, str]
    """By our parameters' names, the file that a value comes from, as messages say it."""
    complaints: list[str]
    """Lines about what is wrong in files and does not hold."""

    def tell(self) -> None:
        """Write to stderr what settings cannot give."""
        if self.unused:
            note(f"settings that mean nothing here: {', '.join(sorted(self.unused))}")
        for reason in self.reasons:
            note(reason)


def of_a_game(has_human_net: bool) -> frozenset[str]:
    """List our parameters that KataGo's settings give an engine that plays: all but those of the machine, and those of
    a human network only where there is one."""
    of_people = frozenset(each.name for each in declared_by(HumanParameters))
    return frozenset(each.name for each in parameters()) - MACHINE - (frozenset() if has_human_net else of_people)


def adopt(given: Settings, meant: Collection[str], names: Mapping[str, str] = OTHER_NAMES) -> Adopted:
    """Sort KataGo's settings. `meant`: the names of our parameters that mean something; of others a setting may have
    one value. `names`: our parameters by folded names of KataGo's, besides those that they have everywhere.

    Raises ParameterError for a value that a parameter cannot have."""
    adopted = Adopted({}, {}, [], [], {}, given.complaints)
    for name, value in given.texts.items():
        fixed = fixed_name(name)
        if not value and fixed != "humanSLProfile":
            continue  # KataGo takes this for nothing said; no profile is something said
        parameter = known_parameter(names.get(folded(name), name))
        if parameter is not None and parameter.name in meant:
            found = parameter.convert(value, name, adopted.reasons.append) if value else None
            adopted.values[parameter.name] = found
            adopted.implied.update(implied(name, found))
            adopted.places.pop(parameter.name, None)
            if name in given.places:
                adopted.places[parameter.name] = given.places[name]
        elif fixed is not None:
            try:
                require_fixed(fixed, value)
            except ParameterError as error:
                adopted.reasons.append(str(error))
        elif departed(name):
            adopted.reasons.append(unknown(name))
        else:
            adopted.unused.append(name)
    return adopted


MOST_BYTES = 1 << 20
_LINE = re.compile(r'\s*([A-Za-z0-9_.\-]+)\s*=\s*("(?:[^"\\]|\\.)*"\s*|[^#"\s][^#]*|)(?:#.*)?')
OVERRIDES = "-override-config"


class Settings(NamedTuple):
    """The settings of a command line: of several that have one name the last."""

    texts: dict[str, str]
    """The values by name, in the order in which they were given."""
    places: dict[str, str]
    """By name, the file that a value comes from, as messages say it. Those of the overrides have none."""
    complaints: list[str]
    """Lines about what is wrong in the files and does not hold."""

    def put(self, name: str, text: str, place: str | None) -> None:
        """Set a value in place of an earlier one."""
        for values in (self.texts, self.places):  # the order counts where one thing has two names
            values.pop(name, None)
        self.texts[name] = text
        if place is not None:
            self.places[name] = place


def read_settings(files: Iterable[Path], overrides: Iterable[str], take: Callable[[Settings], object]) -> Settings:
    """Read the settings of KataGo's command line: those of its files, then its overrides; the later win.

    `take` is called with each setting alone, and raises ParameterError for a value that cannot be had: a complaint
    about a file, but an error of the overrides. Raises ParameterError, and UserError, also for a file that is missing.
    """
    settings = Settings({}, {}, [])
    for file in files:
        complaints = Complaints(printable_path(file))
        for name, text in _read_config(file, complaints).items():
            try:
                take(Settings({name: text}, {}, []))
            except ParameterError as error:
                complaints.add(error)
            else:
                settings.put(name, text, printable_path(file))
        settings.complaints.extend(complaints.lines())
    for name, text in _read_overrides(overrides).items():
        try:
            take(Settings({name: text}, {}, []))
        except ParameterError as error:
            raise ParameterError(f"{OVERRIDES}: {error}") from None
        settings.put(name, text, None)
    return settings


def _read_config(path: Path, complaints: Complaints) -> dict[str, str]:
    """The settings of a file: texts by name; a later line wins. Raises UserError if there is none."""
    try:
        content = read_regular(path, MOST_BYTES)
    except FileNotFoundError as error:
        raise UserError(f"{printable_path(path)}: {error.strerror}") from None
    except OSError as error:
        complaints.add(error.strerror)
        return {}
    settings = {}
    for number, line in enumerate(decode_text(content, "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.lstrip().startswith("@include"):
            complaints.add(f"line {number}: {shown(line.strip())}: included files are not read")
        elif (match := _LINE.fullmatch(line)) is None:
            complaints.add(f"line {number}: not name = value: {shown(line.strip())}")
        else:
            text = match[2].strip()
            settings[match[1]] = re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
    return settings


def _read_overrides(texts: Iterable[str]) -> dict[str, str]:
    """The settings in `-override-config name=value,name=value`: texts by name; the later wins. Raises UserError."""
    settings = {}
    for part in ",".join(texts).split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise UserError(f"{OVERRIDES}: {shown(part.strip())} is not name=value")
            settings[name.strip()] = value.strip()
    return settings
