"""KataGo's commands for the parameters that can change while the engine runs."""

from __future__ import annotations

import json
from typing import Any

from gtp_engine.configuration.katago import FIXED, fixed_name, implied, require_fixed, value_text
from gtp_engine.configuration.parameters import departed, known_parameter, unknown
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import SYNTAX_ERROR, GtpError, interpret_float, interpret_object
from gtp_engine.networks import human_network
from gtp_engine.session.session import Session
from nets.evaluator import Evaluator
from nets.human_profile import HumanProfile, parse_profile
from nobi_machine.parameters import Parameter, ParameterTable, declared
from nobi_machine.text import shown

LEELA_ZERO = {
    "visits": "visits",
    "playouts": "playouts",
    "lagbuffer": "lag",
    "pondering": "ponder",
    "maximum memory use (mib)": "memory",
}
"""Our parameters by Leela Zero's names."""

PROFILE = "human_profile"
"""The parameter that only a HumanSL network has."""


def kata_list_params(session: Session, _call: Call) -> str:
    """Reply with the names of all parameters that can change."""
    return " ".join(all_values(session))


def kata_get_param(session: Session, call: Call) -> str:
    """Reply with the value of one parameter."""
    call.expect(1)
    name = call.word(0)
    fixed = fixed_parameter(session, name)
    return value_text(FIXED[fixed][0] if fixed is not None else value_of(session, _find(session, name)))


def kata_get_params(session: Session, _call: Call) -> str:
    """Reply with all values as one JSON object."""
    return json.dumps(all_values(session), sort_keys=True, separators=(",", ":"))


def kata_set_param(session: Session, call: Call) -> str:
    """Set one parameter to a value. Without one it becomes empty, which few parameters can be."""
    call.expect(1, 2)
    _change(session, {call.word(0): call.word(1) if len(call.words) > 1 else ""})
    return ""


def kata_set_params(session: Session, call: Call) -> str:
    """Set several parameters from a JSON object, such as kata-get-params gives. If one value is wrong, none is set."""
    call.word(0)
    _change(session, interpret_object(call.command.text))
    return ""


def lz_setoption(session: Session, call: Call) -> str:
    """Set a parameter by Leela Zero's name for it: `name Visits value 800`.

    0 visits, with which Leela Zero searches for ever, are refused as any value out of bounds: by this answer LizGoban
    tells Leela Zero from KataGo.
    """
    words = [word.lower() for word in call.words]
    if words[:1] != ["name"] or words[-2:-1] != ["value"]:
        raise GtpError(SYNTAX_ERROR)
    name, value = " ".join(words[1:-2]), words[-1]
    if name not in LEELA_ZERO:
        raise GtpError(f"unknown option: {shown(name)} (known: {', '.join(LEELA_ZERO)})")
    if name == "lagbuffer":
        value = str(interpret_float(value) / 100)  # centiseconds
    _change(session, {LEELA_ZERO[name]: value})
    return ""


def clear_cache(session: Session, _call: Call) -> str:
    """Forget what earlier searches learned."""
    session.forget()
    return ""


def changeable(session: Session) -> list[Parameter]:
    """List the parameters these commands know: the engine's and the player's that may change while the engine runs."""
    has_profile = human_profile(session) is not None
    known = (*declared(type(session.settings)), *declared(type(session.player.parameters)))
    return [each for each in known if each.live and (has_profile or each.name != PROFILE)]


def all_values(session: Session) -> dict[str, Any]:
    """Collect the values of all parameters by name, those that have only one value last."""
    # KataGo's names, since clients ask for them, and ours where it has no such parameter.
    values = {each.kata or each.name: value_of(session, each) for each in changeable(session)}
    return values | {name: value for name, (value, _) in FIXED.items() if name not in values}


def fixed_parameter(session: Session, name: str) -> str | None:
    """Return KataGo's name of a parameter that has only one value here; None for any other.

    Those of a human network can change where there is one.
    """
    fixed = fixed_name(name)
    return None if fixed in {each.kata for each in changeable(session)} else fixed


def imitator(session: Session) -> Evaluator | None:
    """Find the network that says what people would play: the human network beside the player's, or the player's own if
    it is a HumanSL network; None if the player has none of either."""
    human = human_network(session.player)
    if human is not None:
        return human.evaluator
    evaluator = session.player.evaluator
    return evaluator if evaluator is not None and evaluator.attributes.profile is not None else None


def human_profile(session: Session) -> HumanProfile | None:
    """Return whom a network of the player's imitates; None if the player has no HumanSL network."""
    evaluator = imitator(session)
    return evaluator.attributes.profile if evaluator is not None else None


def value_of(session: Session, parameter: Parameter) -> Any:
    """Read the present value of a parameter. None means that there is no limit."""
    if parameter.name == PROFILE:
        profile = human_profile(session)
        return profile.name if profile is not None else None
    table = session.settings if parameter.section == EngineSettings.section else session.player.parameters
    return getattr(table, parameter.field)


def _find(session: Session, name: str) -> Parameter:
    parameter = known_parameter(name)
    if parameter is None or parameter not in changeable(session):
        raise GtpError(unknown(name) if departed(name) else f"unknown parameter: {shown(name)}")
    return parameter


def _change(session: Session, values: dict[str, object]) -> None:
    before: tuple[ParameterTable, ...] = (session.settings, session.player.parameters)
    after = list(before)
    evaluator, profile = imitator(session), None
    found: set[str] = set()
    besides: dict[str, Any] = {}
    for name, value in values.items():
        fixed = fixed_parameter(session, name)
        if fixed is not None:
            require_fixed(fixed, value)
            continue
        parameter = _find(session, name)
        if parameter.name in found:
            raise GtpError(f"{shown(name)} is given twice")
        found.add(parameter.name)
        which = 0 if parameter.section == EngineSettings.section else 1
        # kata-get-params says null where there is no limit.
        after[which] = after[which].with_value(parameter.name, "none" if value is None else value, name)
        besides |= implied(name, getattr(after[which], parameter.field))
        if parameter.name == PROFILE:
            profile = parse_profile(parameter.convert(value))
    for name, value in besides.items():
        if name not in session.named | found:
            after[1] = after[1].with_value(name, value)  # all that is implied is about the search
    settings, of_player = after
    for table, was in zip(after, before, strict=True):
        if table != was:
            table.check_memory()
    assert isinstance(settings, EngineSettings)
    session.settings = settings
    session.named |= found
    if of_player != before[1]:
        session.player.parameters = of_player
    if evaluator is not None and profile is not None:
        evaluator.use_profile(profile)
        session.forget()
