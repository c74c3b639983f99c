"""A parameter is added by one line in one file: everything else follows from the declaration."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REPOSITORY

ADDED = """    boldness: float = parameter(
        0.5, "How bold the search is.", unit="lions", low=0.0, high=3.0, kata="boldnessFactor", commands=("gtp",)
    )
"""
"""What a developer would write into search/nobi/parameters.py."""

PROBE = f"""
import sys, types
from pathlib import Path
import search.nobi

path = Path("search/nobi/parameters.py")
lines = path.read_text(encoding="utf-8")
before = "    cpuct: float"
assert lines.count(before) == 1
module = types.ModuleType("search.nobi.parameters")
sys.modules[module.__name__] = search.nobi.parameters = module
exec(compile(lines.replace(before, {ADDED!r} + before), str(path), "exec"), module.__dict__)

from click.testing import CliRunner
from gtp_engine.command_line import nobi
from gtp_engine.configuration.sources import load
from gtp_engine.configuration.edit import document, template
from gtp_engine.session.session import Session
from search.nobi.parameters import SearchParameters
from search.nobi.memory.context import SETTINGS, make_settings
from tests.gtp_engine.fakes import Dialogue

def configured(*settings, **options):
    return load(None, settings, options).fill(SearchParameters()).boldness

print(configured(), configured("boldness=0.75"), configured("boldness-factor=1"), configured(boldness=2.0))
print([line for line in template().splitlines() if "bold" in line])
print([line for line in document().splitlines() if "bold" in line])
print("--boldness" in CliRunner().invoke(nobi, ["gtp", "--help"]).output)
print(SETTINGS["boldness"], make_settings(SearchParameters(boldness=1.25), 81)["boldness"])
dialogue = Dialogue()
for line in ("kata-set-param boldnessFactor 1.5", "kata-get-param boldness", "kata-set-param boldness 4"):
    print(dialogue.send(line).strip())
print("boldnessFactor" in dialogue.send("kata-list-params"), dialogue.player.parameters.boldness)
"""

EXPECTED = """\
0.5 0.75 1.0 2.0
['# How bold the search is. (lions; 0 to 3)', '# boldness = 0.5']
['| `boldness` | `0.5` | How bold the search is. | lions; 0 to 3 | `boldnessFactor` |']
True
float64 1.25
=
= 1.5
? boldness must be 0 to 3, not 4
True 1.5
"""


def test_one_line_adds_a_parameter() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], cwd=REPOSITORY, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == EXPECTED
