"""What a match shows: a line of progress while it runs, and a table or a summary for JSON at its end."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from gtp_engine.match.play import AfterGame, Contest
from gtp_engine.match.record import BY_BOARD, BY_SCORES, GameRecord, MatchTerms, faults, sprt_run, tally
from gtp_engine.match.statistics import Sprt, elo, score_interval
from nobi_machine.progress import StatusLine, duration
from nobi_machine.terminal import amount, print_table

METHOD = "Elo: logistic, with the 95 % Wilson interval of the score; games taken as independent."
COLUMNS = ("engine", "points", "wins", "as black", "as white", "s/move", "longest", "late", "faults", "stderr lines")


@contextlib.contextmanager
def status(names: Sequence[str], total: int) -> Iterator[AfterGame]:
    """Show how far a match of `total` games is, on stderr: on a terminal in one line, else in a line for each game.

    The body calls what it gets after each game.
    """
    line, started, played_here = StatusLine(0.0), time.monotonic(), itertools.count(1)

    def tell(contest: Contest) -> None:
        games = contest.record.games
        last, score = games[-1], tally(games)
        left = (time.monotonic() - started) / next(played_here) * (total - len(games))
        line.show(
            f"{len(games)} of {total} played; game {last.game + 1}: {last.result}"
            f" ({last.reason}, {amount(last.moves, 'move')})  {names[0]} {points(score.wins, score.draws)}"
            f" - {points(score.losses, score.draws)} {names[1]}  {duration(left)} left"
        )

    try:
        yield tell
    finally:
        line.end()


def summary(terms: MatchTerms, games: Sequence[GameRecord], sprt: Sprt | None = None) -> dict[str, Any]:
    """Sum a match up in numbers for JSON. Numbers of one side are engine A's. An infinite Elo is None, and so are the
    score and its Elo where no game counts. The test's part is about the first games alone that it has looked at."""
    score = tally(games)
    low, high = score_interval(score)
    out: dict[str, Any] = {
        "engines": terms.names,
        "games": len(games),
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
        "uncounted": sum(not game.counts for game in games),
        "score": round(score.score, 4) if score.games else None,
        "score_interval": [round(low, 4), round(high, 4)],
        "elo": _finite(elo(score.score)) if score.games else None,
        "elo_interval": [_finite(elo(low)), _finite(elo(high))],
        "as_black": _wins_by_colour(games, 0),
        "as_white": _wins_by_colour(games, 1),
        "faults": [dict(faults(games, side)) for side in (0, 1)],
        "scores_compared": sum(game.agreed is not None for game in games),
        "scores_differ": sum(game.agreed is False for game in games),
        "settled_by": dict(Counter(game.settled_by for game in games if game.settled_by)),
        "late_moves": [sum(game.late[side] for game in games) for side in (0, 1)],
        "stderr_lines": [sum(game.stderr_lines[side] for game in games) for side in (0, 1)],
        "stray_lines": [sum(game.stray_lines[side] for game in games) for side in (0, 1)],
        "seconds_per_move": [_seconds_per_move(games, side) for side in (0, 1)],
        "longest_move": [max((game.longest[side] for game in games), default=0.0) for side in (0, 1)],
        "moves_per_game": round(sum(game.moves for game in games) / len(games), 1) if games else 0,
    }
    if sprt is not None:
        run = sprt_run(sprt, games)
        out["sprt"] = {
            "elo0": sprt.elo0,
            "elo1": sprt.elo1,
            "games": run.games,
            "log_likelihood_ratio": round(sprt.log_likelihood_ratio(run.tally), 3),
            "bound": round(sprt.bound, 3),
            "accepted": run.decision,
        }
    return out


