"""The web server of `nobi web`: the page, the stream of events, and what a page may ask for.

Only the user's own pages come in. The link that the terminal shows has a token, which is good for one browser and is
exchanged for a cookie. Other names for this machine than those it was started with are refused, and so are requests
that pages of other origins make.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gtp_engine.errors import is_of_user
from gtp_engine.web.refusals import said_of, words
from gtp_engine.web.streams import Streams
from gtp_engine.web.table import Table
from nobi_machine.text import shown

PAGE = Path(__file__).parent / "page"
MOST_BYTES = 4 << 20
"""Of a request's body."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What goes with every answer."""
_NO_NAME = re.compile("[^A-Za-z0-9._-]")
"""What a file's name has not in a header."""
NO_ENTRY = "this page is for whoever started it: open the link that `nobi web` shows in its terminal"


class Entrance:
    """Who may come in: names of this machine, a token that is good once, and the cookie that it is exchanged for."""

    def __init__(self, host: str, port: int, on_token: Callable[[str], None]) -> None:
        """`host` and `port` are where the server listens; `on_token` receives a new token whenever one was used."""
        self._names = {"localhost", "127.0.0.1", "[::1]", host.lower(), f"[{host.lower()}]"}
        self._takes_addresses = host in ("0.0.0.0", "::")
        self._cookie = f"nobi_{port}"  # cookies are of a host, whatever the port
        self._secret = secrets.token_urlsafe(32)
        self._on_token = on_token
        self.token = secrets.token_urlsafe(24)

    def refusal(self, request: Request) -> str:
        """Say why a request is not let in; nothing if it is."""
        host = request.headers.get("host", "")
        name = re.sub(":[0-9]+$", "", host).lower()
        if name not in self._names and not (self._takes_addresses and _is_address(name)):
            return f"{shown(host)} is no name of this server"
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if origin not in (None, f"http://{host}") or (site not in ("none", "same-origin") and request.url.path != "/"):
            return "a page of another site may not ask this"
        if secrets.compare_digest(request.cookies.get(self._cookie, "").encode(), self._secret.encode()):
            return ""
        return NO_ENTRY

    def let_in(self, token: str) -> Response | None:
        """Exchange a token for a cookie; None if it is not the present one."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = secrets.token_urlsafe(24)
        self._on_token(self.token)
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
        return response


def _is_address(name: str) -> bool:
    """Whether a name is an address, which nobody can have lead elsewhere."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def guarded(inner: ASGIApp, entrance: Entrance) -> ASGIApp:
    """Let in whom the entrance lets in, and put HEADERS on every answer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        request = Request(scope)
        reason = entrance.refusal(request)
        app: ASGIApp = PlainTextResponse(reason, 403) if reason else inner
        if reason == NO_ENTRY and request.method == "GET" and request.url.path == "/":
            app = entrance.let_in(request.query_params.get("token", "")) or app
        await app(scope, receive, send_with_headers)

    return answer


def make_app(table: Table, streams: Streams, entrance: Entrance) -> ASGIApp:
    """Make the application that serves a table."""

    async def index(_request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def events(request: Request) -> Response:
        if not streams.has_room:
            return _error(503, "too many pages look on")
        if request.method == "HEAD":  # a page asks why it was not let in
            return Response()
        return StreamingResponse(streams.events(table.hello), media_type="text/event-stream")

    async def download(_request: Request) -> Response:
        return _attached(*await run_in_threadpool(table.download))

    async def problems(_request: Request) -> Response:
        return _attached("problems.sgf", await run_in_threadpool(table.problems.collection))

    async def carry_out(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in table.operations:
            return _error(404, f"there is no {shown(name)} to ask for")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _error(415, "what is asked for must be application/json")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _error(413, f"more than {MOST_BYTES >> 20} MiB")
        try:
            return JSONResponse(await run_in_threadpool(table.operations[name], bytes(body)))
        except Exception as error:
            told = said_of(error)
            return _error(400 if is_of_user(error) else 500, words(told), **told)

    routes = [
        Route("/", index),
        Route("/api/events", events),
        Route("/api/download", download),
        Route("/api/problems.sgf", problems),
        Route("/api/{name}", carry_out, methods=["POST"]),
        Mount("/page", StaticFiles(directory=PAGE)),
    ]
    return guarded(Starlette(routes=routes), entrance)


def _attached(name: str, content: bytes) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{_NO_NAME.sub("_", name)}"'}
    return Response(content, media_type="application/x-go-sgf", headers=headers)


def _error(status: int, text: str, **told: Any) -> Response:
    return JSONResponse({"error": text, **told}, status)
