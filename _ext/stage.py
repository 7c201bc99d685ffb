"""Lay out the book's source for Jupyter Book: pages, executed notebooks, and the pages made from them.

usage: stage.py EXECUTED_FOLDER TARGET_FOLDER
"""

import base64
import json
import platform
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import ledger
import reference
import yaml  # type: ignore[import-untyped]

from pcenlib.book import claims

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = (
    "pcenlib",
    "numpy",
    "scipy",
    "numba",
    "soundfile",
    "soxr",
    "sympy",
    "librosa",
    "scikit-maad",
    "matplotlib",
    "pandas",
)
BUILDERS = ("papermill", "jupyter-book", "Sphinx", "myst-nb", "sphinx-book-theme")

Notebook = dict[str, Any]

# Colab's kernel needs Colab's own versions of IPython and ipykernel. So the cell installs only what the notebooks
# import, with the lock as constraints. They lose their hashes: with hashes, pip would want one for the git address too.
# Colab may have loaded its own numpy already, so Python restarts to load the new one.
COLAB = r"""
import importlib.util
import re
import sys
import urllib.request
from pathlib import Path

if "google.colab" in sys.modules and importlib.util.find_spec("pcenlib") is None:
    lock = urllib.request.urlopen("{url}/raw/{tag}/requirements.txt").read().decode()
    Path("locked.txt").write_text(re.sub(r" \\\n +--hash=\S+", "", lock))
    %pip install --quiet --constraint locked.txt "pcenlib[notebooks,fast,cluster,data] @ git+{url}@{tag}"
    print("pcenlib is installed and Python restarts. Please run the notebook again.")
    get_ipython().kernel.do_shutdown(restart=True)
""".strip()


def main(executed: Path, target: Path) -> None:
    """Stage the book; SystemExit where the outcome of a claim is not the one agreed on."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for page in [*ROOT.glob("*.md"), ROOT / "_config.yml", ROOT / "_toc.yml", ROOT / "references.bib"]:
        shutil.copy(page, target)
    for folder in ("_ext", "_static"):
        shutil.copytree(ROOT / folder, target / folder)
    # Only notebooks that still exist: an older run may have left others behind.
    paths = [executed / source.name for source in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    notebooks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    rows = claims.collect(paths)
    as_json = json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)
    (executed.parent / "claims.json").write_text(as_json, encoding="utf-8")
    if problems := claims.disagreements(rows):
        sys.exit("Outcomes that changed; review them, then change pcenlib/book/claims.toml:\n" + "\n".join(problems))
    titles = {stem: title(notebook) for stem, notebook in notebooks.items()}
    seconds = {stem: notebook["metadata"]["papermill"]["duration"] for stem, notebook in notebooks.items()}
    (target / "status.md").write_text(status_page(titles, seconds), encoding="utf-8")
    reference.write(ROOT, target)
    for folder in ("notebooks", "_generated"):
        (target / folder).mkdir()
    ledger.write(rows, titles, target)
    repository = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    for stem, notebook in notebooks.items():
        export_outputs(notebook, target / "_generated")
        published = with_colab_cell(with_plain_corners(without_traces(notebook)), repository)
        text = json.dumps(published, indent=1, ensure_ascii=False)
        (target / "notebooks" / f"{stem}.ipynb").write_text(text, encoding="utf-8")


def title(notebook: Notebook) -> str:
    """The notebook's first heading."""
    return "".join(notebook["cells"][0]["source"]).splitlines()[0].lstrip("# ")


def without_traces(notebook: Notebook) -> Notebook:
    """The notebook as readers download it: less what papermill noted of the run, and what only the ledger reads."""
    for part in [notebook, *notebook["cells"]]:
        for key in ("papermill", "execution"):
            part["metadata"].pop(key, None)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(claims.MIMETYPE, None)
    return notebook


def with_plain_corners(notebook: Notebook) -> Notebook:
    """The notebook with pandas' empty header cells made ordinary ones: a screen reader would announce them."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "dataframe" in "".join(data.get("text/html", "")):
                data["text/html"] = "".join(data["text/html"]).replace("<th></th>", "<td></td>")
    return notebook


def with_colab_cell(notebook: Notebook, repository: Mapping[str, str]) -> Notebook:
    """The notebook with a cell below its title that installs pcenlib on Colab; pages do not show it."""
    source = COLAB.replace("{url}", repository["url"]).replace("{tag}", repository["branch"])
    cell = {"cell_type": "code", "execution_count": None, "id": "colab", "metadata": {"tags": ["remove-cell"]}}
    notebook["cells"].insert(1, cell | {"outputs": [], "source": source.splitlines(keepends=True)})
    return notebook


def export_outputs(notebook: Notebook, folder: Path) -> None:
    """Write outputs of cells with the metadata `export: NAME` to NAME.png or NAME.html, for the landing page."""
    for cell in notebook["cells"]:
        name = cell["metadata"].get("export")
        for output in cell["outputs"] if name else []:
            data = output.get("data", {})
            if "image/png" in data:
                (folder / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
            elif "text/html" in data:
                (folder / f"{name}.html").write_text("".join(data["text/html"]), encoding="utf-8")


def status_page(titles: Mapping[str, str], seconds: Mapping[str, float]) -> str:
    """The page of run times and versions."""
    lines = ["# Execution times and versions", ""]
    lines += ["How long each notebook ran when this book was built, two at a time.", ""]
    lines += ["| notebook | seconds |", "|---|--:|"]
    lines += [f"| [{titles[stem]}](notebooks/{stem}.ipynb) | {seconds[stem]:.1f} |" for stem in titles]
    lines += [f"| **all** | **{sum(seconds.values()):.1f}** |", "", "They ran with these versions:", ""]
    lines += ["| package | version |", "|---|---|", f"| Python | {platform.python_version()} |"]
    lines += [f"| {name} | {metadata.version(name)} |" for name in (*VERSIONS, *BUILDERS)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
