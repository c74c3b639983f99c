"""`nobi web` in a real browser, as people use it: Chromium or Chrome, where one is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from go_rules.points import from_vertex
from go_rules.sgf.reader import parse_sgf
from gtp_engine.review.problems import Problem
from gtp_engine.web.pages import page_of
from gtp_engine.web.problems import Problems
from tests.systems import PATIENCE

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium or Chrome is installed", allow_module_level=True)

playwright.expect.set_options(timeout=1000 * PATIENCE)
PICTURES = os.environ.get("NOBI_PICTURES")
"""The folder where pictures of the board are to be put, if anywhere."""
GAME = (
    "(;GM[1]FF[4]SZ[9]KM[7]PB[Black]PW[White];B[ee];W[ce];B[eg];W[cg];B[gf];W[gc];B[fc];W[gd];B[aa];W[ge];B[fe];W[fb])"
)
LANGUAGES = {"en": "New game", "zh": "新对局", "ja": "新規対局", "ko": "새 대국"}
ORDINARY = {"width": 1280, "height": 860}
PHONE, SIDEWAYS = {"width": 390, "height": 844}, {"width": 844, "height": 390}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        # Without a sandbox, as root has none: what is opened is ours.
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Pages:
    """A server of its own, and pages that look at it."""

    def __init__(self, browser: Any, folder: Path) -> None:
        environment = {**os.environ, "NOBI_DATA_DIR": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "gtp_engine.cli", "web", "--no-browser", "--port", "0", "--size", "9"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert self._server.stdout is not None
        said = self._server.stdout.readline()
        link = re.search(r"http://\S+", said)
        assert link is not None, said
        self.link = link[0]
        self.home = self.link.partition("?")[0]
        self.context = browser.new_context(viewport=ORDINARY, locale="en-US", has_touch=True)
        self.context.set_default_timeout(1000 * PATIENCE)
        self.faults: list[str] = []
        self.page = self.open(self.link)

    def open(self, link: str = "") -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.goto(link or self.home)
        page.wait_for_selector("#goban .wood")
        return page

    def close(self) -> None:
        self.context.close()
        self._server.terminate()
        _, said = self._server.communicate(timeout=PATIENCE)
        assert not self.faults
        assert "Traceback" not in said


@pytest.fixture
def pages(browser: Any, tmp_path: Path) -> Iterator[Pages]:
    opened = Pages(browser, tmp_path)
    yield opened
    opened.close()


def click(page: Any, vertex: str, size: int = 9) -> None:
    """Click on a point of the board."""
    x, y = "ABCDEFGHJKLMNOPQRST".index(vertex[0]), size - int(vertex[1:])
    wood = page.locator("#goban .wood").bounding_box()
    unit = wood["width"] / (size + 1)
    page.mouse.click(wood["x"] + unit * (1 + x), wood["y"] + unit * (1 + y))


def stones(page: Any) -> int:
    return int(page.locator(".stones .black, .stones .white").count())


def wait_for_stones(page: Any, count: int) -> None:
    playwright.expect(page.locator(".stones .black, .stones .white")).to_have_count(count)


def confirm(page: Any) -> None:
    """Press a dialog's main button, and wait for its end: the game behind may come before, and takes no click then."""
    page.click("#dialog button.main")
    page.wait_for_selector("#dialog", state="hidden")


def begin(page: Any, **answers: str) -> None:
    page.click("#new")
    for name, value in answers.items():
        page.select_option(f"#{name}", value)
    confirm(page)


def swipe(page: Any, by: int) -> None:
    """Draw a finger over the board, so many pixels to the right."""
    wood = page.locator("#goban .wood").bounding_box()
    x, y = wood["x"] + wood["width"] / 2, wood["y"] + wood["height"] / 2
    session = page.context.new_cdp_session(page)
    for kind, points in (("Start", [{"x": x, "y": y}]), ("Move", [{"x": x + by, "y": y + 5}]), ("End", [])):
        session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})


def open_text(page: Any, text: str) -> None:
    page.click("#open")
    page.fill("#dialog textarea", text)
    page.click("#dialog button.main")


@pytest.mark.slow
def test_a_game_is_played_counted_and_kept(pages: Pages) -> None:
    """Reloaded in the middle, nothing is lost."""
    page = pages.page
    begin(page, size="9", person="1", level="6")
    held: list[Any] = []
    page.route("**/api/play", lambda route: held.append(route))
    click(page, "E5")
    page.wait_for_timeout(300)
    answer = held[0].fetch()
    wait_for_stones(page, 2)
    held[0].fulfill(response=answer)
    page.wait_for_timeout(300)
    wait_for_stones(page, 2)  # the answer that comes after the engine's move leads nowhere else
    page.unroute("**/api/play")
    page.reload()
    wait_for_stones(page, 2)
    click(page, "E5")
    playwright.expect(page.locator("#message.error")).to_have_text("Not allowed there")
    page.click("#resign")
    page.click("#dialog button.main")
    playwright.expect(page.locator("#message")).to_have_text("White wins by resignation")
    page.click("#games")
    playwright.expect(page.locator("#dialog tr")).to_have_count(2)
    playwright.expect(page.locator("#dialog tr").nth(1)).to_contain_text("White wins by resignation")


