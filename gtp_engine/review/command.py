"""`nobi review`: analyse a whole game, and say what its moves lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from go_rules.machine.printable import printable_path
from gtp_engine.configuration.options import Count, Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.interrupts import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from gtp_engine.review.judged import Judged
    from gtp_engine.tools.records import Record
    from search.player import Player

DEFAULT_VISITS = 500
DEFAULT_LEAST = 4.0


@click.command()
@click.argument("target", metavar="OUT.sgf", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("record", metavar="GAME.sgf", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--from", "first", type=Count(1), default=1, metavar="N", help="Begin with move N.")
@click.option("--to", "last", type=Count(1), metavar="N", help="End with move N.  [default: the last]")
@click.option("--least", type=Number(0, 100), default=DEFAULT_LEAST, show_default=True, metavar="PERCENT",
              help="A better line is written beside each move that lost so much of the winning chance.")  # fmt: skip
@click.option("--json", "prints_json", is_flag=True, help="Print the review as one JSON object instead of tables.")
@parameter_options("review")
@config_options
def review(
    target: Path,
    record: Path,
    first: int,
    last: int | None,
    least: float,
    prints_json: bool,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> int:
    """Analyse all moves of a game: which were mistakes, what was better, and how the game went.

    The first game of GAME.sgf is written to OUT.sgf, a new file, with a comment at each move, marks for doubtful and
    bad ones (those that lost 4, 8 and 16 % of the winning chance), and the better lines as variations; all else in it
    stays. Sabaki draws the winrate and the lead. Tables on stdout say how both sides played and which moves lost most.

    Each position is searched with 500 visits, or as many as --visits says. --komi and --rules go before what the record
    says. Ctrl-C ends the review, and what was found by then is written.
    """
    configuration = load(config_file, settings, options)
    if target.suffix.lower() != ".sgf" or not target.parent.is_dir():
        raise UserError(f"{printable_path(target)}: the review must be a file .sgf in a folder that exists")
    if target.exists():
        raise UserError(f"{printable_path(target)}: exists already; name a new file")
    from go_rules.machine.files import create_whole
    from go_rules.machine.interruption import interruptible
    from go_rules.points import BLACK, WHITE
    from go_rules.sgf.annotation import annotated
    from gtp_engine.players import make_player
    from gtp_engine.review.judged import Summary
    from gtp_engine.review.texts import as_json, note_of, note_of_game, print_tables
    from gtp_engine.tools.records import read_record
    from gtp_engine.tournament.progress import progress_bar

    read = read_record(record, configuration, options)
    read.to_game()  # so that an illegal move is found before the work begins
    loaded = read.game
    count = len(loaded.moves) if last is None else min(last, len(loaded.moves))
    if first > count:
        raise read.error(
            f"the game has {len(loaded.moves)} moves, and none from {first} to {last or len(loaded.moves)}"
        )
    player = make_player(configuration)
    visits = configuration.engine.visits or DEFAULT_VISITS
    player.warm_up(loaded.width, loaded.height)
    moves: list[Judged] = []
    with interruptible() as stop, progress_bar("review", count - first + 1, 0) as advance:
        for judged in _judged(player, read, range(first, count + 1), visits, stop):
            moves.append(judged)
            advance(f"move {judged.number}")
        was_stopped = stop.is_set()
    player.close()
    if not moves:
        return EXIT_INTERRUPTED
    by_side = {side: [move for move in moves if move.colour == side] for side in (BLACK, WHITE)}
    summaries = {side: Summary.of(of_side) for side, of_side in by_side.items()}
    net = player.evaluator.attributes.name if player.evaluator is not None else "no network"
    notes = {move.number: note_of(move, loaded.height, least / 100) for move in moves}
    source = f"Nobi with {net}, {visits} visits a move, moves {moves[0].number} to {moves[-1].number}"
    notes[0] = note_of_game(summaries, moves[0].before, source)
    create_whole(target, annotated(read.content, notes))
    names = {BLACK: loaded.black, WHITE: loaded.white}
    if prints_json:
        import msgspec

        click.echo(msgspec.json.encode(as_json(names, summaries, moves, loaded.height)).decode())
    else:
        print_tables(names, summaries, moves, loaded.height)
    return EXIT_INTERRUPTED if was_stopped else 0


def _judged(player: Player, record: Record, numbers: range, visits: int, stop: threading.Event) -> Iterator[Judged]:
    """Search the positions before and after the moves of these numbers, and yield each as soon as it is judged."""
    from gtp_engine.review.judged import Judged, Opinion
    from search.request import Limits, SearchRequest

    before: Opinion | None = None
    played = None
    for number, (game, move) in enumerate(record.game.positions(record.rules, record.komi), 1):
        if number < numbers.start:
            continue
        colour = game.to_play if move is None else move.colour
        request = SearchRequest(game, colour, Limits(visits=visits), analysis=True, stop=stop)
        result = player.search(request)
        if stop.is_set():
            return
        opinion = Opinion.of(result)
        if before is not None and played is not None:
            yield Judged(number - 1, played.colour, played.point, before, opinion)
        if number > numbers[-1]:
            return
        before, played = opinion, move
