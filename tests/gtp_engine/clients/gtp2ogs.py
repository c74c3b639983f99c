"""gtp2ogs 9.0, the bridge to OGS (Bot.ts, PvOutputParser.ts). Its lines end with CR and LF."""

from __future__ import annotations

import re

from tests.gtp_engine.clients.talk import GaveUp, Talk, is_vertex, story, takes_own_stones

VARIATION = re.compile(
    r"(?:CHAT|MALKOVICH):Visits (\d*) Winrate (\d+\.\d\d)% ScoreLead (-?\d+\.\d) ScoreStdev (-?\d+\.\d) "
    r"(?:\(PDA (-?\d+.\d\d)\) )?PV (.*)"
)


class Bot:
    """The bridge's side: it leaves out commands that are not listed, and gives up on every error."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.known = set(self.command("list_commands", is_known=True).splitlines())

    def command(self, line: str, is_known: bool = False) -> str:
        if not is_known and line.split()[0] not in self.known:
            raise GaveUp(f"{line.split()[0]} is not listed")
        return self.talk.ask(line + "\r")

    def load(self, *moves: str, size: str = "9", komi: str = "6.5") -> None:
        for line in ("kata-list_time_settings", f"boardsize {size}", "clear_board", f"komi {komi}"):
            self.command(line)
        for number, move in enumerate(moves):
            self.command(f"play {('black', 'white')[number % 2]} {move}")

    def move(self, colour: str, *clock: str, command: str = "genmove {}") -> list[str]:
        for line in clock:
            self.command(line)
        return self.command(command.format(colour)).lower().split(" ")


@story("gtp2ogs", "variations in the chat")
def chat(talk: Talk) -> None:
    """The first story: an engine names itself once in its life, before its first move."""
    bot = Bot(talk)
    bot.load("e5", "c3")
    bot.move("black")
    bot.move("white")
    lines = talk.partner.errors()
    named = next((number for number, line in enumerate(lines) if "KataGo" in line), len(lines))
    shown = [found for line in lines[named:] if (found := VARIATION.search(line))]
    talk.check("a line names an engine that the bridge knows, before the first variation", shown)
    talk.check("one variation for each move", len(shown) == 2)
    talk.check("winrates are percents", all(0 <= float(found[2]) <= 100 for found in shown))
    talk.check("moves are vertices", all(is_vertex(word) for found in shown for word in found[6].split()))
    others = [line for line in lines if re.search("(DISCUSSION|MALKOVICH|MAIN):", line) and not VARIATION.search(line)]
    talk.check("nothing else gets into the chat", not others)


TIMES = {
    "byo-yomi, main time": (
        ("kgs-time_settings byoyomi 600 30 5", "time_left black 580 0", "time_left white 571 0"),
        "Black originalMainTime 600 originalNumPeriods 5 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 580 inOvertime 0 numPeriodsLeftIncludingCurrent 5",
    ),
    "byo-yomi, third period": (
        ("kgs-time_settings byoyomi 600 30 5", "time_left black 28 3", "time_left white 571 0"),
        "Black originalMainTime 600 originalNumPeriods 5 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 0 inOvertime 1 numPeriodsLeftIncludingCurrent 3 numStonesLeftInPeriod 1 timeLeftInPeriod 28",
    ),
    "byo-yomi, last period and no time left of it": (
        ("kgs-time_settings byoyomi 0 30 5", "time_left black 0 1", "time_left white 30 5"),
        "Black originalMainTime 0 originalNumPeriods 5 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 0 inOvertime 1 numPeriodsLeftIncludingCurrent 1 numStonesLeftInPeriod 1 timeLeftInPeriod 0",
    ),
    "byo-yomi as Canadian overtime, main time": (
        ("time_settings 720 30 1", "time_left black 700 0", "time_left white 690 0"),
        "Black originalMainTime 720 originalNumPeriods 1 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 700 inOvertime 0 numPeriodsLeftIncludingCurrent 1",
    ),
    "byo-yomi as Canadian overtime, last period": (
        ("time_settings 720 30 1", "time_left black 25 1", "time_left white 690 0"),
        "Black originalMainTime 720 originalNumPeriods 1 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 0 inOvertime 1 numPeriodsLeftIncludingCurrent 1 numStonesLeftInPeriod 1 timeLeftInPeriod 25",
    ),
    "Canadian, main time": (
        ("kgs-time_settings canadian 600 300 10", "time_left black 550 0", "time_left white 571 0"),
        "Black originalMainTime 600 originalNumPeriods 1 numStonesPerPeriod 10 perPeriodTime 300 "
        "mainTimeLeft 550 inOvertime 0 numPeriodsLeftIncludingCurrent 1",
    ),
    "Canadian, overtime": (
        ("kgs-time_settings canadian 600 300 10", "time_left black 120 4", "time_left white 571 0"),
        "Black originalMainTime 600 originalNumPeriods 1 numStonesPerPeriod 10 perPeriodTime 300 "
        "mainTimeLeft 0 inOvertime 1 numPeriodsLeftIncludingCurrent 1 numStonesLeftInPeriod 4 timeLeftInPeriod 120",
    ),
    "Fischer": (
        ("kata-time_settings fischer-capped 120 30 300 -1", "time_left black 115 0", "time_left white 120 0"),
        "Black originalMainTime 120 increment 30 mainTimeLimit 300 mainTimeLeft 115 inOvertime 0",
    ),
    "Fischer over days": (
        ("kata-time_settings fischer-capped 259200 86400 604800 -1", "time_left black 259000 0", "time_left white 9 0"),
        "Black originalMainTime 259200 increment 86400 mainTimeLimit 604800 mainTimeLeft 259000 inOvertime 0",
    ),
    "Fischer as Canadian overtime": (
        ("kgs-time_settings canadian 90 30 1", "time_left black 85 0", "time_left white 12 1"),
        "Black originalMainTime 90 originalNumPeriods 1 numStonesPerPeriod 1 perPeriodTime 30 "
        "mainTimeLeft 85 inOvertime 0 numPeriodsLeftIncludingCurrent 1",
    ),
    "simple": (
        ("time_settings 0 60 1", "time_left black 58 1", "time_left white 60 1"),
        "Black originalMainTime 0 originalNumPeriods 1 numStonesPerPeriod 1 perPeriodTime 60 "
        "mainTimeLeft 0 inOvertime 1 numPeriodsLeftIncludingCurrent 1 numStonesLeftInPeriod 1 timeLeftInPeriod 58",
    ),
    "absolute": (
        ("time_settings 900 0 0", "time_left black 870 0", "time_left white 900 0"),
        "Black originalMainTime 900 mainTimeLeft 870 inOvertime 0",
    ),
    "none": ((), "Black none"),
}
"""By a time system and a state of its clock: what the bridge says before a move, and the clock that we understand."""


def clocked(name: str) -> None:
    @story("gtp2ogs", name)
    def told(talk: Talk) -> None:
        lines, clock = TIMES[name]
        bot = Bot(talk)
        bot.load("e5", "c3")
        for line in lines:
            bot.command(line)
        talk.check(f"the clock is {clock}", talk.ask("kata-debug-print-tc").split("\n")[0].startswith(clock))
        (move,) = bot.move("black", *lines)
        talk.check("a move", is_vertex(move))


for each in TIMES:
    clocked(each)


@story("gtp2ogs", "games")
def games(talk: Talk) -> None:
    bot = Bot(talk)
    talk.check("Fischer clocks are announced as such", "fischer-capped" in bot.command("kata-list_time_settings"))
    bot.load()
    stones = bot.move("black", command="place_free_handicap 3")
    talk.check("as many handicap stones as asked for", len(stones) == 3 and all(map(is_vertex, stones)))
    talk.check("white moves after them", is_vertex(bot.move("white")[0]))
    bot.load()
    bot.command("set_free_handicap c3 g7 c7")
    bot.command("play white e5")
    talk.check("handicap stones of the opponent's choice", True)
    bot.load("a1", "b1", "c1", size="9 13")
    talk.check("a rectangle", is_vertex(bot.move("white")[0], 13))
    bot.load("d4", "e4", "c5", "f5", "d6", "e6", "e5", "d5", "e5", "d5")
    talk.check("a repetition that OGS allows", True)
    bot.load("a2", "a3", "b1", "b2", "j9", "c1", "a1", "j8")
    talk.check("suicide that OGS allows", True)
    talk.check("suicide that OGS may not allow is none of our moves", not takes_own_stones(talk))
    bot.load("e5", "a2", "e6", "b1", "a1")
    talk.check("suicide of one stone that OGS allows under Ing's rules", is_vertex(bot.move("white")[0]))
    bot.load("e5", "pass", "pass")
    talk.check("a move after two passes", is_vertex(bot.move("white")[0]))
    bot.load("pass", "e5")
    talk.check("the board with each move", bot.command("showboard"))
