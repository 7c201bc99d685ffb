"""Print, as rules for make, which files of pcenlib each notebook can depend on.

Imports are read, not run. Those inside functions count, those for type checkers do not. A package with a stub
(`__init__.pyi`, for lazy_loader) hands on each name from where the stub imports it. A data file belongs to the modules
of its package that name it or its folder in quotes. If there are none, it belongs to all modules of its package.

usage: depends.py > depends.mk
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def code_of(notebook: Path) -> str:
    """The code cells of a notebook, with IPython's own commands made Python's `pass`."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in [*cell["source"], "\n"]]
    return re.sub(r"^([ \t]*)[%!].*$", r"\1pass", "".join(lines), flags=re.MULTILINE)


def running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes from this one down, except those that only type checkers read."""
    yield node
    hidden = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else []
    for child in ast.iter_child_nodes(node):
        if child not in hidden:
            yield from running(child)


def imports(nodes: list[ast.AST], package: str) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, and the full name of what it is bound to."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                yield from [(alias.asname, alias.name)] if alias.asname else [(top, top), (alias.name, alias.name)]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((alias.asname or alias.name, f"{source}.{alias.name}") for alias in node.names)


def references(text: str, package: str, place: str) -> Iterator[str]:
    """The full names of what code imports and of what it takes from there; NAME.* where it may take anything."""
    nodes = list(running(ast.parse(text, place)))
    bound = list(imports(nodes, package))
    yield from (name for _, name in bound)
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # perhaps a module that is imported or started by its name
        elif isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and id(node) not in owners):
            first, _, rest = ast.unparse(node).partition(".")
            yield from (f"{name}.{rest or '*'}" for local, name in bound if local == first)


class Library:
    """The modules of a package, and the files behind each."""

    def __init__(self, folder: Path) -> None:
        def name(path: Path) -> str:
            return ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")

        self.paths = {name(path): path for path in folder.rglob("*.py")}
        self.text = {module: path.read_text(encoding="utf-8") for module, path in self.paths.items()}
        stubs = {name(path): ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("__init__.pyi")}
        self.stubs = {module: dict(imports(list(ast.walk(tree)), module)) for module, tree in stubs.items()}
        self.data: dict[str, set[Path]] = {module: set() for module in self.paths}
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in {".py", ".pyi", ".typed"} and path.parent.name != "__pycache__":
                for module in self.owners(path):
                    self.data[module].add(path)

    def owners(self, data: Path) -> list[str]:
        """The modules that a data file belongs to."""
        package = next(folder for folder in data.parents if folder / "__init__.py" in self.paths.values())
        beside = [module for module, path in self.paths.items() if path.parent == package]
        quoted = {f'"{data.name}"'} | ({f'"{data.parent.name}"'} if data.parent != package else set())
        return [module for module in beside if any(name in self.text[module] for name in quoted)] or beside

    def modules(self, reference: str) -> Iterator[str]:
        """The modules that Python imports on the way to what a full name stands for."""
        module, rest = "", reference.split(".")
        while rest and f"{module}.{rest[0]}".lstrip(".") in self.paths:
            module = f"{module}.{rest.pop(0)}".lstrip(".")
            yield module
        names = self.stubs.get(module, {})
        for target in names.values() if rest == ["*"] else [names[rest[0]]] if rest and rest[0] in names else []:
            yield from self.modules(".".join([target, *rest[1:]]))

    @cache  # noqa: B019
    def imported_by(self, module: str) -> set[str]:
        """The modules that a module imports, itself included."""
        package = module if self.paths[module].name == "__init__.py" else module.rpartition(".")[0]
        return {module, *self.imported_in(self.text[module], package, str(self.paths[module]))}

    def imported_in(self, text: str, package: str, place: str) -> set[str]:
        """The modules that code imports."""
        return {module for reference in references(text, package, place) for module in self.modules(reference)}

    def files(self, text: str, place: str = "code") -> set[Path]:
        """All files that code can depend on, through any number of imports."""
        found: set[str] = set()
        new = self.imported_in(text, "", place)
        while new:
            found |= new
            new = {module for name in new for module in self.imported_by(name)} - found
        stubs = {self.paths[module].with_suffix(".pyi") for module in found & self.stubs.keys()}
        return stubs.union(*({self.paths[module], *self.data[module]} for module in found))


if __name__ == "__main__":
    library = Library(Path("pcenlib"))
    for notebook in sorted(Path("notebooks").glob("*.ipynb")):
        print(f"_build/executed/{notebook.name}:", *sorted(map(str, library.files(code_of(notebook), notebook.name))))
