"""The ledger: complete, and faithful to what executed notebooks recorded."""

import json

import pytest

from pcenlib.book import claims
from pcenlib.book.claims import MIMETYPE, UNTESTED, VERDICTS, Claim, Finding, collect, disagreements, ledger, record

IDS = [
    "flux-gain",
    "flux-spreading",
    "absorption",
    "bandwidth",
    "max-lowpass",
    "max-unstable",
    "one-over-r",
    "prop-limit",
    "taylor-error",
    "softplus",
    "derecursified",
    "librosa-pcen",
    "time-scale",
    "coni-numbers",
    "fig1-stable",
    "birdvox-frames",
    "fig2-bird",
    "esc50-causes",
    "ccb-numbers",
    "fig3-whale",
    "chirp-dirac",
    "ship-period",
    "ship-alternation",
    "ship-bound",
    "distance-decay",
    "cost",
    "abstract-50-5",
    "future-work",
]


@pytest.fixture
def small_ledger(monkeypatch):
    """A ledger of three claims, whatever the reviewers of the real one agree on."""
    verdicts = {"a": "holds", "b": "differs", "c": UNTESTED}
    entries = {id: Claim(id, f"Section {id}", f"Claim {id}", f"Test {id}", verdicts[id]) for id in verdicts}
    monkeypatch.setattr(claims, "ledger", lambda: entries)


@pytest.fixture
def notebook(tmp_path):
    """Writes an executed notebook, one code cell a finding, as papermill leaves it."""

    def write(name, *findings):
        outputs = [
            {"output_type": "execute_result", "metadata": {}, "data": finding._repr_mimebundle_()}
            for finding in findings
        ]
        chatter = [
            {"output_type": "stream", "name": "stdout", "text": MIMETYPE},
            {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "3"}},
        ]
        cells = [{"cell_type": "markdown", "metadata": {}, "source": MIMETYPE}]
        cells += [{"cell_type": "code", "metadata": {}, "source": "", "outputs": chatter}]
        cells += [{"cell_type": "code", "metadata": {}, "source": "", "outputs": [output]} for output in outputs]
        path = tmp_path / f"{name}.ipynb"
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        return path

    return write


# The ledger


def test_every_claim_of_the_paper_has_its_row_in_order():
    assert list(ledger()) == IDS


def test_rows_are_complete():
    for id, claim in ledger().items():
        assert claim.id == id
        assert claim.where.strip()
        assert claim.claim.strip()
        assert claim.test.strip()
        assert claim.verdict in (*VERDICTS, UNTESTED)


def test_verdicts_are_those_of_the_book():
    assert VERDICTS == ("holds", "holds with a correction", "differs", "needs the original data")
    assert UNTESTED not in VERDICTS


# Recording


@pytest.mark.parametrize("verdict", VERDICTS)
def test_record_gives_the_claim_with_what_was_measured(verdict):
    finding = record("flux-gain", verdict, measured="0 dB")
    assert finding == Finding(ledger()["flux-gain"], "0 dB", verdict)


@pytest.mark.parametrize("id", ["flux_gain", "", "Flux-gain"])
def test_unknown_claims_are_refused(id):
    with pytest.raises(ValueError, match=r"^id must .*known: flux-gain, "):
        record(id, "holds", measured="")


@pytest.mark.parametrize("verdict", [UNTESTED, "Holds", "", "true"])
def test_unknown_verdicts_are_refused(verdict):
    with pytest.raises(ValueError, match=r"^verdict must be one of holds, "):
        record("flux-gain", verdict, measured="")


def test_a_finding_travels_in_the_output_of_its_cell():
    finding = record("flux-gain", "holds", measured="ΔE < 1 & > 0")
    bundle = json.loads(json.dumps(finding._repr_mimebundle_(include=None, exclude=None)))
    assert bundle[MIMETYPE] == {"id": "flux-gain", "measured": "ΔE < 1 & > 0", "verdict": "holds"}
    assert bundle["text/html"] == finding._repr_html_()
    assert bundle["text/plain"] == "flux-gain: holds (ΔE < 1 & > 0)"


def test_cards_are_escaped():
    claim = Claim("a", "Section <1>", "E < M & M > 0", "test", "holds")
    card = Finding(claim, '<script>"x"</script>', "holds with a correction")._repr_html_()
    for text in ("Section &lt;1&gt;", "E &lt; M &amp; M &gt; 0", "&lt;script&gt;&quot;x&quot;&lt;/script&gt;"):
        assert text in card
    assert "<script>" not in card
    assert 'class="verdict verdict-holds-with-a-correction">holds with a correction<' in card
    assert 'id="claim-a"' in card


# Collecting


@pytest.mark.usefixtures("small_ledger")
def test_collect_finds_what_notebooks_recorded(notebook):
    first = notebook("02-1-flux", record("b", "differs", measured="3 < 4"))
    second = notebook("02-2-max", record("a", "holds", measured="0 dB"))
    assert collect([first, second]) == [
        {"id": "a", "where": "Section a", "claim": "Claim a", "test": "Test a"}
        | {"chapter": "02-2-max", "measured": "0 dB", "verdict": "holds"},
        {"id": "b", "where": "Section b", "claim": "Claim b", "test": "Test b"}
        | {"chapter": "02-1-flux", "measured": "3 < 4", "verdict": "differs"},
        {"id": "c", "where": "Section c", "claim": "Claim c", "test": "Test c"}
        | {"chapter": "", "measured": "", "verdict": UNTESTED},
    ]


@pytest.mark.usefixtures("small_ledger")
def test_a_notebook_may_record_several_claims(notebook):
    path = notebook("one", record("a", "holds", measured="1"), record("c", "differs", measured="2"))
    assert [row["chapter"] for row in collect([path])] == ["one", "", "one"]


def test_without_notebooks_every_claim_is_untested():
    rows = collect([])
    assert [row["id"] for row in rows] == IDS
    assert {row["verdict"] for row in rows} == {UNTESTED}


@pytest.mark.usefixtures("small_ledger")
def test_a_claim_recorded_twice_is_refused(notebook):
    paths = [notebook(name, record("a", "holds", measured="1")) for name in ("first", "second")]
    with pytest.raises(ValueError, match=r"claim a is recorded twice: in first and in second"):
        collect(paths)


# Disagreements


@pytest.mark.usefixtures("small_ledger")
def test_agreed_verdicts_are_no_disagreement(notebook):
    agreed = [record("a", "holds", measured="1"), record("b", "differs", measured="2")]
    assert disagreements(collect([notebook("chapter", *agreed)])) == []


@pytest.mark.usefixtures("small_ledger")
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"a": "differs"}, "a: chapter found 'differs' (1), but claims.toml expects 'holds'"),
        ({"b": "holds"}, "b: chapter found 'holds' (1), but claims.toml expects 'differs'"),
        ({"c": "holds"}, "c: chapter found 'holds' (1), but claims.toml expects 'not yet tested'"),
        ({"a": None}, "a: no notebook found 'not yet tested' (nothing), but claims.toml expects 'holds'"),
    ],
    ids=["worse", "better", "newly tested", "no longer tested"],
)
def test_a_changed_verdict_is_reported(notebook, changed, expected):
    verdicts = {"a": "holds", "b": "differs"} | changed
    found = [record(id, verdict, measured="1") for id, verdict in verdicts.items() if verdict]
    assert disagreements(collect([notebook("chapter", *found)])) == [expected]
