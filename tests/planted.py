"""A folder full of traps: files that pass for modules and settings, and tell if anything uses them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nobi_machine.launch import PACKAGES
from tests.conftest import REPOSITORY

LIBRARIES = (
    *("numpy", "numba", "llvmlite", "onnxruntime", "onnx", "google", "ml_dtypes", "sgfmill", "click", "rich"),
    *("msgspec", "tomlkit", "tomli", "platformdirs", "scipy", "cuda", "tbb", "torch", "matplotlib", "colorama"),
    "pygments",
)
"""What Nobi imports, and what those try to import."""
ALL_BUT_THE_FIRST = tuple(name for name in PACKAGES if name != "gtp_engine")
"""Our packages that are imported when code of ours runs already, where Python itself looks for the first."""

TRAP = "open({marker!r}, 'a').write(__name__ + '\\n')\nraise ImportError(__name__ + ' is a trap')\n"
YAML = "def safe_load(file):\n    open({marker!r}, 'a').write(file.name + '\\n')\n    return {{}}\n"
SCRIPT = "import sys\nfrom gtp_engine.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""The command `nobi`, as pip writes it."""


class Planted:
    """A folder with traps in it, and beside it the command `nobi` and a package `yaml`, which anybody may use."""

    def __init__(
        self,
        folder: Path,
        standard_library: bool = True,
        libraries: tuple[str, ...] = LIBRARIES,
        ours: tuple[str, ...] = PACKAGES,
    ) -> None:
        """`standard_library`: whether there are traps for Python's own modules; `libraries` and `ours`: for which
        packages of others, and of ours."""
        self.traps = folder / "planted"
        self.traps.mkdir(parents=True)
        self._marker = folder / "marker"
        for name in (*ours, *libraries):
            self._plant(f"{name}/__init__.py")
        for name in sorted(sys.stdlib_module_names) if standard_library else ():
            self._plant(f"{name}.py")
        for name in ("sitecustomize", "usercustomize") if standard_library else ():
            self._plant(f"{name}.py")
        (self.traps / ".numba_config.yaml").write_text("opt: 0\n")
        allowed = folder / "libraries"
        allowed.mkdir()
        (allowed / "yaml.py").write_text(YAML.format(marker=str(self._marker)))
        self.path = f"{REPOSITORY}{os.pathsep}{allowed}"
        """A PYTHONPATH that has Nobi and yaml."""
        (folder / "bin").mkdir()
        self.nobi = [sys.executable, str(folder / "bin" / "nobi")]
        (folder / "bin" / "nobi").write_text(SCRIPT)

    def sprung(self) -> list[str]:
        """The traps that were run or read."""
        return self._marker.read_text().split() if self._marker.exists() else []

    def _plant(self, name: str) -> None:
        path = self.traps / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TRAP.format(marker=str(self._marker)))
