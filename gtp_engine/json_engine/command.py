"""`nobi analysis`: analyse many positions at once for a program that speaks KataGo's JSON protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import WITH_NETWORK, Configuration, tell
from gtp_engine.configuration.katago import Adopted, Settings, adopt, read_settings
from gtp_engine.configuration.parameters import Count, config_options, find_parameter
from gtp_engine.configuration.settings import MOST_VISITS
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.json_engine.options import DEFAULT_VISITS, VARIATION, Options, without
from gtp_engine.session.log import DialogueLog
from nets.devices import CPU, device_of
from nets.human_profile import parse_profile
from nobi_machine.memory import LEAST_ADDRESSES_OF_ANALYSIS, most_threads, usable_cores
from nobi_machine.parameters import ParameterError
from nobi_machine.streams import lossy_stderr, note
from nobi_machine.text import parse_integer, shown
from search.nobi.parameters import HumanParameters, SearchParameters

if TYPE_CHECKING:
    from gtp_engine.json_engine.engine import JsonEngine, Send

THREADS, PROFILE = "numAnalysisThreads", "humanSLProfile"
"""Settings of KataGo's that are not for queries alone."""
PERSPECTIVE = "reportAnalysisWinratesAs"
"""KataGo's setting of whose winrates are reported: BLACK in all files that come with it, the side to move where a file
says nothing."""
MOST_THREADS = 16384
SLOTS_A_THREAD = 4
"""The most positions that are searched at once for each thread. More would only take memory."""
SEARCHES_A_BATCH = 8
"""How many searches of one thread each are to fill a batch of a device that is no processor."""
MERGED = 2
"""Positions that such a device evaluates together at most, in batches of a single search."""
NEEDS_NETWORK = "the analysis engine needs a network: --net FILE"
OF_A_DIALOGUE = frozenset(
    {"longest", "early_answer", "size", "komi", "rules", "ponder", "ponder_visits", "ponder_playouts", "ponder_time",
     "lag", "delay_scale", "delay_max", "gtp_name", "gtp_version", "ogs_chat"}
)  # fmt: skip
"""Parameters of the engine that mean something only where it plays."""


@click.command()
@click.option("-model", "--net", "net", metavar="FILE", help="The network, a file or a name.  [default: strong]")
@click.option("-human-model", "human_model", metavar="FILE", help="A network that says what people would play.")
@click.option("-config", "katago_configs", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
              help="A configuration file of KataGo's; what means nothing here is skipped. Of several the later win.",
              )  # fmt: skip
@click.option("-override-config", "overrides", multiple=True, metavar="NAME=VALUE,...",
              help="Settings that win over those of -config.")  # fmt: skip
@click.option("-analysis-threads", "threads", type=Count(1, MOST_THREADS), metavar="N",
              help="Positions searched at once at most.  [default: one for each core]")  # fmt: skip
@click.option("-quit-without-waiting", "is_hasty", is_flag=True, help="At the end of the input, end at once.")
@config_options
@lossy_stderr()
def analysis(
    config_file: Path | None,
    settings: tuple[str, ...],
    net: str | None,
    human_model: str | None,
    katago_configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    threads: int | None,
    is_hasty: bool,
) -> int:
    """Analyse: KataGo's JSON analysis engine on stdin and stdout.

    Start it from a program that speaks KataGo's analysis protocol (KaTrain, Ogatak, scripts), with KataGo's own options
    or these. docs/analysis.md says what queries may ask for.
    """
    networks = {"net": net, "human_net": human_model}
    options = Options(HumanParameters()) if load(config_file, settings, networks).has_human_net else Options()

    def take(name: str, text: str) -> None:
        if name != THREADS:
            options.with_settings({name: text})
        elif threads is None:
            _count(text)

    given = read_settings(katago_configs, overrides, take)
    texts = {name: text for name, text in given.texts.items() if name != THREADS}
    is_unsaid = not katago_configs and PERSPECTIVE.lower() not in map(str.lower, texts)
    if is_unsaid:
        texts[PERSPECTIVE] = "BLACK"
    if threads is None and THREADS in given.texts:
        threads = _count(given.texts[THREADS])
    _, unused, other = options.with_settings(texts)
    configuration = load(config_file, settings, networks, _profile(given))
    unused += OF_A_DIALOGUE & configuration.by_hand
    if unused:
        note(f"settings that mean nothing here: {', '.join(sorted(unused))}")
    for reason in other:
        note(reason)
    from gtp_engine.players import check, make_surely

    configuration = check(configuration, LEAST_ADDRESSES_OF_ANALYSIS)
    if configuration.net is None and "net" in configuration.places:
        configuration = check(configuration.without(["net"], NEEDS_NETWORK), LEAST_ADDRESSES_OF_ANALYSIS)
    tell(configuration)
    _require_network(configuration)
    if is_unsaid:
        note(f"winrates and leads are Black's, as in KataGo's files; -override-config {PERSPECTIVE}=... has others")
    from gtp_engine.json_engine.server import run_session

    log = DialogueLog(configuration.engine.log_file)
    for complaint in configuration.complaints:
        log.remark(complaint)

    def make_engine(send: Send, is_behind: Callable[[], bool]) -> JsonEngine:
        return make_surely(configuration, lambda each: _make_engine(each, texts, threads, send, is_behind, log))

    return run_session(make_engine, not is_hasty, log)


