"""Games by a network's policy alone, without a search: each move is drawn from its probabilities. They are moved and
encoded in the background while the networks compute.

Such games have what game records lack: small boards, endgames up to the last pass, clean-up phases, unusual komi, and
the student's own mistakes. They can leave their line for a few moves and come back, as a search does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.board import clear, copy_position, is_legal, place_stone, play
from go_rules.handicap import STANDARD_AREA, fixed_handicap, max_fixed_handicap
from go_rules.points import BLACK, EMPTY, PASS, STRIDE, WHITE
from go_rules.position import PHASE_OVER, new_stack
from go_rules.random import below, seed_state, uniform
from go_rules.rules import RULES, SCORING_TERRITORY
from nets.symmetry import SYMMETRIES
from nobi_machine.jit import kernel
from training.config import PlayConfig
from training.positions.canvas import PendingPolicy, Positions, new_positions, sizes_on, unlabelled
from training.positions.encoding import cell_of, forget, known_turns, write_input
from training.positions.game_conditions import GameConditions, draw_conditions, random_move
from training.positions.workers import ReplayBuffers, WorkerPool

GROUPS = 4
"""How many groups of games take turns on each canvas. While one is with the networks the others are prepared, and
successive batches are not the same games one move later."""
FIRST_OPENING = 0.2
"""Random moves for each point of the canvas, on average, with which the very first games start, so that they do not all
end at the same time."""
MAX_LENGTH = 3
"""A game ends undecided after this many moves for each point of the board, since nothing here sees superko."""
MAX_HANDICAP = 9
MORE_ON_SMALL_BOARDS = 2
"""The most handicap stones are MAX_HANDICAP on the standard board. On a smaller one they are that in proportion to its
area, and so many more, since a stone counts for more there."""
ON_STARS = 0.5
"""Share of these games in which the stones are on points of the fixed pattern; in the others they are anywhere."""
LONGEST_EXCURSION = 6
"""An excursion has one to so many moves."""
MESSY_SHARE = 0.3
"""Share of an opening's random moves that are played close to the last move."""


class PolicyGames:
    """Games on the boards of one canvas, in GROUPS groups of `count` games."""

    def __init__(
        self,
        canvas: int,
        count: int,
        config: PlayConfig,
        conditions: GameConditions,
        seed: int,
        workers: WorkerPool,
        allocate: Callable[[int, int], Positions] = new_positions,
    ) -> None:
        """Begin the games in the background. `allocate(count, canvas)` returns the memory of a group's positions."""
        self.canvas, self.count = canvas, count
        alike = round(config.own_size * GROUPS) * count  # whole groups need no masks, with which attention is slow
        self._games = new_games(GROUPS * count, sizes_on(canvas), seed, config, alike)
        self._conditions, self._workers = conditions, workers
        self._positions = [allocate(count, canvas) for _ in range(GROUPS)]
        self._background = ThreadPoolExecutor(1, thread_name_prefix="games")
        self._ready: list[Future[None]] = [self._background.submit(self._prepare, group) for group in range(GROUPS)]
        self._next = 0
        self._config = config

    def take(self) -> tuple[int, Positions]:
        """Wait for the next group; return its number and present positions, which stay the same until `play_on`."""
        group = self._next
        self._next = (group + 1) % GROUPS
        self._ready[group].result()
        return group, self._positions[group]

    def by_student(self, group: int) -> NDArray[np.bool_]:
        """Return [count]: in which of a group's present positions the student is to move."""
        first = group * self.count
        to_play = self._games.stack["to_play"][3 * first + 2 : 3 * (first + self.count) : 3]
        return are_students(to_play, np.arange(self.count), self.count, self._config)

    def play_on(self, group: int, policy: PendingPolicy) -> None:
        """Make a move in every game of a group, in the background, by the logits that `policy()` returns there."""
        self._ready[group] = self._background.submit(self._prepare, group, policy)

    def close(self) -> None:
        """End the background work."""
        self._background.shutdown(wait=True, cancel_futures=True)

    def _prepare(self, group: int, policy: PendingPolicy | None = None) -> None:
        """Begin a group's games, or make a move in each by the logits that `policy()` returns; then encode them."""
        logits = None if policy is None else policy()
        games, conditions, positions, start = self._games, self._conditions, self._positions[group], group * self.count
        positions.labels[:] = unlabelled(self.count)

        def prepare(begin: int, end: int, buffers: ReplayBuffers) -> None:
            part = positions.part(begin, end)
            if logits is None:
                start_games(games, conditions, start + begin, start + end, FIRST_OPENING * self.canvas**2)
            else:
                play_moves(games, conditions, start + begin, self.canvas, logits[begin:end])
            encode_games(games, conditions, start + begin, buffers, part.spatial, part.global_)

        self._workers.map_parts(prepare, self.count)


