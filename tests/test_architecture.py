"""The shape of the project, enforced: who may import whom, who may import what, and what has to stay light."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

ROOMS = ("nobi_machine", "go_rules", "nets", "search", "gtp_engine", "training", "nobi")
MAY_IMPORT = {
    "nobi_machine": {"nobi_machine"},
    "go_rules": {"nobi_machine", "go_rules"},
    "nets": {"nobi_machine", "go_rules", "nets"},
    "search": {"nobi_machine", "go_rules", "nets", "search"},
    "gtp_engine": {"nobi_machine", "go_rules", "nets", "search", "gtp_engine"},
    "nobi": {"nobi_machine", "go_rules", "search", "gtp_engine", "nobi"},
    "training": {"nobi_machine", "go_rules", "nets", "search", "gtp_engine", "training"},
}
"""Imports point one way. The command line names training's commands as text, and imports them when they are run."""

VECTORS = {"nets/native/simd/", "nets/native/transformers/products.py", "nets/native/transformers/arithmetic.py"}
ONLY_IN = {
    "numba": {"nobi_machine/jit.py", "nobi_machine/fused_call.py", *VECTORS},
    "llvmlite": {"nobi_machine/jit.py", "nobi_machine/linking.py", "nobi_machine/fused_call.py", *VECTORS},
    "onnxruntime": {"nets/devices.py"},
    "torch": {"training/"},
    "matplotlib": {"training/", "gtp_engine/tournament/report.py"},
    "click": {"gtp_engine/", "training/"},
    "rich": {"nobi_machine/terminal.py", "gtp_engine/", "training/"},
    **{name: {"gtp_engine/fetching.py"} for name in ("ssl", "http", "urllib", "ftplib")},
    "socket": {"gtp_engine/fetching.py", "gtp_engine/web/command.py"},
    **{name: {"gtp_engine/web/"} for name in ("starlette", "uvicorn")},
    "asyncio": {"gtp_engine/web/", "gtp_engine/cluster/"},
    **{name: {"gtp_engine/cluster/"} for name in ("dask", "distributed")},
}
"""Libraries, and the only files or folders that may import them: connections are opened in one place, and accepted
in one, those of a cluster aside."""

LIGHT = (
    "gtp_engine.cli",
    "gtp_engine.command_line",
    "gtp_engine.gtp.command",
    "gtp_engine.configuration.sources",
    "gtp_engine.gtp.loop",
    "gtp_engine.players",
)
"""What `nobi gtp` imports before it can answer `name`."""
HEAVY = ("numpy", "numba", "onnxruntime", "onnx", "rich", "msgspec", "tomlkit", "sgfmill", "torch")


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (REPOSITORY / room).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """(dotted module, whether only type checkers execute it) for every import, deferred ones included."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for_types: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for_types.update(inner for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in for_types) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: relative import"
            yield node.module or "", node in for_types


@pytest.mark.parametrize("path", sources(), ids=name)
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(REPOSITORY).parts[0]
    for module, _ in imports(path):
        target = module.split(".")[0]
        if target in (*ROOMS, "tests", "pytest", "hypothesis"):
            assert target in MAY_IMPORT[room], f"{name(path)} imports {module}"


def test_no_module_imports_itself_in_a_circle() -> None:
    """Imports for type checkers count too: whoever reads one of the modules has to read all of them."""
    modules = {name(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in sources()}
    waiting = {module: {target for target, _ in imports(path)} & set(modules) for module, path in modules.items()}
    while free := {module for module, targets in waiting.items() if not targets}:
        waiting = {module: targets - free for module, targets in waiting.items() if module not in free}
    assert not waiting, f"in a circle, or leading into one: {', '.join(sorted(waiting))}"


@pytest.mark.parametrize("path", sources(), ids=name)
def test_libraries_stay_in_their_place(path: Path) -> None:
    for module, for_types in imports(path):
        allowed = ONLY_IN.get(module.split(".")[0])
        if allowed is not None and not for_types:
            assert any(name(path).startswith(place) for place in allowed), f"{name(path)} imports {module}"


FEWEST_WORDS = 4
NO_VERBS = {"A", "All", "An", "Each", "Every", "How", "Its", "The", "What", "Where", "Whether", "Which", "Who", "Whose"}
"""With one of these a title begins, or a clause; a function is told by what it does."""


def public_docstrings(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    """(node, name, docstring) of a module, and of the public classes, functions and methods in it that have one."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        called = "the module" if isinstance(node, ast.Module) else node.name
        if called.startswith("_"):
            return
        if text := ast.get_docstring(node):
            yield node, called, text
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for child in ast.iter_child_nodes(node):
            yield from public_docstrings(child)


