"""The web server of `nobi web`: the page, the stream of events, and what a page may ask for.

Only the user's own pages come in. The link that the terminal shows has a token, which is good for one browser and is
exchanged for a cookie. Other names for this machine than those it was started with are refused, and so are requests
that pages of other origins make.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
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

from gtp_engine.errors import explain, is_of_user
from gtp_engine.web.streams import Streams
from gtp_engine.web.table import Table

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
NO_ENTRY = "this page is for whoever started it: open the link that `nobi web` shows in its terminal"


class Entrance:
    """Who may come in: names of this machine, a token that is good once, and the cookie that it is exchanged for."""

    def __init__(self, names: frozenset[str], cookie: str, on_token: Callable[[str], None]) -> None:
        """`on_token` receives a new token whenever one was used."""
        self.names, self.cookie = names, cookie
        self.token, self._secret = secrets.token_urlsafe(24), secrets.token_urlsafe(32)
        self._on_token = on_token

    def refusal(self, request: Request) -> str:
        """Say why a request is not let in; nothing if it is."""
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in self.names:
            return f"{host[:60]!r} is no name of this server"
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if origin not in (None, f"{request.url.scheme}://{host}") or site not in ("none", "same-origin"):
            return "another site's page may not ask this"
        if secrets.compare_digest(request.cookies.get(self.cookie, "").encode(), self._secret.encode()):
            return ""
        return NO_ENTRY

    def let_in(self, token: str) -> Response | None:
        """Exchange a token for a cookie; None if it is not the present one."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = secrets.token_urlsafe(24)
        self._on_token(self.token)
        response = RedirectResponse("/", 303)
        response.set_cookie(self.cookie, self._secret, httponly=True, samesite="strict")
        return response


class Guard:
    """Middleware that lets in whom the entrance lets in, and puts HEADERS on every answer."""

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self._app, self._entrance = app, entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        request = Request(scope)
        reason = self._entrance.refusal(request)
        app: ASGIApp = self._app
        if reason == NO_ENTRY and request.method == "GET" and request.url.path == "/":
            app = self._entrance.let_in(request.query_params.get("token", "")) or PlainTextResponse(reason, 403)
        elif reason:
            app = PlainTextResponse(reason, 403)
        await app(scope, receive, send_with_headers)


def make_app(table: Table, streams: Streams, entrance: Entrance) -> Starlette:
    """Make the application that serves a table."""

    async def index(_request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def events(_request: Request) -> Response:
        if not streams.has_room:
            return _error(503, "too many pages look on")
        return StreamingResponse(streams.events(table.hello), media_type="text/event-stream")

    async def carry_out(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in table.operations:
            return _error(404, f"there is no {name[:60]!r} to ask for")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _error(415, "what is asked for must be application/json")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _error(413, f"more than {MOST_BYTES >> 20} MiB")
        try:
            return JSONResponse(await run_in_threadpool(table.carry_out, name, body))
        except Exception as error:
            return _error(400 if is_of_user(error) else 500, explain(error))

    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/events", events),
            Route("/api/{name}", carry_out, methods=["POST"]),
            Mount("/page", StaticFiles(directory=PAGE)),
        ],
        middleware=[Middleware(Guard, entrance=entrance)],
    )


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
