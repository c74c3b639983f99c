"""README's example of use from Python: exactly that text is run, as a user's program would be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    """The code block as it stands there, in a process of its own."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    head, *moves, played = done.stdout.splitlines()
    assert re.fullmatch(r"white to play: \d+\.\d %, [+-]\d+\.\d points, 200 visits", head)
    for line in moves:
        assert re.fullmatch(r" +[A-HJ][1-9] +\d+\.\d % +[+-]\d+\.\d +\d+ visits  [A-HJ][1-9].*", line), line
    assert re.fullmatch(r"[A-HJ][1-9]", played)
