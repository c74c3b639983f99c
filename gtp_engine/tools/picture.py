"""`nobi picture`: a position drawn as SVG, with the candidate moves, the ownership and the best line of a search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.players import check_files
from gtp_engine.session.records import ABSENT, DEFAULT_VISITS, conditions, read_record
from nobi_machine.terminal import amount


@click.command()
@click.argument("target", metavar="OUT.svg", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--move", type=Count(0), metavar="N", help="The position after N moves.  [default: the last]")
@parameter_options("picture", absent=ABSENT)
@config_options
def picture(
    target: Path,
    record: Path | None,
    move: int | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Analyse a position and draw the board, the candidate moves, the ownership and the best line.

    The position is one of a game record's main line; without a record it is the empty board. --komi and --rules go
    before what the record says. Numbers on a candidate are its winrate in percent, its lead in points and its visits,
    all as the side to move sees them; its colour says how much less that lead is than the best one's.
    """
    if move is not None and record is None:
        raise UserError("--move needs GAME.sgf")
    if target.suffix.lower() != ".svg" or not target.parent.is_dir():
        raise UserError(f"{target}: the picture must be a file .svg in a folder that exists")
    configuration = check_files(load(config_file, settings, options))
    tell(configuration)
    from go_rules.game import Game
    from gtp_engine.drawing import draw_analysis
    from gtp_engine.players import make_player
    from nobi_machine.files import PUBLIC, write_whole
    from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest

    engine = configuration.engine
    if record is None:
        game, title = Game(*engine.board, *conditions(configuration)), "Nobi"
    else:
        read = read_record(record, configuration, options)
        loaded = read.game
        if options["size"] is not None and engine.board != (loaded.width, loaded.height):
            raise read.error(f"the board is {loaded.width}x{loaded.height}")
        length = len(loaded.moves)
        if move is not None and move > length:
            raise read.error(f"the game has {amount(length, 'move')}, not {move}")
        game = read.to_game(None if move is None else move + 1)
        title = " – ".join(name for name in (loaded.black, loaded.white) if name) or record.stem
    player = make_player(configuration)
    player.warm_up(game.width, game.height)
    limits = Limits(visits=engine.visits or DEFAULT_VISITS)
    result = player.search(SearchRequest(game, game.to_play, limits, report=OWNERSHIP_AT_THE_END, analysis=True))
    player.close()
    write_whole(target, draw_analysis(game, result, title).encode(), PUBLIC)
