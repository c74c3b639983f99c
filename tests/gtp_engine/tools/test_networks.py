"""`nobi networks`: what is at hand, what is fetched and from where, and what never is."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from gtp_engine import command_line
from gtp_engine.configuration.configuration import Configuration, network_path
from gtp_engine.errors import UserError, explain
from gtp_engine.fetching import ATTEMPTS, MOST_REDIRECTS, Connections
from gtp_engine.networks import advice, check_network, keep_rate, known_rate, open_evaluator
from gtp_engine.package_index import JSON_TYPE, pip_settings
from gtp_engine.tools.networks import fetched, strongest_of, taken
from nets.at_hand import (
    FOR_PROCESSORS,
    PUBLISHED,
    AmbiguousName,
    Published,
    WheelMember,
    at_hand,
    network_named,
    read_header,
    strongest,
)
from nets.embedded import network_file
from nets.evaluator import EvaluatorError
from nets.open import load_onnx
from nobi_machine.cache import cache_root
from nobi_machine.files import append_regular
from nobi_machine.parameters import ParameterError
from tests.conftest import REPOSITORY, SMALL_NETWORK
from tests.gtp_engine.https_server import CERTIFICATE, Server, https_server
from tests.gtp_engine.socket_guard import CANNOT_GUARD

CONTENT = random.Random(1).randbytes(300_000)
"""Stands for a network's file, and is as hard to compress."""
WHEEL = "katrain-1.20.0-py3-none-any.whl"
MEMBER = WheelMember("katrain", WHEEL, "katrain/models/small.bin.gz")
FILE, PAGE, LINK = "/small.bin.gz", "/simple/katrain/", f"/files/{WHEEL}"
CACHE = cache_root()
GUARD = (sys.executable, str(REPOSITORY / "tests" / "gtp_engine" / "socket_guard.py"))


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with a home and nothing in it, who has told neither the system nor pip how to reach the internet."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    for name, value in {
        "HOME": home,
        "USERPROFILE": home,
        "NOBI_DATA_DIR": tmp_path / "data",
        "NOBI_CONFIG_DIR": tmp_path / "config",
        "NOBI_CACHE_DIR": CACHE,
        "PIP_CONFIG_FILE": os.devnull,
        "SSL_CERT_FILE": CERTIFICATE,
        "PATH": "",
    }.items():
        monkeypatch.setenv(name, str(value))
    return home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the networks are that were fetched; it is made when it is needed."""
    return tmp_path / "data" / "networks"


@pytest.fixture
def server() -> Iterator[Server]:
    with https_server() as server:
        server.files[FILE] = CONTENT
        yield server


def table(*addresses: str, member: WheelMember | None = None, content: bytes = CONTENT) -> tuple[Published, ...]:
    """A network as the table of the published ones has it."""
    return (Published("small", "", len(content), hashlib.sha256(content).hexdigest(), addresses, member),)


def refusal(*networks: Published) -> str:
    with pytest.raises(UserError) as refused:
        fetched("small", networks)
    text = str(refused.value)
    assert "\n" not in text
    return text


def parts(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()} if folder.exists() else {}


# --- Fetching -----------------------------------------------------------------------------------------------------


def test_a_network_is_fetched_checked_and_found_by_its_name(server: Server, folder: Path) -> None:
    networks = table(server.address + FILE)
    path = fetched("sma", networks)
    assert (path, path.read_bytes()) == (folder / "small.bin.gz", CONTENT)
    assert parts(folder) == {"small.bin.gz": len(CONTENT)}
    assert network_path("small") == path
    requests = len(server.requests)
    assert fetched("small", networks) == path
    assert len(server.requests) == requests, "it was at hand"
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetched("small", networks).read_bytes() == CONTENT, "a damaged file is not at hand"


def test_a_transfer_goes_on_where_it_broke_off(server: Server, folder: Path) -> None:
    networks = table(server.address + FILE)
    server.breaks_after = 50_000
    said = refusal(*networks)
    assert f"localhost: the transfer broke off after {50_000 * ATTEMPTS:,} of 300,000 bytes" in said
    assert f"put it at {folder / 'small.bin.gz'}" in said
    assert parts(folder) == {"small.bin.gz.part": 50_000 * ATTEMPTS}
    assert network_named("small") is None, "a part is no network"
    server.breaks_after = None
    assert fetched("small", networks).read_bytes() == CONTENT
    assert server.asked(FILE)[-1] == f"bytes={50_000 * ATTEMPTS}-299999"
    assert server.sent == len(CONTENT)


def test_a_server_that_sends_no_parts_begins_again(server: Server, folder: Path) -> None:
    networks = table(server.address + FILE)
    server.sends_parts, server.breaks_after = False, 50_000
    assert "broke off after 50,000 of 300,000 bytes" in refusal(*networks)
    server.breaks_after = None
    assert fetched("small", networks).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"files": {FILE: CONTENT[:-1]}}, "localhost: has 299,999 bytes in place of 300,000"),
        ({"files": {FILE: CONTENT + b"!"}}, "localhost: has 300,001 bytes in place of 300,000"),
        ({"files": {FILE: CONTENT[::-1]}}, "localhost: has another file than the published one (by its SHA-256)"),
        ({"files": {}}, "localhost: 404 Not Found"),
        ({"types": {FILE: "text/html"}}, "localhost: sends a page, not the file: a proxy or a login may be in the way"),
        ({"redirects": {FILE: FILE}}, "localhost: its redirects do not end"),
        ({"redirects": {FILE: "http://localhost/small.bin.gz"}}, "http://localhost/small.bin.gz: only https is used"),
        ({"redirects": {FILE: "https://[a"}}, "localhost: leads to https://[a, which is no address"),
        ({"redirects": {FILE: "file:///etc/passwd"}}, "file:///etc/passwd: only https is used"),
        ({"lies_about_size": 5}, "localhost: has 300,005 bytes in place of 300,000"),
    ],
    ids=["short", "long", "other", "missing", "page", "circle", "to http", "to nowhere", "to a file", "lie"],
)
def test_what_is_not_the_file_is_refused_and_nothing_is_lost(
    changes: dict[str, object], reason: str, server: Server, folder: Path
) -> None:
    folder.mkdir(parents=True)
    (folder / "small.bin.gz").write_bytes(b"what was there")
    for name, value in changes.items():
        setattr(server, name, value)
    assert reason in refusal(*table(server.address + FILE))
    assert len(server.requests) <= 1 + MOST_REDIRECTS
    assert parts(folder) == {"small.bin.gz": len(b"what was there")}


def test_a_part_of_another_file_does_not_stay(server: Server, folder: Path) -> None:
    """What broke off was another file; its rest makes no whole one, and the next attempt begins again."""
    folder.mkdir(parents=True)
    (folder / "small.bin.gz.part").write_bytes(b"?" * 1000)
    networks = table(server.address + FILE)
    assert "has another file than the published one" in refusal(*networks)
    assert fetched("small", networks).read_bytes() == CONTENT


def test_only_https_is_spoken_and_only_with_those_who_are_trusted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.address + FILE
    for other in (address.replace("https", "http"), "file:///etc/passwd", "ftp://localhost/a", "https:/a", "a"):
        assert f"{other}: only https is used" in refusal(*table(other))
    assert "localhost: its certificate is not trusted" not in str(fetched("small", table(address)))
    monkeypatch.delenv("SSL_CERT_FILE")
    said = refusal(*table(address, content=b"another"))
    assert "localhost: its certificate is not trusted (self" in said
    assert "SSL_CERT_FILE" in said


def test_a_full_disk_is_one_line_and_goes_on_later(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(path: Path, content: bytes, durable: bool = False) -> None:
        append_regular(path, content[:1000], durable)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    networks = table(server.address + FILE)
    monkeypatch.setattr("gtp_engine.fetching.append_regular", filled)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as refused:
        fetched("small", networks)
    assert explain(refused.value) == f"{folder / 'small.bin.gz.part'}: {os.strerror(errno.ENOSPC)}"
    monkeypatch.setattr("gtp_engine.fetching.append_regular", append_regular)
    assert parts(folder) == {"small.bin.gz.part": 1000}
    assert fetched("small", networks).read_bytes() == CONTENT
    assert server.sent < 2 * len(CONTENT)


def test_a_proxy_is_used_and_its_pages_are_not_taken_for_files(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Proxy(StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline())
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n<html>Log in first</html>")

    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")
        said = refusal(*table("https://example.org/small.bin.gz"))
        proxy.shutdown()
    assert "example.org: Tunnel connection failed: 403 Forbidden" in said
    assert asked == [b"CONNECT example.org:443 HTTP/1.0\r\n"] or asked[0].startswith(b"CONNECT example.org:443 ")
    assert server.requests == []


def test_credentials_go_to_their_own_server_only(server: Server, folder: Path) -> None:
    with https_server() as other:
        other.files[FILE] = CONTENT
        server.redirects[FILE] = other.address + FILE
        connections = Connections()
        address = connections.without_credentials(server.address.replace("//", "//me:s%40cret@") + FILE)
        assert address == server.address + FILE
        folder.mkdir(parents=True)
        connections.download(address, folder / "part", None, lambda held, size: None)
        assert (folder / "part").read_bytes() == CONTENT
        assert server.requests[0][1]["authorization"] == "Basic bWU6c0BjcmV0"
        assert "authorization" not in other.requests[0][1]


# --- The index of Python packages ---------------------------------------------------------------------------------


def wheel(content: bytes = CONTENT, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A wheel with the file in it, between two others."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        archive.writestr("katrain/other.txt", random.Random(2).randbytes(400_000))
        archive.writestr(MEMBER.path, content)
        archive.writestr("katrain/last.txt", random.Random(3).randbytes(6_000))
    return made.getvalue()


@pytest.fixture
def index(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """An index with the wheel, which pip is set up for; its pages are JSON."""
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.address}/simple")
    server.files[LINK] = wheel()
    server.files[PAGE] = json.dumps({"files": [{"url": "../../files/other.whl"}, {"url": f"../..{LINK}"}]}).encode()
    server.types[PAGE] = JSON_TYPE
    return server


def from_index(server: Server) -> tuple[Published, ...]:
    """The network, which is not where it was published."""
    return table(f"{server.address}/gone.bin.gz", member=MEMBER)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_only_the_file_comes_out_of_the_wheel(index: Server, compression: int, folder: Path) -> None:
    index.files[LINK] = wheel(compression=compression)
    assert fetched("small", from_index(index)).read_bytes() == CONTENT
    assert index.sent < len(CONTENT) + 80_000
    assert parts(folder) == {"small.bin.gz": len(CONTENT)}


def test_the_file_of_a_wheel_goes_on_where_it_broke_off(index: Server, folder: Path) -> None:
    networks = from_index(index)
    index.breaks_after = 50_000
    assert "could not be fetched" in refusal(*networks)
    assert set(parts(folder)) == {"small.bin.gz.member.part"}
    held = parts(folder)["small.bin.gz.member.part"]
    assert held == 50_000 * ATTEMPTS
    index.breaks_after, index.sent = None, 0
    assert fetched("small", networks).read_bytes() == CONTENT
    assert index.sent < len(CONTENT) - held + 80_000


@pytest.mark.parametrize(
    "page",
    [
        f'<!DOCTYPE html><title>Links</title><a href="../../x.whl">x</a><a href="../..{LINK}#sha256=0">{WHEEL}</a>',
        f'<base href="/"><A HREF=files/{WHEEL}>{WHEEL}</A',
    ],
)
def test_pages_in_html(index: Server, page: str) -> None:
    index.files[PAGE], index.types[PAGE] = page.encode(), "text/html; charset=utf-8"
    index.sends_parts = "base" not in page
    assert fetched("small", from_index(index)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({PAGE: b"{}"}, "localhost: its page is no index of packages"),
        ({PAGE: b'{"files": []}'}, f"localhost: has no {WHEEL}"),
        ({LINK: CONTENT}, "localhost: no wheel with the file in it (File is not a zip file)"),
        ({LINK: wheel(b"other")}, "localhost: no wheel with the file in it (5 bytes in place of 300,000)"),
        ({LINK: wheel(CONTENT[::-1])}, "the package katrain in pip's index: has another file than the published one"),
    ],
    ids=["no index", "no wheel", "no archive", "another size", "another file"],
)
@pytest.mark.parametrize("sends_parts", [True, False])
def test_an_index_that_has_something_else(
    index: Server, changes: dict[str, bytes], reason: str, sends_parts: bool, folder: Path
) -> None:
    index.sends_parts = sends_parts
    index.files |= changes
    said = refusal(*from_index(index))
    assert "localhost: 404 Not Found; " in said
    assert reason in said
    assert parts(folder) == {}


def test_pip_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pip_settings() == {}
    named = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(named))
    named.write_text(
        "[global]\nindex-url = https://a/simple\nextra_index_url =\n  https://b/simple\n  https://c/simple\nproxy=p:1\n"
        "[download]\nindex-url = https://d/100%simple\n[install]\nindex-url = https://e\n"
    )
    found = pip_settings()
    assert (found["index-url"], found["proxy"]) == ("https://d/100%simple", "p:1")
    assert found["extra-index-url"].split() == ["https://b/simple", "https://c/simple"]
    monkeypatch.setenv("PIP_INDEX_URL", "https://f/simple")
    assert pip_settings()["index-url"] == "https://f/simple"
    named.write_text("no settings")
    assert pip_settings()["index-url"] == "https://f/simple"


def test_a_second_index_an_index_with_a_password_and_one_without_https(
    index: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://localhost/simple")
    assert "http://localhost/simple/katrain/: only https is used" in refusal(*from_index(index))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.address.replace("//", "//me:secret@") + "/simple/")
    fetched("small", from_index(index))
    asked = {path: headers.get("authorization") for path, headers in index.requests}
    assert asked[PAGE] == asked[LINK] == "Basic bWU6c2VjcmV0"


# --- The command --------------------------------------------------------------------------------------------------


def nobi(*arguments: object, code: int = 0) -> None:
    assert command_line.run(["networks", *map(str, arguments)]) == code


def test_get_opens_sockets_and_says_where_to_put_the_file_without_a_connection(tmp_path: Path) -> None:
    """The list opens none, as no other command does: tests/gtp_engine/test_sessions.py."""
    report = tmp_path / "report"
    command = [*GUARD, str(report), sys.executable, "-m", "gtp_engine.cli", "networks"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    if done.returncode == CANNOT_GUARD:
        pytest.skip("this system does not tell of sockets")
    assert (done.returncode, report.exists()) == (0, False)
    done = subprocess.run(
        [*command, "get", FOR_PROCESSORS], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1
    assert "of family" in report.read_text()
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(f"put it at {tmp_path}/data/networks/{FOR_PROCESSORS}.bin.gz")
    assert "pypi.org: " in done.stderr
    assert not (tmp_path / "data" / "networks").exists()


def test_a_file_is_taken_used_and_found_by_its_beginning(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp_engine.tools.networks.MEASURE_SECONDS", 0.01)
    source = tmp_path / "downloaded.bin.gz"
    source.write_bytes(SMALL_NETWORK.read_bytes())
    nobi("get", "mine", "--from", source)
    assert capsys.readouterr().out.splitlines() == [
        str(folder / "mine.bin.gz"),
        "to play with it: nobi gtp --net mine; always: nobi networks use mine",
    ]
    assert network_path("mi") == folder / "mine.bin.gz"
    nobi("use", "min")
    assert f'net = "{folder / "mine.bin.gz"}"' in (tmp_path / "config" / "config.toml").read_text()
    capsys.readouterr()
    nobi()
    shown = capsys.readouterr().out
    (row,) = [line for line in shown.splitlines() if line.lstrip().startswith("mine ")]
    assert row.split()[:4] == ["mine", "fetched", "3x16", "0.0"]
    assert float(row.split()[4]) > 0
    assert row.split()[5:] == ["plays"]
    nobi("use", "stro")
    assert 'net = "strong"' in (tmp_path / "config" / "config.toml").read_text()


def test_what_cannot_be_used_is_not_written(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(parents=True)
    (folder / "broken.bin.gz").write_bytes(SMALL_NETWORK.read_bytes()[:-1000])
    for name, reason in (
        ("broken", "truncated gzip data"),
        ("nothing", "nothing: no network at hand; `nobi networks` lists those at hand"),
        ("g170", f"g170: no network at hand; `nobi networks get {PUBLISHED[-1].name}` fetches it"),
        ("none", "none: no network at hand"),
    ):
        nobi("use", name, code=1)
        said = capsys.readouterr().err
        assert reason in said
        assert said.count("\n") == 1
    assert not (tmp_path / "config").exists()


@pytest.mark.parametrize("setting", ['player = "rave"', 'precision = "int16"'])
def test_a_network_that_the_rest_of_the_file_keeps_from_playing_is_not_written(
    setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the command line a network wins over such a setting; in the file nothing wins."""
    mine, config = tmp_path / "mine.onnx", tmp_path / "config" / "config.toml"
    mine.write_bytes(load_onnx(SMALL_NETWORK))
    config.parent.mkdir()
    config.write_text(f"{setting}\n")
    nobi("use", mine, code=1)
    assert capsys.readouterr().err == f"nobi: {config}: first remove {setting}, with which {mine} does not play\n"
    assert config.read_text() == f"{setting}\n"


