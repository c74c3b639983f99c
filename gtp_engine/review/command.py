"""`nobi review`: analyse whole games, and say what their moves lost."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from go_rules.rule_names import rules_to_sgf
from go_rules.sgf.annotation import Branch, annotated, annotated_branches, branches
from go_rules.sgf.grammar import SgfError
from go_rules.sgf.reader import parse_sgf
from gtp_engine.cluster.options import cluster_option, opened_cluster
from gtp_engine.configuration.configuration import Configuration, tell
from gtp_engine.configuration.parameters import Count, Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.players import check_files, compile_beside
from gtp_engine.review.causes import TEXTS
from gtp_engine.review.judged import TITLE, Review, as_json, move_notes, notes_of, print_index, print_tables
from gtp_engine.review.problems import Problem
from gtp_engine.review.search import Plan, Searches
from gtp_engine.session.loading import warm_up_rules
from gtp_engine.session.records import ABSENT, DEFAULT_VISITS, Record, read_record
from gtp_engine.web.pages import index_page, is_ours, reviewed_page
from gtp_engine.web.problems import Problems, source_of
from nobi_machine.files import PUBLIC, create_whole, read_regular, write_whole
from nobi_machine.interruption import EXIT_INTERRUPTED, interruptible
from nobi_machine.locks import folder_for_one
from nobi_machine.progress import ProgressBar
from nobi_machine.streams import note, print_json
from nobi_machine.text import printable_path
from nobi_machine.units import Results

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster

DEFAULT_LEAST = 4.0
EXIT_FAILURE = 1
"""A game could not be reviewed, or its review could not be written."""
SUFFIX = ".sgf"
MOST_PAGE_BYTES = 1 << 28
"""Of a page that is looked at before it is replaced."""
RESULTS = "review.results"
"""The file of what was found so far, in the folder of the reviews, or in one that is there while a game is reviewed."""


class Subject(NamedTuple):
    """A game to review."""

    record: Record
    plan: Plan
    target: Path
    """The file of its review."""
    variations: list[tuple[Branch, Plan]]
    """Those that are reviewed too."""


@click.command()
@click.argument("sources", metavar="GAME.sgf|FOLDER...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.sgf|FOLDER",
              help="Where the review of a game, or the reviews of several, are written.  "
                   "[default: the first name with -review]")  # fmt: skip
@click.option("--page", "pages", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
              help="Write pages there, too, which open in a browser: one for each game, and an index.")  # fmt: skip
@click.option("--parallel", type=Count(1, 1024), metavar="N",
              help="Positions at the same time.  [default: one for each thread]")  # fmt: skip
@click.option("--from", "first", type=Count(1), default=1, metavar="N", help="Begin with move N.")
@click.option("--to", "last", type=Count(1), metavar="N", help="End with move N.  [default: the last]")
@click.option("--least", "percent", type=Number(0, 100), default=DEFAULT_LEAST, show_default=True, metavar="PERCENT",
              help="A better line is written beside each move that lost so much of the winning chance.")  # fmt: skip
@click.option("--variations", "has_variations", is_flag=True,
              help="Analyse the variations of the files, too: comments and marks.")  # fmt: skip
@click.option("--why", "explains", is_flag=True,
              help="Say where the points of the ten worst moves of each side went, as areas of the board.")  # fmt: skip
@click.option("--problems", "finds_problems", is_flag=True,
              help="Keep positions where one move alone was right, for the problems of `nobi web`.")  # fmt: skip
@click.option("--language", type=click.Choice(list(TEXTS)), default="en", show_default=True, help="Of --why.")
@click.option("--json", "prints_json", is_flag=True, help="Print the review as one JSON object instead of tables.")
@cluster_option
@parameter_options("review", absent=ABSENT)
@config_options
def review(
    sources: tuple[Path, ...],
    out: Path | None,
    pages: Path | None,
    parallel: int | None,
    first: int,
    last: int | None,
    percent: float,
    explains: bool,
    finds_problems: bool,
    language: str,
    has_variations: bool,
    prints_json: bool,
    cluster: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> int:
    """Analyse all moves of games: which were mistakes, what was better, and how the games went.

    The first game of each file, and of each .sgf file in a FOLDER, is written to a new file, with a comment at each
    move, marks for doubtful, bad and very bad ones (those that lost 4, 8 and 16 % of the winning chance), and the
    better lines as variations; all else in it stays. Sabaki draws the winrate and the lead, and KaTrain, Lizzie and
    LizzieYzy show the analysis. For one game, tables on stdout say how both sides played, and which moves lost most;
    for several there is a line for each.

    All positions are searched with half of --visits first. The other half of the visits goes to the eighth of them
    where a game's moves lost most, which get four times --visits each. With few visits, searches differ by chance, and
    losses look larger than they are. What was interrupted, in whatever way, goes on with the same command.
    """
    configuration = check_files(load(config_file, settings, options))
    tell(configuration)
    _refuse_old_order(sources, out)
    is_one = len(sources) == 1 and not sources[0].is_dir()
    target = out or _default_target(sources[0], is_one)
    is_file = target.suffix.lower() == SUFFIX and not target.is_dir()
    for is_wrong, reason in (
        (not is_one, "the reviews of several games need a folder"),
        (not target.parent.is_dir(), "the review must be in a folder that exists"),
        (os.path.lexists(target), "exists already; name a new file"),
    ):
        if is_file and is_wrong:
            raise UserError(f"{printable_path(target)}: {reason}")
    folder = target.with_name(target.name + ".part") if is_file else target
    warm_up_rules(lambda: compile_beside(configuration))
    subjects, failures = _subjects(
        {sources[0]: target} if is_file else _games(sources, target),
        configuration,
        options,
        (first, last),
        has_variations,
    )
    made: dict[str, Review] = {}
    if subjects:
        elsewhere = contextlib.nullcontext() if cluster is None else opened_cluster(cluster)
        with folder_for_one(folder), elsewhere as connected, interruptible() as stop:
            failures += _review(
                subjects,
                configuration,
                parallel,
                percent / 100,
                language if explains else "",
                finds_problems,
                folder / RESULTS,
                stop,
                made,
                connected,
            )
            if pages is not None and made:
                failures += _write_pages(subjects, made, pages, target.parent if is_file else target)
            if is_file and made and not failures:
                (folder / RESULTS).unlink()
        if stop.is_set() and not made:
            note("the review was interrupted; the same command goes on with it")
            return EXIT_INTERRUPTED
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()
    if is_one:
        for each in made.values():
            print_json(as_json(each)) if prints_json else print_tables(each)
    elif made:
        told = [{"file": name, **as_json(each)} for name, each in made.items()]
        print_json({"games": told}) if prints_json else print_index(made)
    return EXIT_FAILURE if failures else 0


def _refuse_old_order(sources: Sequence[Path], out: Path | None) -> None:
    """Raise UserError where these are the arguments of earlier versions, the review's file before the game's."""
    if len(sources) == 2 and out is None and not sources[0].exists() and sources[1].is_file():
        new, old = (printable_path(each) for each in sources)
        raise UserError(f"{new}: No such file or directory; to write a review there: nobi review {old} --out {new}")


def _default_target(source: Path, is_one: bool) -> Path:
    """Return where reviews are written if nobody says it."""
    path = source.resolve()
    name = path.stem if path.suffix.lower() == SUFFIX else path.name
    return source.with_name(f"{source.stem}-review{SUFFIX}") if is_one else path.with_name(f"{name}-review")


def _games(sources: Sequence[Path], out: Path) -> dict[Path, Path]:
    """Return the files of games, those of folders in the order of their names, with the files of their reviews. Raises
    UserError."""
    games: dict[Path, Path] = {}
    taken: dict[Path, Path] = {}
    for source in sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            is_game = path.suffix.lower() == SUFFIX and path.is_file() and out.resolve() not in path.resolve().parents
            if is_game or path is source:
                games[path] = target = out / (path.relative_to(source) if source.is_dir() else path.name)
                if (other := taken.setdefault(target, path)) != path:
                    raise UserError(f"{printable_path(path)} and {printable_path(other)}: their reviews have one name")
    if not games:
        raise UserError(f"{printable_path(sources[0])}: no {SUFFIX} file in it")
    return games


def _subjects(
    games: Mapping[Path, Path],
    configuration: Configuration,
    options: Mapping[str, Any],
    moves: tuple[int, int | None],
    has_variations: bool,
) -> tuple[dict[str, Subject], int]:
    """Read the games, and say on stderr which cannot be reviewed. Return them by their names, and how many cannot."""
    found: dict[str, Subject] = {}
    failures = 0
    first, last = moves
    for path, target in games.items():
        try:
            record = read_record(path, configuration, options)
            length = len(record.game.moves)
            numbers = range(first, (length if last is None else min(last, length)) + 1)
            if not length:
                raise record.error("it has no moves")
            if not numbers:
                raise record.error(f"it has no move from {first} to {last or length}, but {length} moves in all")
            if TITLE in record.game.comments.get(0, ""):
                raise record.error("it is a review already; review the game that it was made of")
            try:
                plan = Plan.of(record.game, record.rules, record.komi, numbers)
                variations = list(_variations(record, plan)) if has_variations else []
            except SgfError as error:
                raise record.error(str(error)) from None
            found[printable_path(path)] = Subject(record, plan, target, variations)
        except (UserError, OSError) as error:
            note(explain(error))
            failures += 1
    return found, failures


def _variations(record: Record, plan: Plan) -> Iterator[tuple[Branch, Plan]]:
    """Yield the variations of a record whose own moves can be reviewed, and say on stderr which cannot be played."""
    for number, branch in enumerate(branches(record.content), 1):
        try:
            line = dataclasses.replace(parse_sgf(branch.text), komi=plan.komi, rules=plan.rules)
            numbers = range(branch.first + 1, len(line.moves) + 1)
            if numbers:
                yield branch, Plan.of(line, plan.rules, plan.komi, numbers)
        except SgfError as error:
            note(f"{printable_path(record.path)}: variation {number}: {error}")


def _review(
    subjects: Mapping[str, Subject],
    configuration: Configuration,
    parallel: int | None,
    least: float,
    language: str,
    finds_problems: bool,
    path: Path,
    stop: threading.Event,
    made: dict[str, Review],
    cluster: Cluster | None,
) -> int:
    """Review games, write the files and add the reviews to `made`. `language`: in which causes are said; nothing where
    none are looked for. `path`: the file of what was found so far.

    Return how many could not be written, which is said on stderr. Raises UserError, EvaluatorError and OSError.
    """
    try:
        results = Results(path)
    except ValueError as error:
        raise UserError(f"{printable_path(path)}: {error}; choose another --out") from None
    searches = Searches(configuration, configuration.engine.visits or DEFAULT_VISITS, parallel, stop, cluster)
    if (language or finds_problems) and not searches.has_network:
        searches.close()
        raise UserError(f"{'--why' if language else '--problems'} needs a player with a network")
    failures = 0
    try:
        plans: dict[str, Plan] = {}
        for name, subject in subjects.items():
            if os.path.lexists(subject.target) and not searches.knows(name, subject.plan, results):
                note(f"{printable_path(subject.target)}: exists already, and is left as it is")
                failures += 1
                continue
            for number, (_, line) in enumerate(subject.variations, 1):
                plans[f"{name}, variation {number}"] = line
            plans[name] = subject.plan
        total = sum(plan.division(searches.visits).total(len(plan.positions)) for plan in plans.values())
        with ProgressBar("review", total) as bar:

            def progress(visits: int, unit: str) -> None:
                words = f"{cluster.words()}, {unit}" if cluster and unit else unit
                bar.update(bar.done + (visits if unit else 0), (bar.total or 0) - (0 if unit else visits), words)

            reviewed = dict(searches.review(plans, results, progress, subjects if language else ()))
            judged = {name: moves for name, moves in reviewed.items() if name in subjects}
            found = list(searches.problems(plans, judged, results, progress)) if finds_problems else []
            if stop.is_set():
                return failures
            for name, moves in judged.items():
                record, plan, target, variations = subjects[name]
                loaded = record.game
                made[name] = Review(
                    moves=moves,
                    size=(loaded.width, loaded.height),
                    names={BLACK: loaded.black, WHITE: loaded.white},
                    result=loaded.result,
                    net=searches.network,
                    visits=searches.visits,
                    rules=rules_to_sgf(plan.rules),
                    komi=plan.komi,
                )
                content, height = record.content, loaded.height
                if variations:
                    noted = [
                        (branch, move_notes(reviewed[f"{name}, variation {number}"], height, least))
                        for number, (branch, _) in enumerate(variations, 1)
                    ]
                    content = annotated_branches(content, noted)
                content = annotated(content, notes_of(made[name], least, language or "en"), record.path.name)
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    create_whole(target, content)
                except OSError as error:
                    if not isinstance(error, FileExistsError) or read_regular(target, len(content)) != content:
                        note(explain(error))
                        failures += 1
    finally:
        searches.close()
    if finds_problems:
        failures += _keep_problems(subjects, found)
    return failures


def _keep_problems(subjects: Mapping[str, Subject], found: Iterable[tuple[str, Game, int, Problem]]) -> int:
    """Keep the problems that were found in games, and say on stderr how many are new. Return how many could not be
    kept, which is said, too."""
    problems, new, failures = Problems(), 0, 0
    for name, game, number, problem in found:
        record = subjects[name].record
        source = source_of((record.game.black, record.game.white), record.path.name, number)
        try:
            new += problems.add(game, problem, source)
        except OSError as error:
            note(explain(error))
            failures += 1
    note(f"new problems: {new}; `nobi web` asks them")
    return failures


def _write_pages(subjects: Mapping[str, Subject], made: Mapping[str, Review], pages: Path, base: Path) -> int:
    """Write pages of reviewed games, whose files of reviews are in `base`, and an index. What others have written stays
    as it is. Return how many could not be written, which is said on stderr."""
    names: list[tuple[str, Review]] = []
    failures = 0

    def write(name: str, text: str) -> bool:
        nonlocal failures
        path = pages / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(path) and not is_ours(read_regular(path, MOST_PAGE_BYTES)):
                raise UserError(f"{printable_path(path)}: exists already, and is left as it is")
            write_whole(path, text.encode(), PUBLIC)
        except (UserError, OSError) as error:
            note(explain(error))
            failures += 1
            return False
        return True

    for name, review in made.items():
        subject = subjects[name]
        file = subject.target.relative_to(base).with_suffix(".html").as_posix()
        text = reviewed_page(subject.record.content, review, subject.plan.rules, subject.record.path.name)
        if write(file, text):
            names.append((file, review))
    write("index.html", index_page(names))
    return failures
