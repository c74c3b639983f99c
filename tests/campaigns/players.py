"""Every player of `nobi players` plays whole games on boards of several sizes, under the referee of `nobi match`.

    python -m tests.campaigns.players [--sizes 9,13,19] [--games 2] [--visits 8] [--parallel 2] [--players NAME,...]

Each player plays its neighbour in the list, so each has both neighbours as opponents. Prints for each player and size
the games, the moves, and how many games it lost by an illegal move, a refused one, a crash and the like. Exits with 1
if there was such a game, or if two players did not agree on a score.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.play import Series, open_contest
from gtp_engine.players import PLAYERS
from gtp_engine.tournament.results import Results, results
from nobi_machine.launch import python_command


def play(names: list[str], size: int, games: int, visits: int, parallel: int, folder: Path) -> Results:
    """A ring of matches on one board."""
    conditions = read_conditions(size=(size, size), parallel=parallel)
    options = ("--workers", "1", "--visits", str(visits))
    commands = [python_command("gtp_engine.cli", "gtp", "--player", name, *options) for name in names]
    ring = [(number, (number + 1) % len(names)) for number in range(len(names) if len(names) > 2 else 1)]
    contests = [open_contest(folder, pair, commands, names, conditions) for pair in ring]
    Series(contests, conditions, games).run(lambda contest: None)
    return results(names, contests)


def disagreements(found: Results) -> list[str]:
    """The games whose players gave different scores, a line each."""
    return [
        f"{' - '.join(contest.record.terms.names)}, game {game.game + 1}: {game.scores}, {game.detail}"
        for contest in found.contests
        for game in contest.record.games
        if game.agreed is False
    ]


def main() -> int:
    """Run the campaign; the exit status is its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="9,13,19")
    parser.add_argument("--games", type=int, default=2)
    parser.add_argument("--visits", type=int, default=8)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--players", default=",".join(PLAYERS))
    options = parser.parse_args()
    bad = 0
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="players-") as folder:
            found = play(
                options.players.split(","), size, options.games, options.visits, options.parallel, Path(folder)
            )
            for standing in found.standings:
                lost = ", ".join(f"{count} {reason}" for reason, count in standing.faults.items())
                bad += sum(standing.faults.values())
                tally = standing.tally
                line = f"{standing.name:10} {tally.games + standing.uncounted} games, {standing.moves} moves, "
                print(f"{size}x{size} {line}{tally.wins} won, faults: {lost or 0}", flush=True)
            different = disagreements(found)
            bad += len(different)
            for line in different:
                print(f"{size}x{size} scores differ: {line}", flush=True)
    print("failed" if bad else "passed", f"({bad} games with a fault or without an agreed score)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
