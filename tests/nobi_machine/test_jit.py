"""The kernels' cache: it spares compiling, notices edits across files, and nothing in it can do harm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.points import point_at

PROGRAM = """
import numpy as np
from nobi_machine import jit
from go_rules.random import next_u64, seed_state
print(int(next_u64(seed_state(1))), jit.compilations)
"""


def done(cache: Path, program: str = PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    variables = {**os.environ, "NOBI_CACHE_DIR": str(cache), **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True)


def run(cache: Path, program: str = PROGRAM, **environment: str) -> list[str]:
    return done(cache, program, **environment).stdout.split()


def test_second_process_compiles_nothing(tmp_path):
    value, compiled = run(tmp_path)
    assert compiled == "1"
    assert run(tmp_path) == [value, "0"]
    assert [p.name for p in (tmp_path / "kernels").iterdir() if p.name.startswith(".new")] == []
    assert run(tmp_path, NUMBA_BOUNDSCHECK="1") == [value, "1"], "kernels with checks took the place of those without"


def test_a_cache_that_is_only_read_is_used(tmp_path):
    """Its files cannot be touched there, which the program imitates: tests may run as root, who can write anywhere."""
    value, _ = run(tmp_path)
    denied = """
        import os
        def refuse(*_, **__): raise PermissionError(13, "Permission denied")
        os.utime = refuse
        """
    assert run(tmp_path, textwrap.dedent(denied) + PROGRAM) == [value, "0"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system tells no owners")
@pytest.mark.parametrize("place", ["folder", "file", "above", "owner"])
def test_what_others_could_have_written_is_not_executed(tmp_path, place):
    executed = tmp_path / "executed"
    cache = tmp_path / "cache"
    plant = f"""
        import pathlib
        from nobi_machine import jit
        from go_rules.random import next_u64, seed_state
        class Payload:
            def __reduce__(self):
                return pathlib.Path.touch, (pathlib.Path({str(executed)!r}),)
        keep = jit.write_entry
        jit.write_entry = lambda path, key, content, days: keep(path, key, jit.pickle.dumps(Payload()), days)
        next_u64(seed_state(1))
        """
    run(cache, plant)
    (file,) = (cache / "kernels").iterdir()
    if place == "file":
        run(cache)
        assert executed.exists()  # so it is a good plant, where nobody else can write
        executed.unlink()
        run(cache, plant)
    if place == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file to somebody else")
        os.chown(file, 65534, 65534)
    else:
        {"folder": cache / "kernels", "file": file, "above": cache}[place].chmod(0o777)
    again = done(cache)
    assert again.stdout.split()[1:] == ["1"]
    assert not executed.exists()
    if place in ("folder", "above"):
        assert again.stderr.count("\n") == 1
        assert "other users may write there" in again.stderr
    else:
        assert again.stderr == ""


def test_kernels_run_as_python_too(tmp_path):
    """NUMBA_DISABLE_JIT=1 is for debugging: the same results, slowly."""
    value, _ = run(tmp_path)
    assert run(tmp_path, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="ignore") == [value, "0"]


def test_who_waits_for_no_compiler_plays_by_the_same_rules(tmp_path):
    points = [point_at(*each) for each in ((0, 0), (1, 0), (4, 4), (0, 1))]  # which captures
    game = Game(5, 5)
    for point in points:
        game.play(game.to_play, point)
    program = f"""
    from go_rules.game import Game
    from nobi_machine import jit
    with jit.waiting_for_no_compiler():
        game = Game(5, 5)
        for point in {points}:
            game.play(game.to_play, point)
        print(game.position["hash"], len(game.legal_moves(1)), jit.compilations)
    """
    assert run(tmp_path, program) == [str(game.position["hash"]), str(len(game.legal_moves(1))), "0"]


def test_kernels_count_no_references(tmp_path):
    """Else they would, of each array of the tree that they read."""
    program = """
    import numpy as np
    from search.nobi.tree.nodes import clear_tree, new_node, new_tree
    tree = new_tree(81, 1 << 20, False)
    clear_tree(tree)
    new_node(tree, np.uint64(1), 1)
    (compiled,) = new_node.inspect_llvm().values()
    print("new_node" in compiled, compiled.count("NRT_"))
    """
    assert run(tmp_path, program) == ["True", "0"]


def test_only_kernels_that_say_so_make_arrays(tmp_path):
    (tmp_path / "kernels_that_make_arrays.py").write_text(
        textwrap.dedent("""
        import numpy as np
        from nobi_machine.jit import kernel, kernel_with_arrays
        @kernel
        def denied(n):
            return np.ones(n).sum()
        @kernel_with_arrays
        def allowed(n):
            return np.ones(n).sum()
        @kernel
        def caller(n):
            return allowed(n)
        """)
    )
    program = """
    from kernels_that_make_arrays import allowed, caller, denied
    from numba.core.errors import TypingError
    try:
        denied(3)
    except TypingError:
        print("denied")
    print(allowed(3), caller(4))
    """
    assert run(tmp_path, program, PYTHONPATH=str(tmp_path)) == ["denied", "3.0", "4.0"]


def test_fingerprints_cover_imported_modules(tmp_path):
    """In a folder whose name is one of ours, and which Python finds before any other."""
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a_kernel.py").write_text("from benchmarks import a_member\nfrom benchmarks.a_helper import x\n")
    for name in ("a_member", "a_helper", "a_stranger"):
        (package / f"{name}.py").write_text("x = 1\n")
    program = """
        import benchmarks
        from nobi_machine.fingerprint import source_fingerprint
        print(source_fingerprint("benchmarks.a_kernel"))
        """

    def fingerprint() -> list[str]:
        return run(tmp_path, program, PYTHONPATH=str(tmp_path))

    found = [fingerprint()]
    assert fingerprint() == found[0]
    for name in ("a_helper", "a_member", "a_kernel"):
        (package / f"{name}.py").write_text("x = 2\n" + (package / f"{name}.py").read_text())
        assert fingerprint() not in found
        found.append(fingerprint())
    (package / "a_stranger.py").write_text("x = 2\n")
    assert fingerprint() == found[-1]


def test_listener_hears_of_compilations(tmp_path):
    program = """
        from nobi_machine import jit
        from go_rules.random import next_u64, seed_state
        jit.on_compile(print)
        next_u64(seed_state(1))
        """
    assert run(tmp_path, program) == ["go_rules.random.next_u64"]
    assert run(tmp_path, program) == []


@pytest.mark.slow
def test_a_game_compiles_nothing_after_the_warm_up(tmp_path):
    program = """
        import itertools, random
        from go_rules import game
        from nobi_machine import jit
        from tests.go_rules.differences import ALL_RULES
        game.warm_up()
        before = jit.compilations
        rng = random.Random(1)
        for rules, size in itertools.product(ALL_RULES, (3,)):
            played = game.Game(size, size, rules)
            while not played.is_over and played.length < 60:
                moves = played.legal_moves(played.to_play)
                played.play(played.to_play, rng.choice([*moves, 0, 0]))
            played.score([27])
            played.undo()
            played.set_position([(1, 27)], 2)
            played.copy().set_rules(rules)
        print(before > 0, jit.compilations - before)
        """
    assert run(tmp_path, program) == ["True", "0"]