def are_students(
    to_play: NDArray[np.int8], number: NDArray[np.int64], count: int, config: PlayConfig
) -> NDArray[np.bool_]:
    """Return in which of N positions the student is to move, by the side to move and the number, among `count`, of each
    game. The student has the first games; in the first of these it plays one side, black and white in turns."""
    own = round(count * config.student)
    against = round(own * config.opponent)
    is_turn = to_play == np.where(number % 2 == 0, BLACK, WHITE)
    return (number < own) & ((number >= against) | is_turn)


class Games(NamedTuple):
    """G games in progress on the boards of one canvas, as kernels read them."""

    stack: NDArray[np.void]
    """POSITION[3 G]: of game g the positions two moves ago, one move ago and now, from 3 g on."""
    rules: NDArray[np.void]
    """RULES[G]"""
    state: NDArray[np.uint64]
    """[G, 2] random state of each game"""
    symmetry: NDArray[np.int64]
    """[G] how each position was turned when it was last encoded"""
    sizes: NDArray[np.int64]
    """[K] board sizes to choose from, the canvas's own last"""
    first_size: NDArray[np.int64]
    """[G] from which of them on each game's board is drawn"""
    finished: NDArray[np.int64]
    """[G] how many games have ended in each game's place"""
    temperature: NDArray[np.float64]
    """[2] temperature of the policy, with which moves are drawn in proportion to exp(logit / temperature), and what is
    added to it at a game's start; that halves in every so many moves as a row has points"""
    random_moves: NDArray[np.float64]
    """[1] share of the moves that are drawn from all legal ones instead"""
    opening: NDArray[np.float64]
    """[1] how many random moves a game starts with, on average"""
    handicap: NDArray[np.float64]
    """[1] share of the games with handicap stones"""
    stars: NDArray[np.int64]
    """[K, MAX_HANDICAP] for each board size the points of the fixed handicap pattern, PASS after the last of them"""
    excursions: NDArray[np.float64]
    """[2] the chance, at each of a game's moves, of an excursion, and the temperature of its moves"""
    home: NDArray[np.void]
    """POSITION[3 G]: what comes back to `stack` after each game's excursion; POSITION[0] where there are none"""
    away: NDArray[np.int64]
    """[G] how many positions of an excursion are still to come, the present one included; 0 where the game goes on"""

    def chosen(self, games: NDArray[np.bool_]) -> Games:
        """Return some of the games, those where `games` [G] is true."""
        positions = np.repeat(games, 3)
        return self._replace(
            stack=self.stack[positions],
            rules=self.rules[games],
            state=self.state[games],
            symmetry=self.symmetry[games],
            first_size=self.first_size[games],
            finished=self.finished[games],
            home=self.home[positions] if len(self.home) == len(positions) else self.home,
            away=self.away[games],
        )


