"""gomill's ringmaster plays `nobi gtp` against itself, under a Python 2.7.

python gomill_client.py NOBI VISITS PYTHON2 GOMILL, where GOMILL is its unpacked archive.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CONTROL = """
competition_type = 'playoff'
players = {{
    'one': Player('{nobi} gtp --visits {visits}'),
    'two': Player('{nobi} gtp --visits 1'),
}}
komi = 7.5
board_size = 7
record_games = True
description = 'Nobi against itself'
matchups = [
    Matchup('one', 'two', id='even', alternating=True, number_of_games=2, scorer='players', move_limit=200),
    Matchup('one', 'two', id='free', handicap=3, handicap_style='free', number_of_games=1, scorer='players'),
    Matchup('one', 'two', id='fixed', board_size=9, handicap=4, handicap_style='fixed', number_of_games=1,
            scorer='players'),
]
"""


def main(nobi: str, visits: str, python2: str, gomill: str) -> int:
    failed = 0

    def check(text: str, is_right: object) -> None:
        nonlocal failed
        failed += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} gomill: {text}", flush=True)

    folder = Path("gomill-games")
    folder.mkdir()
    control = folder / "nobi.ctl"
    control.write_text(CONTROL.format(nobi=nobi, visits=visits))
    environment = {**os.environ, "PYTHONPATH": gomill, "PYTHONDONTWRITEBYTECODE": "1"}

    def ringmaster(*words: str) -> subprocess.CompletedProcess[str]:
        command = [python2, str(Path(gomill) / "ringmaster"), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1800)

    checked = ringmaster(str(control), "check")
    check(
        "its check of the players", checked.returncode == 0 and "error" not in (checked.stdout + checked.stderr).lower()
    )
    ran = ringmaster("--quiet", str(control), "run")
    check("the run", ran.returncode == 0)
    report = ringmaster(str(control), "show").stdout
    for name, games in (("even", 2), ("free", 1), ("fixed", 1)):
        check(
            f"matchup {name}: {games} games", re.search(rf"one v two \({games} games\)|{games}/{games} games", report)
        )
    check("nobody forfeits", "forfeit" not in report.lower())
    check("the engine's description is in the report", "Nobi" in report)
    games = sorted(folder.glob("nobi.games/*.sgf"))
    check("four games are recorded", len(games) == 4)
    check("with a result each", games and all(re.search(r"RE\[[BW]\+[\dR]", path.read_text()) for path in games))
    check("and what the engine thought", games and all("visits" in path.read_text() for path in games))
    if failed:
        print(ran.stdout[-2000:], ran.stderr[-2000:], report[-3000:], sep="\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
