"""A game as a page that needs no server: one file with the board's scripts and style, to open from disk or to send."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

from go_rules.points import BLACK, WHITE, to_vertex
from go_rules.rules import Rules
from gtp_engine.review.judged import Review
from gtp_engine.version import VERSION
from gtp_engine.web.game import OpenGame

IMPORT = re.compile(r'^import (?:[^;]*) from "\./(\w+)\.js";\n', re.MULTILINE)
"""An import of one of our modules, as every one of them writes it."""
FIRST = "main"
GENERATOR = '<meta name="generator" content="Nobi">'
INDEX_HEADS = ("", "Black", "White", "", "Black loses a move", "White loses a move", "worst")


def is_ours(content: bytes) -> bool:
    """Return whether this is a page that was written here."""
    return GENERATOR.encode() in content[:1000]


def reviewed_page(content: bytes, review: Review, rules: Rules, file_name: str) -> str:
    """Write a game, the `content` of its SGF file, as a page with its review. `rules` are those that it was reviewed
    by. Raises SgfError."""
    game = OpenGame.read(file_name, content, rules, review.komi, file_name)
    judged = {move.number: move for move in review.moves}
    for before, node in pairwise(game.tree.end().line()):
        if node.move is not None and node.number in judged:
            move = judged[node.number]
            before.opinion, node.opinion, node.cause = move.before, move.after, move.cause
    game.file, game.at = file_name, game.tree.root
    names = " – ".join(name for name in review.names.values() if name)
    return page_of(game.told(), names or file_name)


def index_page(reviews: Iterable[tuple[str, Review]]) -> str:
    """Write a page with a line for each of several reviewed games: the name of its page, and the review."""
    rows = "".join(
        f'<tr><td><a href="{html.escape(file, quote=True)}">{html.escape(file)}</a></td>'
        + "".join(f"<td>{html.escape(text)}</td>" for text in _line(review))
        + "</tr>\n"
        for file, review in reviews
    )
    heads = "".join(f"<th>{head}</th>" for head in INDEX_HEADS)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}<title>Nobi</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{_file("style.css")}'
        "body { display: block; padding: 1rem; } td, th { text-align: left; padding: .3rem .5rem; }</style></head>\n"
        f"<body><table><tr>{heads}</tr>\n{rows}</table></body></html>\n"
    )


def _line(review: Review) -> list[str]:
    worst = max(review.moves, key=lambda move: move.points_lost)
    return [
        review.names[BLACK],
        review.names[WHITE],
        review.result,
        *(f"{review.summaries[side].points_lost:.2f}" for side in (BLACK, WHITE)),
        f"{worst.number}: {to_vertex(worst.point, review.height)}, −{worst.points_lost:.1f}",
    ]


def page_of(game: dict[str, Any], title: str) -> str:
    """Write a game as a page of its own. `game` is what pages are told of one (web/game.py)."""
    said = json.dumps({"version": VERSION, "game": game}, ensure_ascii=False, separators=(",", ":"))
    record, page = said.replace("<", "\\u003c"), _file("index.html")
    icon = base64.b64encode(_file("icon.svg").encode()).decode()
    for old, new in (
        ('href="/page/icon.svg"', f'href="data:image/svg+xml;base64,{icon}"'),
        ('<link rel="stylesheet" href="/page/style.css">', f"<style>\n{_file('style.css')}</style>"),
        (
            '<script type="module" src="/page/main.js"></script>',
            f'<script type="application/json" id="record">{record}</script>\n'
            f'  <script type="module">\n{_script()}</script>',
        ),
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n  {GENERATOR}'),
        ("<title>Nobi</title>", f"<title>{html.escape(title)}</title>"),
    ):
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page


@lru_cache(maxsize=1)
def _script() -> str:
    """All modules as one: each after those that it imports, without the words that tie them together."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = _file(f"{name}.js")
        parts[name] = ""
        for imported in IMPORT.findall(text):
            add(imported)
        del parts[name]
        parts[name] = re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE)

    add(FIRST)
    return "\n".join(parts.values()).replace("</script", "<\\/script")


def _file(name: str) -> str:
    return (resources.files("gtp_engine.web") / "page" / name).read_text("utf-8")
