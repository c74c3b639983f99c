"""Started without stdin, stdout or stderr, or with a stdout that takes nothing, `nobi` says so and ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

HANGS = 60.0
"""Seconds, on a busy machine."""

NO_STDIN = "nobi: cannot read from stdin: Bad file descriptor\n"
NO_STDOUT = "nobi: cannot write to stdout: Bad file descriptor\n"
FULL = "nobi: cannot write to stdout: No space left on device\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a POSIX shell and Linux's devices")


def nobi(arguments: str, redirections: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these redirections of the shell; its input is `name`."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m gtp_engine.cli {arguments} {redirections}', sys.executable],
        input="name\n",
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        timeout=HANGS,
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
    ("redirections", "stderr"),
    [(">&-", "nobi: Bad file descriptor\n"), (">/dev/full", "nobi: No space left on device\n"), (">&- 2>&-", "")],
)
def test_other_subcommands(redirections: str, stderr: str) -> None:
    done = nobi("config", redirections)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", stderr)
