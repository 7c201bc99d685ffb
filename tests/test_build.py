"""How the book is made: a failing cell stops it, a changed outcome stops it, and no trace of the machine is left."""

import base64
import importlib.util
import io
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


offline, stage = load("offline"), load("stage")


def notebook(*code, **metadata):
    cell = {"cell_type": "code", "execution_count": None, "outputs": [], "metadata": metadata}
    cells = [cell | {"id": f"c{number}", "source": source} for number, source in enumerate(code)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def execute(tmp_path, *code):
    source, target = tmp_path / "chapter.ipynb", tmp_path / "executed" / "chapter.ipynb"
    source.write_text(json.dumps(notebook(*code)))
    command = [sys.executable, ROOT / "_ext" / "execute.py", source, target]
    return subprocess.run(command, capture_output=True, text=True, check=False), target


def test_a_notebook_that_runs_is_reported_with_its_time(tmp_path):
    result, target = execute(tmp_path, "6 * 7")
    assert result.returncode == 0
    assert "chapter" in result.stdout
    assert result.stdout.rstrip().endswith(" s")
    assert json.loads(target.read_text())["cells"][0]["outputs"][0]["data"]["text/plain"] == ["42"]


def test_a_failing_cell_is_named_and_leaves_no_output(tmp_path):
    _, target = execute(tmp_path, "1")
    result, target = execute(tmp_path, "1", "1 / 0")
    assert result.returncode != 0
    assert "chapter.ipynb, cell 2 (1 / 0)" in result.stderr
    assert "ZeroDivisionError" in result.stderr
    assert not target.exists(), "the output of an earlier run must not pass for this one"


def test_published_notebooks_keep_no_trace_of_the_run():
    traced = notebook("1", papermill={"start_time": "then"}, execution={"at": "then"}, tags=["kept"])
    traced["metadata"]["papermill"] = {"input_path": "somewhere"}
    clean = stage.without_traces(traced)
    assert "papermill" not in json.dumps(clean)
    assert clean["cells"][0]["metadata"] == {"tags": ["kept"]}


# ----------------------------------------------------------------------------------------------------------------------
# Colab

REPOSITORY = {"url": "https://github.com/somebody/book", "branch": "v1.2.3"}


class Colab:
    """What the cell asks of IPython."""

    def __init__(self):
        self.pip, self.restarts, self.kernel = [], 0, self

    def run_line_magic(self, magic, line):
        assert magic == "pip"
        self.pip.append(line)

    def do_shutdown(self, restart):
        self.restarts += restart


def run_colab_cell():
    published = stage.with_colab_cell(notebook("title", "1"), REPOSITORY)
    assert [cell["id"] for cell in published["cells"]] == ["c0", "colab", "c1"]
    assert published["cells"][1]["metadata"] == {"tags": ["remove-cell"]}
    colab = Colab()
    code = TransformerManager().transform_cell("".join(published["cells"][1]["source"]))
    exec(code, {"get_ipython": lambda: colab})  # noqa: S102
    return colab


def test_the_colab_cell_does_nothing_elsewhere():
    colab = run_colab_cell()
    assert (colab.pip, colab.restarts) == ([], 0)


def test_the_colab_cell_installs_the_released_version_with_what_is_locked(tmp_path, monkeypatch, capsys):
    def urlopen(address):
        assert address == "https://github.com/somebody/book/raw/v1.2.3/requirements.txt"
        return io.BytesIO((ROOT / "requirements.txt").read_bytes())

    monkeypatch.setitem(sys.modules, "google.colab", stage)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.chdir(tmp_path)
    colab = run_colab_cell()
    project = "pcenlib[notebooks,fast,cluster,data] @ git+https://github.com/somebody/book@v1.2.3"
    assert colab.pip == [f'install --quiet --constraint locked.txt "{project}"']
    assert colab.restarts == 1
    assert "run the notebook again" in capsys.readouterr().out
    lines = [line for line in Path("locked.txt").read_text().splitlines() if not line.strip().startswith("#")]
    assert {Requirement(line).name for line in lines} >= {"librosa", "numpy", "pandas"}


def test_colab_opens_the_staged_notebook_and_binder_the_released_tag():
    binder = '<a href="https://mybinder.org/v2/gh/somebody/book/v1.2.3?urlpath=lab/tree/notebooks/tails.ipynb">'
    colab = '<a href="https://colab.research.google.com/github/somebody/book/blob/v1.2.3{}/notebooks/tails.ipynb">'
    pages = offline.COLAB_LINK.sub(r"\1-colab", binder + colab.format(""))
    assert pages == binder + colab.format("-colab")


# ----------------------------------------------------------------------------------------------------------------------
# Pages


def test_marked_outputs_are_exported_for_the_landing_page(tmp_path):
    exporting = notebook("1", export="name")
    data = [{"image/png": base64.b64encode(b"png").decode()}, {"text/html": ["<b>", "</b>"]}]
    exporting["cells"][0]["outputs"] = [{"data": entry} for entry in data]
    stage.export_outputs(exporting, tmp_path)
    assert (tmp_path / "name.png").read_bytes() == b"png"
    assert (tmp_path / "name.html").read_text() == "<b></b>"


def test_an_outcome_that_nobody_agreed_on_stops_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(stage.claims, "disagreements", lambda rows: [f"{rows[0]['id']}: changed"])
    monkeypatch.setattr(stage.claims, "collect", lambda _: [{"id": "flux-gain"}])
    executed = tmp_path / "executed"
    executed.mkdir()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        (executed / path.name).write_text("{}")
    with pytest.raises(SystemExit, match="flux-gain: changed"):
        stage.main(executed, tmp_path / "book-src")
    assert not (tmp_path / "book-src" / "claims.md").exists()
