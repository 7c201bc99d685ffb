"""The ledger's page: every word defined, every claim with all its evidence, and estimates beside the paper's values."""

import math
import re
from html.parser import HTMLParser

import ledger
import pytest

from pcenlib.book import claims

TITLES = {"chapter": "A chapter < another"}


@pytest.fixture(scope="module")
def rows():
    """The whole ledger with made-up findings: the agreed outcome where there is one, else twice the paper's value."""
    found = claims.agreed()
    for row in found:
        if not row["evidence"]:
            continue
        row |= {"chapter": "chapter", "measured": "x < 1 &\n\ny"}
        if (agreement := claims.ledger()[row["id"]].evidence[row["name"]].agreement) is not None:
            middle = 2 * (row["paper"] or 1.0)
            row |= {"estimate": middle, "low": middle / 2, "high": "inf", "n": "20 seeds"}
            row["outcome"] = claims.judge(row["evidence"], agreement, middle / 2, math.inf)
    return found


class Table(HTMLParser):
    """The text of each cell of each row of each claim, and what is folded in it."""

    def __init__(self, page):
        super().__init__()
        self.claims, self.cell, self.open = {}, None, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.open += [tag] if tag not in ("br",) else []
        if tag == "tbody":
            self.claims[attributes["id"]] = []
        elif tag == "tr" and self.claims:
            list(self.claims.values())[-1].append([])
        elif tag in ("td", "th") and self.claims:
            list(self.claims.values())[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open) and "details" not in self.open and self.claims:
            list(self.claims.values())[-1][-1][-1] += data


def test_every_word_of_the_ledger_is_defined_on_its_page(rows):
    assert tuple(ledger.EVIDENCE) == claims.EVIDENCE
    assert tuple(ledger.OUTCOMES) == (*claims.OUTCOMES, claims.UNTESTED)
    page = ledger.page(rows, TITLES)
    before = page[: page.index("## In short")]
    for text in [*ledger.EVIDENCE, *ledger.EVIDENCE.values(), *ledger.OUTCOMES.values(), ledger.RULE, ledger.WRITTEN]:
        assert text in before
    for outcome in ledger.OUTCOMES:
        assert claims.badge(outcome) in before


def test_the_page_counts_claims_by_their_outcome(rows):
    outcomes = [claims.outcome_of(of_claim) for of_claim in claims.by_claim(rows).values()]
    page = ledger.page(rows, TITLES)
    (line,) = re.findall(r"^\d+ claims: .*$", page, flags=re.MULTILINE)
    counted = {outcome: int(n) for n, outcome in re.findall(r"\*\*(\d+)\*\* ([a-z ]+)", line)}
    assert counted == {outcome: outcomes.count(outcome) for outcome in set(outcomes)}
    assert claims.summary(rows) in page


def test_the_table_has_every_claim_with_all_its_evidence(rows):
    lines = list(ledger.table(rows, TITLES))
    assert all(line.strip() and "\n" not in line for line in lines), "Markdown would end the table"
    table = Table("\n".join(lines))
    assert list(table.claims) == list(claims.ledger())
    for id, (about, *evidence) in table.claims.items():
        of_claim = claims.by_claim(rows)[id]
        assert about[0].startswith(of_claim[0]["claim"])
        assert about[1] == claims.outcome_of(of_claim)
        assert [cells[0] for cells in evidence] == [row["evidence"] for row in of_claim if row["evidence"]]
        for cells, row in zip(evidence, of_claim, strict=False):
            assert cells[1].startswith("x < 1 & y")
            assert cells[1].strip().endswith(TITLES["chapter"])
            if len(of_claim) > 1 or about[1] != row["outcome"]:
                assert cells[2] == row["outcome"]
            assert f'href="notebooks/chapter.html#{claims.anchor(id, row["name"])}"' in "\n".join(lines)


def test_numbers_and_the_rule_are_folded_below_each_row(rows):
    row = next(row for row in rows if (row["id"], row["name"]) == ("fig3-fifty", "deepship"))
    text = "".join(ledger.evidence(row, TITLES, alone=False))
    folded = text[text.index("<details>") : text.index("</details>")]
    for part in ("100 (95 % 50 to no limit)", "<dt>The paper</dt><dd>50</dd>", "20 seeds", "Power: five minutes"):
        assert part in folded
        assert part not in text.replace(folded, "")


def test_estimates_are_drawn_relative_to_the_papers_value_by_evidence(rows):
    groups = ledger.estimates(rows)
    assert list(groups) == [kind for kind in claims.EVIDENCE if kind in groups]
    assert sum(map(len, groups.values())) == sum(row["estimate"] is not None for row in rows)
    assert "exact or arithmetic" not in groups
    drawn = {row["label"]: row for row in groups["other recordings"]}["fig3-fifty, deepship"]
    assert (drawn["value"], drawn["low"], drawn["high"], drawn["filled"]) == (2, 1, math.inf, True)
    assert drawn["region"] == (pytest.approx(2 / 3, rel=1e-2), math.inf)
    assert drawn["text"] == "100 (50 to no limit); paper 50"


def test_without_a_papers_value_estimates_are_relative_to_the_edge_of_agreement(rows):
    drawn = {row["label"]: row for row in ledger.estimates(rows)["simulated"]}
    assert drawn["cost"]["region"] == (0, 1)
    assert drawn["cost"]["value"] == pytest.approx(2 / 1.5)
    assert not drawn["cost"]["filled"]
    assert drawn["ship-alternation, deep"]["region"] == (1, math.inf)
    assert "paper" not in drawn["cost"]["text"]


def test_writing_leaves_the_page_the_summary_and_a_plot_for_each_theme(rows, tmp_path):
    (tmp_path / "_generated").mkdir()
    ledger.write(rows, TITLES, tmp_path)
    page = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert (tmp_path / "_generated" / "ledger-summary.md").read_text(encoding="utf-8").strip() == claims.summary(rows)
    images = re.findall(r"{image} (\S+)\n:alt: (.+)\n:class: only-(\w+) ", page)
    assert [theme for _, _, theme in images] == ["light", "dark"]
    drawn = sum(row["estimate"] is not None for row in rows)
    for path, alt, theme in images:
        assert alt.startswith(f"Forest plot of {drawn} estimates")
        svg = (tmp_path / path).read_text(encoding="utf-8")
        assert ledger.INKS[theme][1] in svg
        assert "dc:date" not in svg
    first = {path: (tmp_path / path).read_bytes() for path, _, _ in images}
    ledger.write(rows, TITLES, tmp_path)
    assert first == {path: (tmp_path / path).read_bytes() for path in first}, "the same every time"


def test_claims_that_no_notebook_tested_are_shown_as_such():
    page = ledger.page(claims.collect([]), {})
    table = Table("\n".join(line for line in page.splitlines() if line.startswith("<")))
    assert {about[-1] for about, *_ in table.claims.values()} == {claims.UNTESTED}
