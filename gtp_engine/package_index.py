"""One file out of a wheel in the index of Python packages that pip is set up for, without pip.

Whoever could install Nobi reaches such an index, a mirror or a firm's own included. Of pip's settings these count:
index-url, extra-index-url, proxy and cert, in the environment and in its files. Where the server sends parts of files,
only the wheel's directory and the one file are fetched, else the whole wheel. (The index: PEP 503 and 691.)
"""

from __future__ import annotations

import configparser
import contextlib
import io
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import BinaryIO

import platformdirs

from gtp_engine.fetching import (
    MAX_BYTES,
    Connections,
    FetchError,
    NoRanges,
    Progress,
    RangedFile,
    file_name_of,
    joined,
    server_of,
)
from nets.at_hand import WheelMember
from nobi_machine.files import read_regular
from nobi_machine.text import parse_json

USUAL_INDEX = "https://pypi.org/simple"
USED = ("index-url", "extra-index-url", "proxy", "cert")
"""Of pip's settings."""
SECTIONS = ("global", "download")
"""Of pip's files; what stands in the second wins."""
JSON_TYPE = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MAX_SETTINGS_BYTES = 1 << 20
BUFFER = 1 << 16
"""Bytes of a wheel that are fetched at least where a few are read."""
LOCAL_HEADER = 30
"""Bytes of the fixed part of what stands before a file in a ZIP archive; the last four say how long the rest is."""


class PackageIndex:
    """The indexes that pip is set up for, and how they are reached."""

    def __init__(self) -> None:
        """Read pip's settings. Raises UserError where they name certificates that cannot be read."""
        settings = pip_settings()
        self.connections = Connections(settings.get("proxy") or None, settings.get("cert") or None)
        named = (settings.get("index-url") or USUAL_INDEX, *settings.get("extra-index-url", "").split())
        self._indexes = list(dict.fromkeys(self.connections.without_credentials(each) for each in named))

    def fetch(self, member: WheelMember, size: int, part: Path, progress: Progress) -> bytes:
        """Fetch a file of this size out of a wheel. What has come so far is kept in `part`, or in a file beside it.

        Raises FetchError, and OSError for these files.
        """
        address = self._address(member)
        with _readable(address):
            try:
                remote = io.BufferedReader(RangedFile(self.connections, address), BUFFER)
                entry, start = _place(remote, member, size)
                self.connections.download(address, part, entry.compress_size, progress, start)
                content = read_regular(part, entry.compress_size)
                part.unlink()
            except NoRanges:
                wheel = part.with_suffix(".wheel.part")
                self.connections.download(address, wheel, None, progress)
                archive = io.BytesIO(read_regular(wheel, MAX_BYTES))
                wheel.unlink()
                entry, start = _place(archive, member, size)
                archive.seek(start)
                content = archive.read(entry.compress_size)
            if entry.compress_type == zipfile.ZIP_DEFLATED:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, size)
            return content

    def _address(self, member: WheelMember) -> str:
        """Look the wheel up in the indexes, in their order. Raises FetchError."""
        reasons = []
        for index in self._indexes:
            try:
                content, kind, base = self.connections.page(f"{index.rstrip('/')}/{member.project}/", ACCEPT)
                for address in _addresses(content, kind, base):
                    if file_name_of(address) == member.wheel:
                        return self.connections.without_credentials(address.partition("#")[0])
                reasons.append(f"{server_of(index)}: has no {member.wheel}")
            except FetchError as error:
                reasons.append(str(error))
        raise FetchError("; ".join(reasons))


def _place(archive: BinaryIO, member: WheelMember, size: int) -> tuple[zipfile.ZipInfo, int]:
    """The directory's entry of the file, and where its bytes begin. Raises what `_readable` knows."""
    entry = zipfile.ZipFile(archive).getinfo(member.path)
    if entry.file_size != size:
        raise zipfile.BadZipFile(f"{entry.file_size:,} bytes in place of {size:,}")
    if entry.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) or entry.header_offset < 0:
        raise zipfile.BadZipFile("of a form that wheels do not have")
    archive.seek(entry.header_offset)
    name, extra = struct.unpack("<HH", archive.read(LOCAL_HEADER)[-4:])
    return entry, entry.header_offset + LOCAL_HEADER + name + extra


@contextlib.contextmanager
def _readable(address: str) -> Iterator[None]:
    """Raise FetchError for what is no ZIP archive that has the file."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, NotImplementedError) as error:
        raise FetchError(f"{server_of(address)}: no wheel with the file in it ({error})") from None


def _addresses(content: bytes, kind: str, base: str) -> list[str]:
    """The addresses of the files on a project's page, of either form. Raises FetchError."""
    text = content.decode("utf-8", "replace")
    if kind == JSON_TYPE:
        try:
            return [joined(base, str(file["url"])) for file in parse_json(text)["files"]]
        except (ValueError, KeyError, TypeError):
            raise FetchError(f"{server_of(base)}: its page is no index of packages") from None
    page = _Links(base)
    with contextlib.suppress(AssertionError):  # of Python's parser, at a declaration that it does not know
        page.feed(text)
    return page.addresses


class _Links(HTMLParser):
    """Collects the addresses that a page links to."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self._base = base

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if target is None or tag not in ("a", "base"):
            return
        address = joined(self._base, target)
        if tag == "base":
            self._base = address
        else:
            self.addresses.append(address)


def pip_settings() -> dict[str, str]:
    """Read what pip's files and its variables in the environment say: values by name. The variables win."""
    settings: dict[str, str] = {}
    files = _pip_files()
    for section in SECTIONS:
        for path in files:
            parser = configparser.RawConfigParser(strict=False)
            with contextlib.suppress(OSError, UnicodeDecodeError, configparser.Error):
                parser.read_string(read_regular(path, MAX_SETTINGS_BYTES).decode("utf-8-sig"))
                if parser.has_section(section):
                    settings |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    variables = {name: os.environ.get(f"PIP_{name.replace('-', '_').upper()}", "") for name in USED}
    return settings | {name: value for name, value in variables.items() if value}


def _pip_files() -> list[Path]:
    """The files that pip reads, the strongest last: the system's, the user's, the environment's, and a named one."""
    named = os.environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    files = [Path(folder, name) for folder in platformdirs.site_config_dir("pip", False, None, True).split(os.pathsep)]
    if sys.platform == "linux":
        files.append(Path("/etc", name))
    if named is None or not os.path.exists(named):
        with contextlib.suppress(RuntimeError):  # a user without a home
            home = Path.home()
            files += [home / ("pip" if sys.platform == "win32" else ".pip") / name, home / ".config" / "pip" / name]
            files.append(Path(platformdirs.user_config_dir("pip", False, None, True), name))
    return [*files, Path(sys.prefix, name), *([] if named is None else [Path(named)])]
