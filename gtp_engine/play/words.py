"""What a person types, how a game is told in words, and how it is drawn and recorded."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from go_rules.game import SYMBOLS, Game
from go_rules.handicap import fixed_handicap, max_fixed_handicap
from go_rules.points import (
    BLACK,
    COLOUR_LETTERS,
    COLOUR_NAMES,
    COLUMNS,
    EMPTY,
    PASS,
    WHITE,
    VertexError,
    from_vertex,
    opponent,
    point_at,
)
from go_rules.rule_names import rules_to_sgf
from go_rules.sgf.writer import to_sgf
from gtp_engine.errors import UserError
from nobi_machine.terminal import amount
from nobi_machine.text import printable

if TYPE_CHECKING:
    from rich.text import Text

    from gtp_engine.session.session import Session

PERSON = "Person"
"""The person's name in game records."""
UNDECIDED = ""
"""The result of a game that goes on."""
RESIGNED = "+R"
"""What follows the winner's letter."""
DRAW, NO_RESULT = "0", "Void"

HELP = """\
D4, pass         play
undo             take your last move back, and the answer
hint             what Nobi would play in your place
score            who is ahead, and which stones are dead
board            the board again
resign           give the game up
save FILE.sgf    write the game to a new file
quit             leave
Ctrl-C           end Nobi's thinking; in your turn, leave at once"""

_SHOWN = 20
"""Characters that an answer repeats of what was typed."""


def point_of(line: str, game: Game) -> int:
    """Return the point, or PASS, that a person wants to play; `d 4` is D4, too. Raises UserError."""
    vertex = re.sub(r"^([a-zA-Z]) +(?=[0-9])", r"\1", line)
    try:
        return from_vertex(vertex, game.width, game.height)
    except VertexError:
        if re.fullmatch("[iI][0-9]+", vertex):
            raise UserError("there is no column I: J follows H") from None
        text = printable(line, _SHOWN)
        raise UserError(f"{text} is neither a command nor a point of this board; help lists what can be said") from None


def side_text(colour: int) -> str:
    """Write a colour and the letter of its stones: `black, X`."""
    return f"{COLOUR_NAMES[colour]}, {SYMBOLS[colour]}"


def terms_text(game: Game, komi: float, person: int) -> str:
    """Write what is played, and the person's colour."""
    rules, stones = rules_to_sgf(game.rules), len(game.handicap)
    handicap = amount(stones, "handicap stone") if stones else "no handicap"
    return f"{game.width}x{game.height}, {rules} rules, komi {komi:g}, {handicap}; you are {side_text(person)}"


def opponent_text(session: Session) -> str:
    """Write who plays against the person, and what limits the thinking."""
    network, most = session.player.evaluator, session.settings.limits()
    limits = [
        f"{limit:g} {unit}"
        for limit, unit in ((most.visits, "visits"), (most.playouts, "playouts"), (most.seconds, "seconds"))
        if limit is not None
    ]
    with_what = "without a network" if network is None else f"with the network {printable(network.attributes.name)}"
    return f"Nobi is the player {session.player.name} {with_what}, at most {' and '.join(limits)} a move"


def result_text(result: str, person: int) -> str:
    """Write how a game has ended, from its result as in SGF. `person` is the person's colour."""
    if result in (DRAW, NO_RESULT):
        return "a draw" if result == DRAW else "no result: the board was the same three times"
    winner = BLACK if result.startswith(COLOUR_LETTERS[BLACK]) else WHITE
    if result.endswith(RESIGNED):
        return f"{'you win' if winner == person else 'Nobi wins'} by resignation"
    points = result.partition("+")[2]
    return f"{COLOUR_NAMES[winner]} wins by {points} point{'' if points == '1' else 's'}"


def lead_text(white_lead: float) -> str:
    """Write who is ahead, from white's lead in points."""
    points = f"{abs(white_lead):.1f}"
    if points == "0.0":
        return "nobody is ahead"
    return f"{COLOUR_NAMES[WHITE if white_lead > 0 else BLACK]} is {points} points ahead"


STYLES = {BLACK: "bold cyan", WHITE: "bold magenta"}
"""Of stones, where a terminal shows styles."""


def board_text(game: Game, dead: Collection[int] = ()) -> Text:
    """Draw the present position with the names of columns and rows. Stones at the points of `dead` are small letters,
    and the points that fixed handicap stones would be on are drawn as `+`."""
    from rich.text import Text

    last = game.moves[-1].point if game.moves else PASS
    most = max_fixed_handicap(game.width, game.height)
    marked = fixed_handicap(most, game.width, game.height) if most else []
    columns = Text("   " + "".join(f" {COLUMNS[x]}" for x in range(game.width)))
    lines = [columns]
    for y in range(game.height):
        row = game.height - y
        line, bracket = Text(f"{row:2d} "), " "
        for x in range(game.width):
            point = point_at(x, y)
            colour = int(game.position["board"][point])
            line.append("(" if point == last else bracket)
            if colour == EMPTY:
                line.append("+" if point in marked else ".")
            else:
                letter = SYMBOLS[colour]
                line.append(letter.lower() if point in dead else letter, STYLES[colour])
            bracket = ")" if point == last else " "
        line.append(f"{bracket} {row}")
        lines.append(line)
    return Text("\n").join([*lines, columns])


def game_record(game: Game, person: int, result: str, komi: float) -> bytes:
    """Write a game of a person, whose colour is `person`, as SGF."""
    names = {person: PERSON, opponent(person): "Nobi"}
    return to_sgf(game, black=names[BLACK], white=names[WHITE], result=result, komi=komi).encode()
