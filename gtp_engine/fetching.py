"""Files from the internet: over https alone, resumed where a transfer broke off, and never taken for whole too early.

Only `nobi networks get` and a click in `nobi web` come here, and nothing else in the project opens a connection. What a
server says is not trusted: redirects lead to https only and not far, a page in place of a file is refused, sizes are
bounded, and what was fetched so far lies in a file of its own until its SHA-256 has decided. Credentials are sent to
the server that they were given for, and to no other.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from gtp_engine.errors import UserError
from gtp_engine.version import VERSION
from nobi_machine.files import append_regular, write_whole
from nobi_machine.text import printable

SECONDS = 30.0
"""How long a server may be silent."""
MOST_REDIRECTS = 5
ATTEMPTS = 5
"""How often a transfer is tried that breaks off, each time from where it did."""
MAX_BYTES = 1 << 30
"""The largest file to fetch."""
MAX_PAGE_BYTES = 16 << 20
"""The largest page of a package index."""
CHUNK = 1 << 18
"""Bytes that are kept at a time."""

REDIRECTS = (301, 302, 303, 307, 308)
PARTIAL, NOT_SATISFIABLE = 206, 416

Progress = Callable[[int, int], None]
"""A function that is called with the bytes that are there, and with those that there will be."""


class FetchError(UserError):
    """Why a file could not be fetched: one line, which begins with the server's name."""


class BrokenOff(FetchError):
    """A transfer that ended too early; what came of it is kept."""


class NoRanges(FetchError):
    """A server that sends files only as a whole."""


class Connections:
    """Opens addresses, by the proxies and the certificates of the environment or by those given."""

    def __init__(self, proxy: str | None = None, certificates: str | None = None) -> None:
        """`proxy`: the address of one for everything, `certificates`: a file of those to trust. Raises UserError."""
        try:
            context = ssl.create_default_context(cafile=certificates)
        except OSError as error:
            raise UserError(f"{certificates}: no file of certificates ({error.strerror or error})") from None
        self._credentials: dict[str, str] = {}
        # Only what https needs: no other addresses can be opened, and redirects are followed by `open` alone.
        self._opener = urllib.request.OpenerDirector()
        self._opener.addheaders = []
        for handler in (
            urllib.request.ProxyHandler(None if proxy is None else {"https": proxy}),
            urllib.request.HTTPSHandler(context=context),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.UnknownHandler(),
        ):
            self._opener.add_handler(handler)

    def without_credentials(self, address: str) -> str:
        """Return an address without the name and the password in it, which are sent to its server from now on."""
        parts = _split(address)
        if "@" not in parts.netloc:
            return address
        secret, _, server = parts.netloc.rpartition("@")
        encoded = base64.b64encode(unquote(secret if ":" in secret else f"{secret}:").encode()).decode("ascii")
        self._credentials[server.lower()] = f"Basic {encoded}"
        return parts._replace(netloc=server).geturl()

    def open(self, address: str, headers: dict[str, str]) -> Any:
        """Open an address after its redirects, and return the response. Raises FetchError."""
        for _ in range(MOST_REDIRECTS + 1):
            request = self._request(address, headers)
            try:
                return self._opener.open(request, timeout=SECONDS)
            except urllib.error.HTTPError as error:
                with error:
                    target = error.headers.get("Location")
                if error.code not in REDIRECTS or not target:
                    text = f"{server_of(address)}: {error.code} {printable(str(error.reason))}"
                    raise (NoRanges if error.code == NOT_SATISFIABLE else FetchError)(text) from None
                address = joined(address, target)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise FetchError(f"{server_of(address)}: {_reason(error)}") from None
        raise FetchError(f"{server_of(address)}: its redirects do not end")

    def page(self, address: str, accept: str) -> tuple[bytes, str, str]:
        """Fetch a page: its content, its type, and its address after redirects. Raises FetchError."""
        with self.open(address, {"Accept": accept}) as response:
            content = _read(response, MAX_PAGE_BYTES + 1)
            if len(content) > MAX_PAGE_BYTES:
                raise FetchError(f"{server_of(address)}: its page is larger than {MAX_PAGE_BYTES >> 20} MiB")
            return content, response.headers.get_content_type(), response.geturl()

    def download(self, address: str, part: Path, size: int | None, progress: Progress, first: int = 0) -> None:
        """Fetch `size` bytes of a file from the byte `first` on, to the end of the file if None, into the file `part`.

        What `part` holds already is not fetched again. Raises NoRanges where that is impossible for a `first`,
        BrokenOff where the transfer ends early again and again, FetchError, and OSError for `part`.
        """
        for attempt in range(ATTEMPTS):
            before = bytes_in(part)
            try:
                self._transfer(address, part, size, progress, first)
                return
            except NoRanges:
                if first or not before:
                    raise
                part.unlink()  # it is no beginning of what the server has now
            except BrokenOff:
                if attempt + 1 == ATTEMPTS or bytes_in(part) <= before:
                    raise

    def _transfer(self, address: str, part: Path, size: int | None, progress: Progress, first: int) -> None:
        """Try once to fetch what `part` lacks."""
        held, server = bytes_in(part), server_of(address)
        if held and held == size:
            return
        if size is not None and held > size:
            part.unlink()
            held = 0
        headers = {}
        if first or held or size is None:
            last = "" if size is None else str(first + size - 1)
            headers["Range"] = f"bytes={first + held}-{last}"
        with self.open(address, headers) as response:
            start, whole = _place(response, server)
            if start != first + held:
                if first or start:
                    raise NoRanges(f"{server}: does not send parts of files")
                held = 0
            if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
                raise FetchError(f"{server}: sends a page, not the file: a proxy or a login may be in the way")
            size = size or (None if whole is None else whole - first)
            if size is None or not 0 < size <= MAX_BYTES:
                raise FetchError(f"{server}: does not say how large the file is, or it is larger than 1 GiB")
            if not first and whole not in (None, size):
                raise FetchError(f"{server}: has {whole:,} bytes in place of {size:,}")
            if not held:
                write_whole(part, b"")
            progress(held, size)
            while held < size:
                chunk, reason = _read_some(response, min(CHUNK, size - held))
                if not chunk:
                    why = f" ({reason})" if reason else ""
                    raise BrokenOff(f"{server}: the transfer broke off after {held:,} of {size:,} bytes{why}")
                append_regular(part, chunk)
                held += len(chunk)
                progress(held, size)

    def _request(self, address: str, headers: dict[str, str]) -> urllib.request.Request:
        parts = _split(address)
        if parts.scheme != "https" or not parts.hostname:
            raise FetchError(f"{printable(address, 80)}: only https is used")
        sent = {"User-Agent": f"nobi/{VERSION}", "Accept-Encoding": "identity", **headers}
        request = urllib.request.Request(address, headers=sent)
        secret = self._credentials.get(parts.netloc.lower())
        if secret is not None:
            request.add_header("Authorization", secret)
        return request


