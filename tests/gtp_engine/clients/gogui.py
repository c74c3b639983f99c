"""GoGui 1.6: its window (GtpSynchronizer.java, AnalyzeDefinition.java), gogui-twogtp and gogui-regress."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import Talk, is_vertex, story

TYPES = {
    *("bwboard", "cboard", "dboard", "eplist", "gfx", "hstring", "hpstring", "none", "param", "plist", "pspairs"),
    *("pstring", "string", "sboard", "var", "varb", "varc", "varp", "varpo", "varw"),
}
"""Kinds of answers that GoGui can show."""


def start(talk: Talk) -> list[str]:
    """What each of GoGui's programs asks first."""
    talk.check("protocol version 2", talk.ask("protocol_version") == "2")
    talk.ask("name", "version")
    return talk.ask("list_commands").split("\n")


@story("gogui-twogtp", "two games")
def twogtp(talk: Talk) -> None:
    start(talk)
    talk.ask("komi 6.5")
    for number in (1, 2):
        talk.ask("boardsize 9", "clear_board", "time_settings 600 0 0")
        talk.check(f"game {number}: a move", is_vertex(talk.ask("genmove b")))
        talk.ask("play W B1")
        talk.check(f"game {number}: another", is_vertex(talk.ask("genmove b")))
        talk.ask("play W PASS", "play B PASS")
        talk.check(f"game {number}: the score", re.fullmatch(r"0|[BW]\+[\d.]+", talk.ask("final_score")))
        talk.check(f"game {number}: time of the processor", float(talk.ask("cputime")) >= 0)
    talk.check("the komi of the first game holds in the second", float(talk.ask("get_komi")) == 6.5)


@story("GoGui", "boards")
def boards(talk: Talk) -> None:
    known = start(talk)
    for name in ("gogui-interrupt", "gogui-play_sequence", "gogui-setup", "gogui-setup_player", "gg-undo", "undo"):
        talk.check(f"{name} is listed", name in known)
    talk.ask("boardsize 9", "clear_board", "komi 6.5", "time_settings 1800 60 1")
    talk.check("a sequence in one line", talk.attempt("gogui-play_sequence B D4 W E5 B PASS W C3")[0])
    talk.check("several moves back", talk.attempt("gg-undo 3")[0])
    talk.check("a move forth", talk.attempt("play W E5")[0])
    talk.ask("clear_board")
    talk.check("a position", talk.attempt("gogui-setup B D4 B E4 W D5 W E6")[0])
    talk.check("and whose turn it is", talk.attempt("gogui-setup_player W")[0])
    talk.check("a move from there", is_vertex(talk.ask("genmove w")))
    talk.ask("clear_board")
    talk.check("handicap stones", talk.attempt("set_free_handicap C3 G7")[0])
    talk.check("time that is left", talk.attempt("time_left b 1700 0")[0])
    talk.ask("play b pass", "play w pass")
    talk.check(
        "dead stones, parted by spaces or lines", all(map(is_vertex, talk.ask("final_status_list dead").split()))
    )


@story("GoGui", "Analyze dialog")
def analyze(talk: Talk) -> None:
    start(talk)
    talk.ask("boardsize 9")
    definitions = [line.split("/") for line in talk.ask("gogui-analyze_commands").split("\n")]
    talk.check("three parts a line", all(len(parts) in (3, 4) for parts in definitions))
    talk.check("types that it can show", {parts[0] for parts in definitions} <= TYPES)
    talk.check("pictures among them", sum(parts[0] == "gfx" for parts in definitions) >= 4)
    labels = [parts[1] for parts in definitions]
    talk.check("no label twice", len(set(labels)) == len(labels))
    known = talk.ask("list_commands").split("\n")
    talk.check("commands that are listed", all(parts[2].split()[0] in known for parts in definitions))
    for line in talk.ask("nobi-variation").split("\n"):
        keyword, _, rest = line.partition(" ")
        words = rest.split()
        if keyword == "VAR":
            talk.check("a variation: colours and points", set(words[::2]) <= {"b", "w"})
            talk.check("its points", all(is_vertex(word) for word in words[1::2]))
        else:
            talk.check("a text for the status line", keyword == "TEXT" and rest)
    for line in filter(None, talk.ask("nobi-ownership").split("\n")):
        keyword, *words = line.split()
        talk.check("shades", keyword == "INFLUENCE" and all(-1 <= float(word) <= 1 for word in words[1::2]))


@story("gogui-regress", "a test file", ids=True, arguments=("gtp",))
def regress(talk: Talk) -> None:
    talk.ask("boardsize 9", "clear_board", "play b D4")
    talk.check("a move that is not played", is_vertex(talk.ask("reg_genmove w")))
    talk.check("so it can be asked again", is_vertex(talk.ask("reg_genmove w")))
    talk.check("an error does not end the run", not talk.attempt("loadsgf none.sgf")[0])
    talk.check("time used", float(talk.ask("cputime")) >= 0)
