"""`nobi review`: analyse a whole game, and say what its moves lost."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Count, Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.players import check_files
from gtp_engine.session.records import ABSENT, DEFAULT_VISITS, Record, read_record
from nobi_machine.interruption import EXIT_INTERRUPTED
from nobi_machine.progress import ProgressBar, in_pieces
from nobi_machine.streams import print_json
from nobi_machine.text import printable_path

if TYPE_CHECKING:
    from gtp_engine.review.judged import JudgedMove, Review
    from gtp_engine.session.session import Session

DEFAULT_LEAST = 4.0


@click.command()
@click.argument("target", metavar="OUT.sgf", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("source", metavar="GAME.sgf", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--from", "first", type=Count(1), default=1, metavar="N", help="Begin with move N.")
@click.option("--to", "last", type=Count(1), metavar="N", help="End with move N.  [default: the last]")
@click.option("--least", "percent", type=Number(0, 100), default=DEFAULT_LEAST, show_default=True, metavar="PERCENT",
              help="A better line is written beside each move that lost so much of the winning chance.")  # fmt: skip
@click.option("--json", "prints_json", is_flag=True, help="Print the review as one JSON object instead of tables.")
@parameter_options("review", absent=ABSENT)
@config_options
def review(
    target: Path,
    source: Path,
    first: int,
    last: int | None,
    percent: float,
    prints_json: bool,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> int:
    """Analyse all moves of a game: which were mistakes, what was better, and how the game went.

    The first game of GAME.sgf is written to OUT.sgf, a new file, with a comment at each move, marks for doubtful, bad
    and very bad ones (those that lost 4, 8 and 16 % of the winning chance), and the better lines as variations; all
    else in it stays. Sabaki draws the winrate and the lead. Tables on stdout say how both sides played, and which moves
    lost most. With few visits, searches differ by chance, and losses look larger than they are.

    Ctrl-C ends the review, and what was found by then is written.
    """
    configuration = check_files(load(config_file, settings, options))
    tell(configuration)
    _require_writable(target)
    from go_rules.points import BLACK, WHITE
    from go_rules.rule_names import rules_to_sgf
    from gtp_engine.review.judged import TITLE, Review
    from gtp_engine.session.session import Session
    from nets.evaluator import EvaluatorError
    from nobi_machine.interruption import interruptible

    record = read_record(source, configuration, options)
    loaded, length = record.game, len(record.game.moves)
    numbers = range(first, (length if last is None else min(last, length)) + 1)
    if not numbers:
        raise record.error(f"it has no move from {first} to {last or length}, but {length} moves in all")
    if TITLE in loaded.comments.get(0, ""):
        raise record.error("it is a review already; review the game that it was made of")
    end = record.to_game(numbers.stop)  # so that an illegal move is found before the work begins
    session = Session.of(configuration, loaded.width, loaded.height)
    session.load()
    visits, evaluator = configuration.engine.visits or DEFAULT_VISITS, session.player.evaluator
    moves: list[JudgedMove] = []
    failure: EvaluatorError | None = None
    with interruptible() as stop:
        try:
            _judge(session, record, numbers, visits, stop, moves)
        except EvaluatorError as error:  # what was judged before it is not lost
            failure = error
        session.close()
        if moves:
            made = Review(
                moves=moves,
                size=(loaded.width, loaded.height),
                names={BLACK: loaded.black, WHITE: loaded.white},
                net="no network" if evaluator is None else evaluator.attributes.name,
                visits=visits,
                rules=rules_to_sgf(end.rules),
                komi=end.komi,
                is_interrupted=len(moves) < len(numbers),
            )
            _write(made, record, target, percent / 100, prints_json)
    if failure is not None:
        raise failure
    return EXIT_INTERRUPTED if stop.is_set() else 0


def _require_writable(target: Path) -> None:
    """Raise UserError unless a new SGF file of this name can be written, which a long search would find out too late.
    Raises OSError."""
    from nobi_machine.files import written_beside

    name = printable_path(target)
    if target.suffix.lower() != ".sgf" or not target.parent.is_dir():
        raise UserError(f"{name}: the review must be a file .sgf in a folder that exists")
    if os.path.lexists(target):
        raise UserError(f"{name}: exists already; name a new file")
    with written_beside(target, b""):
        pass


def _judge(
    session: Session, record: Record, numbers: range, visits: int, stop: threading.Event, moves: list[JudgedMove]
) -> None:
    """Search the positions before and after the moves of these numbers, and add each move as soon as it is judged.
    Raises EvaluatorError."""
    from go_rules.game import Move
    from gtp_engine.review.judged import JudgedMove, Opinion
    from search.request import Limits

    number, played, before = 0, None, None
    with ProgressBar("review", len(numbers), text=in_pieces) as bar:
        for game, step in record.game.positions(record.rules, record.komi):
            is_move = isinstance(step, Move)
            if played is not None or (is_move and number + 1 in numbers):
                colour = step.colour if isinstance(step, Move) else game.to_play
                result = session.analyse(Limits(visits=visits), stop, colour=colour, game=game)
                if stop.is_set():
                    return
                opinion = Opinion.of(result)
                if played is not None and before is not None:
                    moves.append(JudgedMove(number, played.colour, played.point, before, opinion))
                    bar.advance(1, f"move {number}")
                before = opinion
            number += is_move
            played = step if isinstance(step, Move) and number in numbers else None
            if number >= numbers.stop:
                return


def _write(made: Review, record: Record, target: Path, least: float, prints_json: bool) -> None:
    """Write the review to its file, and print it, whatever becomes of the file. Raises OSError."""
    from go_rules.sgf.annotation import annotated
    from gtp_engine.review.judged import as_json, notes_of, print_tables
    from nobi_machine.files import create_whole

    try:
        create_whole(target, annotated(record.content, notes_of(made, least)))
    finally:
        if prints_json:
            print_json(as_json(made))
        else:
            print_tables(made)
