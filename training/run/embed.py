"""Make a run's network one that ships with the engine: `make weights RUN=folder AS=fast ROWS=kata-rows-1024.npz`.

    nets/weights/nobi-fast.bin.gz      RUN/student.bin.gz, its matrices with as many bits as fp16 has
    nets/weights/nobi-fast-int16.npz   the results of its calibration for our own kernels
    nets/weights/nobi-fast.json        where it comes from and how it measures in fp32 and int16
    nets/weights/README.md             the model card: its table of figures is written anew

People write the rest of the card, above all how strong the network is.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nets.conversion.convert import load_model
from nets.conversion.fold import is_convolutional
from nets.embedded import EMBEDDED, WEIGHTS, facts_file, int16_file, network_file
from nets.evaluator import Evaluator, EvaluatorError
from nets.native.calibrate import calibrate, packed_by
from nets.native.evaluator import NativeEvaluator
from nets.native.unsupported import unsupported_reason
from nets.open import open_network
from training.errors import TrainingError
from training.files import write_whole
from training.run.folder import CARD, STUDENT
from training.run.measure import evaluate_function
from training.run.rounding import FP16, rounded_network
from training.run.yardstick import Yardstick, load_yardstick

BEGIN, END = "<!-- figures of {}: written by `make weights` -->", "<!-- end of the figures of {} -->"
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


def embed(run: Path, name: str, rows: Path | None) -> str:
    """Write all four files of the embedded network `name`, and return a line about them. Raises TrainingError and
    EvaluatorError."""
    source = run / STUDENT
    if not source.is_file():
        raise TrainingError(f"{run}: there is no {STUDENT}; `nobi train` writes one at the end of a leg")
    content = rounded_network(source, FP16)
    sha256 = hashlib.sha256(content).hexdigest()
    model = load_model(content, str(source))
    with TemporaryDirectory() as folder:
        path = Path(folder) / STUDENT
        path.write_bytes(content)
        plain = open_network(path, "fp32", "cpu")
    facts = {**_provenance(run / CARD), "name": model.name, "sha256": sha256}
    # Transformers are calibrated by each machine: their weights of 8 bits are only for some.
    is_left = bool(unsupported_reason(model)) or not is_convolutional(model)
    verdict = None if is_left else calibrate(model, plain, may_have_bf16=False)
    if rows is not None:
        yardstick = load_yardstick(rows)
        versions: dict[str, Evaluator] = {"fp32": plain}
        if verdict is not None:
            versions["int16"] = NativeEvaluator(packed_by(verdict, model), model.name, lambda: plain)
        facts["yardstick"] = {name: _measured(yardstick, evaluator) for name, evaluator in versions.items()}
    readme = WEIGHTS / "README.md"
    card = _with_figures(readme.read_text(encoding="utf-8"), name, table(facts))
    write_whole(network_file(name), content)
    if verdict is not None:
        write_whole(int16_file(name), verdict.to_bytes())
    write_whole(facts_file(name), json.dumps(facts, indent=1).encode() + b"\n")
    write_whole(readme, card.encode())
    return f"{model.name} is embedded as {name}"


def table(facts: dict[str, Any]) -> str:
    """Return the figures as the model card shows them."""
    lines = ["| | |", "| --- | --- |", f"| name | {facts['name']} |"]
    for key, title in (("parameters", "parameters"), ("positions", "samples drawn"), ("steps", "steps")):
        if key in facts:
            lines.append(f"| {title} | {facts[key]:,} |")
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


def _with_figures(card: str, name: str, figures: str) -> str:
    begin, end = BEGIN.format(name), END.format(name)
    if begin not in card or end not in card:
        raise TrainingError(f"the model card has no place for the figures of {name}")
    return card[: card.index(begin)] + f"{begin}\n\n{figures}\n\n" + card[card.index(end) :]


def main(arguments: list[str]) -> int:
    """Run the command line `arguments` and return the exit code."""
    if len(arguments) not in (2, 3) or not arguments[0] or arguments[1] not in EMBEDDED:
        print(f"usage: make weights RUN=folder AS={'|'.join(EMBEDDED)} [ROWS=kata-rows-1024.npz]", file=sys.stderr)
        return 2
    try:
        print(embed(Path(arguments[0]), arguments[1], Path(arguments[2]) if len(arguments) == 3 else None))
    except (TrainingError, EvaluatorError, OSError) as error:
        print(f"nobi: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
