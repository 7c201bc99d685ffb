"""The built book as files: links, numbers, the ledger, and what must not be in it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pcenlib.book import claims
from tests.test_notebooks import PAPERS_EQUATIONS

ROOT = Path(__file__).parent.parent.parent


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.targets = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag, attrs):
        attributes = dict(attrs)
        self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]
        self.targets |= {attributes[key] for key in ("id", "name") if attributes.get(key)}


@pytest.fixture(scope="module")
def parsed(book):
    return {path: Page(path) for path in book.rglob("*.html") if "_static" not in path.parts}


def test_every_internal_link_is_alive(parsed):
    dead = []
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (target in parsed and unquote(parts.fragment) not in parsed[target].targets):
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_equations_have_the_papers_numbers(book):
    text = "".join(path.read_text(encoding="utf-8") for path in (book / "notebooks").glob("*.html"))
    for number, label in enumerate(PAPERS_EQUATIONS, start=1):
        (shown,) = re.findall(rf'id="equation-{label}">\s*<span class="eqno">\((\d+)\)', text)
        assert int(shown) == number


def test_the_ledger_lists_every_claim_and_links_to_its_cells(book):
    rows = json.loads((book.parent / "claims.json").read_text(encoding="utf-8"))
    page = (book / "claims.html").read_text(encoding="utf-8")
    assert list(claims.by_claim(rows)) == list(claims.ledger())
    for row in rows:
        assert tuple(row)[: len(claims.COLUMNS)] == claims.COLUMNS
        assert f'id="{row["id"]}"' in page
        if row["outcome"] != claims.UNTESTED:
            assert f'href="notebooks/{row["chapter"]}.html#{claims.anchor(row["id"], row["name"])}"' in page
    assert claims.disagreements(rows) == []


def test_the_landing_page_says_what_claims_rest_on(book):
    page = (book / "index.html").read_text(encoding="utf-8")
    for kind in ("proof, arithmetic", "recordings", "simulation alone"):
        assert f"rest on {kind}" in page


def test_no_page_names_this_machine_or_shows_a_failure(book):
    for path in book.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text, path
        assert "Traceback" not in text, path
        assert str(Path.home()) + "/" not in text, path


def test_downloads_are_executed_notebooks_without_traces_of_the_run(book):
    downloads = list((book / "_sources" / "notebooks").glob("*.ipynb"))
    assert len(downloads) == len(list((ROOT / "notebooks").glob("*.ipynb")))
    for path in downloads:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert any(cell.get("outputs") for cell in notebook["cells"])
        assert "papermill" not in json.dumps([cell["metadata"] for cell in notebook["cells"]] + [notebook["metadata"]])
