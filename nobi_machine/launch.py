"""How Nobi starts another Python, and where a Python of ours looks for modules: not in the current directory, and for
our packages in our folder only.

`python -m module` puts the current directory first on sys.path. So in a folder that holds `numpy/` or `search/`, it
would run what it finds there. This file is run instead, by its absolute path, and starts the module after it has
cleaned sys.path:

    python .../nobi_machine/launch.py module arguments

Python's own ways to the same end do not serve: `-P` is missing from 3.10, and `-I` also leaves out the packages of the
user and of PYTHONPATH. Imports only what every Python has loaded when it starts.

Names such as `search` and `training` are common, and packages of others may come before ours on sys.path: from
PYTHONPATH, or from site-packages before a checkout. So a finder for our names alone is asked before sys.path is looked
through. To put our folder first on sys.path would be wrong: where Nobi is installed it is site-packages, and what lies
there would then hide modules of the standard library and of PYTHONPATH.
"""

import os
import sys
from _frozen_importlib import ModuleSpec  # the parts of importlib that are built into Python
from _frozen_importlib_external import PathFinder

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that holds Nobi's packages."""
PACKAGES = ("nobi_machine", "go_rules", "nets", "search", "gtp_engine", "training", "nobi")
"""The names of Nobi's packages."""


def python_command(module: str, *arguments: str, root: str = ROOT) -> list[str]:
    """Return the command that runs one of our modules as a program, in a Python like this one.

    `root` is the folder of the packages, where others than these are meant.
    """
    launch = os.path.join(root, "nobi_machine", "launch.py")
    return [sys.executable, *_flags(), launch, module, *arguments]


def find_only_our_own() -> None:
    """Have later imports find our packages in ROOT, whatever has the same names, and nothing in the current directory.

    That is first on sys.path if Python was started with `-m` or `-c`, or in the folder of the script that it runs, and
    it is there where PYTHONPATH has an empty entry. A folder that PYTHONPATH names in full stays. So does the current
    directory if our packages lie there.
    """
    if _OurPackages not in sys.meta_path:  # the same of this file as a program may be there, and does no harm
        sys.meta_path.insert(0, _OurPackages)
    if sys.path and _is_current_directory(sys.path[0]):
        del sys.path[0]
    named = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    for entry in named.split(os.pathsep) if named else ():
        if not os.path.isabs(entry) and _is_current_directory(entry):
            first = next((number for number, path in enumerate(sys.path) if _is_current_directory(path)), None)
            if first is not None:
                del sys.path[first]
    sys.path[:] = [path for path in sys.path if path not in ("", os.curdir)]
    if os.path.realpath(ROOT) not in map(os.path.realpath, sys.path):
        sys.path.insert(0, ROOT)


class _OurPackages:
    """Finds our packages, which are then where Python finds their modules. It knows nothing of other names."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [ROOT]) if name in PACKAGES else None


def _is_current_directory(path: str) -> bool:
    try:
        return os.path.samefile(path or os.curdir, os.curdir)
    except OSError:  # one of them is not there
        return False


def _flags() -> list[str]:
    """What this Python was told to leave out, the new one leaves out too."""
    flags = sys.flags
    if flags.isolated:
        return ["-I"]
    told = {"-E": flags.ignore_environment, "-s": flags.no_user_site, "-B": flags.dont_write_bytecode}
    return [flag for flag, is_set in told.items() if is_set]


def _run() -> None:
    if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
        del sys.path[0]  # Python put this file's folder there, whose modules go by other names
    find_only_our_own()
    del sys.argv[0]
    import runpy

    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _run()
