"""README's example of use from Python: exactly that text is run, as a user's program would be."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.conftest import REPOSITORY


def test_the_python_of_the_readme_runs() -> None:
    """The code block as it stands there, in a process of its own."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"[A-HJ][1-9] \d+ \d+\.\d% [+-]\d+\.\d", line), line
