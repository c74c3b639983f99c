"""The command line: the subcommands of `nobi`, each in a module that is imported only when it is asked for.

`nobi gtp` has to answer its first command within 0.3 s, so nothing here, and nothing that the GTP loop imports at
start, may import numpy, numba, onnxruntime or rich.

Exit codes: 0 done, 1 something the user can mend (one line on stderr), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os

import click

from gtp_engine.errors import explain
from gtp_engine.version import VERSION
from nobi_machine.interruption import EXIT_INTERRUPTED, raise_interrupts
from nobi_machine.streams import flush_stdout, note, occupy_missing, show_everything, silence_broken_stdout

EXIT_FAILURE = 1
EXIT_USAGE = 2

GTP, ANALYSIS = "gtp", "analysis"

SUBCOMMANDS = {
    GTP: ("gtp_engine.gtp.command", "Play: a GTP engine on stdin and stdout, for a GUI or a server."),
    ANALYSIS: ("gtp_engine.json_engine.command", "Analyse: KataGo's JSON analysis engine, for KaTrain and scripts."),
    "play": ("gtp_engine.play.command", "Play against Nobi in this terminal."),
    "web": ("gtp_engine.web.command", "Play, analyse and review on a board in the browser."),
    "board": ("gtp_engine.web.command", "The same without a terminal, as the program `nobi-board`."),
    "match": ("gtp_engine.match.command", "Let two GTP engines play a match and judge it."),
    "tournament": ("gtp_engine.tournament.command", "Let every two of several GTP engines play, and rate them all."),
    "experiment": (
        "gtp_engine.tournament.experiment",
        "Measure what the ideas of tree search gain: tables and pictures.",
    ),
    "benchmark": ("gtp_engine.benchmark.command", "Measure how fast this machine searches."),
    "tune": ("gtp_engine.benchmark.tune", "Find the settings that suit this machine, and keep them."),
    "review": ("gtp_engine.review.command", "Analyse a whole game: what its moves lost, and what was better."),
    "picture": ("gtp_engine.tools.picture", "Analyse a position and draw it as an SVG file."),
    "mcts": ("gtp_engine.tools.mcts", "Play tic-tac-toe, connect four or small Go against the textbook's search."),
    "networks": ("gtp_engine.tools.networks", "List networks to play with, fetch one, and choose one for always."),
    "convert": ("gtp_engine.tools.networks", "Convert a KataGo network to ONNX."),
    "train": ("training.commands", "Train a network, in legs of a given time."),
    "records": ("training.commands", "Gather games out of SGF files, to learn from."),
    "label": ("training.commands", "Write positions and a teacher's evaluation of them to files."),
    "selfplay": ("training.commands", "Write what a network finds out in games against itself."),
    "learn": ("training.commands", "Alternate self-play and training; keep what wins its match."),
    "export": ("training.commands", "Write a training run's network to a file."),
    "yardstick": ("training.commands", "Measure a network on KataGo's training rows."),
    "worker": ("gtp_engine.cluster.worker", "Let this machine work for --cluster of other commands."),
    "players": ("gtp_engine.tools.lists", "List the searches that --player can name."),
    "config": ("gtp_engine.tools.lists", "Show every parameter, or write a configuration file to edit."),
    "version": ("gtp_engine.tools.lists", "Say which Nobi this is, and whose protocols it speaks."),
    "replay": ("gtp_engine.tools.replay", "Hold a logged dialogue once more, and compare the replies."),
    "doctor": ("gtp_engine.tools.doctor", "Check that this installation can play."),
}
"""Each subcommand's module, which has a click command of the same name, and what `nobi --help` says about it."""


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are run or asked for their own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUBCOMMANDS:
            return None
        command = getattr(importlib.import_module(SUBCOMMANDS[name][0]), name)
        assert isinstance(command, click.Command)
        if name not in (GTP, ANALYSIS):  # they have to end at once, and take over as soon as their session begins
            raise_interrupts()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            if not (near := difflib.get_close_matches(args[0], SUBCOMMANDS)):
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in SUBCOMMANDS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="`nobi COMMAND --help` explains a command's options. To play, point a Go program that speaks GTP (Sabaki, "
    "GoGui, gtp2ogs, ...) at `nobi gtp`.",
)
@click.version_option(VERSION, message="nobi %(version)s", help="Say which.")
@click.pass_context
def nobi(ctx: click.Context) -> None:
    """Nobi, a Go engine for ordinary computers."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    occupy_missing()
    show_everything()
    try:
        code = nobi.main(arguments, prog_name="nobi", standalone_mode=False)
        flush_stdout()
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "nobi"
        note(f"{error.format_message()} (see `{where} --help`)")
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        silence_broken_stdout()
        return EXIT_FAILURE
    except Exception as error:
        if os.environ.get("NOBI_DEBUG"):
            raise
        broken = silence_broken_stdout()
        is_of_stdout = broken is not None and isinstance(error, OSError) and error.errno == broken.errno
        note(f"cannot write to stdout: {explain(error)}" if is_of_stdout else explain(error))
        return EXIT_FAILURE