class RangedFile(io.RawIOBase):
    """A file on a server, read in the parts that are asked for. Reading raises FetchError."""

    def __init__(self, connections: Connections, address: str) -> None:
        """Ask for the first byte, and so for the size. Raises NoRanges where the server sends whole files only."""
        self._connections, self._address, self._at = connections, address, 0
        with connections.open(address, {"Range": "bytes=0-0"}) as response:
            start, size = _place(response, server_of(address))
            if response.status != PARTIAL or start or size is None:
                raise NoRanges(f"{server_of(address)}: does not send parts of files")
        if size > MAX_BYTES:
            raise FetchError(f"{server_of(address)}: the file is larger than 1 GiB")
        self.size = size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self.size - self._at)
        if wanted <= 0:
            return 0
        server = server_of(self._address)
        with self._connections.open(self._address, {"Range": f"bytes={self._at}-{self._at + wanted - 1}"}) as response:
            if _place(response, server)[0] != self._at:
                raise NoRanges(f"{server}: does not send parts of files")
            content = _read(response, wanted)
        if not content:
            raise BrokenOff(f"{server}: the transfer broke off")
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


def bytes_in(part: Path) -> int:
    """Return how many bytes a file has; 0 where there is none."""
    try:
        return part.stat().st_size
    except OSError:
        return 0


def server_of(address: str) -> str:
    """Return the name of an address' server, to begin a line with."""
    with contextlib.suppress(ValueError):
        if host := urlsplit(address).hostname:
            return printable(host)
    return printable(address, 80)


def file_name_of(address: str) -> str:
    """Return the name of the file at an address. Raises FetchError."""
    return unquote(_split(address).path).rpartition("/")[2]


def joined(base: str, target: str) -> str:
    """Return the address that `target` means on the page `base`. Raises FetchError."""
    try:
        return urljoin(base, target)
    except ValueError:
        raise FetchError(f"{server_of(base)}: leads to {printable(target, 80)}, which is no address") from None


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise FetchError(f"{printable(address, 80)}: no address") from None


def _place(response: Any, server: str) -> tuple[int, int | None]:
    """Where the content of a response begins in the file, and how large the whole file is, if that is said."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise FetchError(f"{server}: sends the file in another encoding")
    try:
        if response.status == PARTIAL:
            unit, _, span = response.headers.get("Content-Range", "").partition(" ")
            place, _, whole = span.partition("/")
            if unit.lower() != "bytes":
                raise ValueError
            return int(place.partition("-")[0]), None if whole == "*" else int(whole)
        length = response.headers.get("Content-Length")
        return 0, None if length is None else int(length)
    except ValueError:
        raise FetchError(f"{server}: answers with no part of the file that was asked for") from None


def _read(response: Any, most: int) -> bytes:
    """At most so many bytes of a response. Raises BrokenOff."""
    content = b""
    while len(content) < most:
        chunk, reason = _read_some(response, most - len(content))
        if reason:
            raise BrokenOff(f"{server_of(response.geturl())}: {reason}")
        if not chunk:
            break
        content += chunk
    return content


def _read_some(response: Any, most: int) -> tuple[bytes, str]:
    """Some bytes of a response, none at its end; and why it broke off, '' where the server just ended it."""
    try:
        return response.read(most), ""
    except (OSError, http.client.HTTPException) as error:
        return b"", _reason(error)


def _reason(error: Exception) -> str:
    """An error of a connection in a few words."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(inner, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({inner.verify_message}); SSL_CERT_FILE may name a file of those that are"
        )
    if isinstance(inner, http.client.IncompleteRead):
        return "it ends early"
    return printable((inner.strerror if isinstance(inner, OSError) else None) or str(inner) or type(inner).__name__)
