"""gogui-twogtp and gogui-regress, compiled from GoGui's source, against `nobi gtp`.

python gogui_client.py NOBI VISITS CLASSES.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

REGRESSION = """boardsize 9
clear_board
komi 6.5
play b E5
10 reg_genmove w
#? [[A-HJ][1-9]]
20 protocol_version
#? [2]
30 get_komi
#? [6\\.5]
40 known_command kata-analyze
#? [true]
50 known_command nonsense
#? [false]
play w C3
undo
60 reg_genmove w
#? [[A-HJ][1-9]]
70 final_score
#? [[BW]\\+[0-9.]+|0]
"""


def main(nobi: str, visits: str, classes: str) -> int:
    failed = 0

    def check(text: str, is_right: object) -> None:
        nonlocal failed
        failed += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} GoGui: {text}", flush=True)

    def java(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["java", "-Djava.awt.headless=true", "-cp", classes, f"net.sf.gogui.tools.{tool}.Main", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)

    engine, quick = (f"{nobi} gtp --visits {count}" for count in (visits, 1))
    options = ("-auto", "-games", "2", "-alternate", "-size", "7", "-komi", "6.5", "-time", "300", "-maxmoves", "200")
    done = java("twogtp", "-black", engine, "-white", quick, "-referee", quick, "-sgffile", "twogtp", *options)
    table = Path("twogtp.dat").read_text() if Path("twogtp.dat").exists() else ""
    rows = [line.split("\t") for line in table.splitlines() if not line.startswith("#")]
    check("twogtp ends well", done.returncode == 0)
    check("two games", len(rows) == 2)
    check("both engines and the referee agree on every result", all(
        len({result for result in row[1:4] if result != "?"}) == 1 for row in rows
    ))  # fmt: skip
    check("every game has a result", all(re.fullmatch(r"[BW]\+(R|[\d.]+)|0", row[1]) for row in rows))
    names = "#GAME\tRES_B\tRES_W\tRES_R\tALT\tDUP\tLEN\tTIME_B\tTIME_W\tCPU_B\tCPU_W\tERR\tERR_MSG"
    check("the table is the one that is read here", names in table)
    check("no error", all(row[11] == "0" for row in rows))
    check("time of the processor", all(float(row[9]) >= 0 and float(row[10]) >= 0 for row in rows))
    check("the komi holds in all games", all("KM[6.5]" in path.read_text() for path in Path().glob("twogtp-*.sgf")))
    with_handicap = java(
        "twogtp", "-black", quick, "-white", engine, "-sgffile", "handicap", "-handicap", "3", "-auto", "-games", "1",
        "-size", "9", "-maxmoves", "150",
    )  # fmt: skip
    check("a game with handicap", with_handicap.returncode == 0 and Path("handicap-0.sgf").exists())
    done = java("twogtp", "-analyze", "twogtp.dat", "-force")
    check("its analysis of the table", done.returncode == 0 and Path("twogtp.summary.dat").exists())

    Path("nobi.tst").write_text(REGRESSION)
    done = java("regress", "-output", "regress", engine, "nobi.tst")
    summary = Path("regress/summary.dat").read_text() if done.returncode == 0 else ""
    check("regress ends well: nothing failed that should pass", done.returncode == 0)
    check("regress: all seven tests pass", re.search(r"^7\t0\t0\t0\t7\t0\t", summary, re.MULTILINE))
    if failed:
        print(table, done.stdout[-1500:], done.stderr[-1500:], sep="\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
