"""Makes positions in which it is known where a bad move's points went, for the campaign `causes`.

    make campaign-cause_positions ARGS="--size 9 --count 60 --seed 1" > more.sgf

A network's policy plays both sides, at a high temperature, until a move seems to lose LEAST_LOSS points. The game is
then played on by searches, once from the best move and once from the played one. The position is kept where chains of
the mover's live in the first end and are dead in the second, or the opponent's the other way round, and where nothing
makes up for that. Each is printed as a game whose last move is the bad one: these stones are marked (MA), and the
comment begins with the kind, a key of KINDS. Nothing of gtp_engine/review/ has a say in it.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from go_rules.agreement import chains
from go_rules.game import Game
from go_rules.points import NO_POINT, PASS, board_points, column_of, neighbours, row_of, to_vertex
from go_rules.sgf.writer import coordinates, to_sgf
from go_rules.tactics.ladder import LADDERS, find_ladders
from go_rules.tactics.ladder_board import new_ladder_work
from nets.embedded import network_file
from search.nobi.player import PuctPlayer
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import SearchResult
from tests.campaigns.finished_positions import network, new_player

KINDS = {
    "dies": "stones of the mover's die",
    "lives": "stones of the opponent's live",
    "ladder": "a ladder catches, or does not catch any more",
    "ko": "a ko beside these stones was fought",
}
LEAST_LOSS = 5.0
"""Points, by the network alone before the game is played on, and by the searches of both ends."""
PLIES = 10
"""Moves of either side together after the two moves that are compared."""
SURE = 0.6
"""Ownership, of -1..1, by which stones that are still on the board are alive or dead in the end."""
PER_GAME = 3
HEAT = 1.4
"""The temperature of the policy."""


@dataclass(frozen=True)
class End:
    """What became of a position after some moves."""

    lead: float
    """The mover's, in points."""
    alive: dict[int, float]
    """For each stone of the position how alive it is, -1..1; -1 where it was captured on the way."""
    kos: frozenset[int]
    """Points in and beside the kos that were taken on the way."""


def searched(player: PuctPlayer, game: Game, visits: int) -> SearchResult:
    """Search a game's present position, with ownership."""
    return player.search(
        SearchRequest(game, game.to_play, Limits(visits, may_stop_early=False), report=OWNERSHIP_AT_THE_END)
    )


def play_on(player: PuctPlayer, before: Game, point: int, visits: int) -> End:
    """Play a move and then the best moves of both sides. Four times the visits judge the end."""
    mover, game = before.to_play, before.copy()
    stones = {p: int(before.position["board"][p]) for p in board_points(before.width, before.height)}
    stones = {p: colour for p, colour in stones.items() if colour}
    captured, kos = set[int](), set[int]()
    for _ in range(PLIES + 1):
        game.play(game.to_play, point)
        captured |= {p for p, colour in stones.items() if game.position["board"][p] != colour}
        ko = int(game.position["ko"])
        if ko != NO_POINT:
            kos |= {ko, *neighbours(ko)}
        if game.is_over:
            break
        point = searched(player, game, visits).moves[0].point
    result = searched(player, game, 4 * visits)
    assert result.ownership is not None, "asked for"
    owned = dict(zip(board_points(game.width, game.height), result.ownership.tolist(), strict=True))
    alive = {
        p: -1.0 if p in captured else owned[p] if colour == result.colour else -owned[p] for p, colour in stones.items()
    }
    return End(result.lead if result.colour == mover else -result.lead, alive, frozenset(kos))


def in_ladder(game: Game, stone: int) -> bool:
    """Tell whether a ladder catches a chain that has two liberties, at once or by extending."""
    memory = np.zeros(1, LADDERS)
    rows = memory[find_ladders(game.position, new_ladder_work()[0], memory)]["rows"]
    if not rows[0, row_of(stone)] >> column_of(stone) & 1:
        return False
    after, colour = game.copy(), int(game.position["board"][stone])
    chain = next(chain for chain in chains(game) if stone in chain)
    if game.position["liberties"][game.position["chain"][stone]] == 1:
        (liberty,) = {p for s in chain for p in neighbours(s) if p in board_points(game.width, game.height)
                      and game.position["board"][p] == 0}  # fmt: skip
        if not after.is_legal(colour, liberty):
            return False
        after.play(colour, liberty)
    return bool(after.position["liberties"][after.position["chain"][stone]] == 2)


def known_cause(player: PuctPlayer, before: Game, point: int, visits: int) -> str | None:
    """Return the game with a bad move at its end as SGF, if it is known what it lost."""
    now = searched(player, before, 2 * visits)
    best = now.moves[0].point
    if best in (point, PASS):
        return None
    played = play_on(player, before, point, visits)
    if now.lead - played.lead < LEAST_LOSS:
        return None
    better = play_on(player, before, best, visits)
    if better.lead - played.lead < LEAST_LOSS:
        return None
    lost, won = list[int](), list[int]()
    for chain in chains(before):
        is_movers = before.position["board"][chain[0]] == before.to_play
        up, down = (better, played) if is_movers else (played, better)
        if all(up.alive[p] >= SURE and down.alive[p] <= -SURE for p in chain):
            lost += chain
        if all(down.alive[p] >= SURE and up.alive[p] <= -SURE for p in chain):
            won += chain
    if won or len(lost) < 2:
        return None
    after, right = before.copy(), before.copy()
    after.play(before.to_play, point)
    right.play(before.to_play, best)
    is_movers = before.position["board"][lost[0]] == before.to_play
    standing = set.intersection(*({p for chain in chains(game) for p in chain} for game in (after, right)))
    if (better.kos | played.kos) & set(lost):
        kind = "ko"
    elif any(in_ladder(after, p) != in_ladder(right, p) for p in lost if p in standing):
        kind = "ladder"
    else:
        kind = "dies" if is_movers else "lives"
    said = f"{kind}: {better.lead - played.lead:.0f} points, {to_vertex(best, before.height)} is better"
    text = to_sgf(after, comments={len(after.moves): said}).rstrip()
    return text[:-1] + "MA" + "".join(f"[{coordinates(p)}]" for p in lost) + ")"


def found(player: PuctPlayer, size: int, visits: int, rng: random.Random) -> Iterator[str]:
    """Yield positions of one game."""
    game, number = Game(size, size), 0
    lead = searched(player, game, 1).lead
    while not game.is_over and number < PER_GAME and len(game.moves) < size * size:
        result = searched(player, game, 1)
        assert result.raw is not None, "there is a network"
        odds = np.maximum(result.raw.policy, 0.0) ** (1.0 / HEAT)
        points = [*board_points(size, size), PASS]
        odds[-1] *= odds[-1] == odds.max()  # a pass only where it is the likeliest move
        (point,) = rng.choices(points, odds.tolist())
        before = game.copy()
        game.play(game.to_play, point)
        after = searched(player, game, 1).lead
        lost, lead = lead + after, after
        if lost >= LEAST_LOSS and len(before.moves) >= size and point != PASS:
            text = known_cause(player, before, point, visits)
            if text is not None:
                number += 1
                yield text


def main() -> None:
    """Print as many positions as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default=str(network_file()), help="the network that plays and searches")
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--visits", type=int, default=50, help="of each move that is played on")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    player, count = new_player(network(options.net, "auto"), options.seed), 0
    while count < options.count:
        for text in found(player, options.size, options.visits, rng):
            print(text, flush=True)
            count += 1
    player.close()


if __name__ == "__main__":
    main()
