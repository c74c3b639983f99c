"""`nobi mcts`: play against the reference search, see what it thinks of each move, and draw its tree."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click

from gtp_engine.configuration.parameters import Count
from gtp_engine.errors import UserError
from nobi_machine.terminal import answers
from nobi_machine.text import printable
from search.reference.formulas import Gumbel, evenly, puct, rave, ucb1, widening
from search.reference.games import CONNECT_FOUR, TIC_TAC_TOE, InARow
from search.reference.mcts import FIRST, Game, Node, Pieces, Played, State, rollout, search, statistics

if TYPE_CHECKING:
    from rich.console import Console

TIC_TAC_TOE_NAME, _, GO_NAME = GAMES = ("tic-tac-toe", "connect-four", "go")
SMALLEST, LARGEST = 2, 7
"""Sides of the board of Go."""
MOST_SIMULATIONS = 1_000_000
GUMBEL_PLAYOUTS = 5
"""Playouts of which Gumbel's rule gets the mean: it trusts every value, and that of one playout is a coin."""

MOST_NODES = 26
"""Boards in the picture of a tree."""
BOARD, GAP, LEVEL, EDGE, TITLE = 54, 12, 128, 18, 44
"""Units of it: side of a board, between boards, from level to level, around the tree, above it."""
STONES = {"X": "#1f6feb", "O": "#d1495b"}
GOOD, BAD = (46, 160, 67), (180, 60, 60)
"""Red, green, blue of a board's frame: all won, all lost, as the side sees it that moved there."""

GUMBEL = Gumbel()


def several_rollouts(game: Game, state: State, random: Random) -> tuple[float, Played]:
    """Evaluate a position by the mean of some playouts."""
    return sum(rollout(game, state, random)[0] for _ in range(GUMBEL_PLAYOUTS)) / GUMBEL_PLAYOUTS, ()


Method = Callable[[Game, State, int, Random], tuple[str, Node]]


def _method(pieces: Pieces, search: Callable[..., tuple[str, Node]] = search) -> Method:
    return lambda game, state, simulations, random: search(game, state, simulations, pieces, random)


METHODS: dict[str, tuple[str, Method]] = {
    "flat": ("flat Monte Carlo: all moves alike, no tree", _method(Pieces(evenly, deepest=1))),
    "ucb1": ("UCT: upper confidence bounds in a tree", _method(Pieces(ucb1))),
    "widening": ("UCT with progressive widening", _method(Pieces(ucb1, widening=partial(widening, factor=3)))),
    "rave": ("UCT with all-moves-as-first values", _method(Pieces(rave))),
    "puct": ("AlphaGo Zero's rule, all moves being equally likely", _method(Pieces(puct))),
    "gumbel": (
        "sequential halving at the root, an improved policy below it",
        _method(Pieces(GUMBEL.rule, evaluate=several_rollouts), GUMBEL.search),
    ),
}
"""What `--rule` can name: a line about it, and how it searches."""


@dataclass(frozen=True)
class Table:
    """What is played, and how the machine thinks."""

    game: Game
    show: Callable[[State], str]
    """Draw a position: rows of X, O and dots, without names of points."""
    method: Method
    simulations: int
    random: Random

    def think(self, state: State) -> tuple[str, Node]:
        """Search a position. Returns the move and the tree."""
        return self.method(self.game, state, self.simulations, self.random)


@click.command()
@click.argument("game", type=click.Choice(GAMES), default=TIC_TAC_TOE_NAME)
@click.option(
    "--rule", type=click.Choice(list(METHODS)), default="ucb1", show_default=True, help="How the search selects."
)
@click.option("--simulations", "-n", type=Count(1, MOST_SIMULATIONS), default=1000, show_default=True, help="Per move.")
@click.option("--begin", type=click.Choice(["me", "machine"]), default="me", show_default=True, help="Who begins.")
@click.option("--watch", is_flag=True, help="Let the machine play both sides.")
@click.option("--moves", default="", metavar="MOVES", help='Moves that were played already: "B2 A1".')
@click.option("--size", type=Count(SMALLEST, LARGEST), default=5, show_default=True, help="Side of the board of Go.")
@click.option("--seed", type=Count(0), help="Seed of the random moves: the same one plays the same game.")
@click.option(
    "--tree", metavar="OUT.svg", type=click.Path(dir_okay=False, path_type=Path), help="Search once, and draw the tree."
)
@click.option("--against", type=click.Choice(list(METHODS)), help="Play games of --rule against this rule, and count.")
@click.option("--games", type=Count(1), default=20, show_default=True, help="How many with --against.")
def mcts(
    game: str,
    rule: str,
    simulations: int,
    begin: str,
    watch: bool,
    moves: str,
    size: int,
    seed: int | None,
    tree: Path | None,
    against: str | None,
    games: int,
) -> None:
    """Play tic-tac-toe, connect four or Go on a small board against the textbook's search.

    The search is search/reference/, plain Python made to be read. After each of its moves it shows what it found: the
    visits of every move, how many of them were won, and how deep the tree is. Answer with a move, or with: hint, undo,
    quit.
    """
    played, show = _game(game, size)
    table = Table(played, show, METHODS[rule][1], simulations, Random(seed))
    states = [played.start()]
    for move in moves.split():
        if played.result(states[-1]) is not None:
            raise UserError(f"--moves: the game is over before {printable(move, 20)}")
        states.append(played.play(states[-1], _legal(table, states[-1], move)))
    if against is not None:
        won = _match(table, states[-1], METHODS[against][1], games)
        click.echo(f"{rule} won {won[0]}, {against} won {won[1]}, {games - sum(won)} were drawn")
        return
    if tree is not None:
        _draw(table, states[-1], f"{game}, {rule}, {simulations} simulations", tree)
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    side = None if watch else FIRST if begin == "me" else 1 - FIRST
    console.print(f"{game}: {METHODS[rule][0]}, {simulations} simulations a move")
    _play(table, states, side, console)


