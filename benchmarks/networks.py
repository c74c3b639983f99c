"""Evaluations a second in real searches, by network and precision, with KataGo taking turns where it is given.

Each round measures everything once, one after another, so what else the machine does falls on all alike; what counts
are the ratios of medians. KataGo's figure is the `nnEvals/s` of its own benchmark (KATAGO benchmark).

python -m benchmarks.networks --net FILE... [--precision P...] [--size N] [--batch N] [--rounds N] [--seconds S]
                              [--katago BINARY --katago-config FILE [--katago-threads N] [--katago-visits N]] [--json]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
from pathlib import Path

from nobi_machine.launch import python_command

KATAGO_POSITIONS = 3
"""Of KataGo's benchmark, each searched for --katago-visits."""


def nobi_rate(net: Path, precision: str, options: argparse.Namespace) -> float:
    command = python_command("gtp_engine.cli", "benchmark", "--json")
    command += ["--net", str(net), "--precision", precision, "--size", str(options.size)]
    command += ["--batch", str(options.batch), "--seconds", str(options.seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"no figure for {net.name} at {precision}; try: {' '.join(command)}")
    return float(json.loads(done.stdout)["evals_per_second"])


def katago_rate(net: Path, options: argparse.Namespace) -> float:
    command = [str(options.katago), "benchmark", "-model", str(net), "-config", str(options.katago_config)]
    command += ["-t", str(options.katago_threads), "-v", str(options.katago_visits), "-n", str(KATAGO_POSITIONS)]
    command += ["-boardsize", str(options.size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    rates = re.findall(r"nnEvals/s = ([0-9.]+)", done.stdout)
    if done.returncode != 0 or not rates:
        raise SystemExit(f"no figure from KataGo; try: {' '.join(command)}")
    return float(rates[-1])


def measure(net: Path, options: argparse.Namespace) -> dict[str, float]:
    """The median rate of each contestant."""
    rates: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        if options.katago:
            rates.setdefault("katago", []).append(katago_rate(net, options))
        for precision in options.precision:
            rates.setdefault(precision, []).append(nobi_rate(net, precision, options))
    return {name: statistics.median(values) for name, values in rates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--net", type=Path, nargs="+", required=True)
    parser.add_argument("--precision", nargs="+", default=["int16", "fp32"])
    parser.add_argument("--size", type=int, default=19)
    parser.add_argument("--batch", type=int, default=0, help="0: what the engine chooses")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--katago", type=Path)
    parser.add_argument("--katago-config", type=Path)
    parser.add_argument("--katago-threads", type=int, default=4)
    parser.add_argument("--katago-visits", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.katago and not options.katago_config:
        parser.error("--katago needs --katago-config")
    for net in options.net:
        rates = measure(net, options)
        if options.json:
            print(json.dumps({"net": net.name, "size": options.size, "batch": options.batch, **rates}))
            continue
        print(f"{net.name}, {options.size}x{options.size}, batch {options.batch}")
        for name, rate in rates.items():
            ratio = f"  {rate / rates['katago']:5.2f} x KataGo" if "katago" in rates else ""
            print(f"  {name:8} {rate:8.1f} evaluations/s{ratio}")


if __name__ == "__main__":
    main()