@pytest.mark.parametrize("path", sources(), ids=name)
def test_public_docstrings_are_sentences(path: Path) -> None:
    """Who sees only the docstring, in a hover, must be told something: no shape alone, no end of another sentence."""
    source = path.read_text(encoding="utf-8")
    assert not source or ast.get_docstring(ast.parse(source)), f"{name(path)} does not say what it is for"
    for node, called, text in public_docstrings(ast.parse(source)):
        first = text.split("\n\n")[0].strip()
        is_sentence = re.fullmatch("[A-Z0-9`'\"].*[.:?]", first, re.DOTALL) and len(text.split()) >= FEWEST_WORDS
        assert is_sentence, f"{name(path)}: {called}: {first}"
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_property(node)
        assert not is_function or first.split()[0] not in NO_VERBS, f"{name(path)}: {called}: {first}"


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_nothing_heavy_is_loaded_before_the_first_answer() -> None:
    code = f"import sys, {', '.join(LIGHT)}\nprint(*sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_folder_is_a_package() -> None:
    """A folder without `__init__.py` works in a checkout and is missing once installed."""
    for path in sources():
        assert (path.parent / "__init__.py").exists(), name(path)


COMPILED = {"kernel", "kernel_for_python", "kernel_part", "kernel_with_arrays", "intrinsic", "overload"}
"""Decorators of functions whose types numba infers."""


@pytest.mark.parametrize("path", sources(), ids=name)
def test_only_kernels_go_without_types(path: Path) -> None:
    def check(node: ast.AST, is_compiled: bool) -> None:
        for child in ast.iter_child_nodes(node):
            inside = is_compiled
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                marks = {ast.unparse(mark).split("(")[0].split(".")[-1] for mark in child.decorator_list}
                inside = is_compiled or bool(marks & COMPILED)
                given = [*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs]
                untyped = [each.arg for each in given if each.annotation is None and each.arg not in ("self", "cls")]
                complete = not untyped and child.returns is not None
                assert inside or complete, f"{name(path)}:{child.lineno}: {child.name} has no types and is no kernel"
            check(child, inside)

    check(ast.parse(path.read_text(encoding="utf-8")), False)


SETUP = configparser.ConfigParser()
SETUP.read(REPOSITORY / "setup.cfg", encoding="utf-8")


def packages(requirements: str) -> set[str]:
    """The names in one of setup.cfg's lists."""
    return {re.split("[<>=;]", line)[0].strip() for line in requirements.strip().splitlines()}


def test_every_third_party_import_is_declared_and_every_declaration_is_used() -> None:
    extras = SETUP["options.extras_require"]
    declared = packages(SETUP["options"]["install_requires"])
    declared |= {name for extra in ("train", "review", "cluster") for name in packages(extras[extra])}
    used = {module.split(".")[0] for path in sources() for module, _ in imports(path)}
    used -= set(sys.stdlib_module_names) | set(ROOMS)
    # llvmlite comes with numba, which pins the version it needs.
    assert used - declared == {"llvmlite"}
    # msgspec reads TOML with tomli where Python cannot.
    assert declared - used == {"tomli"}


TESTS = sorted((REPOSITORY / "tests").rglob("*.py"))
OWNERS = {"self", "cls", "os", "sys"}
"""Whose private names a test may use: its own objects', and two functions of Python's that are private in name only."""
OFFERED = {"_replace", "_asdict", "_fields", "_repr_svg_"}
"""Names that begin so and are public: named tuples', and what notebooks ask for."""


def private_names(path: Path) -> Iterator[str]:
    """Every use of another object's private name: imported, looked up, or given to a function as text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        found: list[str] = []
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in OWNERS:
            found = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("setattr", "getattr", "delattr"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found = [text.split(".")[-1] for text in texts[:1]]
        for each in found:
            if re.fullmatch("_[^_].*", each) and each not in OFFERED:
                yield f"{name(path)}:{node.lineno}: {each}"


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_tests_use_public_names_only(path: Path) -> None:
    assert not list(private_names(path))


def test_one_place_starts_python() -> None:
    """Any other way may look into the current directory for modules: `python -m` does, and so does multiprocessing.

    A script that needs no packages at all may have a Python that is isolated from everything.
    """
    for path in (*sources(), *sorted((REPOSITORY / "benchmarks").glob("*.py"))):
        source = path.read_text(encoding="utf-8")
        if name(path) != "nobi_machine/launch.py":
            assert not re.search(r'sys\.executable(?!, "-I")', source), name(path)
        assert "multiprocessing" not in {module.split(".")[0] for module, _ in imports(path)}, name(path)
