"""How the book is made: a failing cell stops it, a changed verdict stops it, and no trace of the machine is left."""

import base64
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stage = load("stage")


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


def test_marked_outputs_are_exported_for_the_landing_page(tmp_path):
    exporting = notebook("1", export="name")
    data = [{"image/png": base64.b64encode(b"png").decode()}, {"text/html": ["<b>", "</b>"]}]
    exporting["cells"][0]["outputs"] = [{"data": entry} for entry in data]
    stage.export_outputs(exporting, tmp_path)
    assert (tmp_path / "name.png").read_bytes() == b"png"
    assert (tmp_path / "name.html").read_text() == "<b></b>"


def test_the_ledger_page_shows_untested_claims_as_such():
    rows = stage.claims.collect([])
    page = stage.ledger_page(rows, {})
    assert page.count(stage.claims.UNTESTED) == len(rows) + 1  # a badge each, and the summary
    assert all(row["claim"] in page for row in rows)


def test_a_verdict_that_nobody_agreed_on_stops_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(stage.claims, "disagreements", lambda rows: [f"{rows[0]['id']}: changed"])
    monkeypatch.setattr(stage.claims, "collect", lambda _: [{"id": "flux-gain"}])
    executed = tmp_path / "executed"
    executed.mkdir()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        (executed / path.name).write_text("{}")
    with pytest.raises(SystemExit, match="flux-gain: changed"):
        stage.main(executed, tmp_path / "book-src")
    assert not (tmp_path / "book-src" / "claims.md").exists()
