"""`nobi web`: a board in the browser, with the engine behind it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import click

from gtp_engine.configuration.configuration import tell
from gtp_engine.configuration.parameters import Count, config_options, parameter_options
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from nobi_machine.interruption import EXIT_INTERRUPTED

PORT = 7274
LOCAL = "127.0.0.1"
GRACE = 2.0
"""Seconds that the engine has to end its search."""


@click.command()
@click.argument("record", metavar="[GAME.sgf]", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--port", type=Count(0, 65535), default=PORT, show_default=True, metavar="N", help="0 takes a free one.")
@click.option("--host", default=LOCAL, show_default=True, metavar="ADDRESS", help="Where to listen; others than the "
              "default let other machines in.")  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Show the link only.")
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
) -> int:
    """Play, analyse and review on a board in the browser."""
    configuration = load(config_file, settings, options)
    from gtp_engine.players import check

    configuration = check(configuration)
    tell(configuration)
    listening = _listen(host, port)
    import uvicorn

    from gtp_engine.web.server import Entrance, make_app
    from gtp_engine.web.streams import Streams
    from gtp_engine.web.table import Table

    port = listening.getsockname()[1]
    base = f"http://{host}:{port}/"
    entrance = Entrance(
        frozenset({"localhost", LOCAL, "[::1]", host}),
        f"nobi_{port}",
        lambda token: click.echo(f"for another browser: {base}?token={token}"),
    )
    streams = Streams()
    table = Table(configuration, streams)
    streams.on_end = table.left

    class Server(uvicorn.Server):
        """Ends the streams first, which would hold the end up."""

        def handle_exit(self, sig: int, frame: Any) -> None:
            streams.close()
            super().handle_exit(sig, frame)

    link = f"{base}?token={entrance.token}"
    click.echo(f"Nobi is at {link} (Ctrl-C ends it)")
    table.begin()
    if not no_browser:
        import webbrowser

        webbrowser.open(link)
    config = uvicorn.Config(
        make_app(table, streams, entrance),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    try:
        Server(config).run([listening])
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        table.close(GRACE)
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """Listen at an address. Raises UserError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError as error:
        raise UserError(f"cannot listen at {host}:{port}: {error.strerror}; --port N names another port") from None
    return listening
