"""The library's plan: eight rooms in a row, and the habits that keep a module easy to read."""

import importlib.util
import re
from pathlib import Path

import depends
import pytest
import reference
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import pcenlib

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "pcenlib"
MODULES = sorted(LIBRARY.rglob("*.py"))
LONG = {
    "experiments/evaluate.py": "one pipeline for every protocol, with what its worker processes call",
    "experiments/tables.py": "from counts to the book's tables, a short function for each step",
}
OF_NAMED_TUPLES = r"_fields|_asdict|_replace|_make"

each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(LIBRARY)))


def test_a_room_imports_only_from_the_rooms_before_it():
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_every_folder_is_a_room_of_the_contract():
    folders = {path.parent.name for path in LIBRARY.glob("*/*.py")}
    assert sorted(folders) == sorted(reference.rooms(ROOT / "pyproject.toml"))
    assert {path.name for path in LIBRARY.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_tests_mirror_the_rooms():
    of_rooms = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").glob("*/test_*.py")]
    mirrored = {path.with_name(path.name.removeprefix("test_")) for path in of_rooms if path.parts[0] != "pages"}
    assert not [path for path in mirrored if not (LIBRARY / path).exists()]


@pytest.mark.parametrize("room", reference.rooms(ROOT / "pyproject.toml"))
def test_a_room_opens_with_its_question(room):
    docstring = importlib.import_module(f"pcenlib.{room}").__doc__
    assert re.fullmatch(r"[A-Z][^.]+\?", docstring.splitlines()[0])


@pytest.mark.parametrize("name", pcenlib.__all__)
def test_no_module_is_also_a_name_to_import(name):
    assert importlib.util.find_spec(f"pcenlib.{name}") is None


@each_module
def test_no_private_name_is_taken_from_another_module(path):
    code = path.read_text(encoding="utf-8")
    names = [name for name in depends.references(code, "", path.name) if name.startswith("pcenlib.")]
    assert not [name for name in names if re.search(rf"\.(?!__|(?:{OF_NAMED_TUPLES})\b)_", name)]


@each_module
def test_a_module_is_short(path):
    name = path.relative_to(LIBRARY).as_posix()
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 400 or name in LONG
