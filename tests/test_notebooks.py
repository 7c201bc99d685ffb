"""What a program can check of a chapter: the habits that CONTRIBUTING.md describes."""

import ast
import json
import re
from pathlib import Path

import depends
import pytest
import yaml

ROOT = Path(__file__).parent.parent
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAPERS_EQUATIONS = [
    "eq-averaged-flux",
    "eq-max-pooled-flux",
    "eq-pcen",
    "eq-background",
    "eq-softplus",
    "eq-max-pooled-pcen",
    "eq-taylor",
    "eq-limit",
]

# Functions and classes that a chapter may define, because to define them is the lesson.
DEFINED = {
    "02-2-max-pooled-spectral-flux": {"largest_contrasts"},  # what is unstable: where a maximum is, and how high
    "03-2-evaluation-procedure": {"night", "maxima"},  # the stages of the evaluation, built step by step
    "04-2-log-three-halves": {"expected_flux"},  # the expectation that the chapter has just derived
    "chirps-clicks-and-tails": {"ratios", "predicted_rate"},  # what is measured, and the law that it is compared with
    "distance-laboratory": {"share_found"},  # a network of recorders, from the curve of one
    "ship-noise-as-modulation": {"passed"},  # what a window lets through, as the text derives it
    "tails": {"background_distribution"},  # the integral equation for M, solved in five lines
    "the-papers-own-data": {"WithoutPast", "clip"},  # a data set of one's own is a class of five lines
}

each_notebook = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


def cells(path, kind):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


def text(path):
    return "\n\n".join(source(cell) for cell in cells(path, "markdown"))


def plotting_cells(path):
    return [cell for cell in cells(path, "code") if re.search(r"\bplots\.(?!use_style)|plt\.", source(cell))]


def chapters_in_order():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [ROOT / f"{file}.ipynb" for file in files if file.startswith("notebooks/")]


def test_the_table_of_contents_has_every_notebook():
    assert sorted(chapters_in_order()) == PATHS


@each_notebook
def test_is_committed_without_outputs(path):
    assert not [cell for cell in cells(path, "code") if cell["outputs"] or cell["execution_count"]]


@each_notebook
def test_opens_with_title_and_objectives_and_ends_with_a_summary(path):
    first = source(cells(path, "markdown")[0])
    assert first.startswith("# ")
    for promise in ("**You will learn**", "**You need**", "**Time**"):
        assert promise in text(path)
    assert "\n## Summary\n" in text(path)


@each_notebook
def test_has_one_cell_of_parameters(path):
    tagged = [cell for cell in cells(path, "code") if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1


@each_notebook
def test_code_cells_are_short(path):
    code = [source(cell) for cell in cells(path, "code") if "from pcenlib import" not in source(cell)]
    assert max(code, key=lambda lines: lines.count("\n")).count("\n") < 25


@each_notebook
def test_each_figure_has_caption_name_and_alternative_text(path):
    for cell in plotting_cells(path):
        settings = cell["metadata"].get("mystnb", {})
        assert len(settings.get("figure", {}).get("caption", "")) > 40, source(cell)
        assert settings["figure"]["name"].startswith("fig-"), source(cell)
        assert len(settings.get("image", {}).get("alt", "")) > 60, source(cell)


@each_notebook
def test_has_exercises_with_executed_solutions(path):
    exercises = re.findall(r"\{exercise-start\}[^\n]*\n:label: (\S+)", text(path))
    assert len(exercises) >= 3
    assert sorted(exercises) == sorted(re.findall(r"\{solution-start\} (\S+)", text(path)))
    in_solution, with_code = "", set()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and in_solution:
            with_code.add(in_solution)
        for mark in re.finditer(r"\{solution-(start|end)\} ?(\S*)", source(cell)):
            in_solution = mark[2] if mark[1] == "start" else ""
    assert with_code == set(exercises)


def test_figure_names_are_unique_in_the_book():
    names = [cell["metadata"]["mystnb"]["figure"]["name"] for path in PATHS for cell in plotting_cells(path)]
    assert len(names) == len(set(names))


def test_equations_carry_the_papers_numbers_because_only_the_papers_are_labelled():
    labels = [label for path in chapters_in_order() for label in re.findall(r"\$\$ \((eq-[\w-]+)\)", text(path))]
    assert labels == PAPERS_EQUATIONS


@each_notebook
def test_every_parameter_does_something(path):
    trees = [(cell, ast.parse(re.sub(r"^\s*[%!].*", "pass", source(cell), flags=re.M))) for cell in cells(path, "code")]
    given, used = set(), set()
    for cell, tree in trees:
        nodes = list(ast.walk(tree))
        if "parameters" in cell["metadata"].get("tags", []):
            given |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            continue
        # To be checked is not to be used.
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "check_run"]
        checks = {id(node) for call in calls for node in ast.walk(call)}
        used |= {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in checks}
    assert given <= used, f"{sorted(given - used)} must be used in a cell of the chapter"


@each_notebook
def test_no_line_of_code_is_too_long_to_be_seen(path):
    lines = [line for cell in cells(path, "code") for line in source(cell).splitlines()]
    assert not [line for line in lines if len(line) > 78]


@each_notebook
def test_functions_are_defined_where_to_define_them_is_the_lesson(path):
    nodes = ast.walk(ast.parse(depends.code_of(path)))
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert defined <= DEFINED.get(path.stem, set())


@each_notebook
def test_no_variable_hides_what_was_imported(path):
    nodes = list(ast.walk(ast.parse(depends.code_of(path))))
    imported = {name for name, _ in depends.imports(nodes, "")}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not imported & stored


@each_notebook
def test_worker_processes_are_the_librarys(path):
    # A pool of its own would fork a kernel that has threads.
    assert not any("PoolExecutor" in source(cell) for cell in cells(path, "code"))