def new_games(count: int, sizes: tuple[int, ...], seed: int, config: PlayConfig, alike: int = 0) -> Games:
    """Allocate `count` games; `start_games` begins them. The first `alike` have the last of `sizes`, others any."""
    stars = np.full((len(sizes), MAX_HANDICAP), PASS, np.int64)
    for row, size in zip(stars, sizes, strict=True):
        points = fixed_handicap(max_fixed_handicap(size, size), size, size)
        row[: len(points)] = points
    return Games(
        new_stack(3 * count),
        np.zeros(count, RULES),
        np.array([seed_state(seed * 1_000_003 + game) for game in range(count)], np.uint64).reshape(count, 2),
        np.zeros(count, np.int64),
        np.array(sizes, np.int64),
        np.where(np.arange(count) < alike, len(sizes) - 1, 0),
        np.zeros(count, np.int64),
        np.array([config.temperature, config.early_temperature]),
        np.array([config.random_moves]),
        np.array([config.opening]),
        np.array([config.handicap]),
        stars,
        np.array([config.excursions, config.excursion_temperature]),
        new_stack(3 * count if config.excursions > 0.0 else 0),
        np.zeros(count, np.int64),
    )


@kernel
def start_games(games, conditions, first, last, opening):
    """Begin games first to last - 1 with `opening` random moves (float64) on average."""
    for game in range(first, last):
        _start(games, conditions, game, opening)


@kernel
def encode_games(games, conditions, first, buffers, spatial, global_):
    """Write the network input of games first, first + 1, ... to `spatial` uint8[N, 22, S, S] and `global_`
    float32[N, 19], each turned at random."""
    for i in range(len(spatial)):
        game = first + i
        games.symmetry[game] = below(games.state[game], SYMMETRIES)
        symmetry = games.symmetry[game]
        write_input(games.stack, 3 * game + 2, games.rules[game], symmetry, buffers, spatial[i], global_[i])
        forget(known_turns(conditions.forgotten[0], games.state[game]), spatial[i], global_[i])


@kernel
def play_moves(games, conditions, first, canvas, logits):
    """Draw a move for each of the games first, first + 1, ... and play it. A new game takes the place of one that ends.

    `logits` float32[N, S*S + 1] are turned as the positions were when they were encoded."""
    for i in range(len(logits)):
        game = first + i
        pos = games.stack[3 * game + 2]
        rules = games.rules[game]
        if games.away[game] == 1:
            _come_home(games, game)
            continue  # the logits are those of the excursion's end
        temperature = games.temperature[0] + games.temperature[1] * 0.5 ** (pos.move_number / pos.width)
        if games.away[game] > 1:
            temperature = games.excursions[1]
        point = _next_move(games, game, logits[i], canvas, temperature)
        if games.away[game] == 0 and uniform(games.state[game]) < games.excursions[0]:
            other = _next_move(games, game, logits[i], canvas, games.excursions[1])
            if other != point:
                # What comes back is the position after the game's own move, so that none is learned from twice.
                _copy_line(games.home, games.stack, game)
                _play_on(games.home, game, rules, point)
                if not _is_at_its_end(games.home[3 * game + 2]):
                    games.away[game] = 2 + below(games.state[game], LONGEST_EXCURSION)
                    point = other
        _play_on(games.stack, game, rules, point)
        if games.away[game] > 0:
            games.away[game] -= 1
            if pos.phase == PHASE_OVER:
                _come_home(games, game)
        elif _is_at_its_end(pos):
            games.finished[game] += 1
            _start(games, conditions, game, games.opening[0])


@kernel
def _is_at_its_end(pos):
    return pos.phase == PHASE_OVER or pos.move_number > MAX_LENGTH * pos.width * pos.height


@kernel
def _come_home(games, game):
    """End a game's excursion."""
    _copy_line(games.stack, games.home, game)
    games.away[game] = 0


@kernel
def _copy_line(target, source, game):
    """Copy the three positions of a game from one stack to another."""
    for i in range(3 * game, 3 * game + 3):
        copy_position(target[i], source[i])


