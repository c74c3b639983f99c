"""`nobi-board`: the board in the browser without a terminal. It ends when its pages are closed, and leaves a log."""

from __future__ import annotations

import errno
import os
import sys
import time
import webbrowser
from pathlib import Path

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Number
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.web.command import LOCAL, PORT, listen, serve
from nobi_machine.cache import data_root
from nobi_machine.files import read_regular, write_whole
from nobi_machine.locks import folder_for_one
from nobi_machine.streams import note

LINGER = 60.0
START_SECONDS = 30.0
"""The longest that another Nobi may take until it has a link."""
MOST_BYTES = 1000
"""Of the file of the link."""


@click.command()
@click.option(
    "--linger", type=Number(0, 1e6), default=LINGER, show_default=True, metavar="SECONDS",
    help="End when no page was open for so long.",
)  # fmt: skip
def board(linger: float) -> None:
    """Open the board in the browser, without a terminal: the same as the program `nobi-board`.

    Nobi ends a minute after the last page was closed. Where it runs already, another page is opened. What would be said
    in the terminal is in `board/log.txt` in your data folder.
    """
    folder = data_root() / "board"
    link = folder / "link"

    def keep(text: str) -> None:
        try:
            write_whole(link, text.encode())
        except OSError as error:
            note(explain(error))

    try:
        with folder_for_one(folder):
            link.unlink(missing_ok=True)
            _log_to(folder / "log.txt")
            from gtp_engine.players import check

            configuration = check(load(None, (), {}))
            tell(configuration)
            try:
                listening = listen(LOCAL, PORT)
            except UserError:  # `nobi web` is there
                listening = listen(LOCAL, 0)
            serve(configuration, None, LOCAL, listening, keep, linger)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    webbrowser.open(_link_of_another(link))


def _log_to(path: Path) -> None:
    """Have this process say in a file what it says on stdout and stderr."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        stream.flush()
        os.dup2(log, descriptor)
    os.close(log)


def _link_of_another(path: Path) -> str:
    """Return the link that another Nobi has written, or is about to. Raises UserError."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            return read_regular(path, MOST_BYTES).decode()
        except FileNotFoundError:
            time.sleep(0.1)
    raise UserError("another Nobi is about to start, but does not")
