"""The installed command as a program runs it: KataGo's options, the end of the input, signals, and closed pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gtp_engine import command_line
from gtp_engine.stdio import MAX_LINE
from nobi_machine.text import printable_path
from tests.conftest import REPOSITORY
from tests.gtp_engine.json_engine.spoken import asking
from tests.systems import PATIENCE, native, needs_signals

ENDLESS = 10**9

CONFIG = """
# as KataGo has them
logDir = logs    # ignored
reportAnalysisWinratesAs = "BLACK"
maxVisits = 3
numAnalysisThreads = 12
numSearchThreads = 8
@include other.cfg
"""


def command(*options: str | Path) -> list[str]:
    nobi = [sys.executable, "-m", "gtp_engine.cli", "analysis", "--set", "memory=64", "--set", "cache_memory=8"]
    return [*nobi, *map(str, options)]


@pytest.fixture
def started() -> Iterator[Any]:
    processes = []

    def start(*options: str | Path) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command(*options), stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1, cwd=REPOSITORY
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def say(process: Any, *queries: dict[str, Any]) -> None:
    process.stdin.write("".join(json.dumps(query) + "\n" for query in queries))
    process.stdin.flush()


def hear(process: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_a_script(tmp_path: Path) -> None:
    """All that was asked before the end of the input is answered, in JSON and nothing else."""
    config = tmp_path / "analysis.cfg"
    config.write_text(CONFIG)
    queries = [
        {"id": "v", "action": "query_version"},
        {"id": "m", "action": "query_models"},
        asking("turns", maxVisits=None, analyzeTurns=[0, 1, 2]),
        asking("last", maxVisits=4, overrideSettings={"reportAnalysisWinratesAs": "WHITE"}),
    ]
    log = tmp_path / "dialogue.log"
    text = "".join(json.dumps(query) + "\n" for query in queries) + "x" * (MAX_LINE + 10) + "\n" + "\n[1]"
    done = subprocess.run(
        command("-config", config, "-override-config", "homeDataDir=/nowhere,maxVisits=4", "-override-config", "x=1",
                "--set", "analysis_pv=1", "--set", f"log={log}", "--set", "lag=1"),
        input=text, capture_output=True, text=True, timeout=PATIENCE, cwd=REPOSITORY, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    by_id: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        by_id.setdefault(answer.get("id", ""), []).append(answer)
    assert by_id["v"][0]["version"].count(".") == 2
    (model,) = by_id["m"][0]["models"]
    assert model["version"] >= 8
    assert not model["usesHumanSLProfile"]
    assert {answer["turnNumber"]: answer["rootInfo"]["visits"] for answer in by_id["turns"]} == {0: 4, 1: 4, 2: 4}
    assert by_id["last"][0]["rootInfo"]["visits"] == 4
    errors = [answer["error"] for answer in by_id[""]]
    assert errors == [f"Request line is longer than {MAX_LINE} bytes, ignoring", "Request line was valid json but was "
                      "not an object, ignoring: [1]"]  # fmt: skip
    assert all(len(move["pv"]) <= 2 for answer in by_id["turns"] for move in answer["moveInfos"])
    assert "nothing here: homeDataDir, lag, logDir, numSearchThreads, x\n" in done.stderr
    not_read = f"{printable_path(config)}: line 8: @include other.cfg: included files are not read; ignored"
    assert f"nobi: {not_read}\n" in done.stderr
    logged = log.read_text().splitlines()
    assert logged[0].endswith(not_read.replace(printable_path(config), config.name))
    assert logged[1].endswith(f" << {json.dumps(queries[0])}")
    assert sum(" >> " in line for line in logged) == len(answers)
    assert "ready to begin handling requests\n" in done.stderr


@needs_signals
def test_sigterm_answers_what_is_open(started: Any) -> None:
    process = started("-analysis-threads", "1")
    say(process, asking("runs", maxVisits=ENDLESS, reportDuringSearchEvery=0.05), asking("waits"))
    assert hear(process)["isDuringSearch"]
    process.send_signal(signal.SIGTERM)
    text, _ = process.communicate(timeout=PATIENCE)
    last = [answer for answer in map(json.loads, text.splitlines()) if not answer["isDuringSearch"]]
    assert {answer["id"]: answer.get("noResults", False) for answer in last} == {"runs": False, "waits": True}
    assert process.returncode == 128 + signal.SIGTERM


def test_the_end_of_the_input_may_end_everything(started: Any) -> None:
    process = started("-quit-without-waiting")
    say(process, asking("runs", maxVisits=ENDLESS, reportDuringSearchEvery=0.05))
    assert hear(process)["isDuringSearch"]
    text, _ = process.communicate(timeout=PATIENCE)
    last = json.loads(text.splitlines()[-1])
    assert (last["id"], last["isDuringSearch"]) == ("runs", False)
    assert process.returncode == 0


def test_nobody_listens_any_more(started: Any) -> None:
    process = started()
    say(process, asking("runs", maxVisits=ENDLESS, reportDuringSearchEvery=0.05))
    assert hear(process)["isDuringSearch"]
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-config", "/nowhere/x.cfg"], "/nowhere/x.cfg: No such file or directory"),
        (["-override-config", "maxVisits"], "-override-config: maxVisits is not name=value"),
        (["-override-config", "maxVisits=x"], "maxVisits must be a whole number, not x"),
        (["--net", "none"], "the analysis engine needs a network: --net FILE"),
        (["--set", "player=uct"], "the analysis engine has no player but nobi"),
        (["-override-config", "numAnalysisThreads=0"], "numAnalysisThreads must be 1 to 16384, not 0"),
        (["-model", "/nowhere/x.bin.gz"], "/nowhere/x.bin.gz: No such file or directory"),
        (["-human-model", "/nowhere/x.bin.gz"], "/nowhere/x.bin.gz: No such file or directory"),
    ],
)
def test_what_is_wrong_with_the_command_line(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run(["analysis", *options]) == 1
    text = capsys.readouterr().err
    assert words in text or native(words) in text
    assert text.count("\n") == 1