def test_no_network_plays_where_the_player_has_no_use_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    for player, playing in (("rave", 0), ("puct", 1)):
        config.write_text(f'player = "{player}"\nnet = "strong"\n')
        nobi()
        assert capsys.readouterr().out.count(" plays") == playing


@pytest.mark.parametrize(
    ("name", "file", "content", "reason"),
    [
        ("mine", "a.bin.gz", b"hello", "a.bin.gz: not a usable KataGo network: ends early"),
        ("mine", "a.bin.gz", gzip.compress(b"hello", mtime=0)[:-4], "a.bin.gz: not a usable KataGo network: truncated"),
        ("mine", "a.onnx", b"hello", "a.onnx: "),
        ("mine", "a.zip", b"hello", "a.zip: not a network file"),
        ("mine", "missing.bin.gz", None, "missing.bin.gz: No such file or directory"),
        ("strong", "a.bin.gz", b"hello", "strong: no name for a network"),
        ("fast", "a.bin.gz", b"hello", "fast: no name for a network"),
        ("none", "a.bin.gz", b"hello", "none: no name for a network"),
        ("-x", "a.bin.gz", b"hello", "-x: no name for a network"),
        ("Con", "a.bin.gz", b"hello", "Con: no name for a network"),
        ("lpt1.b6", "a.bin.gz", b"hello", "lpt1.b6: no name for a network"),
        ("../a", "a.bin.gz", b"hello", "../a: no name for a network"),
        ("a.bin.gz", "a.bin.gz", b"hello", "a.bin.gz: no name for a network"),
        (PUBLISHED[-1].name, "a.bin.gz", b"hello", "a.bin.gz: another file than the published g170"),
    ],
)
def test_a_file_that_is_no_network_is_not_taken(
    name: str, file: str, content: bytes | None, reason: str, tmp_path: Path, folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "mine.bin.gz").write_bytes(b"what was there")
    if content is not None:
        (tmp_path / file).write_bytes(content)
    nobi("get", "--from", tmp_path / file, "--", name, code=1)
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert parts(folder) == {"mine.bin.gz": len(b"what was there")}


