"""Lizzie 0.7 (Leelaz.java, MoveData.java). It reads stderr as if it were stdout, and numbers its commands."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.gtp_engine.clients.talk import GaveUp, Talk, is_vertex, story


class Move(NamedTuple):
    """A candidate as Lizzie shows it."""

    move: str
    visits: int
    winrate: float
    """In percent."""
    variation: list[str]


def moves(line: str, is_katago: bool) -> list[Move]:
    """The candidates of one line: pairs of words up to `pv`, which takes the rest. ValueError where Lizzie stumbles."""
    found = []
    for part in line[5:].split(" info "):
        words = part.strip().split(" ")
        at = words.index("pv")
        fields = dict(zip(words[:at:2], words[1:at:2], strict=True))
        winrate = float(fields["winrate"]) * 100 if is_katago else int(fields["winrate"]) / 100
        for name in ("prior", "lcb"):
            float(fields[name]) if is_katago else int(fields[name])
        found.append(Move(fields["move"], int(fields["visits"]), winrate, words[at + 1 :]))
    return found


def start(talk: Talk) -> bool:
    """Lizzie's first commands; whether it takes the engine for KataGo."""
    is_katago = talk.ask("name").split(" ")[0].startswith("KataGo")
    version = talk.ask("version").split(" ")[0].split(".")
    if not is_katago and int(version[1]) < 15:
        raise GaveUp(f"Lizzie requires version 0.15 or later, not {version}")
    talk.ask("boardsize 9", "komi 7.5")
    return is_katago


@story("Lizzie", "analysis in Leela Zero's form", ids=True, arguments=("gtp",))
def as_leela_zero(talk: Talk) -> None:
    talk.check("it is not KataGo by its name", not start(talk))
    talk.ask("play B E5", "play W C3")
    found = moves(talk.analyse("lz-analyze 10", "name")[-1], False)
    talk.check("candidates", found and all(is_vertex(each.move) for each in found))
    talk.check("winrates are percents", all(0 <= each.winrate <= 100 for each in found))
    talk.check("variations are vertices only", all(is_vertex(word) for each in found for word in each.variation))
    found = moves(talk.analyse("lz-analyze 10 avoid b E4,D4 30 avoid w E4,D4 30", "name")[-1], False)
    talk.check("points to avoid", not {each.move for each in found} & {"E4", "D4"})
    found = moves(talk.analyse("lz-analyze 10 allow b E4,D4 1", "play B E4")[-1], False)
    talk.check("points to allow", {each.move for each in found} <= {"E4", "D4"})
    talk.check("a move ends it", is_vertex(talk.ask("genmove W")))


@story("Lizzie", "analysis in KataGo's form", ids=True)
def as_katago(talk: Talk) -> None:
    talk.check("it is KataGo by its name", start(talk))
    talk.ask("play B E5")
    line = talk.analyse("kata-analyze 10 ownership true", "name")[-1]
    found = moves(line.split(" ownership ")[0], True)
    talk.check("candidates", found and all(is_vertex(each.move) for each in found))
    talk.check("winrates are percents", all(0 <= each.winrate <= 100 for each in found))
    talk.check("leads", all(re.search(f"move {each.move} .*scoreMean -?[0-9.]+", line) for each in found))
    ownership = [float(word) for word in line.split("ownership")[1].split()]
    talk.check("every point's owner", len(ownership) == 81 and all(-1 <= each <= 1 for each in ownership))


@story("Lizzie", "a game", ids=True)
def game(talk: Talk) -> None:
    start(talk)
    talk.ask("time_settings 0 20 1")
    stones = talk.ask("fixed_handicap 4").split(" ")
    talk.check("handicap stones", sorted(stones) == ["C3", "C7", "G3", "G7"])
    lines = talk.ask("lz-genmove_analyze W 10").split("\n")
    talk.check("the move", lines[-1].startswith("play ") and is_vertex(lines[-1][5:]))
    talk.check("a report first", any(line.startswith("info") for line in lines))
    talk.ask("undo", "clear_board", "boardsize 9 13", "komi 0", "genmove B")
    lines = talk.partner.errors()
    talk.check("stderr is never taken for a reply", not [x for x in lines if re.match("[=?]|info|play|.* -> ", x)])