def _game(name: str, size: int) -> tuple[Game, Callable[[State], str]]:
    """The game of this name, and how its positions are drawn."""
    if name != GO_NAME:
        played: InARow = TIC_TAC_TOE if name == TIC_TAC_TOE_NAME else CONNECT_FOUR
        return played, played.show
    from go_rules.points import point_at
    from search.reference.go import Go

    def show(state: State) -> str:
        board = state.position["board"]
        return "\n".join(" ".join(".XO"[int(board[point_at(x, y)])] for x in range(size)) for y in range(size))

    return Go(size, komi=0.5), show


def _play(table: Table, states: list[State], side: int | None, console: Console) -> None:
    """Play on from the last of the states, until the game is over or the input ends. `side`: the person's, if any."""
    _print_board(table, states[-1], console)
    while (result := table.game.result(states[-1])) is None:
        if table.game.player(states[-1]) == side:
            if not _answer(table, states, console):
                return
        else:
            move, root = table.think(states[-1])
            console.print(f"{statistics(root)}\n{_letter(table, states[-1])} plays {move}")
            states.append(table.game.play(states[-1], move))
        _print_board(table, states[-1], console)
    console.print("a draw" if result == 0.5 else "X wins" if result == 1.0 else "O wins")


def _match(table: Table, start: State, other: Method, games: int) -> tuple[int, int]:
    """Play games from a position, the table's method against another, each the first player in every second one.

    Returns how many each has won.
    """
    won = [0, 0]
    for number in range(games):
        methods, state = (table.method, other) if number % 2 == 0 else (other, table.method), start
        while (result := table.game.result(state)) is None:
            method = methods[table.game.player(state)]
            state = table.game.play(state, method(table.game, state, table.simulations, table.random)[0])
        if result != 0.5:
            winner = FIRST if result == 1.0 else 1 - FIRST
            won[winner if number % 2 == 0 else 1 - winner] += 1
    return won[0], won[1]


def _answer(table: Table, states: list[State], console: Console) -> bool:
    """Read and carry out what the person answers: a move, or undo. Returns False at the end of the input."""
    for line in answers(f"{_letter(table, states[-1])} to move (hint, undo, quit): ", console):
        try:
            if (word := line.lower()) == "quit":
                return False
            if word == "hint":
                console.print(statistics(table.think(states[-1])[1]))
            elif word == "undo":
                if len(states) < 3:
                    raise UserError("nothing to undo")
                del states[-2:]
                return True
            else:
                states.append(table.game.play(states[-1], _legal(table, states[-1], line)))
                return True
        except UserError as error:
            console.print(str(error))
    return False


def _legal(table: Table, state: State, text: str) -> str:
    """The move that a person's text names, in any letter case. Raises UserError if it is none."""
    moves = table.game.moves(state)
    found = [move for move in moves if move.lower() == text.lower()]
    if not found:
        raise UserError(f"{printable(text, 20)} is no move here: {' '.join(moves)}")
    return found[0]


def _letter(table: Table, state: State) -> str:
    return "X" if table.game.player(state) == FIRST else "O"


def _print_board(table: Table, state: State, console: Console) -> None:
    """Print a position with the names of columns and rows, the stones in colour where the terminal has it."""
    from rich.text import Text

    rows = table.show(state).splitlines()
    falls = table.game is CONNECT_FOUR
    columns = "1234567" if falls else "ABCDEFG"
    lines = [row if falls else f"{len(rows) - y} {row}" for y, row in enumerate(rows)]
    text = Text("\n".join([*lines, ("" if falls else "  ") + " ".join(columns[: len(rows[0].split())])]))
    text.highlight_words(["X"], "bold cyan")
    text.highlight_words(["O"], "bold magenta")
    console.print(text)