@pytest.mark.slow
def test_positions_are_analysed_and_two_pages_see_the_same(pages: Pages) -> None:
    page, other = pages.page, pages.open()
    for vertex in ("E5", "E3", "C4"):
        click(page, vertex)
    wait_for_stones(other, 3)
    page.wait_for_selector(".candidate.best")
    page.locator("#candidates tbody tr").first.hover()
    page.wait_for_selector(".line circle")
    page.mouse.move(5, 5)
    page.keyboard.press("ArrowLeft")
    wait_for_stones(page, 2)
    assert stones(other) == 3, "each page looks where it likes"
    page.keyboard.press("End")
    wait_for_stones(page, 3)
    page.click("#score")
    page.wait_for_selector("#candidates td:has-text('total')")
    page.locator("#candidates button").last.click()
    for _ in range(2):
        page.click("#pass")
    page.click("#candidates button.main")  # who plays both sides agrees with the count
    playwright.expect(page.locator("#message")).to_contain_text("wins by")


@pytest.mark.slow
def test_a_game_is_reviewed(pages: Pages) -> None:
    page = pages.page
    open_text(page, GAME)
    page.click("#review")
    page.click("#analyse")  # the review goes on while nothing else is asked for
    playwright.expect(page.locator("#engine")).to_contain_text("Reviewing")
    playwright.expect(page.locator("#engine")).not_to_contain_text("Reviewing")
    # What a search finds to be a mistake is partly chance: the first stone at the edge is one for every search.
    for _ in range(GAME.count(";")):
        page.click("#mistake")
        page.wait_for_timeout(200)
        if page.locator("#cause").is_visible():
            break
    playwright.expect(page.locator("#cause")).to_contain_text("lost about")
    page.locator("#cause button").last.click()
    page.wait_for_selector(".line circle")
    if PICTURES:
        page.locator("#cause button").last.click()
        page.click("#analyse")
        page.wait_for_selector(".candidate >> nth=2")
        page.wait_for_timeout(3000)
        page.screenshot(path=Path(PICTURES) / "web.png")