def test_an_address_is_taken_and_resumed(server: Server, folder: Path) -> None:
    content = SMALL_NETWORK.read_bytes()
    server.files["/a/mine.bin.gz"] = content
    server.breaks_after = 6_000
    with pytest.raises(UserError, match="broke off"):
        taken("mine", f"{server.address}/a/mine.bin.gz")
    assert list(parts(folder).values()) == [6_000 * ATTEMPTS]
    server.breaks_after = None
    sent = server.sent
    assert taken("mine", f"{server.address}/a/mine.bin.gz").read_bytes() == content
    assert server.sent - sent == len(content) - 6_000 * ATTEMPTS
    server.breaks_after = 6_000
    with pytest.raises(UserError, match="broke off"):
        taken("mine", f"{server.address}/a/mine.bin.gz?raw=true")
    (part,) = folder.glob("*.part")
    part.write_bytes(content + b"more than the server has")
    server.breaks_after = None
    assert taken("mine", f"{server.address}/a/mine.bin.gz?raw=true").read_bytes() == content
    assert set(parts(folder)) == {"mine.bin.gz"}
    other = folder.parent / "other.bin"
    other.write_bytes(gzip.decompress(content))
    assert taken("mine", str(other)) == folder / "mine.bin"
    assert parts(folder) == {"mine.bin": other.stat().st_size}, "of one name there is one network"
    server.files["/b.bin.gz"] = CONTENT
    with pytest.raises(EvaluatorError, match="not a usable KataGo network"):
        taken("mine", f"{server.address}/b.bin.gz")
    assert set(parts(folder)) == {"mine.bin"}
    with pytest.raises(UserError, match=r"^http://localhost/b.bin.gz: only https is used$"):
        taken("mine", "http://me:secret@localhost/b.bin.gz")