def print_result(terms: MatchTerms, games: Sequence[GameRecord], sprt: Sprt | None = None) -> None:
    """Print the table of results on stdout."""
    facts = summary(terms, games, sprt)
    wins, by_colour = (facts["wins"], facts["losses"]), (facts["as_black"], facts["as_white"])
    rows = [
        (
            terms.names[side],
            points(wins[side], facts["draws"]),
            str(wins[side]),
            *(f"{won[side]} of {won[2]}" for won in (by_colour[side], by_colour[1 - side])),
            f"{facts['seconds_per_move'][side]:.2f}",
            f"{facts['longest_move'][side]:.2f}",
            str(facts["late_moves"][side]),
            faults_text(facts["faults"][side]) or "0",
            str(facts["stderr_lines"][side]),
        )
        for side in (0, 1)
    ]
    print_table(COLUMNS, rows, f"{amount(len(games), 'game')}, {terms}", left=COLUMNS[:1])
    for line in _conclusions(terms, facts, games):
        click.echo(line)


def uncounted_text(count: int) -> str:
    """Write as a sentence that so many games, at least one, count for nobody."""
    return (
        f"{amount(count, 'game')} count{'s' if count == 1 else ''} for nobody: the engines did not agree on a winner."
    )


def points(wins: int, draws: int) -> str:
    """Write the points of a score as text: `12`, `12½` or `½`."""
    whole, half = divmod(2 * wins + draws, 2)
    return f"{whole or ''}½" if half else str(whole)


def faults_text(counts: Mapping[str, int]) -> str:
    """Write how often each fault lost a game, as text; empty if none did."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def sprt_text(test: Mapping[str, Any]) -> str:
    """Write as a sentence what a sequential test says, from its part of `summary`."""
    verdict = {None: "undecided", 0: f"{test['elo0']:+g} accepted", 1: f"{test['elo1']:+g} accepted"}
    return (
        f"SPRT {test['elo0']:+g} against {test['elo1']:+g} Elo: {verdict[test['accepted']]} after "
        f"{amount(test['games'], 'game')} (ratio {test['log_likelihood_ratio']:+.2f}, bounds ±{test['bound']:.2f})."
    )


def _conclusions(terms: MatchTerms, facts: dict[str, Any], games: Sequence[GameRecord]) -> list[str]:
    low, high = facts["elo_interval"]
    lines = [f"No game counts, so nothing is known of {terms.names[0]} against {terms.names[1]}."]
    if facts["score"] is not None:
        lines = [
            f"{terms.names[0]} scores {100 * facts['score']:.1f} %: Elo {_signed(facts['elo'], facts['score'] > 0.5)}"
            f" (95 %: {_signed(low, False)} to {_signed(high, True)}) against {terms.names[1]}.",
            METHOD,
        ]
    if facts["scores_compared"]:
        compared = amount(facts["scores_compared"], "game")
        lines.append(f"Final scores compared in {compared}, different in {facts['scores_differ']}.")
    others = {how: count for how, count in facts["settled_by"].items() if how not in (BY_BOARD, BY_SCORES)}
    if others:
        lines.append(f"Settled otherwise: {', '.join(f'{count} by {how}' for how, count in others.items())}.")
    if facts["uncounted"]:
        lines.append(uncounted_text(facts["uncounted"]))
    if "sprt" in facts:
        lines.append(sprt_text(facts["sprt"]))
    lines += [f"Game {game.game + 1}: {game.result}, {game.reason}: {game.detail}" for game in games if game.detail]
    return lines


def _wins_by_colour(games: Sequence[GameRecord], black: int) -> list[int]:
    """[A's wins, B's wins, games] of the games in which that engine was black."""
    winners = [game.winner for game in games if game.black == black]
    return [winners.count(0), winners.count(1), len(winners)]


def _seconds_per_move(games: Sequence[GameRecord], side: int) -> float:
    moves = sum(game.own_moves[side] for game in games)
    return round(sum(game.seconds[side] for game in games) / moves, 3) if moves else 0.0


def _finite(value: float) -> float | None:
    return round(value, 1) if math.isfinite(value) else None


def _signed(value: float | None, positive: bool) -> str:
    """`+35`, or an infinite Elo with the sign it has."""
    if value is None:
        return "+inf" if positive else "-inf"
    return f"{round(value):+d}"
