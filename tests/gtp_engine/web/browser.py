"""A server with a player that needs no time, and a browser that has one page open and hears what it is told."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.web.server import Entrance, make_app
from gtp_engine.web.streams import Streams
from gtp_engine.web.table import Table
from tests.systems import PATIENCE


class Server:
    """A server on this machine, in threads of this process."""

    def __init__(self, size: str = "9") -> None:
        self.streams = Streams()
        self.table = Table(Configuration({"size": size}), self.streams)
        self.streams.on_end = self.table.left
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.tokens: list[str] = []
        self.entrance = Entrance("127.0.0.1", self.port, self.tokens.append)
        app = make_app(self.table, self.streams, self.entrance)
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self.table.engine.begin()
        self._thread.start()

    def close(self) -> None:
        self.streams.close()
        self.table.engine.close()
        self._server.should_exit = True
        self._thread.join(PATIENCE)


class Browser:
    """A browser with the cookie of a server, and one page of it."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        status, headers, _ = self.request("GET", f"/?token={token}")
        assert status == 303
        self.cookie = headers["set-cookie"].split(";")[0]
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._heard = threading.Condition()
        self._stream = http.client.HTTPConnection("127.0.0.1", port)
        self._stream.request("GET", "/api/events", headers={"Cookie": self.cookie})
        self._socket = self._stream.sock
        self._answer = self._stream.getresponse()
        threading.Thread(target=self._listen, daemon=True).start()
        self.name = self.wait("hello")["page"]

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {"Cookie": self.cookie} if hasattr(self, "cookie") else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def ask(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """What the server answers; its `error` where it refuses."""
        body = json.dumps(fields).encode()
        status, _, answer = self.request("POST", f"/api/{name}", body, Content_Type="application/json")
        found: dict[str, Any] = json.loads(answer)
        assert (status == 200) != ("error" in found), (status, found)
        assert "internal error" not in found.get("error", ""), found
        return found

    def wait(self, name: str, matches: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The first event of this name that matches and that was not waited for before."""
        with self._heard:
            assert self._heard.wait_for(lambda: any(n == name and matches(d) for n, d in self.events), PATIENCE), (
                f"no {name} among {[n for n, _ in self.events]}"
            )
            place = next(i for i, (n, d) in enumerate(self.events) if n == name and matches(d))
            data = self.events[place][1]
            del self.events[: place + 1]
            return data

    def leave(self) -> None:
        """Close the page."""
        with contextlib.suppress(OSError):  # closed before
            self._socket.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        for name, data in self._read():
            with self._heard:
                self.events.append((name, data))
                self._heard.notify_all()

    def _read(self) -> Iterator[tuple[str, dict[str, Any]]]:
        name = ""
        try:
            while line := self._answer.readline().decode():
                if line.startswith("event: "):
                    name = line[7:].strip()
                elif line.startswith("data: "):
                    yield name, json.loads(line[6:])
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # the page was closed
