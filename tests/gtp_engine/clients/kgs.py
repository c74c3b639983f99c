"""kgsGtp, the bridge to KGS, by its manual; its source is not public."""

from __future__ import annotations

import json

from tests.gtp_engine.clients import page
from tests.gtp_engine.clients.talk import GaveUp, Talk, is_vertex, story, takes_own_stones


def start(talk: Talk) -> set[str]:
    """What kgsGtp asks first; the commands that are not in the list, it never sends."""
    talk.ask("protocol_version", "name", "version")
    return set(talk.ask("list_commands").split("\n"))


def challenge(talk: Talk, rules: str, clock: str) -> bool:
    """Whether the engine takes a game: any error declines it."""
    lines = (f"kgs-rules {rules}", "boardsize 9", clock, "clear_board", "komi 6.5")
    return all(talk.attempt(line)[0] for line in lines)


@story("kgsGtp", "commands")
def commands(talk: Talk) -> None:
    known = start(talk)
    wanted = {"kgs-rules", "kgs-time_settings", "time_settings", "time_left", "kgs-game_over", "kgs-genmove_cleanup"}
    talk.check("all that it looks for is listed", wanted | {"final_status_list", "undo", "set_free_handicap"} <= known)
    talk.check("kgs-chat is not: some versions crash on its reply", "kgs-chat" not in known)
    talk.check("a stray kgs-chat is answered all the same", talk.attempt("kgs-chat game someone hello")[0])


@story("kgsGtp", "challenges")
def challenges(talk: Talk) -> None:
    start(talk)
    for rules in ("chinese", "japanese", "aga", "new_zealand"):
        talk.check(f"{rules} rules", challenge(talk, rules, "kgs-time_settings none"))
    talk.check("rules with more words", challenge(talk, "chinese more words", "kgs-time_settings none"))
    for clock in ("none", "absolute 300", "byoyomi 300 30 5", "canadian 300 600 25"):
        talk.check(f"time: {clock}", challenge(talk, "japanese", f"kgs-time_settings {clock}"))
    talk.check("a challenge may be asked about twice", challenge(talk, "chinese", "kgs-time_settings byoyomi 1 10 1"))
    talk.check("a board that is too large is declined", not talk.attempt("boardsize 38")[0])


RULES = {
    "chinese": ("POSITIONAL", "AREA", False),
    "japanese": ("SIMPLE", "TERRITORY", False),
    "aga": ("SITUATIONAL", "AREA", False),
    "new_zealand": ("SITUATIONAL", "AREA", True),
}
"""The server's rules: ko, scoring, and whether several stones may take their own liberties."""


@story("kgsGtp", "rules")
def rules(talk: Talk) -> None:
    start(talk)
    for name, expected in RULES.items():
        talk.ask(f"kgs-rules {name}")
        said = json.loads(talk.ask("kata-get-rules"))
        talk.check(f"{name}: {expected}", (said["ko"], said["scoring"], said["suicide"]) == expected)
        talk.check(f"{name}: no suicide where it is forbidden", not takes_own_stones(talk) or said["suicide"])


@story("kgsGtp", "its configuration")
def configured(talk: Talk) -> None:
    """A challenge by the lines of nobi.properties in the page about clients."""
    start(talk)
    chosen = page.properties("kgsGtp")
    minutes, seconds = map(int, chosen["rules.time"].split(":"))
    lines = (
        f"kgs-rules {chosen['rules']}",
        f"boardsize {chosen['rules.boardSize']}",
        f"kgs-time_settings absolute {60 * minutes + seconds}",
    )
    talk.check("its rules are known to us", chosen["rules"] in RULES)
    talk.check("all of it is accepted", all(talk.attempt(line)[0] for line in lines))


@story("kgsGtp", "a game to its end")
def game(talk: Talk) -> None:
    start(talk)
    if not challenge(talk, "japanese", "kgs-time_settings byoyomi 300 30 5"):
        raise GaveUp("the challenge was declined")
    talk.ask("set_free_handicap C3 G7", "time_left w 300 0", "time_left b 29 3")
    talk.check("a move", is_vertex(talk.ask("genmove w")))
    talk.ask("undo", "play w E5", "play b D5")
    talk.check("after an undo of the opponent's", is_vertex(talk.ask("genmove w")))
    talk.ask("clear_board", "play b C3", "play w G7", "play b pass", "play w pass")
    talk.check("dead stones, as vertices", all(map(is_vertex, talk.ask("final_status_list dead").split())))
    talk.check("a cleaning move", is_vertex(talk.ask("kgs-genmove_cleanup b")))
    talk.ask("kgs-game_over")
    talk.check("the game may go on after its end", is_vertex(talk.ask("genmove w")))
    talk.ask("undo")


@story("kgsGtp", "handicap")
def handicap(talk: Talk) -> None:
    start(talk)
    for stones in (2, 3, 5, 9):
        challenge(talk, "chinese", "kgs-time_settings none")
        placed = talk.ask(f"place_free_handicap {stones}").split(" ")
        talk.check(f"{stones} stones of our choice", len(set(placed)) == stones and all(map(is_vertex, placed)))
        talk.check(f"white begins after {stones}", is_vertex(talk.ask("genmove w")))
