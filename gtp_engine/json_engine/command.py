"""`nobi analysis`: analyse many positions at once for a program that speaks KataGo's JSON protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.configuration import WITH_NETWORK, Configuration, tell
from gtp_engine.configuration.katago import Settings, read_settings, take_for_device
from gtp_engine.configuration.parameters import Count, config_options
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.json_engine.options import DEFAULT_VISITS, OF_QUERIES, PERSPECTIVE, VARIATION, Options
from gtp_engine.session.log import DialogueLog
from nobi_machine.memory import LEAST_ADDRESSES_OF_ANALYSIS, most_threads, usable_cores
from nobi_machine.parameters import Parameter, declared, folded
from nobi_machine.streams import lossy_stderr, note
from search.nobi.parameters import HumanParameters, SearchParameters

if TYPE_CHECKING:
    from gtp_engine.json_engine.engine import JsonEngine, Send

MOST_THREADS = 16384
THREADS = Parameter("", 1, "numAnalysisThreads", int, low=1, high=MOST_THREADS)
"""KataGo's setting of how many positions are searched at once."""
SLOTS_A_THREAD = 4
"""The most positions that are searched at once for each thread. More would only take memory."""
SEARCHES_A_BATCH = 8
"""How many searches of one thread each are to fill a batch of a device that is no processor."""
NEEDS_NETWORK = "the analysis engine needs a network: --net FILE"
OF_A_PROCESS = frozenset({"net", "human_net", "player", "precision", "device", "device_batch", "log"})
"""Parameters of the engine, besides those of queries, that mean something here."""


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
    or these. docs/analysis.md says where it differs from KataGo's.
    """
    networks = {"net": net, "human_net": human_model}
    before = load(config_file, settings, networks)
    options = Options(HumanParameters()) if before.has_human_net else Options()

    def take(setting: Settings) -> None:
        _take_threads(setting)
        take_for_device(setting, before.engine.device)
        options.with_settings(setting)

    given = read_settings(katago_configs, overrides, take)
    of_katago, of_device = _take_threads(given), take_for_device(given, before.engine.device)
    threads = of_katago if threads is None else threads
    is_unsaid = not katago_configs and folded(PERSPECTIVE) not in map(folded, given.texts)
    if is_unsaid:
        given.put(PERSPECTIVE, "BLACK", None)
    options, adopted = options.with_settings(given)
    adopted.values.update(of_device)
    configuration = load(config_file, settings, networks, adopted)
    of_a_game = {each.name for each in declared(EngineSettings)} - OF_QUERIES - OF_A_PROCESS
    adopted.unused.extend(of_a_game & configuration.by_hand)
    adopted.tell()
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
        return make_surely(configuration, lambda each: _make_engine(each, options, threads, send, is_behind, log))

    return run_session(make_engine, not is_hasty, log)


def _take_threads(given: Settings) -> int | None:
    """Take the number of positions that are searched at once out of KataGo's settings. Raises ParameterError."""
    names = [name for name in given.texts if folded(name) == folded(THREADS.name)]
    counts = [THREADS.convert(given.texts.pop(name), name) for name in names]
    return counts[-1] if counts else None


def _require_network(configuration: Configuration) -> None:
    """Raise UserError unless the search with a network, which alone answers queries, can answer them."""
    from gtp_engine.players import chosen_player

    if configuration.net is None:
        raise UserError(NEEDS_NETWORK)
    if "player" in configuration.by_hand and chosen_player(configuration) != WITH_NETWORK:
        raise UserError(f"the analysis engine has no player but {WITH_NETWORK}")


def _make_engine(
    configuration: Configuration,
    options: Options,
    threads: int | None,
    send: Send,
    is_behind: Callable[[], bool],
    log: DialogueLog,
) -> JsonEngine:
    """Open the networks and get everything ready for the first search. `options`: what the configuration does not have.
    Raises EvaluatorError."""
    from gtp_engine.json_engine.engine import JsonEngine, Models
    from gtp_engine.networks import open_evaluator, suited_to
    from gtp_engine.players import compile_beside
    from gtp_engine.session.loading import warm_up_rules
    from nets.bare_evaluation import HumanNetwork

    warm_up_rules(lambda: compile_beside(configuration))
    evaluator = open_evaluator(configuration, plays=True)
    parameters: SearchParameters = configuration.fill(suited_to(evaluator))
    human = None
    if configuration.human_net is not None:
        human = HumanNetwork(open_evaluator(configuration, of_people=True, plays=True))
        parameters = configuration.fill(HumanParameters(**vars(parameters)))
    assert configuration.net is not None  # checked before
    batch = parameters.batch_for(evaluator, *configuration.engine.board)
    models = Models(evaluator, configuration.net, batch, human, configuration.human_net)
    engine = dataclasses.replace(
        configuration.engine,
        visits=configuration.engine.visits or DEFAULT_VISITS,
        analysis_pv=configuration.values.get("analysis_pv", VARIATION),
    )
    options = dataclasses.replace(options, parameters=parameters, engine=engine)
    workers = parameters.workers or usable_cores()
    if evaluator.requests_in_flight > 1:
        workers *= SEARCHES_A_BATCH  # small searches fill no batch of a device: many at once do
    slots = min(threads or workers, SLOTS_A_THREAD * workers)
    # Each slot has a thread of its own beside those that search.
    slots = max(1, min(slots, most_threads() // (workers + 1)))
    return JsonEngine(models, options, slots, workers, send, is_behind, log.failure)
