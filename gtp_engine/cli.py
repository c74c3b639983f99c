"""The start of the command `nobi`: what has to happen before anything else is imported.

Until then a Ctrl-C would print a traceback, and a file in the current directory could pass for a package. So this
module itself imports only what Python has loaded anyway; command_line.py has the subcommands.
"""

import _signal  # type: ignore[import-not-found] # the part of signal that is built into Python
import os
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit. A user never sees a traceback, unless NOBI_DEBUG is set."""
    try:
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # which ends the process, without a word
        # Numpy's own threads wait busily for small products of matrices, and take cores from ours.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            _find_only_our_own()
            from nobi_machine.interruption import end_at_once

            end_at_once()
            from gtp_engine import command_line
        except Exception as error:
            if os.environ.get("NOBI_DEBUG"):
                raise
            from gtp_engine.installation import REMEDY, damage

            found = damage()
            sys.exit(f"nobi: {found}; {REMEDY}" if found else f"nobi: {error}")
        code = command_line.run(arguments)
        end_at_once()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def board() -> None:
    """Run `nobi board`, which needs no terminal, and exit."""
    main(["board", *sys.argv[1:]])


def _find_only_our_own() -> None:
    # Where Python was started with -m, the current directory comes first: our packages come before it.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from nobi_machine.launch import find_only_our_own

    del sys.path[0]
    find_only_our_own()


if __name__ == "__main__":
    main()