@pytest.mark.slow
def test_records_are_opened_edited_and_their_faults_said_in_a_line(pages: Pages) -> None:
    page = pages.page
    open_text(page, "no game")
    error = page.locator("#dialog .error")
    playwright.expect(error).not_to_be_empty()
    assert "\n" not in error.inner_text().strip()
    page.keyboard.press("Escape")
    open_text(page, "(;SZ[9]KM[7]PB[甲]C[hello];B[ee];W[ec](;B[cd])(;B[gg];W[gc]))")
    page.wait_for_selector("#dialog", state="hidden")
    playwright.expect(page.locator("#black-side .name")).to_have_text("甲")
    playwright.expect(page.locator("#tree circle")).to_have_count(6)
    page.keyboard.press("Home")
    playwright.expect(page.locator("#comment textarea")).to_have_value("hello")
    page.fill("#comment textarea", "goodbye")
    page.locator("#goban").hover()
    page.mouse.wheel(0, 100)
    playwright.expect(page.locator("#comment textarea")).to_have_value("")
    page.keyboard.press("Home")
    playwright.expect(page.locator("#comment textarea")).to_have_value("goodbye")
    page.click("#comment button:has-text('△')")
    click(page, "A1")
    click(page, "B1")
    playwright.expect(page.locator(".marks .mark")).to_have_count(2)
    page.click("#comment button:has-text('Set black')")
    click(page, "J9")
    wait_for_stones(page, 1)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_four_languages_a_phone_and_the_keyboard_alone(pages: Pages, language: str) -> None:
    page = pages.page
    page.set_viewport_size(PHONE)
    open_text(page, f"(;SZ[9]PB[{'Black ' * 20}]PW[{'White ' * 20}])")
    page.wait_for_selector("#dialog", state="hidden")
    page.click("#settings")
    page.select_option("#language", language)
    page.keyboard.press("Escape")
    playwright.expect(page.locator("#new")).to_have_text(LANGUAGES[language])
    page.click("#new")
    hidden = page.locator("#dialog").evaluate("dialog => dialog.scrollWidth - dialog.clientWidth")
    assert hidden <= 0, "nothing of a dialog is beside it"
    page.keyboard.press("Escape")
    wide = page.locator("body").evaluate("body => body.scrollWidth")
    assert wide <= PHONE["width"], "nothing is beside the screen"
    page.set_viewport_size(SIDEWAYS)
    wide = page.locator("body").evaluate("body => body.scrollWidth")
    assert wide <= SIDEWAYS["width"], "nothing is beside the screen"
    for each in ("#goban", *(f"#{place} button >> nth={which}" for place in ("bar", "tools") for which in (0, -1))):
        box = page.locator(each).bounding_box()
        assert min(box["x"], box["y"]) >= 0, each
        assert box["y"] + box["height"] <= SIDEWAYS["height"], f"{each}: below a phone that is held sideways"
        assert box["x"] + box["width"] <= SIDEWAYS["width"], each
    page.set_viewport_size(PHONE)
    page.locator("#goban").focus()
    for key in ("ArrowLeft", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    wait_for_stones(page, 1)
    assert page.locator("#cursor").get_attribute("aria-label").startswith("D6")
    assert page.locator("#said").inner_text().startswith("D6")


@pytest.mark.slow
def test_handicap_stones_are_placed_and_a_phone_goes_through_the_game(pages: Pages) -> None:
    page = pages.page
    page.click("#new")
    page.select_option("#handicap", "2")
    page.check("#is-free")
    confirm(page)
    playwright.expect(page.locator("#message")).to_have_text("Black places 2 more stones.")
    click(page, "C3")
    playwright.expect(page.locator("#message")).to_have_text("Black places 1 more stones.")
    click(page, "D4")
    wait_for_stones(page, 3)
    page.set_viewport_size(PHONE)
    swipe(page, 120)
    wait_for_stones(page, 2)
    swipe(page, -120)
    wait_for_stones(page, 3)


@pytest.mark.slow
def test_a_problem_is_solved_at_the_second_try(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_DATA_DIR", str(tmp_path / "data"))
    stones = "(;SZ[9]AB[cf][ce][cd][ef][ee][ed][dc]AW[df][de][dd][cg][eg][cb][eb]PL[B])"
    best, worst = (from_vertex(vertex, 9, 9) for vertex in ("D3", "A1"))
    game = parse_sgf(stones.encode()).to_game()
    assert Problems().add(game, Problem((best,), worst, (best,), 12.0), "Ann – Bob, move 15")
    pages = Pages(browser, tmp_path)
    page, message = pages.page, pages.page.locator("#message")
    playwright.expect(page.locator("#problems")).to_have_text("Problems (1)")
    page.click("#problems")
    confirm(page)
    wait_for_stones(page, 14)
    click(page, "A1")
    playwright.expect(message).to_contain_text("A1 lost")
    wait_for_stones(page, 16)
    page.click("#message button:has-text('Try again')")
    wait_for_stones(page, 14)
    click(page, "D3")
    playwright.expect(message).to_contain_text("Right! Days until it is asked again: 1.")
    playwright.expect(page.locator("#problems")).to_have_text("Problems")
    pages.close()


def test_a_page_of_its_own_needs_no_server(browser: Any, tmp_path: Path) -> None:
    nodes = [
        {
            "id": number, "parent": number - 1 if number else None, "colour": (0, 1, 2)[number], "point": point,
            "setup": None, "taken": [], "to_play": 2 if number == 1 else 1, "number": number, "marks": {},
            "comment": f"<b>move</b> {number} </script>", "loss": None,
            "analysis": {"visits": 10, "winrate": 0.5, "lead": 1.0},
            "cause": None,
        }
        for number, point in enumerate((None, 40, 20))
    ]  # fmt: skip
    game = {
        "id": "g", "name": "A <game>", "file": None, "width": 9, "height": 9, "stars": [40], "komi": 7.0,
        "rules": "chinese", "handicap": 0, "black": "甲", "white": "乙", "result": "B+R", "nodes": nodes, "at": 2,
        "mode": "analyse", "person": 0, "level": 1, "teaching": False, "limit": 3.0, "clock": None, "count": None,
        "offer": None, "unsaved": False,
    }  # fmt: skip
    file = tmp_path / "game.html"
    file.write_text(page_of(game, "甲 – 乙"), "utf-8")
    page = browser.new_page(viewport=ORDINARY)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: request.url.startswith("http") and faults.append(request.url))
    page.goto(file.as_uri())
    wait_for_stones(page, 2)
    page.keyboard.press("ArrowLeft")
    wait_for_stones(page, 1)
    playwright.expect(page.locator("#comment")).to_have_text("<b>move</b> 1 </script>")
    page.close()
    assert not faults