def _draw(table: Table, state: State, title: str, target: Path) -> None:
    """Search one position, print the table of its moves, and draw the tree."""
    if target.suffix != ".svg" or not target.parent.is_dir():
        raise UserError(f"{printable(str(target))}: the picture must be a file .svg in a folder that exists")
    if table.game.result(state) is not None:
        raise UserError("--tree: the game is over, there is nothing to search")
    from nobi_machine.files import PUBLIC, write_whole

    _, root = table.think(state)
    click.echo(statistics(root))
    write_whole(target, draw_tree(root, table.show, title).encode(), PUBLIC)


@dataclass(eq=False)
class Place:
    """A node of the tree and its place in the picture."""

    node: Node
    level: int
    children: list[Place]
    x: float = 0.0
    """The middle of its board."""


def draw_tree(root: Node, show: Callable[[State], str], title: str) -> str:
    """Draw the most visited part of a tree. `show` makes rows of X, O and dots of a position."""
    top = _most_visited(root)
    right = _arrange(top, 0.0)
    depth = max(place.level for place in _all(top)) + 1
    width, height = max(right - GAP, 360.0) + 2 * EDGE, TITLE + depth * LEVEL - (LEVEL - BOARD) + 44 + EDGE
    shift = (width - (right - GAP)) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" text-anchor="middle" '
        'font-family="DejaVu Sans, Verdana, sans-serif">',
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="12" fill="#ffffff"/>',
        f'<text x="{width / 2:.0f}" y="28" font-size="15" font-weight="bold">{html.escape(title)}</text>',
        f'<g transform="translate({shift:.1f} {TITLE})">',
        *(line for place in _all(top) for line in _lines(place, root.visits)),
        *(line for place in _all(top) for line in _board(place, show)),
        "</g></svg>\n",
    ]
    return "\n".join(parts)


def _most_visited(root: Node) -> Place:
    """The most visited nodes of a tree, as many as the picture has room for. A node's parent was visited as often."""
    top = Place(root, 0, [])
    waiting = [(child, top) for child in root.children]
    for _ in range(MOST_NODES - 1):
        node, parent = max(waiting, key=lambda each: each[0].visits, default=(root, top))
        if node is root or node.visits == 0:
            break
        place = Place(node, parent.level + 1, [])
        waiting.remove((node, parent))
        waiting += [(child, place) for child in node.children]
        parent.children.append(place)
        # In the order of the moves, as every node has its children.
        order = parent.node.children
        parent.children.sort(key=lambda each: order.index(each.node))
    return top


def _arrange(place: Place, left: float) -> float:
    """Set the middles of a subtree's boards. Returns where the next subtree may begin."""
    if not place.children:
        place.x = left + BOARD / 2
        return left + BOARD + GAP
    right = left
    for child in place.children:
        right = _arrange(child, right)
    place.x = (place.children[0].x + place.children[-1].x) / 2
    return right


def _all(place: Place) -> Iterator[Place]:
    yield place
    for child in place.children:
        yield from _all(child)


def _lines(place: Place, visits: int) -> Iterator[str]:
    """The lines to the children, with their moves."""
    most = max((child.node.visits for child in place.children), default=0)
    for child in place.children:
        y, below = place.level * LEVEL + BOARD + 32, child.level * LEVEL
        colour = "#57606a" if child.node.visits < most else "#d4a017"
        thickness = 0.8 + 9.0 * child.node.visits / visits
        yield (
            f'<path d="M{place.x:.1f} {y}L{child.x:.1f} {below}" stroke="{colour}" stroke-width="{thickness:.1f}" '
            'stroke-linecap="round"/>'
        )


def _board(place: Place, show: Callable[[State], str]) -> Iterator[str]:
    """A board with its stones, framed by how good the move was, and below it the move, its visits and its winrate."""
    node, rows = place.node, [row.split() for row in show(place.node.state).splitlines()]
    left, top, step = place.x - BOARD / 2, place.level * LEVEL, BOARD / max(len(rows), len(rows[0]))
    share = node.wins / node.visits if place.level else 0.5
    colour = "rgb({},{},{})".format(*(round(b + share * (g - b)) for g, b in zip(GOOD, BAD, strict=True)))
    frame = colour if place.level else "#57606a"
    yield (
        f'<rect x="{left:.1f}" y="{top}" width="{BOARD}" height="{BOARD}" rx="5" fill="#f6f8fa" stroke="{frame}" '
        'stroke-width="3"/>'
    )
    for y, row in enumerate(rows):
        for x, stone in enumerate(row):
            radius, fill = (0.34 * step, STONES[stone]) if stone in STONES else (1.2, "#8c959f")
            cx, cy = left + step * (x + 0.5), top + step * (y + 0.5)
            yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius:.1f}" fill="{fill}"/>'
    first = f"{node.move}: {node.visits}" if place.level else f"{node.visits} visits"
    second = f"{100 * share:.0f} %" if place.level else ""
    yield f'<text x="{place.x:.1f}" y="{top + BOARD + 14}" font-size="11">{html.escape(first)}</text>'
    yield f'<text x="{place.x:.1f}" y="{top + BOARD + 27}" font-size="11" fill="{frame}">{second}</text>'
