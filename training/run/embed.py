"""Make a run's network the one that ships with the engine: `make weights RUN=folder ROWS=kata-rows-1024.npz`.

    nets/weights/nobi-strong.bin.gz           RUN/student.bin.gz, its matrices rounded to bf16
    nets/weights/nobi-strong-int16-quads.npz  the results of its calibration for our own kernels; also -groups, -pairs
    nets/weights/nobi-strong.json             where it comes from and how it measures in fp32 and int16
    nets/weights/LICENSE-nobi-strong          KataGo's notice, if it began as one of KataGo's networks or a part of one
    nets/weights/README.md                    the model card: its table of figures is written anew

A transformer has a calibration for each kind of processor. That for AVX2 alone is made by another process, whose
kernels are compiled for such a processor. A kind that this machine cannot compute is left out: processors of that kind
calibrate the network themselves, as all do where it has no attention.

People write the rest of the card, above all how strong the network is.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nets.at_hand import LICENCE
from nets.embedded import WEIGHTS, facts_file, int16_file, network_file, notice_file
from nets.evaluator import Evaluator, EvaluatorError
from nets.graph.convert import load_model
from nets.katago.model import Model
from nets.native.calibrate import Verdict, calibrate, depends_on_products, from_bytes, packed_by
from nets.native.evaluator import NativeEvaluator
from nets.native.pack import unsupported_reason
from nets.native.simd.processor import is_arm
from nets.native.transformers.products import PRODUCTS, PRODUCTS_HERE
from nets.open import open_network
from nobi_machine.launch import python_command
from nobi_machine.shipped import FAMILIES
from training.errors import TrainingError
from training.files import CARD, STUDENT, write_whole
from training.run.pack import rounded_network
from training.yardstick import Yardstick, evaluate_function, load_yardstick

BEGIN, END = "<!-- figures: written by `make weights` -->", "<!-- end of the figures -->"
CALIBRATE = "--calibrate"
"""What has a process calibrate a network for the processor that numba compiles for, and write the verdict to a file."""
LICENCE_FILE = Path(__file__).resolve().parents[2] / "LICENSE"
"""Our own licence, whose terms are the same."""
GROUPS = {"19x19": "19×19", "smaller": "smaller boards"}
FIGURES = {
    "policy_cross_entropy": "policy cross-entropy",
    "top1": "top-1",
    "value_mse": "value MSE",
    "lead_mae": "lead MAE",
    "ownership_mse": "ownership MSE",
    "value_bias": "value bias",
    "lead_bias": "lead bias",
}


def embed(run: Path, rows: Path | None) -> str:
    """Write all files of the embedded network, and return a line about them. Raises TrainingError and
    EvaluatorError."""
    source = run / STUDENT
    if not source.is_file():
        raise TrainingError(f"{run}: there is no {STUDENT}; `nobi train` writes one at the end of a leg")
    content = rounded_network(source)
    sha256 = hashlib.sha256(content).hexdigest()
    model = load_model(content, str(source))
    with TemporaryDirectory() as folder:
        path = Path(folder) / STUDENT
        path.write_bytes(content)
        plain = open_network(path, "fp32", "cpu")
        is_calibrated = depends_on_products(model) and not unsupported_reason(model)
        calibrated = _calibrated(model, plain, path) if is_calibrated else {}
    facts = {**_provenance(run / CARD), "name": model.name, "sha256": sha256}
    if rows is not None:
        yardstick = load_yardstick(rows)
        versions: dict[str, Evaluator] = {"fp32": plain}
        if calibrated:
            packed = packed_by(calibrated[PRODUCTS_HERE], model)
            versions["int16"] = NativeEvaluator(packed, model.name, lambda: plain)
        facts["yardstick"] = {name: _measured(yardstick, evaluator) for name, evaluator in versions.items()}
    readme = WEIGHTS / "README.md"
    card = _with_figures(readme.read_text(encoding="utf-8"), table(facts))
    write_whole(network_file(), content)
    for products in PRODUCTS:
        if products in calibrated:
            write_whole(int16_file(products), calibrated[products].to_bytes(model))
        else:
            int16_file(products).unlink(missing_ok=True)  # of the network before
    if "began_as" in facts:
        write_whole(notice_file(), notice(facts["began_as"]).encode())
    else:
        notice_file().unlink(missing_ok=True)
    write_whole(facts_file(), json.dumps(facts, indent=1).encode() + b"\n")
    write_whole(readme, card.encode())
    left = [each for each in PRODUCTS if calibrated and each not in calibrated]
    return f"{model.name} is embedded" + (f"; not calibrated for {', '.join(left)}" if left else "")


def _calibrated(model: Model, plain: Evaluator, path: Path) -> dict[str, Verdict]:
    """Calibrate the prepared network in the file `path`, by the kinds of products that the verdicts are for. Raises
    TrainingError."""
    verdicts = {PRODUCTS_HERE: calibrate(model, plain, may_have_bf16=False)}
    if "pairs" not in verdicts:
        verdicts["pairs"] = calibrate(model, plain, may_have_bf16=False, may_have_int8=False)
    if "groups" not in verdicts and not is_arm():
        verdicts["groups"] = _calibrated_for_avx2(model, path)
    return verdicts


def _calibrated_for_avx2(model: Model, path: Path) -> Verdict:
    """Calibrate as `_calibrated` does, in a process that knows no instructions beyond AVX2. Raises TrainingError."""
    variables = {**os.environ, **FAMILIES[-1].target()}
    result = path.with_name("groups.npz")
    command = python_command("training.run.embed", CALIBRATE, str(path), str(result))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TrainingError(f"calibrating for AVX2 failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    return from_bytes(result.read_bytes(), model)


def _write_verdict(path: Path, result: Path) -> None:
    """Calibrate the network in the file `path`, and write the verdict to another file. Raises EvaluatorError."""
    model = load_model(path.read_bytes(), str(path))
    result.write_bytes(calibrate(model, open_network(path, "fp32", "cpu"), may_have_bf16=False).to_bytes(model))


def notice(began_as: str) -> str:
    """Return the notice that goes wherever a network goes that began as one of KataGo's, or a part of one."""
    _, terms = LICENCE_FILE.read_text(encoding="utf-8").split("\n\nPermission is hereby granted", 1)
    return (
        f"{network_file().name} has learned on from the weights of {began_as}, or a part of them,\n"
        "which are those of a network of the KataGo project or began as such. KataGo's networks are\n"
        f"under this licence ({LICENCE}):\n\n"
        'Copyright David J Wu ("lightvector") and KataGo\'s other authors\n\n'
        f"Permission is hereby granted{terms}"
    )