@kernel
def _play_on(stack, game, rules, point):
    """Play a move in the last of a game's three positions."""
    pos = stack[3 * game + 2]
    copy_position(stack[3 * game], stack[3 * game + 1])
    copy_position(stack[3 * game + 1], pos)
    play(pos, point, np.int64(pos.to_play), rules)


@kernel
def _next_move(games, game, logits, canvas, temperature):
    """Draw a game's next move: from all legal ones now and then, else by the policy."""
    pos, rules, state = games.stack[3 * game + 2], games.rules[game], games.state[game]
    if uniform(state) < games.random_moves[0]:
        return random_move(pos, rules, state, False)
    return _draw_move(pos, rules, state, logits, canvas, games.symmetry[game], temperature)


@kernel
def _start(games, conditions, game, opening):
    state = games.state[game]
    pos = games.stack[3 * game + 2]
    rules = games.rules[game]
    smallest = games.first_size[game]
    number = smallest + below(state, len(games.sizes) - smallest)
    size = games.sizes[number]
    handicap = 0
    if uniform(state) < games.handicap[0]:
        most = MORE_ON_SMALL_BOARDS + MAX_HANDICAP * size * size // STANDARD_AREA
        handicap = 1 + below(state, min(MAX_HANDICAP, most))
    draw_conditions(conditions, handicap, state, rules)
    clear(pos, size, size, rules.has_button)
    on_stars = uniform(state) < ON_STARS
    first_star = below(state, MAX_HANDICAP)
    for i in range(handicap):
        # Inside the first line: a handicap stone on it would be wasted.
        point = (below(state, size - 2) + 2) * STRIDE + below(state, size - 2) + 2
        star = games.stars[number, (first_star + i) % MAX_HANDICAP]
        if on_stars and star != PASS:
            point = star
        if pos.board[point] == EMPTY:
            place_stone(pos, point, BLACK)
            if rules.scoring == SCORING_TERRITORY:
                pos.white_bonus += 1
    pos.to_play = WHITE if handicap > 0 else BLACK
    moves = np.int64(2.0 * opening * uniform(state) + 0.5)
    for _ in range(moves):
        point = random_move(pos, rules, state, uniform(state) < MESSY_SHARE)
        if point != PASS:
            _play_on(games.stack, game, rules, point)


@kernel
def _draw_move(pos, rules, state, logits, canvas, symmetry, temperature):
    """Draw a legal move with probabilities in proportion to exp(logit / temperature)."""
    size = np.int64(pos.width)
    colour = pos.to_play
    highest = logits[canvas * canvas]
    for y in range(size):
        for x in range(size):
            point = (y + 1) * STRIDE + x + 1
            if pos.board[point] == EMPTY:
                logit = logits[cell_of(point, size, canvas, symmetry)]
                if logit > highest and is_legal(pos, point, colour, rules):
                    highest = logit
    # The board is walked twice, first for the sum: this needs no buffer, and most points' shares are tiny.
    total = np.exp((logits[canvas * canvas] - highest) / temperature)
    for y in range(size):
        for x in range(size):
            total += _share(pos, rules, (y + 1) * STRIDE + x + 1, size, logits, canvas, symmetry, highest, temperature)
    rest = uniform(state) * total
    for y in range(size):
        for x in range(size):
            point = (y + 1) * STRIDE + x + 1
            rest -= _share(pos, rules, point, size, logits, canvas, symmetry, highest, temperature)
            if rest < 0.0:
                return point
    return PASS


@kernel
def _share(pos, rules, point, size, logits, canvas, symmetry, highest, temperature):
    if pos.board[point] != EMPTY:
        return 0.0
    depth = (logits[cell_of(point, size, canvas, symmetry)] - highest) / temperature
    if depth < -20.0 or not is_legal(pos, point, pos.to_play, rules):
        return 0.0
    return np.exp(depth)
