"""Mutated configurations: TOML files, `--set` and GTP's parameter commands, as many as asked for.

    python -m tests.campaigns.configurations [--cases 100000] [--seed N]

Whatever is given by hand is either taken or refused in one short printable line. A file is never refused: what is wrong
in it is a few such lines, and an engine can be started with the rest. What is taken is consistent: written out again
and read again it is the same, and editing the file changes one parameter alone. What is refused changes nothing. No
file is left behind. Memory is limited, and a case that takes SECONDS ends the campaign with where it hung.

Prints each failure, then one line with the counts; the exit status is 1 if any case failed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from gtp_engine.configuration.edit import template, write_values
from gtp_engine.configuration.parameters import parameters
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError, explain
from gtp_engine.players import check
from nobi_machine.parameters import MOST_COMPLAINTS, ParameterError, toml_value
from tests.campaigns.stopping import until_stopped
from tests.gtp_engine.fakes import Dialogue
from training.config import TrainingConfig, describe, override, read_config
from training.errors import TrainingError

MEMORY = 4 << 30
SECONDS = 60
LONGEST = 500
"""Characters of a refusal, without the path."""

NAMES = [name for each in parameters() for name in (each.name, each.kata or each.name)]
NAMES += ["visits.a", "a" * 3000, "", " ", "é", '"quoted key"', "'x'", "net ", "search", "__class__", "a.b.c", "\udcff"]
NUMBERS = ["0", "-1", "1", "0.5", "7.5", "1e39", "1e400", "-1e-400", "nan", "inf", "-inf", "NaN", "Infinity", "1_000"]
NUMBERS += [
    "9" * 18,
    "9" * 19,
    "9" * 400,
    "9" * 5000,
    *["0x10", "0o7", "0b1", "１２", "1e", ".5", "5.", "+3", "1979-05-27"],
]
NUMBERS += ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "-0.0", "9223372036854775808", "1e18"]
TEXTS = ["true", "false", "yes", "auto", "fp32", "cpu", "network", "none", "19", "9x9", "99x9", "rank_5k", "japanese"]
TEXTS += ["", " ", "x" * 5000, "\\u0000", "\\n", "\\ud800", "é", "a b", "~", "/dev/zero", "\x1b[31m", '"', "\\", "'"]
TEXTS += ["\udcff"]
PIECES = [*"[]{}=.,#", '"', "'", '"""', "'''", "\n", "\r\n", "\\", "\0", "[[", "]]", "\ufeff"]


# --- Making them ---------------------------------------------------------------------------------------------------


def value(rng: random.Random, depth: int = 0) -> str:
    """A value as TOML or JSON writes it, or nearly so."""
    kind = rng.randrange(12 if depth < 4 else 7)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind < 7:
        return rng.choice(TEXTS) if rng.random() < 0.3 else f'"{rng.choice(TEXTS)}"'
    if kind < 9:
        return "[" + ",".join(value(rng, depth + 1) for _ in range(rng.randrange(4))) + "]"
    if kind < 11:
        sign = rng.choice("=:")
        return "{" + ", ".join(f"{name(rng)} {sign} {value(rng, depth + 1)}" for _ in range(rng.randrange(4))) + "}"
    count = rng.choice([10, 100, 1000, 50_000])
    return rng.choice(["[", "{a=", '{"a":', "[[", '"', "1.", "a."]) * count + rng.choice(["", "]" * count, "}" * count])


def name(rng: random.Random) -> str:
    """A parameter's name, or something else in its place."""
    found = rng.choice(NAMES)
    if rng.random() < 0.05:
        found = ".".join(rng.choice(NAMES) for _ in range(rng.choice([2, 5, 40, 5000])))
    return found.upper() if rng.random() < 0.05 else found


def pair(rng: random.Random, equals: str = " = ") -> str:
    """A name and a value: often those of a parameter, as it might be set."""
    if rng.random() < 0.4:
        return f"{name(rng)}{equals}{value(rng)}"
    parameter = rng.choice(parameters())
    usual = parameter.example if parameter.default is None else parameter.default
    if parameter.kind in (int, float) and rng.random() < 0.5:
        usual = parameter.kind(rng.choice([parameter.low or 0, parameter.high or 1, 1, 0.5, 3]))
    text = toml_value(usual)
    return f"{rng.choice((parameter.name, parameter.kata or parameter.name))}{equals}{text}"


