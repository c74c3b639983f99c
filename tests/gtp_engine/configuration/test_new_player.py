"""A player is added by its folder and one entry in the registry: its parameters are known everywhere."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPOSITORY

PROBE = """
from dataclasses import dataclass
from nobi_machine.parameters import ParameterTable, parameter
from gtp_engine.players import PLAYERS, PlayerKind, make_player

@dataclass(frozen=True)
class DiceParameters(ParameterTable, section="dice", title="The dice", live=True):
    sides: int = parameter(6, "Sides of a die.", low=2, commands=("gtp",))

class DicePlayer:
    name, evaluator = "dice", None

    def __init__(self, parameters):
        self.parameters = parameters

PLAYERS["dice"] = PlayerKind("dice", lambda given, _: DicePlayer(given.fill(DiceParameters())), DiceParameters)

from click.testing import CliRunner
from gtp_engine.command_line import nobi
from gtp_engine.configuration.sources import load
from gtp_engine.configuration.edit import document, template
from tests.gtp_engine.fakes import Dialogue, FakePlayer

print(make_player(load(None, ["player=dice", "sides=20"], {})).parameters)
print("[dice]" in template(), "## The dice" in document())
print("--sides" in CliRunner().invoke(nobi, ["gtp", "--help"]).output)
player = FakePlayer()
player.parameters = DiceParameters()
dialogue = Dialogue(player)
for line in ("kata-set-param sides 12", "kata-get-param sides", "kata-get-param cpuct"):
    print(dialogue.send(line).strip())
"""

EXPECTED = """\
DiceParameters(sides=20)
True True
True
=
= 12
? unknown parameter: cpuct
"""


def test_one_entry_adds_a_player() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == EXPECTED
