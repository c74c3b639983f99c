"""Files that must stay as they are while work depends on them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nobi_machine.inputs import Inputs


def test_a_changed_file_is_noticed_and_a_touched_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "net"
    path.write_bytes(b"old")
    inputs = Inputs({"net": path})
    os.utime(path, (1, 1))
    inputs.check()
    assert inputs.content("net") == b"old"
    path.write_bytes(b"new")
    for use in (inputs.check, lambda: inputs.content("net")):
        with pytest.raises(OSError, match=r"changed while it was in use.*net"):
            use()
    path.unlink()
    with pytest.raises(OSError, match="net"):
        inputs.check()
