"""KaTrain's own engine and game classes against `nobi analysis`. Its window is not opened; kivy is stubbed.

Runs in an environment that has katrain and pysgf: python katrain_client.py NOBI GAME.sgf VISITS. Prints one line for
each check, and exits with 1 if any failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

PATIENCE = 3600.0


class Observable:
    """In the place of kivy's: KaTrain's language object is one."""

    def fbind(self, *arguments: object) -> None:
        pass

    def funbind(self, *arguments: object) -> None:
        pass


def stub_kivy() -> None:
    modules = {name: types.ModuleType(name) for name in ("kivy", "kivy.utils", "kivy._event")}
    modules["kivy.utils"].platform = "linux"  # type: ignore[attr-defined]
    modules["kivy._event"].Observable = Observable  # type: ignore[attr-defined]
    sys.modules.update(modules)


class Katrain:
    """What the engine and the game want of the program around them."""

    def __init__(self, config: dict[str, object]) -> None:
        from katrain.core import constants  # type: ignore[import-not-found]

        self.levels = constants
        self.settings = config
        self.errors: list[str] = []
        self.engine_lines: list[str] = []
        self.controls = types.SimpleNamespace(set_status=lambda *_: None)

    def __call__(self, message: str, *details: object) -> None:
        self.errors.append(f"{message} {details}")  # a window would open

    def log(self, text: object, level: int = 0) -> None:
        if level == self.levels.OUTPUT_ERROR or "warning" in str(text):
            self.errors.append(str(text))
        if level == self.levels.OUTPUT_KATAGO_STDERR:
            self.engine_lines.append(str(text))

    def config(self, name: str, default: object = None) -> object:
        section, _, key = name.partition("/")
        part = self.settings.get(section, {})
        return part.get(key, default) if key and isinstance(part, dict) else part


TAKES_IN = 5.0
"""Seconds in which KaTrain must have taken in the last answer: its engine is idle just before it has."""


def await_idle(engine: object) -> None:
    until = time.monotonic() + PATIENCE
    while not engine.is_idle() and time.monotonic() < until:  # type: ignore[attr-defined]
        time.sleep(0.05)


def main(nobi: str, sgf: str, visits: int) -> int:
    stub_kivy()
    import json
    from importlib.resources import files

    from katrain.core.engine import KataGoEngine  # type: ignore[import-not-found]
    from katrain.core.game import Game, KaTrainSGF  # type: ignore[import-not-found]

    config = json.loads((Path(str(files("katrain"))) / "config.json").read_text())
    katrain = Katrain(config)
    network = Path(__file__).resolve().parents[2] / "nets" / "weights" / "nobi-strong.bin.gz"
    settings = {**config["engine"], "katago": nobi, "model": str(network), "max_visits": visits, "max_time": PATIENCE}
    failures = 0

    def check(text: str, is_right: object) -> None:
        nonlocal failures
        failures += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} KaTrain: {text}", flush=True)

    started = time.monotonic()
    engine = KataGoEngine(katrain, settings)
    game = Game(katrain, engine, move_tree=KaTrainSGF.parse_sgf(Path(sgf).read_text()))
    nodes = list(game.root.nodes_in_tree)
    time.sleep(1.0)
    await_idle(engine)
    seconds = time.monotonic() - started
    until = time.monotonic() + TAKES_IN
    while not all(node.analysis_complete for node in nodes) and time.monotonic() < until:
        time.sleep(0.05)
    done = [node for node in nodes if node.analysis_complete]
    short = [node for node in done if node.root_visits < visits]
    check(f"{len(done)} of {len(nodes)} positions at {visits} visits in {seconds:.0f} s", len(done) == len(nodes))
    check("every position has its visits", not short)
    check(
        "every position has winrate, score, candidates, policy and ownership",
        all(
            node.winrate is not None
            and node.score is not None
            and node.candidate_moves
            and node.policy
            and node.ownership
            for node in done
        ),
    )

    with tempfile.TemporaryDirectory() as folder:
        reviewed = Path(folder) / "reviewed.sgf"
        command = [nobi, "review", sgf, "--out", str(reviewed), "--visits", str(visits)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        kept = [node for node in KaTrainSGF.parse_file(str(reviewed)).nodes_in_tree if node.analysis_from_sgf]
    is_shown = all(node.load_analysis() and node.analysis_complete and node.candidate_moves for node in kept)
    check(f"{len(kept)} positions of a review are reloaded", kept and is_shown)

    last = nodes[len(nodes) // 2]
    last.analyze(engine, ponder=True, report_every=0.25)
    time.sleep(2.0)
    pondered = last.root_visits
    engine.stop_pondering()
    await_idle(engine)
    check(f"pondering reports ({pondered} visits) and ends when told", pondered > visits and engine.is_idle())

    last.analyze(engine, region_of_interest=[2, 5, 2, 5], visits=visits)
    await_idle(engine)
    check("a region is analysed", engine.is_idle())
    check("KaTrain saw no error and no warning", not katrain.errors)
    for error in katrain.errors[:10]:
        print("     ", error[:300])
    check("KaTrain shows that the engine is ready", any("ready" in line for line in katrain.engine_lines))
    process = engine.katago_process
    stopping = time.monotonic()
    engine.shutdown(finish=None)
    process.wait(timeout=30)
    check(f"the engine ends within 1 s ({time.monotonic() - stopping:.2f} s)", time.monotonic() - stopping < 1.0)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
