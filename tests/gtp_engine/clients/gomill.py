"""gomill 0.8.3's ringmaster (gtp_controller.py, gtp_games.py)."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import Talk, is_vertex, story

OPTIONAL = ("gomill-describe_engine", "gomill-cpu_time", "gomill-explain_last_move", "final_score")


@story("gomill", "a game")
def game(talk: Talk) -> None:
    talk.check("protocol version 2", talk.ask("protocol_version") in ("2", "2.0"))
    name, version = talk.ask("name"), talk.ask("version")
    talk.check("a name and a version of one line", "\n" not in name + version and name)
    for command in OPTIONAL:
        talk.check(f"{command} is known", talk.ask(f"known_command {command}") == "true")
    talk.check("gomill-genmove_ex is not", talk.ask("known_command gomill-genmove_ex") == "false")
    talk.check("what the engine is", talk.ask("gomill-describe_engine"))
    talk.ask("boardsize 9", "clear_board", "komi 7.5")
    move = talk.ask("genmove b").strip().lower()
    talk.check("a move", is_vertex(move))
    talk.check("what it thought", talk.ask("gomill-explain_last_move"))
    talk.ask("play w pass", "play b pass")
    talk.check("the score", re.fullmatch(r"0|[BW]\+\d+(\.\d+)?", talk.ask("final_score")))
    talk.check("seconds of the processor", float(talk.ask("gomill-cpu_time")) >= 0)


@story("gomill", "handicap")
def handicap(talk: Talk) -> None:
    layouts = {2: "C3 G7", 4: "C3 C7 G3 G7", 5: "C3 C7 E5 G3 G7", 9: "C3 C5 C7 E3 E5 E7 G3 G5 G7"}
    for stones, points in layouts.items():
        talk.ask("clear_board")
        placed = sorted(talk.ask(f"fixed_handicap {stones}").split())
        talk.check(f"{stones} fixed stones where the standard has them", placed == sorted(points.split()))
    talk.ask("clear_board")
    placed = talk.ask("place_free_handicap 3").split()
    talk.check("as many free stones as asked for", len(set(placed)) == 3 and all(map(is_vertex, placed)))
    talk.ask("clear_board", f"set_free_handicap {' '.join(placed)}")
    talk.check("the other engine takes them", is_vertex(talk.ask("genmove w")))
