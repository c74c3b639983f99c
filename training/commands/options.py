"""What the training commands share: types of options, and the configuration that options add up to."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nobi_machine.text import parse_number, shown

if TYPE_CHECKING:
    from training.config import NetworkConfig, TrainingConfig

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

existing = click.Path(exists=True, dir_okay=False, path_type=Path)

LOWEST = 19
"""The priority of processes that get what time the others leave, on systems where `nice` sets it."""
IDLE_PRIORITY_CLASS = 0x40
"""The same on Windows."""


def give_way() -> None:
    """Let all other processes go first, from now on and until this one ends; so do those that it starts later."""
    if sys.platform == "win32":
        this_process = ctypes.c_void_p(-1)
        ctypes.windll.kernel32.SetPriorityClass(this_process, IDLE_PRIORITY_CLASS)
    else:
        os.nice(LOWEST)


class NetworkFile(click.ParamType):  # type: ignore[type-arg]
    """The type of options that name a network: an existing file, or the embedded network, `strong`."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Convert the text of an option to the path of a network's file."""
        from nets.embedded import EMBEDDED, embedded_network

        if value != EMBEDDED:
            return existing.convert(value, param, ctx)  # type: ignore[arg-type]
        path = embedded_network()
        if path is None:
            self.fail(f"this installation lacks the network {value}", param, ctx)
        return path


existing_network = NetworkFile()
folder = click.Path(file_okay=False, path_type=Path)
config_option = click.option("--config", "-c", "config_file", type=existing, help="A TOML file; --defaults shows one.")
set_option = click.option(
    "--set", "-s", "settings", multiple=True, metavar="NAME=VALUE", help="As in the file: run.batch=64."
)
threads_option = click.option(
    "--threads", type=click.IntRange(1, 256), help="Games at the same time.  [default: one for each core]"
)
precision_option = click.option(
    "--precision", type=click.Choice(["auto", "int16", "fp32"]), default="auto", show_default=True
)


def _nice(_context: click.Context, _parameter: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        give_way()


nice_option = click.option(
    "--nice", is_flag=True, expose_value=False, callback=_nice,
    help="Give way to all other work on the machine: the lowest priority.",
)  # fmt: skip


class Duration(click.ParamType):  # type: ignore[type-arg]
    """The type of options like `90s`, `25m` or `8h`; a number without a unit is seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert the text of an option to seconds."""
        text = str(value).strip().lower()
        number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "s")
        try:
            seconds = parse_number(number) * UNITS[unit]
        except ValueError:
            seconds = 0.0
        if not 0.0 < seconds < 1e9:
            self.fail(f"{shown(value)} is no duration like 90s, 25m or 8h", param, ctx)
        return seconds


def read_settings(file: Path | None, settings: tuple[str, ...], network: NetworkConfig | None = None) -> TrainingConfig:
    """Return the configuration of a file, or the default one, with `settings` in place of its values. `network` is the
    shape where neither says anything of it. Raises TrainingError."""
    from training.config import DEFAULT_NETWORK, TrainingConfig, override, read_config

    network = network or DEFAULT_NETWORK
    config = read_config(file, network) if file is not None else TrainingConfig(network=network)
    return override(config, settings)
