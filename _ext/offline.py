"""Sphinx extension: a book that asks nothing of the network.

Equations are drawn by a copy of MathJax inside the book, and scripts that the theme would fetch from elsewhere are left
out. What the pages link to is another matter: a link is followed by the reader, not by the page.
"""

import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MATHJAX = "tex-svg-full.js"
MENDED = {
    r'<link rel="preload" as="font"[^>]*>': "",  # the theme's, refused to pages that are opened from a folder
    r' role="doc-biblioentry"': "",  # of the bibliography: no longer allowed,
    r'(?<=<div) role="list"(?= class="citation-list")': "",  # and a list without list items
    r'<summary>(?=<span class="toctree-toggle")': '<summary aria-label="Sections">',  # in the sidebar: without a name
}
# Jupyter Book sends Colab to the notebook's source, which does not install pcenlib; see _config.yml.
COLAB_LINK = re.compile(r"(?<=https://colab\.research\.google\.com/github/)([^\"]+/blob/v[^/\"]+)(?=/)")


def drop_remote_scripts(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Keep a page's own scripts; drop those with an address elsewhere, and inline ones that configure them."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "://" not in str(getattr(script, "filename", script) or "")
        and "thebe" not in str(getattr(script, "attributes", {}).get("body", ""))
    ]


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Put MathJax where mathjax_path expects it."""
    if exception or app.builder.format != "html":
        return
    files = metadata.files("sphinx-mathjax-offline") or []
    source = next(file for file in files if file.name == MATHJAX).locate()
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(source), target / MATHJAX)


def mend_pages(app: Sphinx, exception: Exception | None) -> None:
    """Take out of every page what browsers and screen readers object to, and lead Colab to the staged notebook."""
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for pattern, mended in MENDED.items():
            text = re.sub(pattern, mended, text)
        text = COLAB_LINK.sub(r"\1-colab", text)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("html-page-context", drop_remote_scripts, priority=900)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
