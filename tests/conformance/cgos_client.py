"""A round on a CGOS server of our own: its server in Python, its client in Python, and `nobi gtp` behind two of them.

python cgos_client.py NOBI VISITS CHECKOUT, in an environment that has passlib. The server waits 45 seconds before its
first round, and is told to end by a file once the game is over.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 600.0
PAGE = Path(__file__).parents[2] / "docs" / "clients.md"

SERVER = """[cgos-server]
serverName = local
htmlInfoMsg = local
portNumber = {port}
boardsize = 9
komi = 7.0
ko = POSITIONAL
rule = Chinese
level = 600
timeGift = 0.25
database_state_file = {folder}/cgos.state
web_data_file = {folder}/wdata.txt
defaultRating = 1800.0
minK = 3.0
maxK = 200.0
htmlDir = {folder}
sgfDir = {folder}/SGF
compressSgf = False
moveIntervalBetweenSave = 1
provisionalAge = 0.04
establishedAge = 31.0
killFile = {folder}/end
tools_dir = {folder}
bin_dir = {folder}
bad_users_file =
hashPassword = False
matchMode = AUTO
"""

LOG = """[loggers]
keys=root
[handlers]
keys=file
[formatters]
keys=plain
[logger_root]
level=DEBUG
handlers=file
[handler_file]
class=FileHandler
level=DEBUG
formatter=plain
args=("server.log",)
[formatter_plain]
format=%(levelname)s %(message)s
"""

CLIENT = """Common:
  KillFile = {folder}/end-{name}
  LogFile = {folder}/{name}-server.log
GTPEngine:
  Name = {name}
  CommandLine = {command} --visits {visits} --size 9
  ServerHost = 127.0.0.1
  ServerPort = {port}
  ServerUser = {name}
  ServerPassword = secret
  NumberOfGames = 1
  SGFDirectory = {folder}/{name}
  LogFile = {folder}/{name}.log
"""


def main(nobi: str, visits: str, checkout: str) -> int:
    failed = 0

    def check(text: str, is_right: object) -> None:
        nonlocal failed
        failed += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} CGOS: {text}", flush=True)

    (told,) = re.findall("CommandLine = /path/to/nobi (.*)", PAGE.read_text(encoding="utf-8"))
    command = f"{nobi} {told}"
    folder = Path("cgos").resolve()
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "log.ini").write_text(LOG)
    (folder / "server.ini").write_text(SERVER.format(port=port, folder=folder))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    processes: list[subprocess.Popen[bytes]] = []

    def start(script: str, configuration: str, output: str) -> None:
        python = [sys.executable, str(Path(checkout) / script), configuration]
        with open(folder / output, "wb") as file:
            started = subprocess.Popen(python, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT)
        processes.append(started)

    try:
        start("server-python/cgos/server.py", "server.ini", "server.out")
        until = time.monotonic() + PATIENCE
        while not listens(port) and processes[0].poll() is None and time.monotonic() < until:
            time.sleep(0.2)
        for name, count in (("Strong", visits), ("Quick", "1")):
            text = CLIENT.format(folder=folder, name=name, command=command, visits=count, port=port)
            (folder / f"{name}.cfg").write_text(text)
            start("client-python/src/cgosclient.py", f"{name}.cfg", f"{name}.out")
        result = ""
        while not result and time.monotonic() < until and processes[0].poll() is None:
            time.sleep(1.0)
            result = finished(folder / "cgos.state")
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=30)
    check("the server gives the game to one of them", re.fullmatch(r"[BW]\+(Resign|[\d.]+)|0|Draw", result))
    check(f"not because of time or an illegal move ({result})", not re.search("Time|Illegal", result))
    check("the server can read every analysis", "Bad analysis" not in (folder / "server.log").read_text())
    for name in ("Strong", "Quick"):
        log = "".join((folder / f"{name}{end}").read_text(errors="replace") for end in (".out", ".log", "-server.log"))
        check(f"{name}: no error in the client's log", not re.search("ERROR|Traceback|rejected", log))
        check(f"{name}: the client speaks of clocks", "Sending: time_settings 600 0 0" in log)
        check(f"{name}: and asks for moves in CGOS's own analysis", "Sending: cgos-genmove_analyze" in log)
        check(f"{name}: whose answers go to the server", re.search(r"Responding: [a-z]\d \{", log))
        check(f"{name}: and says how the game ended", "cgos-gameover" in log)
    return int(failed > 0)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def finished(path: Path) -> str:
    """The result of the first game, empty while there is none."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as state:
            rows = state.execute("select res from games").fetchall()
    except sqlite3.Error:
        return ""
    return str(rows[0][0]) if rows else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