def test_names_that_are_not_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    for name, reason in (
        ("nonsense", "nonsense: not among those that can be fetched"),
        ("b10c", "b10c: the names of several begin so"),
        ("", "'': "),
        ("a\x1b[1mb", "a\\x1b[1mb: not among"),
    ):
        nobi("get", name, code=1)
        assert reason in capsys.readouterr().err


# --- What is at hand ----------------------------------------------------------------------------------------------


def test_networks_of_other_programs_are_found_by_name(
    user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = SMALL_NETWORK.read_bytes()
    tool = user / ".local" / "share" / "uv" / "tools" / "katrain" / "lib" / "python3.11" / "site-packages" / "katrain"
    program = tmp_path / "programs"
    for path in (
        tool / "models" / "shipped.bin.gz",
        user / ".katrain" / "downloaded.bin.gz",
        user / ".katago" / "default_model.bin.gz",
        program / "beside.bin.gz",
        user / "LizzieYzy" / "weights" / "lizzies.bin.gz",
    ):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    (program / "katago").touch()
    monkeypatch.setenv("PATH", str(program))
    (user / ".katrain" / "leela.txt.gz").write_bytes(gzip.compress(b"1\n0.5 0.25\n"))
    (user / ".katrain" / "folder.bin.gz").mkdir()
    published = Published("known", "", len(content), "", ())
    places = {each.name: each.place for each in at_hand((published,)) if each.place != "Nobi"}
    assert places == {"known": "KaTrain"}, "all have the size of a published one"
    places = {each.name: each.place for each in at_hand() if each.place != "Nobi"}
    assert places == {
        "shipped": "KaTrain",
        "downloaded": "KaTrain",
        "default_model": "KataGo",
        "beside": "KataGo",
        "lizzies": "Lizzie",
    }
    assert network_path("ship") == tool / "models" / "shipped.bin.gz"


def test_the_beginning_of_a_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    for name in ("first", "first-b", "second"):
        (folder / f"{name}.bin.gz").touch()
    assert network_path("first") == folder / "first.bin.gz"
    assert network_path("se") == folder / "second.bin.gz"
    assert network_path("str") == network_file()
    with pytest.raises(AmbiguousName, match=r"^fir is the beginning of several networks' names: first, first-b$"):
        network_named("fir")
    with pytest.raises(ParameterError, match=r"^s is the beginning of several"):
        network_path("s")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "second").mkdir()
    assert network_path("second") == folder / "second.bin.gz", "a name is not looked for in the current folder"
    assert network_path("second.bin.gz") == Path("second.bin.gz")
    with pytest.raises(
        UserError, match=r"^b18: No such file or directory; `nobi networks get b18c384nbt-humanv0` fetches"
    ):
        check_network(Configuration({"net": "b18"}))


