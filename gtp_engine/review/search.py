"""The searches of a review: which positions of a game are looked at, with how many visits, and what that says of moves.

All positions are searched with half of the visits that are meant for them. What is left of the visits goes to the
eighth of a game's positions where its moves seem to have lost most, which gives each of these four times the average.
Positions that follow each other are one unit of work, as long as that is no more than UNIT_VISITS: one search, whose
tree serves the next, in one thread, with random numbers of its own. So each result is always the same, whatever is
searched beside it, and one that is known is not searched again.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from go_rules.game import Game, Move
from go_rules.rules import Rules
from go_rules.sgf.reader import Setup, SgfGame
from gtp_engine.cluster.tasks import Here, sendable
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import UserError
from gtp_engine.networks import suited_to
from gtp_engine.players import make_player
from gtp_engine.review.causes import LEAST_LOSS, SEARCHES_OF_A_CAUSE, Cause, find_cause
from gtp_engine.review.judged import JudgedMove, Opinion, costliest
from gtp_engine.review.problems import PROBLEM_LOSS, VISITS_OF_A_PROBLEM, Problem, find_problem
from gtp_engine.version import VERSION
from nobi_machine.inputs import Inputs
from nobi_machine.memory import usable_cores
from nobi_machine.units import Batch, Pool, Results, Unit
from search.nobi.parameters import SearchParameters
from search.request import OWNERSHIP_AT_THE_END, Limits, MoveFilter, SearchRequest
from search.result import SearchResult

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster, ClusterPool

DEEPER = 8
"""One of so many positions is searched twice."""
FEWEST = 2
"""Positions that are searched twice at least, before and after one move; shorter games are searched once."""
UNIT_VISITS = 1000
"""What a review that is killed loses, at most, of each thread's work."""
LEAST_MEGABYTES = 4
"""Of a search's tree."""
SAID_OTHERWISE = ("workers", "memory", "cache_memory", "net", "human_net", "visits", "komi", "rules")
"""Parameters that results do not depend on, or that their units have in another form."""

Units: TypeAlias = Iterator[tuple[list[int], Unit]]
"""Units with the places of their positions in the plan."""


class PlannedMove(NamedTuple):
    """A move that is to be judged, by the searches of two of its plan's positions."""

    number: int
    """1 for the first move of the game."""
    colour: int
    point: int
    before: int
    after: int
    """Places in `Plan.positions`."""


class Division(NamedTuple):
    """How the visits of a game are divided."""

    quick: int
    """Of each position."""
    deep: int
    """Of each of those that are searched a second time."""
    twice: int
    """How many these are."""

    def total(self, positions: int) -> int:
        """Add up the visits of so many positions."""
        return self.quick * positions + self.deep * self.twice


