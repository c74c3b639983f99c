"""The campaign of mutated network files sees what it is there to see."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.campaigns.mutated_networks import Samples
from tests.campaigns.networks import Child
from tests.nets.random_networks import RandomNetwork

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits memory the POSIX way")


def test_mutations_are_of_both_kinds_and_can_be_repeated() -> None:
    samples = Samples()
    files = [samples.mutated(random.Random(seed)) for seed in range(60)]
    assert {ending for ending, _ in files} == {".onnx", ".bin", ".bin.gz"}
    assert files[:5] == [samples.mutated(random.Random(seed)) for seed in range(5)]


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = RandomNetwork(15)
    network.write([{"kind": "ordinary_block"}], meta=True)
    good, cut = tmp_path / "good.bin.gz", tmp_path / "cut.bin.gz"
    good.write_bytes(network.compressed())
    cut.write_bytes(network.compressed()[:-100])
    child = Child(tmp_path)
    try:
        assert child.verdict(good) == ("network", "")
        assert child.verdict(cut) == ("refused", f"{cut}: not a usable KataGo network: truncated gzip data")
        assert child.process is not None
        child.process.terminate()
        child.process.wait()
        assert child.verdict(good) == ("network", ""), "a lost child is replaced"
        monkeypatch.setattr("tests.campaigns.networks.SECONDS", 0)
        assert child.verdict(good)[0] == "failed"
    finally:
        child.close()