def test_what_a_file_says_of_its_network(tmp_path: Path) -> None:
    header = read_header(network_file())
    assert header is not None
    assert (header.version, header.blocks, header.channels, header.imitates_people) == (15, 7, 384, False)
    path = tmp_path / "a.bin.gz"
    human = "people 15 22 19 20 20 20 20 40 0.25 150 1 0 0 0 0 0 0 0 meta_encoder 192 trunk 18 384 384"
    path.write_bytes(gzip.compress(human.encode()))
    header = read_header(path)
    assert header is not None
    assert (header.name, header.blocks, header.channels, header.imitates_people) == ("people", 18, 384, True)
    for content in (b"", b"a", gzip.compress(b"a b c d"), gzip.compress(b"a 8 22")[:-9], b"a 99999 1 1"):
        path.write_bytes(content)
        assert read_header(path) is None


def test_the_strongest_for_a_move() -> None:
    rates = {"strong": 40.0, FOR_PROCESSORS: 30.0}
    assert strongest_of(rates, 5).endswith(f": {FOR_PROCESSORS} (150 evaluations)")
    assert strongest_of(rates, 0.08).endswith(": strong (3 evaluations)")
    assert strongest_of({"strong": None}, 5).endswith(": strong")
    unknown = strongest_of({"strong": None, FOR_PROCESSORS: None}, 5)
    assert unknown.startswith("strongest where it makes 3 evaluations a move")
    assert strongest_of({"of_mine": 5.0}, 5) == "none of these networks was compared with others"


