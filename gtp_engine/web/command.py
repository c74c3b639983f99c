"""`nobi web`, a board in the browser with the engine behind it, and `nobi board`, the same without a terminal.

That one ends when its pages are closed, and leaves a log.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from gtp_engine.configuration.configuration import Configuration, tell
from gtp_engine.configuration.parameters import Count, Number, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.players import check, compile_beside
from nobi_machine.cache import data_root
from nobi_machine.files import read_regular, write_whole
from nobi_machine.interruption import EXIT_INTERRUPTED
from nobi_machine.locks import folder_for_one
from nobi_machine.streams import flush_stdout, note

PORT = 7274
LOCAL = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
GRACE = 2
"""Seconds at the end that answers have to be sent, and a game to be written."""
BROWSER_SECONDS = 60.0
"""That a browser has at least to open the first page."""
POLL_SECONDS = 0.2
"""Between two looks whether a page is open."""
LINGER = 60.0
START_SECONDS = 30.0
"""The longest that another Nobi may take until it has a link."""
MOST_BYTES = 1000
"""Of the file of the link."""


@click.command()
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--port", type=Count(0, 65535), default=PORT, show_default=True, metavar="N", help="0 takes a free one.")
@click.option(
    "--host", default=LOCAL, show_default=True, metavar="ADDRESS", help="Where to listen. Others let machines in."
)
@click.option("--no-browser", is_flag=True, help="Open no browser, but show the link alone.")
@parameter_options("web")
@config_options
def web(
    record: Path | None,
    port: int,
    host: str,
    no_browser: bool,
    config_file: Path | None,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Play, analyse and review on a board in the browser.

    The board opens in your browser, with GAME.sgf if you name one, whose own komi and rules count. Every game is kept
    in your data folder as it is played. The link that is shown lets one browser in; another one is shown as soon as it
    was used. Ctrl-C ends Nobi.
    """
    configuration = check(load(config_file, settings, options))
    tell(configuration)
    serve(configuration, record, host, listen(host, port), no_browser=no_browser)


def serve(
    configuration: Configuration,
    record: Path | None,
    host: str,
    listening: socket.socket,
    on_link: Callable[[str], None] = lambda _link: None,
    linger: float | None = None,
    no_browser: bool = False,
) -> NoReturn:
    """Serve until a signal ends the process, or until no page was open for `linger` seconds. `on_link` is told the link
    that lets a browser in, and the next one whenever one was used. Raises UserError and OSError before."""
    import uvicorn

    from gtp_engine.session.loading import warm_up_rules
    from gtp_engine.web.server import Entrance, make_app
    from gtp_engine.web.streams import Streams
    from gtp_engine.web.table import Table

    port = listening.getsockname()[1]
    shown_host = LOCAL if host in EVERYWHERE else f"[{host}]" if ":" in host else host

    def tell(token: str) -> None:
        note(f"for another browser: {link_with(token)}")
        on_link(link_with(token))

    def link_with(token: str) -> str:
        return f"http://{shown_host}:{port}/?token={token}"

    entrance = Entrance(host, port, tell)
    streams = Streams()
    table = Table(configuration, streams)
    streams.on_end = table.left
    if record is not None:
        warm_up_rules(lambda: compile_beside(configuration))
        table.open_file(record)

    class Server(uvicorn.Server):
        """Ends first what would hold the end up."""

        def handle_exit(self, sig: int, frame: Any) -> None:
            self.should_exit = True
            _thread.start_new_thread(self.end, ())  # this one may be holding a lock that it needs
            super().handle_exit(sig, frame)

        def end(self) -> None:
            streams.close()
            table.engine.begin_shutdown()
            self.should_exit = True

        def end_without_pages(self, seconds: float) -> None:
            waited = wait_without_pages(lambda: streams.has_readers, seconds)
            note(f"no page was open for {waited:g} seconds: this is the end")
            self.end()

    link = link_with(entrance.token)
    on_link(link)
    click.echo(f"Nobi is at {link} (Ctrl-C ends it)")
    flush_stdout()
    if host not in (LOCAL, "localhost", "::1"):
        note("other machines can reach this board, and whoever sees the link or the traffic can use it")
    config = uvicorn.Config(
        make_app(table, streams, entrance),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=None if os.environ.get("NOBI_DEBUG") else "critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)
    if linger is not None:
        threading.Thread(target=server.end_without_pages, args=(linger,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        table.engine.begin()
        if not no_browser:
            webbrowser.open(link)
        server.run([listening])
    # As `nobi gtp` ends: threads that search, load or compile may be anywhere, and none of them is waited for. A game
    # that is just being written is.
    streams.lock.acquire(timeout=GRACE)
    flush_stdout()
    os._exit(EXIT_INTERRUPTED if linger is None else 0)


def wait_without_pages(is_any_open: Callable[[], bool], seconds: float) -> float:
    """Wait until no page was open for so long, or before the first one for as long as a browser may take. Return how
    long none was."""
    left = longest = max(seconds, BROWSER_SECONDS)
    while (is_open := is_any_open()) or left > 0:
        if is_open:
            left = longest = seconds
        time.sleep(POLL_SECONDS)
        left -= POLL_SECONDS
    return longest


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address. Raises UserError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        if os.name == "posix":  # Windows would let two programs have the same port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.EADDRINUSE:
            reason = f"another program listens there, perhaps another `nobi web`; --port {port + 1} takes another port"
        raise UserError(f"{host}, port {port}: {reason}") from None
    return listening


@click.command()
@click.option(
    "--linger", type=Number(0, 1e6), default=LINGER, show_default=True, metavar="SECONDS",
    help="End when no page was open for so long; the first one has a minute at least.",
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
