"""What a person types, how a game is told in words, and how it is drawn and recorded."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from go_rules.game import Game
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
from nobi_machine.text import parse_integer, printable

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
undo [N]         take your last move back, or your last N, and the answers
hint             what Nobi would play in your place
score            who is ahead, and which stones are dead
board            the board again
resign           give the game up
save FILE.sgf    write the game to a new file
quit             leave
Ctrl-C           end Nobi's thinking; in your turn, leave at once"""
OTHER_NAMES = {"?": "help", "q": "quit", "exit": "quit"}
"""Further names of commands."""

_MOVE = re.compile(r"(?:play\s+)?(?:(b|w|black|white)\s+)?(pass|[a-z]\s*[0-9]+)", re.IGNORECASE | re.ASCII)
_SHOWN = 20
"""Characters that an answer repeats of what was typed."""


# --- What a person types ------------------------------------------------------------------------------------------


def command_of(line: str) -> tuple[str, str]:
    """Split a line into the name of a command, in small letters, and what follows it. It may be a move as well."""
    word, _, rest = line.replace("\t", " ").partition(" ")
    return OTHER_NAMES.get(word.lower(), word.lower()), rest.strip()


def point_of(line: str, game: Game, person: int) -> int:
    """Return the point, or PASS, that a person of this colour wants to play. Raises UserError.

    `D4` may be said as `d4`, `d 4`, `B D4`, `black D4` and `play D4`, too.
    """
    found = _MOVE.fullmatch(line)
    if found is None:
        raise UserError(f"{printable(line, _SHOWN)} is neither a move nor a command; help lists them")
    side, vertex = found[1], "".join(found[2].split()).upper()
    if side is not None and side[0].upper() != COLOUR_LETTERS[person]:
        raise UserError(f"you are {COLOUR_NAMES[person]}")
    try:
        return from_vertex(vertex, game.width, game.height)
    except VertexError:
        if vertex.startswith("I"):
            raise UserError("there is no column I: J follows H") from None
        raise UserError(f"{printable(vertex, _SHOWN)} is not on this board") from None


def number_of(text: str) -> int:
    """Return how many moves to take back: 1 if nothing is said. Raises UserError."""
    try:
        number = parse_integer(text) if text else 1
    except ValueError:
        number = 0
    if number < 1:
        raise UserError("undo takes back a number of moves: undo 2")
    return number


# --- How a game is told -------------------------------------------------------------------------------------------


def handicap_text(stones: int) -> str:
    """Write how many stones black began with."""
    return amount(stones, "handicap stone") if stones else "no handicap"


def side_text(colour: int) -> str:
    """Write a colour and the letter of its stones: `black, X`."""
    return f"{COLOUR_NAMES[colour]}, {LETTERS[colour]}"


def terms_text(game: Game, komi: float, person: int) -> str:
    """Write what is played, and the person's colour."""
    rules, handicap = rules_to_sgf(game.rules), handicap_text(len(game.handicap))
    return f"{game.width}x{game.height}, {rules} rules, komi {komi:g}, {handicap}; you are {side_text(person)}"


def opponent_text(session: Session) -> str:
    """Write who plays against the person, and what limits the thinking."""
    network, settings = session.player.evaluator, session.settings
    visits, seconds = settings.search_limits()
    limits = [
        f"{limit:g} {unit}"
        for limit, unit in ((visits, "visits"), (settings.playouts, "playouts"), (seconds, "seconds"))
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


LETTERS = {BLACK: "X", WHITE: "O"}
STYLES = {BLACK: "bold cyan", WHITE: "bold magenta"}
"""Of stones, where a terminal shows styles."""


def board_text(game: Game, dead: Collection[int] = ()) -> Text:
    """Draw the present position with the names of columns and rows. Stones at the points of `dead` are small letters,
    and the points that fixed handicap stones would be on are drawn as `+`."""
    from rich.text import Text

    last = game.moves[-1].point if game.moves else PASS
    marked = set(_marked_points(game.width, game.height))
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
                letter = LETTERS[colour]
                line.append(letter.lower() if point in dead else letter, STYLES[colour])
            bracket = ")" if point == last else " "
        line.append(f"{bracket} {row}")
        lines.append(line)
    return Text("\n").join([*lines, columns])


def _marked_points(width: int, height: int) -> list[int]:
    """The points of the largest fixed handicap."""
    most = max_fixed_handicap(width, height)
    return fixed_handicap(most, width, height) if most else []


def game_record(game: Game, person: int, result: str, komi: float) -> bytes:
    """Write a game of a person, whose colour is `person`, as SGF."""
    names = {person: PERSON, opponent(person): "Nobi"}
    return to_sgf(game, black=names[BLACK], white=names[WHITE], result=result, komi=komi).encode()
