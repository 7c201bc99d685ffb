"""What each notebook depends on: by reading imports, and as make sees it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_build import load

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))

depends = load("depends")

# Imports never run in these tests, so nothing in here has to exist.
PACKAGE = {
    "__init__.py": "import lazy_loader\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)",
    "__init__.pyi": "from . import rooms as rooms\nfrom .core.sums import add\nfrom .rooms import hall as lobby",
    "core/__init__.py": "",
    "core/checks.py": "",
    "core/sums.py": "from . import checks",
    "core/words.py": 'PLACE = "words.toml"',
    "core/words.toml": "",
    "rooms/__init__.py": "",
    "rooms/hall.py": 'from ..core.words import PLACE\nFOLDER = "tables"',
    "rooms/cellar.py": "def open():\n    from pkg.core import sums",
    "rooms/attic.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.rooms import cellar",
    "rooms/tables/chairs.csv": "",
    "eager/__init__.py": "from pkg.eager.first import one",
    "eager/first.py": "one = 1",
    "eager/second.py": "",
    "eager/free.csv": "",
    "__pycache__/kernel.nbi": "",
}
LAZY = {"__init__.py", "__init__.pyi"}
SUMS = LAZY | {"core/__init__.py", "core/sums.py", "core/checks.py"}
ROOMS = LAZY | {"rooms/__init__.py"}
HALL = ROOMS | {"rooms/hall.py", "rooms/tables/chairs.csv", "core/__init__.py", "core/words.py", "core/words.toml"}
EAGER = LAZY | {"eager/__init__.py", "eager/first.py", "eager/free.csv"}


@pytest.fixture
def package(tmp_path):
    for name, text in PACKAGE.items():
        path = tmp_path / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "pkg"


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("import numpy", set()),
        ("import pkg", LAZY),
        ("import pkg.core.sums", SUMS),
        ("from pkg.core import sums", SUMS),
        ("from pkg.core.sums import add", SUMS),
        ("from pkg import add", SUMS),
        ("import pkg\npkg.add(1, 2)", SUMS),
        ("import pkg as p\np.add(1, 2).real", SUMS),
        ("from pkg import lobby", HALL),
        ("import pkg\npkg.rooms.hall.FOLDER", HALL),
        ("from pkg import rooms\nrooms.hall.FOLDER", HALL),
        ("import pkg\ngetattr(pkg, name)", SUMS | HALL),
        ("from pkg import *", SUMS | HALL),
        ("def f():\n    from pkg.rooms import cellar", SUMS | ROOMS | {"rooms/cellar.py"}),
        ("from pkg.rooms import attic", ROOMS | {"rooms/attic.py"}),
        ("from pkg.eager import one", EAGER),
        ("from pkg.eager.second import *", EAGER | {"eager/second.py"}),
        ('import_module("pkg.core.checks")', LAZY | {"core/__init__.py", "core/checks.py"}),
        ("import typing\nif typing.TYPE_CHECKING:\n    import pkg\nelse:\n    import pkg.rooms", ROOMS),
    ],
)
def test_files_behind_imports(package, code, files):
    found = depends.Library(package).files(code)
    assert {path.relative_to(package).as_posix() for path in found} == files


def test_notebooks_are_read_without_their_text_and_ipythons_commands_do_nothing(tmp_path):
    cells = [("markdown", ["import nothing"]), ("code", ["import pkg\n", "%pip install x"]), ("code", ["!ls\n", "1"])]
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}))
    assert depends.code_of(path).split() == ["import", "pkg", "pass", "pass", "1"]


def test_what_notebooks_really_import_is_among_their_files():
    # The imports of each notebook run in turn, each time with a pcenlib that nothing has imported yet.
    check = """
import ast, pathlib, sys
import depends
library = depends.Library(pathlib.Path("pcenlib").absolute())
for path in sorted(pathlib.Path("notebooks").glob("*.ipynb")):
    for name in [name for name in sys.modules if name.split(".")[0] == "pcenlib"]:
        del sys.modules[name]
    code = depends.code_of(path)
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom) and " pcenlib" in ast.unparse(node):
            exec(ast.unparse(node))
    loaded = {pathlib.Path(sys.modules[name].__file__) for name in sys.modules if name.split(".")[0] == "pcenlib"}
    assert loaded, path
    assert loaded <= library.files(code), (path, loaded - library.files(code))
"""
    environment = os.environ | {"PYTHONPATH": "_ext", "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, env=environment, check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of what make looks at, in which every notebook seems to have run."""
    root = tmp_path_factory.mktemp("built")
    for folder in ("_ext", "benchmarks", "notebooks", "pcenlib"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("Makefile", "_config.yml", "_toc.yml", "pyproject.toml", "references.bib", "tests/requirements.txt"):
        (root / file).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / file, root / file)
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (root / ".venv" / ".complete").touch()
    subprocess.run(["make", "help"], cwd=root, check=True, capture_output=True)  # notes where recordings are
    for target in [*(f"executed/{name}.ipynb" for name in NOTEBOOKS), "html/index.html"]:
        (root / "_build" / target).parent.mkdir(exist_ok=True)
        (root / "_build" / target).touch()
    return root


def runs_again(root, changed):
    command = ["make", "--dry-run", f"--what-if={changed}", "executed"]
    lines = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(re.findall(r"execute\.py notebooks/(\S+)\.ipynb", lines))


def those_with(text):
    return [name for name in NOTEBOOKS if text in (ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")]


def test_only_what_changed_runs_again(built):
    assert runs_again(built, "README.md") == []
    assert runs_again(built, "notebooks/tails.ipynb") == ["tails"]
    assert runs_again(built, "_ext/execute.py") == NOTEBOOKS


def test_nothing_is_done_when_nothing_changed(built):
    done = subprocess.run(["make", "book"], cwd=built, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in done if not line.startswith("make")] == ["The book: _build/html/index.html"]


def test_an_edit_that_no_notebook_depends_on_only_rebuilds_the_pages(built):
    command = ["make", "--dry-run", "--what-if=pcenlib/__main__.py", "_build/html/index.html"]
    lines = subprocess.run(command, cwd=built, capture_output=True, text=True, check=True).stdout
    assert "jupyter-book build" in lines
    assert "execute.py" not in lines


def test_an_edit_in_a_module_runs_the_notebooks_that_use_it(built):
    assert runs_again(built, "pcenlib/core/novelty.py") == NOTEBOOKS
    assert runs_again(built, "pcenlib/field/survey.py") == ["your-recordings"]
    assert runs_again(built, "pcenlib/show/players.py") == those_with("pcenlib.show.players import")
    assert runs_again(built, "pcenlib/book/claims.toml") == those_with("import claims")


def test_code_that_cannot_be_read_stops_make(built):
    path = built / "pcenlib" / "core" / "novelty.py"
    text = path.read_text(encoding="utf-8")
    path.write_text("def", encoding="utf-8")
    result = subprocess.run(["make", "executed"], cwd=built, capture_output=True, text=True, check=False)
    path.write_text(text, encoding="utf-8")
    assert result.returncode != 0
    assert "pcenlib/core/novelty.py" in result.stderr
