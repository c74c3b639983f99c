"""Started without stdin, stdout or stderr, or with a stdout that takes nothing, `nobi` says so and ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.systems import PATIENCE

NO_STDIN = "nobi: cannot read from stdin: Bad file descriptor\n"
NO_STDOUT = "nobi: cannot write to stdout: Bad file descriptor\n"
FULL = "nobi: cannot write to stdout: No space left on device\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a POSIX shell and Linux's devices")


def nobi(arguments: str, redirections: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these redirections of the shell; its input is `name`."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m gtp_engine.cli {arguments} {redirections}', sys.executable],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        input="name\n",
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        timeout=PATIENCE,
        check=False,
    )


READY = "nobi: GTP ready\n"


@pytest.mark.parametrize(
    ("redirections", "code", "stdout", "stderr"),
    [
        ("<&-", 1, "", READY + NO_STDIN),
        (">&-", 1, "", NO_STDOUT + READY),
        ("2>&-", 0, "= Nobi\n\n", ""),
        ("<&- 2>&-", 1, "", ""),
        ("<&- >&- 2>&-", 1, "", ""),
        ("> /dev/full", 1, "", FULL + READY),
        ("< /dev/null", 0, "", READY),
    ],
)
def test_gtp(redirections: str, code: int, stdout: str, stderr: str) -> None:
    done = nobi("gtp --player uct", redirections)
    assert (done.returncode, done.stdout, done.stderr) == (code, stdout, stderr)


@pytest.mark.parametrize(
    ("subcommand", "redirections", "stderr"),
    [("config", ">&-", NO_STDOUT), ("players", ">/dev/full", FULL), ("networks", ">&- 2>&-", "")],
)
def test_other_subcommands(subcommand: str, redirections: str, stderr: str) -> None:
    done = nobi(subcommand, redirections)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", stderr)


@pytest.fixture
def full_pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe that takes no more."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"." * size)
    os.set_blocking(writing, True)
    yield reading, writing
    for descriptor in (reading, writing):
        with contextlib.suppress(OSError):
            os.close(descriptor)


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """The environment of a user whose configuration file has something wrong in it."""
    (tmp_path / "config.toml").write_text("visitz = 3\n")
    return {**os.environ, "NOBI_CONFIG_DIR": str(tmp_path)}


@pytest.mark.parametrize(
    ("arguments", "asked", "answered"),
    [
        ("gtp --player random -override-config logDir=x", "name\nquit\n", "= Nobi\n\n= \n\n"),
        ("analysis -override-config logDir=x,y=1", '{"id":"a","action":"query_version"}\n', '{"action":"query_v'),
    ],
)
def test_a_full_stderr_stops_no_start_that_has_something_to_say(
    arguments: str, asked: str, answered: str, full_pipe: tuple[int, int], user: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gtp_engine.cli", *arguments.split()],
        input=asked,
        stdout=subprocess.PIPE,
        stderr=full_pipe[1],
        text=True,
        cwd=REPOSITORY,
        env=user,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert done.stdout.startswith(answered)


def test_a_start_that_fails_waits_until_stderr_is_read(full_pipe: tuple[int, int], user: dict[str, str]) -> None:
    reading, writing = full_pipe
    process = subprocess.Popen(
        [sys.executable, "-m", "gtp_engine.cli", "gtp", "--net", "missing.bin.gz", "-override-config", "a=1"],
        stdin=subprocess.DEVNULL,
        stderr=writing,
        cwd=REPOSITORY,
        env=user,
    )
    os.close(writing)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    with open(reading, "rb", closefd=False) as pipe:
        said = pipe.read().decode().lstrip(".").splitlines()
    assert process.wait(PATIENCE) == 1
    assert said[0] == "nobi: settings that mean nothing here: a"
    assert said[1].startswith("nobi: missing.bin.gz: No such file or directory")
