"""`make conformance`: the code of programs that talk to Nobi, as the registries have it, run against Nobi.

Each program is installed into an environment of its own below `.venv-conformance/`. What cannot be had is skipped, with
the reason. Exits with 1 if a check failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from go_rules.sgf.writer import to_sgf
from nets.embedded import embedded_network
from nets.open import open_network
from search.puct.player import PuctPlayer
from search.request import Limits, SearchRequest
from tests.conftest import REPOSITORY

HERE = Path(__file__).parent
ENVIRONMENTS = REPOSITORY / ".venv-conformance"
NOBI = Path(sys.executable).with_name("nobi")

LONGEST = 3600.0
"""Seconds that a client may take."""

CLIENTS = {
    "katrain": (("--no-deps", "katrain"), ("pysgf",)),
    "katagoanal": (("--no-deps", "katagoanal"),),
}
"""By the name of a module NAME_client.py here: what pip installs for it, one call each. KaTrain's window is not opened,
so what it needs for that is left out; its 105 MB hold a network and KataGo itself."""
OLDEST_PYTHON = {"katrain": (3, 11)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument("--moves", type=int, default=200, help="moves of the game that is analysed")
    parser.add_argument("--visits", type=int, default=100, help="visits for each of its positions")
    parser.add_argument("--only", choices=CLIENTS, help="one program instead of all")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        sgf = Path(folder) / "game.sgf"
        sgf.write_text(game_by_policy(arguments.moves), encoding="utf-8")
        for client in [arguments.only] if arguments.only else CLIENTS:
            python, reason = environment(client)
            if python is None:
                print(f"skip {client}: {reason}")
                continue
            started = time.monotonic()
            command = [python, HERE / f"{client}_client.py", NOBI, sgf, str(arguments.visits)]
            failed = run([str(part) for part in command], folder)
            failures += failed
            print(f"{'FAIL' if failed else 'ok  '} {client} in {time.monotonic() - started:.0f} s", flush=True)
    return int(failures > 0)


def run(command: list[str], folder: str) -> bool:
    """Run a client. Returns whether it failed, or took longer than any client may."""
    try:
        return subprocess.run(command, cwd=folder, check=False, timeout=LONGEST).returncode != 0
    except subprocess.TimeoutExpired:
        print(f"FAIL {command[1]} has not ended after {LONGEST:.0f} s")
        return True


def environment(client: str) -> tuple[Path | None, str]:
    """The Python of an environment in which the client is installed, or why there is none."""
    oldest = OLDEST_PYTHON.get(client, (3, 10))
    if sys.version_info[:2] < oldest:
        return None, f"it needs Python {oldest[0]}.{oldest[1]}"
    folder = ENVIRONMENTS / client
    python = folder / "bin" / "python"
    if (folder / ".installed").exists():
        return python, ""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for packages in CLIENTS[client]:
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    (folder / ".installed").touch()
    return python, ""


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
