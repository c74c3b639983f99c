"""Random lines to the GTP commands, as many as asked for, in several kinds of dialogues.

    python -m tests.campaigns.gtp_fuzz --lines 1000000 [--seed N] [--workers N] [--only KIND] [--minutes M]

tests/gtp_engine/grammar.py makes the lines, tests/gtp_engine/oracle.py says what must hold: exactly one well-formed
reply for each command, no internal error, after a refusal the whole state as before, queries that agree with each
other, and at the end of each job a game that can still be played. The kinds of jobs:

    moves      commands in this process, to a player that takes no time
    search     the same to real searches: with a constant evaluator, and by playouts
    network    the same to a real search with the embedded network
    pipe       bytes to a process in bursts, pondering and analysing; each reply must have the id of its command

Prints for each command how many lines were accepted and refused, and why; then the first offence of each job. The exit
status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.commands import GROUP_OF
from gtp_engine.gtp.protocol import parse_line
from search.request import Limits, SearchRequest
from search.result import SearchResult
from tests.conftest import REPOSITORY
from tests.gtp_engine.fakes import Dialogue
from tests.gtp_engine.grammar import Grammar, write_files
from tests.gtp_engine.oracle import RandomPlayer, check, check_consistency, check_it_still_plays
from tests.search.searches import numbers_of

SHARES = {"moves": 0.90, "search": 0.05, "pipe": 0.045, "network": 0.005}
"""What part of all lines each kind gets."""
LINES_PER_JOB = {"moves": 5_000, "search": 2_500, "pipe": 2_500, "network": 500}
CHECK_EVERY = 100
"""Lines between two checks of consistency."""
FEW_VISITS = 4
HANGS = 300.0
"""Seconds."""


class Job(NamedTuple):
    """Some lines of one kind."""

    kind: str
    seed: int
    lines: int


class Outcome(NamedTuple):
    """What a job found."""

    job: Job
    sent: int
    counts: Counter[tuple[str, str]]
    """How many lines had this command and this reply: `=`, or `?` and why."""
    offence: str


class Hasty:
    """A real player whose searches are short, whatever is asked for, and find nothing that is not finite."""

    def __init__(self, player: Any) -> None:
        self.player = player

    def __getattr__(self, name: str) -> Any:
        return getattr(self.player, name)

    @property
    def parameters(self) -> Any:
        return self.player.parameters

    @parameters.setter
    def parameters(self, value: Any) -> None:
        self.player.parameters = value

    def search(self, request: SearchRequest) -> SearchResult:
        limits = Limits(FEW_VISITS, None, may_stop_early=request.limits.may_stop_early)
        result: SearchResult = self.player.search(replace(request, limits=limits))
        for name, numbers in numbers_of(result):
            assert np.isfinite(numbers).all(), f"{name} is not finite"
        return result


def make_player(kind: str, seed: int) -> Any:
    if kind == "moves":
        return RandomPlayer(seed)
    if kind == "search" and seed % 2:
        from search.textbook.players import TextbookPlayer

        return Hasty(TextbookPlayer("rave", workers=1, seed=seed))
    from search.nobi.parameters import SearchParameters
    from search.nobi.player import PuctPlayer

    if kind == "network":
        from nets.embedded import network_file
        from nets.open import open_network

        evaluator: Any = open_network(network_file())
    else:
        from nets.evaluator import ConstantEvaluator

        evaluator = ConstantEvaluator()
    return Hasty(PuctPlayer(evaluator, SearchParameters(workers=1, memory=16, cache_memory=16, seed=seed)))


def run_job(job: Job) -> Outcome:
    counts: Counter[tuple[str, str]] = Counter()
    with folder() as place, open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        grammar = Grammar(random.Random(job.seed), place)
        run = send_through_pipe if job.kind == "pipe" else send_in_process
        number, offence = run(job, grammar, counts)
    return Outcome(job, number, counts, offence and f"{job.kind}, seed {job.seed}, line {number}: {offence}")


def send_in_process(job: Job, grammar: Grammar, counts: Counter[tuple[str, str]]) -> tuple[int, str]:
    """The lines of one dialogue: how many were sent, and the offence that ended it, or nothing."""
    dialogue = Dialogue(make_player(job.kind, job.seed), EngineSettings(size="9", visits=FEW_VISITS))
    number = 0
    try:
        for number in range(1, job.lines + 1):
            grammar.width, grammar.height = dialogue.session.game.width, dialogue.session.game.height
            line = grammar.line()
            command = parse_line(line)
            if command is not None and command.name == "quit":
                continue
            reply = check(dialogue, line)
            if command is not None:
                counts[shown_command(command.name), outcome(reply)] += 1
            if number % CHECK_EVERY == 0:
                check_consistency(dialogue)
        dialogue.session.stop_pondering()
        check_it_still_plays(dialogue)
    except Exception as error:
        return number, f"{type(error).__name__}: {error}"
    finally:
        dialogue.session.close()
    return number, ""


def send_through_pipe(job: Job, grammar: Grammar, counts: Counter[tuple[str, str]]) -> tuple[int, str]:
    """Bytes to a process, in bursts that do not respect lines. Its replies are counted by their ids."""
    rng = grammar.rng
    expected: list[str] = []
    commands: list[str] = []
    data = bytearray()
    for number in range(job.lines):
        line = rng.randbytes(rng.randrange(50)) if rng.random() < 0.1 else grammar.line().encode("utf-8", "replace")
        line = line.replace(b"\n", b"")
        if b"quit" in line:
            continue
        data += line + b"\n"
        found = command_of(line)
        if found is not None:
            expected.append(found[0])
            commands.append(found[1])
        if number % 20 == 0:
            data += b"%d protocol_version\n" % number
            expected.append(str(number))
            commands.append("protocol_version")
    data += b"77 quit\n"
    options = {"player": {"thinks": 0.001}, "settings": {"ponder": rng.random() < 0.7, "size": "9"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.gtp_engine.fake_engine", json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=grammar.folder,  # `printsgf` with any name writes there
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        bufsize=0,
    )
    threading.Thread(target=write_in_bursts, args=(process, bytes(data), rng), daemon=True).start()
    try:
        output, errors = read_all(process)
        code = process.wait(HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        return job.lines, "hangs"
    replies = output.decode("utf-8", "replace").split("\n\n")
    if replies.pop() != "" or replies.pop() != "=77 ":
        return job.lines, f"ends with {output[-100:]!r}"
    ids = [re.match("[=?]([0-9]*)[ \n]", reply + "\n") for reply in replies]
    got = [match.group(1) if match else f"no reply: {reply!r}" for match, reply in zip(ids, replies, strict=True)]
    for i, (one, other) in enumerate(zip(got, expected, strict=False)):
        if one != other:
            return job.lines, f"reply {i} has the id {one} and not {other}: {replies[i]!r} to {commands[i]}"
    if len(got) != len(expected):
        return job.lines, f"{len(got)} replies to {len(expected)} commands"
    for name, reply in zip(commands, replies, strict=True):
        counts[shown_command(name), outcome(reply)] += 1
        if "internal error" in reply:
            return job.lines, f"{name}: {reply}"
    strange = [line for line in errors.splitlines() if not re.fullmatch(rb"(nobi: |MALKOVICH:)[^\x00-\x1f\x7f]*", line)]
    if strange or code != 0:
        return job.lines, f"exit code {code}, stderr {strange[:3]}"
    return job.lines, ""


def write_in_bursts(process: subprocess.Popen[bytes], data: bytes, rng: random.Random) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        while data:
            size = rng.choice((1, 10, 100, 1000, 10_000, 100_000))
            process.stdin.write(data[:size])
            data = data[size:]
            time.sleep(rng.choice((0, 0, 0.001, 0.02)))


def read_all(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Everything that the process writes to stdout and stderr. Raises TimeoutExpired."""
    found: dict[int, bytes] = {}
    assert process.stdout is not None
    assert process.stderr is not None

    def read(number: int, stream: Any) -> None:
        found[number] = stream.read()

    threads = [
        threading.Thread(target=read, args=(i, stream)) for i, stream in enumerate((process.stdout, process.stderr))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
        if thread.is_alive():
            process.kill()
            raise subprocess.TimeoutExpired(process.args, HANGS)
    return found[0], found[1]


def command_of(line: bytes) -> tuple[str, str] | None:
    """Id and name of a line's command, read as the specification says, not by our own parser; None if it is blank."""
    text = line.decode("utf-8", "replace").removeprefix("\ufeff")
    text = "".join(c for c in text if c in "\t" or (ord(c) >= 32 and ord(c) != 127)).split("#")[0].replace("\t", " ")
    words = [word for word in text.split(" ") if word]
    if not words:
        return None
    if re.fullmatch("[0-9]+", words[0]):
        if len(words[0]) > 10 or int(words[0]) >= 2**31:
            return "", ""
        return words[0], words[1] if len(words) > 1 else ""
    return "", words[0]


def shown_command(name: str) -> str:
    return name if name in GROUP_OF else "(another name)" if name else "(no name)"


def outcome(reply: str) -> str:
    """`=`, or `?` and the reason without what varies in it."""
    if reply.startswith("="):
        return "="
    reason = re.sub(r"^\?[0-9]* ", "", reply.strip())
    return "? " + re.split(r"[:,(]| must| can", reason)[0][:40]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A working directory of the job's own, with files to load."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "inner"
        place.mkdir()
        write_files(place)
        os.chdir(place)
        try:
            yield place
        finally:
            os.chdir(before)


def report(outcomes: list[Outcome], seconds: float) -> int:
    """Print what was sent and found; return the number of offences."""
    counts: Counter[tuple[str, str]] = Counter()
    sent: Counter[str] = Counter()
    for each in outcomes:
        counts.update(each.counts)
        sent[each.job.kind] += each.sent
    names = sorted({name for name, _ in counts}, key=lambda name: (name.startswith("("), name))
    print(f"{'command':26} {'accepted':>9} {'refused':>9}  why")
    for name in names:
        why = Counter({reply: n for (other, reply), n in counts.items() if other == name and reply != "="})
        reasons = ", ".join(f"{reply[2:]} {n}" for reply, n in why.most_common(4))
        print(f"{name:26} {counts[name, '=']:9} {sum(why.values()):9}  {reasons}")
    never = [name for name in GROUP_OF if counts[name, "="] == 0 and name != "quit"]
    if never:
        print("never accepted:", ", ".join(never))
    offences = [each.offence for each in outcomes if each.offence]
    for offence in offences:
        print(offence[:1000])
    accepted = sum(n for (_, reply), n in counts.items() if reply == "=")
    kinds = ", ".join(f"{kind} {n}" for kind, n in sent.items())
    print(
        f"{sum(sent.values())} lines ({kinds}): {sum(counts.values())} commands, {accepted} accepted, "
        f"{sum(counts.values()) - accepted} refused, {len(offences)} offences, {seconds:.0f} s"
    )
    return len(offences)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=SHARES)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further job after so long")
    options = parser.parse_args()
    started = time.monotonic()
    shares = {options.only: 1.0} if options.only else SHARES
    jobs = []
    for number, (kind, share) in enumerate(shares.items()):
        lines, most = round(options.lines * share), LINES_PER_JOB[kind]
        for i in range(-(-lines // most)):
            jobs.append(Job(kind, (options.seed * 10 + number) * 1_000_003 + i, min(most, lines - i * most)))
    outcomes = []
    random.Random(options.seed).shuffle(jobs)
    with ProcessPoolExecutor(options.workers) as pool:
        futures = [pool.submit(run_job, job) for job in jobs]
        for future in futures:
            if time.monotonic() - started > 60 * options.minutes:
                for other in futures:
                    other.cancel()
            if future.cancelled():
                continue
            outcomes.append(future.result())
            if outcomes[-1].offence:
                print(outcomes[-1].offence[:1000], flush=True)
    return 1 if report(outcomes, time.monotonic() - started) else 0


if __name__ == "__main__":
    sys.exit(main())
