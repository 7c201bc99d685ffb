"""The reference: every room has its page, and the chapters that use a function are read from their code."""

import ast
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import reference

import pcenlib

ROOT = Path(__file__).parent.parent
ROOMS = reference.rooms(ROOT / "pyproject.toml")
MODULES = sorted((ROOT / "pcenlib").rglob("*.py"))


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    target = tmp_path_factory.mktemp("book")
    reference.write(ROOT, target)
    return target


def toy(*cells):
    return {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("from pcenlib import pcen", "pcenlib.core.novelty.pcen"),
        ("import pcenlib\npcenlib.pcen(1, s=1)", "pcenlib.core.novelty.pcen"),
        ("from pcenlib.core.setting import FLOOR as floor", "pcenlib.core.setting.FLOOR"),
        ("from pcenlib.show import plots\nplots.curves(x, y)", "pcenlib.show.plots.curves"),
        ("import pcenlib.show.plots as drawn\ndrawn.STYLES['a']", "pcenlib.show.plots.STYLES"),
        ("import pcenlib.show.plots\npcenlib.show.plots.curves()", "pcenlib.show.plots.curves"),
        ("from pcenlib.simulation import ships\nships.Ship(depth=1).depth", "pcenlib.simulation.ships.Ship"),
        ("from pcenlib import Setting\nSetting.within", "pcenlib.core.setting.Setting.within"),
    ],
)
def test_what_code_uses_has_the_name_of_its_definition(code, used):
    assert used in reference.names_used(code)


def test_names_of_others_are_not_ours():
    assert not reference.names_used("import numpy as np\nfrom scipy import signal\nnp.log(2), signal.pcen")


def test_a_function_used_in_a_chapter_names_the_chapter(tmp_path):
    (tmp_path / "_toc.yml").write_text("- file: index\n- file: notebooks/b\n- file: notebooks/a\n")
    (tmp_path / "notebooks").mkdir()
    first = toy(
        ("markdown", ["# 2 Toys\n", "text"]),
        ("code", ["if True:\n", "    %pip install x\n", "from pcenlib import pcen"]),
    )
    second = toy(("markdown", "# 3 `pcen` in prose"), ("code", "print('pcen')"))
    (tmp_path / "notebooks" / "b.ipynb").write_text(json.dumps(first))
    (tmp_path / "notebooks" / "a.ipynb").write_text(json.dumps(second))
    read = reference.chapters(tmp_path)
    assert [(chapter.place, chapter.title) for chapter in read] == [
        ("notebooks/b", "2 Toys"),
        ("notebooks/a", "3 `pcen` in prose"),
    ]
    assert ["pcenlib.core.novelty.pcen" in chapter.used for chapter in read] == [True, False]


def test_every_chapter_uses_the_library():
    assert all(chapter.used for chapter in reference.chapters(ROOT))


def test_the_table_of_contents_has_a_page_for_each_room_in_order():
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert re.findall(r"file: reference/(\w+)", toc) == ROOMS
    assert "file: reference\n" in toc


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_all_its_modules_on_its_page_once(book, room):
    page = (book / "reference" / f"{room}.md").read_text(encoding="utf-8")
    shown = re.findall(rf"automodule:: pcenlib\.{room}\.(\w+)\n   :members:", page)
    paths = (ROOT / "pcenlib" / room).glob("*.py")
    assert sorted(shown) == sorted(path.stem for path in paths if not path.stem.startswith("__"))
    assert page.startswith(f"# pcenlib.{room}\n\n```{{eval-rst}}\n.. automodule:: pcenlib.{room}\n```\n")


def test_modules_come_as_the_book_meets_them():
    read = [
        reference.Chapter("one", "One", {"pcenlib.core.spectrogram.spectrogram", "pcenlib.core.setting"}),
        reference.Chapter("two", "Two", {"pcenlib.core.evaluation.mtbfa"}),
    ]
    shown = [name.removeprefix("pcenlib.core.") for name in reference.modules("core", read)]
    assert shown[:3] == ["setting", "spectrogram", "evaluation"]


def test_the_index_has_the_rooms_questions_and_the_names_to_import(book):
    page = (book / "reference.md").read_text(encoding="utf-8")
    for room in ROOMS:
        assert re.search(rf"\[{room}\]\(reference/{room}\.md\) \| [A-Z].*\? \|", page)
    for name in set(pcenlib.__all__) - {"__version__"}:
        assert re.search(rf"{{py:obj}}`{name} <pcenlib\.[\w.]+\.{name}>`\n: [A-Z].+\.\n", page), name


def test_chapters_are_not_listed_by_hand():
    listed = [path for path in MODULES if re.search(r"\bChapters? [\d*`]", path.read_text(encoding="utf-8"))]
    assert not listed


def attribute_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "property" in " ".join(map(ast.unparse, node.decorator_list)):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Module | ast.ClassDef):
            for before, after in pairwise(node.body):
                if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
                    yield ast.literal_eval(after.value)


def test_no_attribute_is_described_with_a_colon():
    """Sphinx would take what is before the colon, in the first line on an attribute or a property, for its type."""
    texts = [text for path in MODULES for text in attribute_docstrings(ast.parse(path.read_text(encoding="utf-8")))]
    assert len(texts) > 100
    assert not [text for text in texts if ": " in text.partition("\n")[0]]