def test_small_boards_need_more_evaluations() -> None:
    rates = {"strong": 220.0, FOR_PROCESSORS: 70.0}
    assert strongest(rates, 0.1, 19 * 19) == FOR_PROCESSORS
    assert strongest(rates, 0.1, 9 * 9) == "strong"
    assert strongest(rates, 1.0, 9 * 9) == FOR_PROCESSORS
    assert strongest({"of_mine": 100.0}, 1.0, 9 * 9) is None


def test_the_speed_is_remembered_for_the_settings_it_was_measured_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "a.bin.gz"
    path.write_bytes(b"1")
    configuration = Configuration({"net": str(path)})
    keep_rate(Configuration({"net": str(path), "size": "9"}), 500.0)
    assert known_rate(configuration) is None, "another board"
    keep_rate(configuration, 12.34)
    assert known_rate(configuration) == 12.3
    assert known_rate(Configuration({"net": str(path), "precision": "fp32"})) is None
    path.write_bytes(b"22")
    assert known_rate(configuration) is None, "another file"


def test_advice(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))
    assert advice(Configuration()) == f"for stronger play: nobi networks get {FOR_PROCESSORS}"
    folder.mkdir(parents=True)
    (folder / f"{FOR_PROCESSORS}.bin.gz").touch()
    assert advice(Configuration()) == f"for stronger play: nobi networks get {FOR_PROCESSORS}", "a damaged file"
    os.truncate(folder / f"{FOR_PROCESSORS}.bin.gz", PUBLISHED[0].size)
    assert advice(Configuration()) == f"for stronger play: nobi networks use {FOR_PROCESSORS}"
    assert advice(Configuration({"net": FOR_PROCESSORS})) == ""
    keep_rate(Configuration({"net": FOR_PROCESSORS}), 20.0)
    assert advice(Configuration(), 1.0) == f"for stronger play: nobi networks use {FOR_PROCESSORS}"
    assert advice(Configuration(), 0.1) == "", "it makes two evaluations"


