"""A game as a page that needs no server: one file with the board's scripts and style, to open from disk or to send."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any

IMPORT = re.compile(r'^import (?:[^;]*) from "\./(\w+)\.js";\n', re.MULTILINE)
"""An import of one of our modules, as every one of them writes it."""
FIRST = "main"


def page_of(game: dict[str, Any], title: str, version: str) -> str:
    """Write a game as a page of its own. `game` is what web/table.py tells pages of one."""
    record = json.dumps({"version": version, "game": game}, ensure_ascii=False, separators=(",", ":"))
    return _with_record(record.replace("<", "\\u003c"), title)


def _with_record(record: str, title: str) -> str:
    page = _file("index.html")
    icon = base64.b64encode(_file("icon.svg").encode()).decode()
    for old, new in (
        ('href="/page/icon.svg"', f'href="data:image/svg+xml;base64,{icon}"'),
        ('<link rel="stylesheet" href="/page/style.css">', f"<style>\n{_file('style.css')}</style>"),
        (
            '<script type="module" src="/page/main.js"></script>',
            f'<script type="application/json" id="record">{record}</script>\n'
            f'  <script type="module">\n{_script()}</script>',
        ),
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