@dataclass(frozen=True)
class Plan:
    """The positions of a game whose searches judge its moves."""

    game: SgfGame
    rules: Rules
    komi: float
    positions: tuple[tuple[int, int], ...]
    """How many steps of the game, setups among them, come before each, and the colour to move."""
    moves: tuple[PlannedMove, ...]

    @classmethod
    def of(cls, game: SgfGame, rules: Rules, komi: float, numbers: range) -> Plan:
        """Plan the review of the moves of these numbers. The rules and the komi are for a game that names none. Raises
        SgfError where the game cannot be played so far."""
        positions: list[tuple[int, int]] = []
        moves: list[PlannedMove] = []
        number, played = 0, None
        for index, (board, step) in enumerate(game.positions(rules, komi)):
            is_move = isinstance(step, Move)
            if played is not None or (is_move and number + 1 in numbers):
                positions.append((index, step.colour if isinstance(step, Move) else board.to_play))
                if played is not None:
                    after = len(positions) - 1
                    moves.append(PlannedMove(number, played.colour, played.point, after - 1, after))
            number += is_move
            played = step if isinstance(step, Move) and number in numbers else None
            if number >= numbers.stop:
                break
        return cls(game, board.rules, board.komi, tuple(positions), tuple(moves))

    def judged(self, opinions: Mapping[int, Opinion]) -> list[JudgedMove]:
        """Judge the moves by what the searches think of their positions, by these positions' places."""
        return [
            JudgedMove(move.number, move.colour, move.point, opinions[move.before], opinions[move.after])
            for move in self.moves
        ]

    def division(self, visits: int) -> Division:
        """Divide the visits that there are where each position has `visits` on average."""
        count = len(self.positions)
        twice, quick = count // DEEPER, visits // 2
        if twice < FEWEST or quick == 0:
            return Division(visits, 0, 0)
        return Division(quick, (visits - quick) * count // twice, twice)

    def doubtful(self, moves: Iterable[JudgedMove], count: int) -> list[int]:
        """Return the places of so many positions: those before and after the moves that lost most."""
        lost = {move.number: (-move.winrate_lost, -move.points_lost) for move in moves}
        ordered = sorted(self.moves, key=lambda move: lost[move.number])
        places = dict.fromkeys(place for move in ordered for place in (move.before, move.after))
        return sorted(itertools.islice(places, count))


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Some positions of a game that are searched one after another: all that the result depends on."""

    player: str
    """The program's version, the player, its parameters and its networks."""
    width: int
    height: int
    steps: list[tuple[int, int] | Setup]
    """The game's, a move as its colour and its point."""
    handicap: int
    rules: Rules
    komi: float
    positions: list[tuple[int, int]]
    """As those of a Plan."""
    visits: int
    point: int | None = None
    """The move at the only position whose cause is to be found; None where the positions are to be searched."""
    move: JudgedMove | None = None
    """The move at the only position if that may be a problem."""

    @staticmethod
    def of(unit: Unit) -> Stretch:
        """Return what a unit is to do. Any thread may call this."""
        return _STRETCHES.decode(unit.arguments)

    def games(self) -> Iterator[tuple[Game, int]]:
        """Yield the game at each of the positions, with the colour to move. It is the same game each time."""
        steps = tuple(Move(*step) if isinstance(step, tuple) else step for step in self.steps)
        game = SgfGame(self.width, self.height, steps, handicap=self.handicap)
        colours = dict(self.positions)
        for index, (board, _) in enumerate(game.positions(self.rules, self.komi)):
            if index in colours:
                yield board, colours.pop(index)
            if not colours:
                return


_STRETCHES = msgspec.json.Decoder(Stretch)
"""Made before any thread: msgspec crashes where two threads are the first that decode a type."""

Progress = Callable[[int, str], None]
"""Is told of a unit in any thread: how many visits it has, and its name where these were searched just now, or nothing
where they were known."""


class Searches:
    """Searches positions of games, several at a time, with one network."""

    def __init__(
        self,
        configuration: Configuration,
        visits: int,
        parallel: int | None,
        stop: threading.Event,
        cluster: Cluster | None = None,
    ) -> None:
        """`visits` for each position on average. `parallel`: positions at a time; None for one in each thread. `stop`
        ends all searches. With a `cluster` its workers search. Raises ParameterError, EvaluatorError, and for a cluster
        UserError and OSError."""
        self.visits, self._stop, self._configuration = visits, stop, configuration
        files = {"net": configuration.net, "human_net": configuration.human_net}
        inputs = Inputs({name: path for name, path in files.items() if path is not None and path.is_file()})
        self._first = make_player(configuration)
        inputs.check()
        evaluator = self._first.evaluator
        machine = configuration.fill(SearchParameters() if evaluator is None else suited_to(evaluator))
        threads = machine.workers or usable_cores()
        self._parallel = parallel or threads
        self._values = {
            "workers": max(1, threads // self._parallel),
            "memory": max(LEAST_MEGABYTES, machine.memory // self._parallel),
            "cache_memory": machine.cache_memory // self._parallel,
        }
        self.has_network = evaluator is not None
        self.network = "no network" if evaluator is None else evaluator.attributes.name
        chosen = {name: value for name, value in sorted(configuration.values.items()) if name not in SAID_OTHERWISE}
        hashes = list(inputs.hashes.values()) if evaluator else []
        self._player = f"{VERSION} {self._first.name} {chosen} {hashes}"
        self._ready = set[tuple[int, int]]()
        """The board sizes for which all is compiled."""
        self._warming = threading.Lock()
        self._pool: Pool | ClusterPool = Pool(self._parallel, self.do, stop=stop)
        if cluster is not None:
            values, needed = sendable(configuration)
            job = cluster.job("review", msgspec.json.encode(values), inputs, needed if evaluator else ())
            self._pool = cluster.pool(job, stop, evaluations=_visits)

    def review(
        self, plans: Mapping[str, Plan], results: Results, progress: Progress, explained: Collection[str] = ()
    ) -> Iterator[tuple[str, list[JudgedMove]]]:
        """Search what `results` lack of some games, by their names, and yield the judged moves of each game. Those
        whose names are in `explained` have causes at their worst moves.

        All games are searched quickly before one is searched more deeply, and causes come last. Nothing is yielded if
        `stop` is set. Raises EvaluatorError and OSError.
        """
        for units in (self._quick, lambda name, plan: self._deep(name, plan, results)):
            self._run((unit for name, plan in plans.items() for _, unit in units(name, plan)), results, progress)
            if self._stop.is_set():
                return
        judged = {name: self._judged(name, plan, results) for name, plan in plans.items()}
        whys = {name: dict(self._why(name, plans[name], judged[name])) for name in explained if name in plans}
        for unit in itertools.chain.from_iterable(why.values() for why in whys.values()):
            progress(-_visits(unit), "")
        self._run(itertools.chain.from_iterable(why.values() for why in whys.values()), results, progress)
        if self._stop.is_set():
            return
        for name, moves in judged.items():
            causes = {number: _read(unit, results, Cause | None) for number, unit in whys.get(name, {}).items()}
            yield name, [dataclasses.replace(move, cause=causes.get(move.number)) for move in moves]

    def _judged(self, name: str, plan: Plan, results: Results) -> list[JudgedMove]:
        """The moves of a game by both kinds of searches."""
        opinions = _opinions(self._quick(name, plan), results) | _opinions(self._deep(name, plan, results), results)
        return plan.judged(opinions)

    def _why(self, name: str, plan: Plan, moves: Iterable[JudgedMove]) -> Iterator[tuple[int, Unit]]:
        """Yield the units that find the causes of the worst moves of each side, by the moves' numbers."""
        before = {planned.number: planned.before for planned in plan.moves}
        visits = max(1, self.visits // 2)
        for move in costliest(moves, LEAST_LOSS):
            title = f"{name}, move {move.number}"
            yield move.number, self._unit(title, plan, [before[move.number]], visits, move.point)

    def problems(
        self,
        plans: Mapping[str, Plan],
        judged: Mapping[str, Sequence[JudgedMove]],
        results: Results,
        progress: Progress,
    ) -> Iterator[tuple[str, Game, int, Problem]]:
        """Find the problems among the moves of games that were reviewed: yield each with the game's name, the game at
        its position, and the number of the move. Nothing is yielded if `stop` is set. Raises EvaluatorError and
        OSError."""
        asked: list[tuple[str, JudgedMove, Unit]] = []
        for name, moves in judged.items():
            before = {planned.number: planned.before for planned in plans[name].moves}
            for move in costliest(moves, PROBLEM_LOSS):
                unit = self._unit(f"{name}, move {move.number}", plans[name], [before[move.number]], 0, move=move)
                asked.append((name, move, unit))
                progress(-_visits(unit), "")
        self._run((unit for _, _, unit in asked), results, progress)
        if self._stop.is_set():
            return
        for name, move, unit in asked:
            problem = _read(unit, results, Problem | None)
            if problem is not None:
                yield name, next(Stretch.of(unit).games())[0], move.number, problem

    def knows(self, name: str, plan: Plan, results: Results) -> bool:
        """Return whether a game was searched quickly before, as it would be now."""
        return all(unit in results for _, unit in self._quick(name, plan))

    def close(self) -> None:
        """End the threads and free the memory."""
        self._first.close()

    def _run(self, units: Iterator[Unit], results: Results, progress: Progress) -> None:
        """Do those of some units whose results are not known."""

        def missing() -> Iterator[Unit]:
            for unit in units:
                if unit in results:
                    progress(_visits(unit), "")
                else:
                    yield unit

        def keep(unit: Unit, result: bytes) -> None:
            results.add(unit, result)
            progress(_visits(unit), unit.name)

        self._pool.run([Batch("", missing())], keep)

    def _quick(self, name: str, plan: Plan) -> Units:
        """The units of the quick searches of a game."""
        return self._units(name, plan, range(len(plan.positions)), plan.division(self.visits).quick)

    def _deep(self, name: str, plan: Plan, results: Results) -> Units:
        """The units of the deeper searches, once the results of the quick ones are there."""
        _, deep, count = plan.division(self.visits)
        if count:
            moves = plan.judged(_opinions(self._quick(name, plan), results))
            yield from self._units(name, plan, plan.doubtful(moves, count), deep)

    def _units(self, name: str, plan: Plan, places: Iterable[int], visits: int) -> Units:
        """Yield units that search positions of a game, with their places."""
        most = max(1, UNIT_VISITS // visits)
        run: list[int] = []
        for place in (*places, None):
            if run and (place != run[-1] + 1 or len(run) == most):
                title = f"{name}, positions {run[0] + 1} to {run[-1] + 1}"
                yield run, self._unit(title, plan, run, visits)
                run = []
            if place is not None:
                run.append(place)

    def _unit(
        self,
        title: str,
        plan: Plan,
        places: Iterable[int],
        visits: int,
        point: int | None = None,
        move: JudgedMove | None = None,
    ) -> Unit:
        game = plan.game
        asked = Stretch(
            player=self._player,
            width=game.width,
            height=game.height,
            steps=[(step.colour, step.point) if isinstance(step, Move) else step for step in game.steps],
            handicap=game.handicap,
            rules=plan.rules,
            komi=plan.komi,
            positions=[plan.positions[each] for each in places],
            visits=visits,
            point=point,
            move=move,
        )
        return Unit(title, "review", msgspec.json.encode(asked))

    def do(self, unit: Unit, _place: int = 0) -> bytes | None:
        """Search the positions of a unit in the calling thread. Return None if `stop` was set."""
        asked = Stretch.of(unit)
        with self._warming:
            if (asked.width, asked.height) not in self._ready:
                self._first.warm_up(asked.width, asked.height)
                self._ready.add((asked.width, asked.height))
        values = {**self._configuration.values, **self._values, "seed": unit.seed}
        player = make_player(dataclasses.replace(self._configuration, values=values), self._first)

        def search(game: Game, colour: int, visits: int, moves: MoveFilter | None = None) -> SearchResult:
            """Raises InterruptedError where `stop` is set."""
            report = None if asked.point is None else OWNERSHIP_AT_THE_END
            found = player.search(
                SearchRequest(
                    game, colour, Limits(visits), moves, report, analysis=True, stop=self._stop, may_end_empty=True
                )
            )
            if self._stop.is_set():
                raise InterruptedError
            return found

        try:
            if asked.move is not None:
                game, _ = next(asked.games())
                found = find_problem(game, asked.move, lambda game, *more: search(game, game.to_play, *more))
                return msgspec.json.encode(found)
            if asked.point is None:
                opinions = [Opinion.of(search(game, colour, asked.visits)) for game, colour in asked.games()]
                return msgspec.json.encode(opinions)
            game, _ = next(asked.games())
            why = find_cause(game, asked.point, lambda game, visits: search(game, game.to_play, visits), asked.visits)
            return msgspec.json.encode(why)
        except InterruptedError:
            return None
        finally:
            player.close()


def open_job(settings: bytes, files: Mapping[str, Path], here: Here) -> Searches:
    """Open what the units of a review need on a worker of a cluster. Raises what making Searches raises."""
    configuration = here.configured(msgspec.json.decode(settings, type=dict[str, Any]), files)
    return Searches(configuration, 1, here.threads, here.stop)


def _visits(unit: Unit) -> int:
    asked = Stretch.of(unit)
    if asked.move is not None:
        return VISITS_OF_A_PROBLEM
    return asked.visits * (len(asked.positions) if asked.point is None else SEARCHES_OF_A_CAUSE)


def _opinions(units: Units, results: Results) -> dict[int, Opinion]:
    """Read what was found at some positions, by their places. Raises UserError where somebody changed the results."""
    found: dict[int, Opinion] = {}
    for places, unit in units:
        opinions = _read(unit, results, list[Opinion])
        if len(opinions) != len(places):
            raise _damaged(unit)
        found |= zip(places, opinions, strict=True)
    return found


def _read(unit: Unit, results: Results, kind: Any) -> Any:
    """Read the result of a unit. Raises UserError where somebody changed it."""
    try:
        return msgspec.json.decode(results[unit], type=kind)
    except msgspec.MsgspecError:
        raise _damaged(unit) from None


def _damaged(unit: Unit) -> UserError:
    return UserError(f"{unit.name}: the result that was kept is damaged; choose another --out")
