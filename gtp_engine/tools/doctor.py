"""`nobi doctor`: checks that this installation can play, says what it found, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.parameters import config_options, parameter_options
from gtp_engine.configuration.sources import load, user_file
from gtp_engine.errors import explain
from gtp_engine.players import check_files
from gtp_engine.tools.checks import CHECKS, Installation, Remark


@click.command()
@parameter_options("doctor")
@config_options
def doctor(config_file: Path | None, settings: tuple[str, ...], **options: object) -> int:
    """Check that this installation can play.

    Every line is a check. Below one that failed, and below a note, stands what to do. The exit code is 1 if a check
    failed.
    """
    file = config_file or user_file()
    failures = 0
    try:
        configuration = check_files(load(config_file, settings, options))
        if not configuration.complaints:
            _say("ok", f"configuration: {file}{'' if file.is_file() else ' (none)'}")
        for complaint in configuration.complaints:
            _say("note", f"configuration: {complaint}", "mend it in the file; what Nobi starts with is the default")
    except ValueError as error:
        configuration, failures = Configuration(), 1
        _say("FAILED", f"configuration: {error}", "mend what it names")
    installation = Installation(configuration)
    for check in CHECKS:
        try:
            _say("ok", check.examine(installation))
        except Remark as remark:
            _say("note", remark.text, remark.remedy)
        except Exception as error:
            failures += 1
            _say("FAILED", f"{check.name}: {explain(error)}", check.remedy)
            if check.ends:
                break
    installation.close()
    click.echo("Nobi can play here." if not failures else f"{failures} of the checks failed.")
    return 1 if failures else 0


def _say(kind: str, text: str, remedy: str = "") -> None:
    """Print what a check found, and below it what to do."""
    click.echo(f"{kind:7} {text}")
    if remedy:
        click.echo(f"{'':7} -> {remedy}")
