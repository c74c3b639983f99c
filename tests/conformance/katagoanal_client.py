"""katagoanal's own driver, which analyses a whole game with one query, against `nobi analysis`.

Runs in an environment that has katagoanal: python katagoanal_client.py NOBI GAME.sgf VISITS.
"""

from __future__ import annotations

import re
import sys
import tempfile
import types
from pathlib import Path

COLUMNS = "ABCDEFGHJKLMNOPQRST"


def main(nobi: str, sgf: str, visits: int) -> int:
    from KataGoAnal.katago_driver import KataGoDriver  # type: ignore[import-not-found]

    found = re.findall(r";\s*([BW])\s*\[([a-s]{2})?\]", Path(sgf).read_text())
    moves = [(colour, f"{COLUMNS[ord(at[0]) - 97]}{19 - (ord(at[1]) - 97)}" if at else "pass") for colour, at in found]
    game = types.SimpleNamespace(mainline_moves=moves, initial_stones=[], rules="chinese", komi=7.5, size=19)
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write("reportAnalysisWinratesAs = BLACK\nnumAnalysisThreads = 2\nmaxVisits = 50\n")
        config.flush()
        network = Path(sys.argv[0]).resolve().parents[2] / "nets" / "weights" / "nobi-strong.bin.gz"
        with KataGoDriver(nobi, config.name, str(network)) as driver:
            records = driver.analyze_game(game, max_visits=visits)
    good = [r for r in records if r["visits"] >= visits and r["winrate"] is not None and r["move_infos"]]
    print(f"{'ok  ' if len(good) == len(moves) + 1 else 'FAIL'} katagoanal: {len(good)} of {len(moves) + 1} positions")
    return int(len(good) != len(moves) + 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
