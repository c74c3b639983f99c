"""A server on loopback that speaks https, and does to clients what servers and networks do on bad days."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Of the name localhost, to be trusted by SSL_CERT_FILE."""


@dataclass
class Server:
    """What the server has, how it behaves, and what it was asked."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Content types; others are application/octet-stream."""
    redirects: dict[str, str] = field(default_factory=dict)
    """Where a path leads to."""
    sends_parts: bool = True
    breaks_after: int | None = None
    """Bytes of a file after which a connection ends; None where they all come."""
    lies_about_size: int = 0
    """Bytes that a Content-Length is too large by."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The paths that were asked for, and the headers, in small letters."""
    sent: int = 0
    """Bytes of files that were sent."""

    def asked(self, path: str) -> list[str]:
        """The ranges that were asked of a path, '' for the whole file."""
        return [headers.get("range", "") for each, headers in self.requests if each == path]


@contextlib.contextmanager
def https_server() -> Iterator[Server]:
    """Run a server while the body does."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.path = self.path.partition("?")[0]
            server.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            if self.path in server.redirects:
                self.send_response(302)
                self.send_header("Location", server.redirects[self.path])
                self.end_headers()
            elif self.path in server.files:
                self._send(server.files[self.path])
            else:
                self.send_error(404)

        def _send(self, content: bytes) -> None:
            wanted = self.headers.get("Range") if server.sends_parts else None
            start, end = 0, len(content)
            if wanted is not None:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                start, end = int(first), min(end, int(last) + 1 if last else end)
                if start >= len(content):
                    self.send_error(416)
                    return
            self.send_response(200 if wanted is None else 206)
            if wanted is not None:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            self.send_header("Content-Type", server.types.get(self.path, "application/octet-stream"))
            self.send_header("Content-Length", str(end - start + server.lies_about_size))
            self.end_headers()
            if server.breaks_after is not None:
                end = min(end, start + server.breaks_after)
            self.wfile.write(content[start:end])
            server.sent += end - start

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.handle_error = lambda *_: None  # type: ignore[method-assign] # clients that do not trust it
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True, do_handshake_on_connect=False)
    server.address = f"https://localhost:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
