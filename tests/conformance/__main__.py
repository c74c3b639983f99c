"""`make conformance`: programs that talk to Nobi, run against it, and a table of what they found.

First what each client says and how it reads the answers (tests/gtp_engine/clients/), told to `nobi gtp` and
`nobi analysis` with their network. Then the clients' own code: installing.py says where each is from. What cannot be
had is skipped, with the reason. Exits with 1 if a case failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from go_rules.sgf.writer import to_sgf
from nets.embedded import embedded_network
from nets.open import open_network
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest
from tests.conformance.installing import CLIENTS, Client, Missing, Places
from tests.conftest import REPOSITORY
from tests.gtp_engine.clients.partners import GtpProcess, JsonProcess
from tests.gtp_engine.clients.stories import ALL

NOBI = str(Path(sys.executable).with_name("nobi"))

LONGEST = 3600.0
"""Seconds that a client may take."""
FEWEST = 150
"""Cases of all clients together."""
STORY_VISITS = 16
"""Visits a move, where a story looks at forms only."""


@dataclass
class Row:
    """A line of the table."""

    client: str
    cases: int = 0
    passed: int = 0
    skipped: str = ""
    """Why nothing of it was run; empty where it was."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument("--moves", type=int, default=200, help="moves of the game that is analysed")
    parser.add_argument("--visits", type=int, default=100, help="visits for each of its positions")
    names = ["stories", *(client.name for client in CLIENTS)]
    parser.add_argument("--only", choices=names, help="one of them instead of all")
    parser.add_argument(
        "--sources", type=Path, help="a folder with checkouts of what no registry has: gogui, cgos, gtp2ogs"
    )
    parser.add_argument("--python2", default="python2", help="a Python 2.7, for gomill")
    arguments = parser.parse_args()
    rows = []
    if arguments.only in (None, "stories"):
        rows += story_rows()
    places = Places(REPOSITORY / ".venv-conformance", arguments.sources, arguments.python2)
    with tempfile.TemporaryDirectory() as folder:
        for client in CLIENTS:
            if arguments.only not in (None, client.name):
                continue
            if client.wants_game and not (Path(folder) / "game.sgf").exists():
                (Path(folder) / "game.sgf").write_text(game_by_policy(arguments.moves), encoding="utf-8")
            rows.append(client_row(client, places, Path(folder), arguments.visits))
    return show(rows, FEWEST if arguments.only is None else 0)


def show(rows: list[Row], fewest: int) -> int:
    """Print the table and its sum, and return the exit status."""
    width = max(len(row.client) for row in rows)
    print(f"\n{'client':{width}}  cases  passed  skipped")
    for row in rows:
        counts = "    -       -" if row.skipped else f"{row.cases:5}  {row.passed:6}"
        print(f"{row.client:{width}}  {counts}  {row.skipped}".rstrip())
    cases, passed = (sum(getattr(row, name) for row in rows) for name in ("cases", "passed"))
    skipped = sum(bool(row.skipped) for row in rows)
    print(f"{cases} cases, {passed} passed, {cases - passed} failed, {skipped} clients skipped")
    is_empty = any(row.cases == 0 and not row.skipped for row in rows)
    if is_empty or cases < fewest:
        print(f"fewer cases than there should be: {fewest} in all, and some of each client")
    return int(passed < cases or is_empty or cases < fewest)


def story_rows() -> list[Row]:
    """Tell every story to an engine with its network: one process for all stories that start it in the same way."""
    rows: dict[str, Row] = {}
    engines: dict[tuple[str, ...], GtpProcess] = {}
    analysis = JsonProcess(NOBI, [])
    try:
        for story in ALL:
            row = rows.setdefault(story.client, Row(f"{story.client}, its dialogue"))
            if not story.is_json and story.arguments not in engines:
                engines[story.arguments] = GtpProcess([NOBI], (*story.arguments, "--set", f"visits={STORY_VISITS}"))
            engine = analysis if story.is_json else engines[story.arguments]
            engine.renew()
            for case in story.told_to(engine):
                count(row, f"{'ok  ' if case.is_right else 'FAIL'} {case.story}: {case.text}", is_quiet=case.is_right)
    finally:
        for engine in (analysis, *engines.values()):
            engine.end()
    return list(rows.values())


def client_row(client: Client, places: Places, folder: Path, visits: int) -> Row:
    """Install a client, run it, and count the lines that it prints: each is a case."""
    row = Row(client.title)
    try:
        command = client.install(places)
    except Missing as reason:
        row.skipped = str(reason)
        print(f"skip {client.name}: {reason}", flush=True)
        return row
    script = str(Path(__file__).with_name(client.script))
    game = [str(folder / "game.sgf")] if client.wants_game else []
    for line in lines_of([*command, script, NOBI, *game, str(visits), *client.arguments(places)], folder):
        count(row, line)
    return row


def lines_of(command: list[str], folder: Path) -> Iterator[str]:
    """What a client prints. A client that fails otherwise than by its cases, or takes too long, adds a failed case."""
    try:
        done = subprocess.run(command, cwd=folder, check=False, timeout=LONGEST, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        yield f"FAIL {command[1]} has not ended after {LONGEST:.0f} s"
        return
    yield from done.stdout.splitlines()
    if done.returncode and "FAIL" not in done.stdout:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        yield f"FAIL {command[1]} ended with {done.returncode}: {last}"


def count(row: Row, line: str, is_quiet: bool = False) -> None:
    """Count a line that begins with `ok` or `FAIL`, and show it."""
    is_right, is_wrong = line.startswith("ok "), line.startswith("FAIL")
    row.cases += is_right or is_wrong
    row.passed += is_right
    if not is_quiet:
        print(line, flush=True)


def game_by_policy(moves: int) -> str:
    """A game of the embedded network's first choices on 19x19, as SGF."""
    network = embedded_network()
    assert network is not None
    player = PuctPlayer(open_network(network))
    game = Game(19, 19)
    while len(game.moves) < moves and not game.is_over:
        result = player.search(SearchRequest(game, game.to_play, Limits(visits=1)))
        game.play(game.to_play, player.choose(game, result))
    player.close()
    assert {move.colour for move in game.moves} == {BLACK, WHITE}
    return to_sgf(game)


if __name__ == "__main__":
    sys.exit(main())
