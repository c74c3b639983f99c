"""KataGo as a campaign asks it: the bare evaluations of positions by a network, over GTP."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from go_rules.game import Game
from go_rules.points import COLOUR_LETTERS, to_vertex

CONFIGURATION = """
logDir = {folder}
homeDataDir = {folder}
logAllGTPCommunication = false
logSearchInfo = false
logToStderr = false
rules = chinese-ogs
numSearchThreads = 1
maxVisits = 2
nnMaxBatchSize = 1
"""


def raw_evaluations(
    command: str, network: Path, games: Iterable[tuple[str, Game]], profiles: Sequence[str] = ()
) -> list[str]:
    """What KataGo prints for `kata-raw-nn 0` at the end of each game, and for each profile if there are any.

    `command`: how a shell starts KataGo. `games`: each game with the name of its rules. KataGo keeps what it writes in
    the folder of `network`. Exits with KataGo's last words where an answer is missing.
    """
    games = list(games)
    lines = [line for rules, game in games for line in _questions(rules, game, profiles)]
    answers = _answers(command, network, [*lines, "quit"], profiles)
    found = [answer.removeprefix("= ") for answer in answers if answer.startswith("= symmetry")]
    wanted = len(games) * max(1, len(profiles))
    if len(found) != wanted:
        errors = "; ".join(answer for answer in answers if answer.startswith("?"))
        raise SystemExit(f"{network.name}: {len(found)} answers of KataGo's for {wanted} positions: {errors}")
    return found


def version(command: str, network: Path) -> str:
    """KataGo's version and the name in the network's file, such as `1.17.2+random`."""
    return _answers(command, network, ["version", "quit"], ())[0].removeprefix("= ").strip()


def _questions(rules: str, game: Game, profiles: Sequence[str]) -> list[str]:
    lines = [f"kata-set-rules {rules}", f"rectangular_boardsize {game.width} {game.height}", "clear_board"]
    lines.append(f"komi {game.komi}")
    if game.handicap:
        lines.append("set_free_handicap " + " ".join(to_vertex(point, game.height) for point in game.handicap))
    lines += [f"play {COLOUR_LETTERS[move.colour]} {to_vertex(move.point, game.height)}" for move in game.moves]
    for profile in profiles or ("",):
        lines += [f"kata-set-param humanSLProfile {profile}"] if profile else []
        lines.append("kata-raw-nn 0")
    return lines


def _answers(command: str, network: Path, lines: list[str], profiles: Sequence[str]) -> list[str]:
    configuration = network.parent / "katago.cfg"
    configuration.write_text(CONFIGURATION.format(folder=network.parent))
    arguments = [*shlex.split(command), "gtp", "-model", str(network), "-config", str(configuration)]
    if profiles:
        arguments += ["-override-config", f"humanSLProfile={profiles[0]}"]
    done = subprocess.run(arguments, input="\n".join([*lines, ""]), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{network.name}: KataGo ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [answer.strip() for answer in done.stdout.split("\n\n")]