def _require_network(configuration: Configuration) -> None:
    """Raise UserError unless the search with a network, which alone answers queries, can answer them."""
    from gtp_engine.players import chosen_player

    if configuration.net is None:
        raise UserError(NEEDS_NETWORK)
    if "player" in configuration.by_hand and chosen_player(configuration) != WITH_NETWORK:
        raise UserError(f"the analysis engine has no player but {WITH_NETWORK}")


def _make_engine(
    configuration: Configuration,
    texts: Mapping[str, str],
    threads: int | None,
    send: Send,
    is_behind: Callable[[], bool],
    log: DialogueLog,
) -> JsonEngine:
    """Open the networks and get everything ready for the first search. `texts`: KataGo's settings. Raises
    EvaluatorError."""
    from gtp_engine.json_engine.engine import JsonEngine, Models
    from gtp_engine.networks import open_evaluator, suited_to
    from gtp_engine.players import compile_beside
    from gtp_engine.session.loading import warm_up_rules
    from nets.bare_evaluation import HumanNetwork
    from nets.threads import MergingEvaluator

    warm_up_rules(lambda: compile_beside(configuration))
    evaluator = open_evaluator(configuration)
    parameters: SearchParameters = configuration.fill(suited_to(evaluator))
    human = None
    if configuration.human_net is not None:
        human = HumanNetwork(open_evaluator(configuration, of_people=True))
        parameters = configuration.fill(HumanParameters(**vars(parameters)))
    assert configuration.net is not None  # checked before
    batch = parameters.batch_for(evaluator, *configuration.engine.board)
    models = Models(evaluator, configuration.net, batch, human, configuration.human_net)
    engine = configuration.engine
    own = Options(
        parameters,
        engine.visits or DEFAULT_VISITS,
        engine.playouts or MOST_VISITS,
        engine.time,
        variation=configuration.values.get("analysis_pv", VARIATION),
        profile=parse_profile(engine.human_profile) if engine.human_profile else None,
    )
    lacking = frozenset({find_parameter(PROFILE).name}) - configuration.values.keys()  # where it could not be had
    options, _, _ = own.with_settings(without(texts, configuration.by_hand | lacking))
    workers = parameters.workers or usable_cores()
    if device_of(evaluator.attributes.provider) is not CPU:
        # Small searches fill no batch of a device: many at once do.
        models = dataclasses.replace(models, evaluator=MergingEvaluator(evaluator, MERGED * batch, workers))
        workers *= SEARCHES_A_BATCH
    slots = min(threads or workers, SLOTS_A_THREAD * workers)
    # Each slot has a thread of its own beside those that search.
    slots = max(1, min(slots, most_threads() // (workers + 1)))
    return JsonEngine(models, options, slots, workers, send, is_behind, log.failure)


def _profile(given: Settings) -> Adopted:
    """What KataGo's settings give that is not for queries alone: whom a HumanSL network is to imitate."""
    profile = Settings({}, {}, given.complaints)
    if given.texts.get(PROFILE):
        profile.put(PROFILE, given.texts[PROFILE], given.places.get(PROFILE))
    return adopt(profile)


def _count(text: str) -> int:
    """The number of positions that KataGo's settings want to have searched at once. Raises ParameterError."""
    try:
        count = parse_integer(text)
    except ValueError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ParameterError(f"{THREADS} must be 1 to {MOST_THREADS}, not {shown(text)}")
    return count
