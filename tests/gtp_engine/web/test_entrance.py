"""Who comes in and who does not, and what no request can reach."""

from __future__ import annotations

import json

import pytest

from gtp_engine.web.server import MOST_BYTES, NO_ENTRY
from tests.gtp_engine.web.browser import Browser, Server

JSON = {"Content_Type": "application/json"}


def test_a_token_is_good_once_and_the_cookie_is_for_no_script_and_no_other_site(server: Server) -> None:
    token = server.entrance.token
    page = Browser(server.port, token)
    assert server.tokens == [server.entrance.token] != [token]
    status, headers, _ = Browser(server.port, server.tokens[-1]).request("GET", "/")
    assert status == 200
    del page.cookie
    status, headers, body = page.request("GET", f"/?token={token}")
    assert (status, body.decode()) == (403, NO_ENTRY)
    status, headers, _ = page.request("GET", f"/?token={server.tokens[-1]}")
    assert headers["location"] == "/"
    assert {"HttpOnly", "SameSite=strict"} <= set(headers["set-cookie"].split("; "))


@pytest.mark.parametrize("path", ["/", "/api/events", "/api/download", "/page/index.html", "/api/play", "/?token=x"])
def test_without_the_cookie_nothing_is_there(server: Server, page: Browser, path: str) -> None:
    page.cookie = f"nobi_{server.port}=x"
    assert page.request("GET", path)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "10.0.0.1"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_other_names_and_other_sites_are_refused(page: Browser, headers: dict[str, str]) -> None:
    assert page.request("POST", "/api/look", b"{}", **JSON, **headers)[0] == 403


def test_the_page_itself_may_ask_by_any_of_the_names(page: Browser) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{page.port}"
        fields = {"Host": host, "Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin", **JSON}
        assert page.request("POST", "/api/look", b'{"node":0}', **fields)[0] == 200


def test_every_answer_forbids_other_code_other_frames_and_other_origins(page: Browser) -> None:
    for path in ("/", "/api/download", "/page/none", "/api/none"):
        headers = page.request("GET", path)[1]
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "path", ["/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2fserver.py", "/page//etc/passwd", "/etc/passwd"]
)
def test_no_other_file_is_served(page: Browser, path: str) -> None:
    assert page.request("GET", path)[0] == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_of_another_site_is_no_json(page: Browser, kind: str) -> None:
    assert page.request("POST", "/api/resign", b"{}", Content_Type=kind)[0] == 415


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("none", b"{}", 404),
        ("play", b"", 400),
        ("play", b"[" * 100_000, 400),
        ("play", b"{}", 400),
        ("play", b'{"node": 0, "point": 1e999}', 400),
        ("play", b'{"node": 0, "point": 81}', 400),
        ("play", b'{"node": 0, "point": -2}', 400),
        ("play", b'{"node": 7, "point": 0}', 400),
        ("play", b'{"node": 0, "point": 0, "other": 0}', 400),
        ("new", b'{"width": 26}', 400),
        ("new", b'{"komi": 1e9}', 400),
        ("new", b'{"rules": "none"}', 400),
        ("new", b'{"level": 99}', 400),
        ("new", b'{"handicap": 8, "width": 5, "height": 5}', 400),
        ("new", b'{"handicap": 400}', 400),
        ("open", b'{"name": "x", "bytes": "KDs="}', 400),
        ("open_saved", b'{"id": "../../etc/passwd"}', 400),
        ("delete_saved", b'{"id": "../x"}', 400),
        ("network", b'{"name": "/etc/passwd"}', 400),
        ("edit", b'{"node": 0, "delete": true}', 400),
        ("edit", b'{"node": 0, "marks": {"labels": {"x": "A"}}}', 400),
        ("dead", b'{"point": 0}', 400),
        ("save", b"{}", 400),
        ("open", b" " * (MOST_BYTES + 1), 413),
    ],
)
def test_bad_requests_get_one_line_and_change_nothing(page: Browser, name: str, body: bytes, status: int) -> None:
    before = page.request("GET", "/api/download")[2]
    found, _, answer = page.request("POST", f"/api/{name}", body, **JSON)
    error = json.loads(answer)["error"]
    assert found == status
    assert error
    assert "\n" not in error
    assert "internal error" not in error
    assert page.request("GET", "/api/download")[2] == before
