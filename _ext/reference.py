"""The reference of pcenlib: an index, a page for each room, and the chapters that use each function.

Pages are written when the book is staged. As a Sphinx extension, this module adds to each documented name the chapters
whose code uses it, read from the notebooks themselves.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import depends
from sphinx.application import Sphinx

import pcenlib

LIBRARY = Path(pcenlib.__file__).parent


class Chapter(NamedTuple):
    """A chapter of the book, and the dotted names of what its code uses of the library."""

    place: str
    title: str
    used: Set[str]


def write(root: Path, target: Path) -> None:
    """Write the pages of the reference into a book: `reference.md`, and a page for each room in `reference/`."""
    order, read = rooms(root / "pyproject.toml"), chapters(root)
    (target / "reference.md").write_text(index_page(order), encoding="utf-8")
    (target / "reference").mkdir()
    for room in order:
        (target / "reference" / f"{room}.md").write_text(room_page(room, read), encoding="utf-8")


def index_page(order: Iterable[str]) -> str:
    """The page that opens the reference: what the library is, its rooms, and the names to import from `pcenlib`."""
    lines = ["# Reference of pcenlib", "", *automodule("pcenlib"), "## Rooms", ""]
    lines += ["| room | the question it answers |", "|---|---|"]
    lines += [f"| [{room}](reference/{room}.md) | {summary(syntax(f'pcenlib.{room}'))} |" for room in order]
    lines += ["", "## Names to import from `pcenlib`", ""]
    for name in sorted(exports(), key=str.lower):
        if not name.startswith("_"):
            module, _, defined = exports()[name].rpartition(".")
            lines += [f"{{py:obj}}`{name} <{module}.{defined}>`", f": {summary(definition(module, defined))}", ""]
    return "\n".join([*lines, "## The command", "", *automodule("pcenlib.__main__", members=True)])


def room_page(room: str, read: Sequence[Chapter]) -> str:
    """The page of a room: what it is for, then its modules."""
    lines = [f"# pcenlib.{room}", "", *automodule(f"pcenlib.{room}")]
    for module in modules(room, read):
        lines += [f"## {module.rpartition('.')[2]}", "", *automodule(module, members=True)]
    return "\n".join(lines)


def automodule(name: str, *, members: bool = False) -> list[str]:
    """The lines that put a module's docstring on a page, with what it defines if asked for."""
    return ["```{eval-rst}", f".. automodule:: {name}", *["   :members:"] * members, "```", ""]


def rooms(project: Path) -> list[str]:
    """The library's rooms, each before those that may import from it: the layers of the import contract."""
    contracts = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    names = [layer.removeprefix("pcenlib.") for layer in reversed(layers)]
    return [name for name in names if (LIBRARY / name).is_dir()]


def modules(room: str, read: Sequence[Chapter]) -> list[str]:
    """The dotted names of a room's modules in the order in which the book meets them, then those that it never names.

    Of modules that the book meets in the same chapter, one that imports another comes after it.
    """
    paths = sorted((LIBRARY / room).glob("*.py"))
    names = [f"pcenlib.{room}.{path.stem}" for path in paths if not path.stem.startswith("__")]
    needed = {name: {used for _, used in depends.imports(list(ast.walk(syntax(name))), "")} for name in names}
    before = {name: [other for other in names if other != name and touches(needed[name], other)] for name in names}
    met = {name: [touches(chapter.used, name) for chapter in read] + [True] for name in names}
    return sorted(TopologicalSorter(before).static_order(), key=lambda name: met[name].index(True))


def touches(names: Iterable[str], module: str) -> bool:
    """Whether one of these dotted names is the module, or something in it."""
    return any(f"{name}.".startswith(f"{module}.") for name in names)


@cache
def syntax(module: str) -> ast.Module:
    """The syntax tree of a module of the library."""
    path = LIBRARY.parent.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def summary(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.Expr) -> str:
    """The first paragraph of a docstring, on one line."""
    text = ast.literal_eval(node.value) if isinstance(node, ast.Expr) else ast.get_docstring(node)
    return " ".join((text or "").split("\n\n")[0].split())


def definition(module: str, name: str) -> ast.ClassDef | ast.FunctionDef | ast.Expr:
    """Where a module defines a function or a class, or the docstring below a constant."""
    body = syntax(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(following, ast.Expr) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return following
    raise ValueError(f"{module} must define {name}, with a docstring")


@cache
def exports() -> Mapping[str, str]:
    """Where each name that `pcenlib` exports is defined: `{"pcen": "pcenlib.core.novelty.pcen"}`."""
    stub = ast.parse((LIBRARY / "__init__.pyi").read_text(encoding="utf-8"))
    return dict(depends.imports(list(ast.walk(stub)), "pcenlib"))


def names_used(code: str) -> set[str]:
    """The dotted names of what code uses of the library, each as it is called where it is defined."""
    return {resolved(name) for name in depends.references(code, "", "chapter") if name.startswith("pcenlib")}


def resolved(name: str) -> str:
    """The dotted name of a definition, where `pcenlib` itself exports it or what it belongs to."""
    _, first, *rest = [*name.split("."), ""]
    return ".".join([exports()[first], *rest[:-1]]) if first in exports() else name


def chapters(book: Path) -> list[Chapter]:
    """The chapters of a book, in the order of its table of contents."""
    found = []
    for place in re.findall(r"file: (notebooks/\S+)", (book / "_toc.yml").read_text(encoding="utf-8")):
        path = book / f"{place}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown").splitlines()[0]
        found.append(Chapter(place, title.lstrip("# "), names_used(depends.code_of(path))))
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    read = chapters(Path(app.srcdir))

    def add_chapters(_app: Sphinx, what: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
        links = [f":doc:`{chapter.title} </{chapter.place}>`" for chapter in read if name in chapter.used]
        if links and what != "module":
            lines += ["", f"*Used in* {', '.join(links)}", ""]

    app.connect("autodoc-process-docstring", add_chapters, priority=900)  # after napoleon, which reads sections
    return {"parallel_read_safe": True, "parallel_write_safe": True}