def test_a_damaged_network_is_to_be_fetched_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(parents=True)
    small = PUBLISHED[-1].name
    for damaged in (FOR_PROCESSORS, small):
        (folder / f"{damaged}.bin.gz").write_bytes(SMALL_NETWORK.read_bytes()[:-1000])
    nobi()
    listed, get, rest = capsys.readouterr().out.partition("nobi networks get")
    assert f"not the published file, which has {PUBLISHED[0].size:,} bytes" in listed
    assert get
    assert FOR_PROCESSORS in rest.splitlines()[1]
    assert ": strong" in rest.splitlines()[-2]
    assert rest.splitlines()[-1] == f"for stronger play: nobi networks get {FOR_PROCESSORS}"
    for opening in (check_network, open_evaluator):
        with pytest.raises(EvaluatorError, match=rf"truncated.*; `nobi networks get {small}` fetches it anew$"):
            opening(Configuration({"net": small}))
    other = folder.parent / f"{small}.bin.gz"
    other.write_bytes((folder / f"{small}.bin.gz").read_bytes())
    with pytest.raises(EvaluatorError, match="truncated") as refused:
        check_network(Configuration({"net": str(other)}))
    assert "fetches" not in str(refused.value), "not where it would be fetched to"


def test_files_whose_names_name_no_network(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("", "none", "strong", "fast", "nobody"):
        (folder / f"{name}.bin.gz").write_bytes(SMALL_NETWORK.read_bytes())
    assert [each.name for each in at_hand() if each.place == "fetched"] == ["nobody"]