def toml(rng: random.Random, whole: str) -> bytes:
    """A file of some lines, or a whole configuration, mutated."""
    if rng.random() < 0.5 and "# visits" in whole:
        lines = [pair(rng) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
        if rng.random() < 0.2:
            lines.insert(rng.randrange(len(lines) + 1), f"[{name(rng)}]")
        text = "\n".join(lines)
    else:
        text = "\n".join(line.removeprefix("# ") if rng.random() < 0.01 else line for line in whole.split("\n"))
    for _ in range(rng.choice([0, 0, 1, 3])):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice([rng.choice(PIECES), value(rng), ""]) + text[at + rng.choice([0, 1, 5]) :]
    if rng.random() < 0.3:
        number = rng.choice(list(re.finditer(r"[\d.]+", text)) or [None])
        text = text if number is None else text[: number.start()] + value(rng) + text[number.end() :]
    data = text.encode("utf-8", "surrogateescape")
    if rng.random() < 0.05:
        at = rng.randint(0, len(data))
        data = data[:at] + rng.randbytes(rng.choice([1, 3, 100])) + data[at:]
    return data


# --- Trying them ---------------------------------------------------------------------------------------------------


class Campaign:
    """What is tried, and what came of it. A failure raises AssertionError, or anything else."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng = rng
        self.path = folder / "config.toml"
        self.dialogue = Dialogue()
        self.templates = (template(), describe())
        self.refusals: Counter[str] = Counter()

    def file(self) -> bool:
        """A configuration file of the engine; True if all of it was taken. An engine can be started with it."""
        self.path.write_bytes(toml(self.rng, self.templates[0]))
        loaded = load(self.path, [], {})
        usable = check(loaded)
        assert len(usable.complaints) <= MOST_COMPLAINTS + 1 + len(loaded.values) - len(usable.values)
        assert check(usable) == usable
        values = dict(loaded.values)
        again = "\n".join(f"{key} = {toml_value(each)}" for key, each in values.items())
        self.path.write_text(again, encoding="utf-8")
        assert load(self.path, [], {}).values == values, "written out and read again it is another"
        return self._is_without(usable.complaints)

    def edited(self) -> bool:
        """A file in which `nobi tune` changes a parameter."""
        content = toml(self.rng, self.templates[0])
        self.path.write_bytes(content)
        before = load(self.path, [], {})
        try:
            write_values(self.path, {"batch": 3})
        except (UserError, OSError) as error:
            assert self.path.read_bytes() == content
            return self._refused(explain(error))
        after = load(self.path, [], {})
        assert after.values == {**before.values, "batch": 3}
        assert len(after.complaints) <= len(before.complaints)
        return True

    def training_file(self) -> bool:
        """A configuration file of training; True if all of it was taken. Only what is no TOML is refused."""
        self.path.write_bytes(toml(self.rng, self.templates[1]))
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                config = read_config(self.path)
        except TrainingError as error:
            is_unreadable = re.search("not TOML|larger than", str(error)) is not None
            self._refused(error)
            if not is_unreadable:
                raise
            return False
        self.path.write_text(describe(config), encoding="utf-8")
        assert read_config(self.path) == config, "written out and read again it is another"
        return self._is_without([line.removeprefix("nobi: ") for line in said.getvalue().splitlines()])

    def setting(self) -> bool:
        """A `--set` of the engine."""
        try:
            values = load(None, [pair(self.rng, self.rng.choice(["=", "=", "=", ""]))], {}).values
        except ParameterError as error:
            return self._refused(error)
        ((key, each),) = values.items()
        text = each if isinstance(each, str) else json.dumps(each)
        assert load(None, [f"{key}={text}"], {}).values == values
        return True

    def training_setting(self) -> bool:
        """A `--set` of training."""
        path = self.rng.choice(
            ["run.batch", "data.rules", "learn.match_sizes", "data.canvas_shares", "network", "x.y", "."]
        )
        try:
            override(TrainingConfig(), (f"{path}={value(self.rng)}",))
        except TrainingError as error:
            return self._refused(error)
        return True

    def parameters(self) -> bool:
        """A `kata-set-param` or `kata-set-params`, after which a refusal has changed nothing."""
        before = self.dialogue.ask("kata-get-params")
        if self.rng.random() < 0.5:
            line = f"kata-set-param {pair(self.rng, ' ')}"
        else:
            pairs = (f'"{pair(self.rng, chr(34) + ": ")}' for _ in range(self.rng.choice([1, 1, 2, 3])))
            line = "kata-set-params {" + ", ".join(pairs) + "}"
        reply = self.dialogue.send(" ".join(line.split()).partition("#")[0])
        after = self.dialogue.ask("kata-get-params")
        assert reply.endswith("\n\n")
        assert "\n" not in reply[:-2]
        assert "internal error" not in reply, reply
        if reply.startswith("?"):
            assert after == before
            return self._refused(reply[2:-2])
        assert reply == "= \n\n"
        assert all(json.loads(after)[key] is not ... for key in json.loads(before))
        return True

    def _is_without(self, complaints: Sequence[str]) -> bool:
        for complaint in complaints:
            assert complaint.startswith(str(self.path)), complaint
            self._refused(complaint)
        return not complaints

    def _refused(self, why: object) -> bool:
        text = str(why).replace(str(self.path), "FILE")
        assert text.isprintable(), text
        assert 0 < len(text) <= LONGEST, text
        self.refusals["".join(c if c.isalpha() else "#" for c in text)[:40]] += 1
        return False

    @property
    def kinds(self) -> list[Callable[[], bool]]:
        return [self.file, self.edited, self.training_file, self.setting, self.training_setting, self.parameters]


def run(cases: int, seed: int) -> tuple[Counter[str], float, Counter[str]]:
    """Try so many cases. Returns how many of each kind were taken, refused or failed, the slowest case in seconds, and
    the refusals."""
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(seed)
        campaign = Campaign(Path(folder), rng)
        with until_stopped():
            for number in range(cases):
                kind = campaign.kinds[number % len(campaign.kinds)]
                faulthandler.dump_traceback_later(SECONDS, exit=True, file=2)
                started = time.perf_counter()
                try:
                    outcome = "taken" if kind() else "refused"
                    assert {path.name for path in Path(folder).iterdir()} <= {"config.toml"}, "a file is left behind"
                except Exception:
                    outcome = "failed"
                    print(f"seed {seed}, case {number}, {kind.__name__}:\n{traceback.format_exc()[-3000:]}", flush=True)
                    if campaign.path.exists():
                        print(repr(campaign.path.read_bytes()[:500]), flush=True)
                slowest = max(slowest, time.perf_counter() - started)
                counts[f"{kind.__name__} {outcome}"] += 1
        faulthandler.cancel_dump_traceback_later()
    return counts, slowest, campaign.refusals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts, slowest, refusals = run(options.cases, options.seed)
    for reason, count in refusals.most_common(20):
        print(f"{count:6} {reason}")
    print(f"{sum(counts.values())} cases: {dict(sorted(counts.items()))}, slowest {slowest:.1f} s")
    return 1 if any("failed" in key for key in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