def table(facts: dict[str, Any]) -> str:
    """Return the figures as the model card shows them."""
    lines = ["| | |", "| --- | --- |", f"| name | {facts['name']} |"]
    for key, title in (("parameters", "parameters"), ("positions", "samples drawn"), ("steps", "steps")):
        if key in facts:
            lines.append(f"| {title} | {facts[key]:,} |")
    if "began_as" in facts:
        lines.append(f"| began as, or as a part of | {facts['began_as']} |")
    lines.append(f"| SHA-256 | {facts['sha256']} |")
    if "yardstick" in facts:
        lines += ["", f"| yardstick | rows | {' | '.join(FIGURES.values())} |", "| --- " * (len(FIGURES) + 2) + "|"]
        for group, title in GROUPS.items():
            for precision, measures in facts["yardstick"].items():
                measure = measures[group]
                figures = " | ".join(f"{measure[name]:.3f}" for name in FIGURES)
                lines.append(f"| {title}, {precision} | {measure['rows']} | {figures} |")
    return "\n".join(lines)


def _provenance(path: Path) -> dict[str, Any]:
    """Return what the run says about its network, without its yardstick figures; nothing where the file is missing."""
    try:
        facts = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise TrainingError(f"{path}: damaged") from None
    return {key: value for key, value in facts.items() if key != "yardstick"}


def _measured(yardstick: Yardstick, evaluator: Evaluator) -> dict[str, Any]:
    measures = yardstick.measure(evaluate_function(evaluator))
    return {group: asdict(measure) for group, measure in zip(GROUPS, measures, strict=True)}


def _with_figures(card: str, figures: str) -> str:
    if BEGIN not in card or END not in card:
        raise TrainingError("the model card has no place for the figures")
    return card[: card.index(BEGIN)] + f"{BEGIN}\n\n{figures}\n\n" + card[card.index(END) :]


def main(arguments: list[str]) -> int:
    """Run the command line `arguments` and return the exit code."""
    is_other_process = len(arguments) == 3 and arguments[0] == CALIBRATE
    if not is_other_process and (len(arguments) not in (1, 2) or not arguments[0]):
        print("usage: make weights RUN=folder [ROWS=kata-rows-1024.npz]", file=sys.stderr)
        return 2
    try:
        if is_other_process:
            _write_verdict(Path(arguments[1]), Path(arguments[2]))
            return 0
        print(embed(Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else None))
    except (TrainingError, EvaluatorError, OSError) as error:
        print(f"nobi: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
