"""The page's files: no text and no style that nothing uses, and every text in all languages."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import gtp_engine

PAGE = resources.files("gtp_engine.web") / "page"
SOURCES = {each.name: each.read_text("utf-8") for each in PAGE.iterdir() if each.name.endswith((".js", ".html"))}
TEXTS = re.compile(r"^  (\w+): \[((?:\s*\"(?:[^\"\\]|\\.)*\",?)+)\s*\],$", re.MULTILINE)
LITERAL = re.compile(r"\"(?:[^\"\\]|\\.)*\"")


def used() -> str:
    """All that may name a text or a class: the page's scripts, and the server's modules."""
    python = "".join(path.read_text("utf-8") for path in (Path(gtp_engine.__file__).parent / "web").glob("*.py"))
    scripts = "".join(text for name, text in SOURCES.items() if name != "texts.js")
    return scripts + python + SOURCES["texts.js"].partition("export function t")[2]


def test_every_text_is_used_and_is_in_all_languages() -> None:
    texts = {name: LITERAL.findall(values) for name, values in TEXTS.findall(SOURCES["texts.js"])}
    assert len(texts) > 100
    begins = tuple(re.findall(r"(?:t|named)\(`(\w+)\$\{", used()))
    for name, languages in texts.items():
        assert len(languages) == 4, name
        values = [sorted(re.findall(r"\{\w+\}", text)) for text in languages]
        assert all(each == values[0] for each in values), f"{name}: the same values in all languages"
        assert f'"{name}"' in used() or name.startswith(begins), f"{name}: nobody says it"
    for name in re.findall(r"\b(?:t|said|Refusal)\(\"(\w+)\"", used()):
        assert name in texts, f"{name}: there is no such text"


def test_every_class_of_the_style_is_used() -> None:
    style = re.sub(r"/\*.*?\*/", "", (PAGE / "style.css").read_text("utf-8"), flags=re.DOTALL)
    rules = "".join(re.findall(r"[^{}]+(?=\{)", style))
    begins = tuple(re.findall(r"([\w-]+-)\$\{", used()))
    for name in set(re.findall(r"\.([a-z][\w-]*)", rules)):
        assert re.search(rf"\b{name}\b", used()) or name.startswith(begins), f".{name}: nothing has this class"
