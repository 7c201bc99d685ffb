"""The ledger: complete, judged by its rules, and faithful to what executed notebooks recorded."""

import json
import math
import tomllib
from importlib import resources

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pcenlib.book import claims
from pcenlib.book.claims import (
    COLUMNS,
    EVIDENCE,
    MIMETYPE,
    NAMED,
    OUTCOMES,
    SIMULATED,
    UNTESTED,
    Claim,
    Evidence,
    Finding,
    agreed,
    by_claim,
    collect,
    disagreements,
    judge,
    ledger,
    outcome_of,
    record,
    summary,
)

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
    "fig1-onset",
    "fig1-band",
    "birdvox-frames",
    "fig2-five",
    "fig2-reach",
    "esc50-water",
    "esc50-fire",
    "esc50-drops",
    "esc50-main",
    "ccb-numbers",
    "fig3-two",
    "fig3-fifty",
    "fig3-twelve",
    "chirp-ratio",
    "dirac-ratio",
    "ship-period",
    "ship-alternation",
    "ship-bound",
    "distance-decay",
    "cost",
    "abstract-50-5",
    "outperforms",
    "future-templates",
    "future-networks",
    "future-colors",
]
BUNDLED = {"fig1-stable", "fig2-bird", "esc50-causes", "fig3-whale", "chirp-dirac", "future-work"}
EXACT = "exact or arithmetic"
DECIDED = ("true", "true as amended", "false as stated")


@pytest.fixture
def small_ledger(monkeypatch):
    """A ledger of three claims, whatever the reviewers of the real one agree on."""
    simulated = Evidence(evidence=SIMULATED, rule="simulate", agreement=(33.3, math.inf), outcome="supported")
    recorded = Evidence(evidence="other recordings", rule="count", agreement=(33.3, math.inf), outcome="not supported")
    proved = Evidence(evidence=EXACT, rule="prove", outcome="true")
    evidence = {"a": {"exact": proved}, "b": {"simulated": simulated, "ships": recorded}, "c": {}}
    entries = {
        id: Claim(id=id, where=f"Section {id}", claim=f"Claim {id}", paper=50.0 if id == "b" else None, evidence=rows)
        for id, rows in evidence.items()
    }
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


def test_every_claim_of_the_paper_has_its_rows_in_order_and_none_is_bundled():
    assert list(ledger()) == IDS
    assert not BUNDLED & set(ledger())


def test_claims_are_complete():
    for id, claim in ledger().items():
        assert claim.id == id
        assert claim.where.strip()
        assert claim.claim.strip()
        assert claim.paper is None or claim.paper > 0
        for row in claim.evidence.values():
            assert row.evidence in EVIDENCE
            assert row.rule.strip()
            assert row.outcome in (*OUTCOMES, UNTESTED)


def test_every_empirical_row_states_its_whole_rule_and_no_exact_row_has_an_agreement():
    text = resources.files("pcenlib.book").joinpath("claims.toml").read_text(encoding="utf-8")
    for id, entry in tomllib.loads(text).items():
        for name, row in entry["evidence"].items():
            exact = row["evidence"] in (EXACT, "the paper's text")
            needed = {"rule"} if exact else {"estimand", "n", "interval", "agreement", "power"}
            assert set(row) - {"evidence", "outcome"} == needed, (id, name)
            evidence = ledger()[id].evidence[name]
            for key in needed - {"agreement"}:
                assert row[key].strip()
                assert row[key] in evidence.rule
            if not exact:
                low, high = evidence.agreement
                assert 0 <= low < high, (id, name)
                assert low > 0 or math.isfinite(high), f"{id}, {name}: everything would agree"


def test_agreed_outcomes_are_ones_that_the_evidence_can_have():
    can = dict.fromkeys(EVIDENCE, ("supported", "not supported", "inconclusive"))
    can |= {EXACT: DECIDED, "the paper's text": DECIDED, NAMED: ("true", "false as stated", "inconclusive")}
    for id, claim in ledger().items():
        for name, row in claim.evidence.items():
            assert row.outcome in (*can[row.evidence], UNTESTED), (id, name)


def test_the_agreement_of_a_rule_is_said_in_words():
    for id, name, words in [
        ("fig3-fifty", "simulated", "the whole interval is at least 33.3."),
        ("fig3-twelve", "simulated", "the whole interval is from 8 to 18."),
        ("cost", "simulated", "the whole interval is at most 1.50."),
    ]:
        assert words in ledger()[id].evidence[name].rule


# Judging

ends = st.floats(0, 1e6)
kinds = st.sampled_from(EVIDENCE)


def interval(first, second):
    return min(first, second), max(first, second)


@given(kinds, ends, ends | st.just(math.inf), ends, ends | st.just(math.inf))
def test_an_outcome_says_where_the_whole_interval_is(kind, a, b, c, d):
    agreement, (low, high) = interval(a, b), interval(c, d)
    yes, no = ("true", "false as stated") if kind == NAMED else ("supported", "not supported")
    inside = agreement[0] <= low and high <= agreement[1]
    outside = high < agreement[0] or low > agreement[1]
    expected = yes if inside else no if outside else "inconclusive"
    assert judge(kind, agreement, low, high) == expected


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (33.3, 60, "supported"),
        (85, math.inf, "supported"),
        (2.9, 20, "not supported"),
        (2.9, 33.3, "inconclusive"),
        (2.9, math.inf, "inconclusive"),
    ],
)
def test_more_than_claimed_also_agrees_where_the_rule_has_no_upper_end(low, high, outcome):
    assert judge("other recordings", (33.3, math.inf), low, high) == outcome


@given(kinds, ends, ends, ends, ends, ends, ends)
def test_a_wider_interval_never_turns_inconclusive_into_a_decision(kind, a, b, c, d, more_below, more_above):
    agreement, (low, high) = interval(a, b), interval(c, d)
    assume(judge(kind, agreement, low, high) == "inconclusive")
    assert judge(kind, agreement, low - more_below, high + more_above) == "inconclusive"


# Recording


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_record_gives_the_claim_with_what_was_measured(outcome):
    finding = record("flux-gain", "exact", measured="0 dB", outcome=outcome)
    assert finding == Finding(claim=ledger()["flux-gain"], name="exact", outcome=outcome, measured="0 dB")


def test_an_estimate_is_judged_by_its_rule():
    finding = record("fig3-fifty", "simulated", measured="m", estimate=40, low=35, high=math.inf, n="20 seeds")
    assert (finding.outcome, finding.estimate, finding.low, finding.high) == ("supported", 40.0, 35.0, math.inf)
    finding = record("fig3-fifty", "deepship", measured="m", estimate=6, low=3, high=20)
    assert finding.outcome == "not supported"
    finding = record("esc50-water", "named", measured="m", estimate=0.26, low=0.2, high=0.3)
    assert finding.outcome == "true"


@pytest.mark.parametrize("id", ["flux_gain", "", "fig3-whale"])
def test_unknown_claims_are_refused(id):
    with pytest.raises(ValueError, match=r"^id must .*known: flux-gain, "):
        record(id, "exact", measured="", outcome="true")


def test_unknown_evidence_is_refused():
    with pytest.raises(ValueError, match=r"^name must be evidence on fig3-two: deepship, shipsear, .*; got 'ships'"):
        record("fig3-two", "ships", measured="", outcome="true")


@pytest.mark.parametrize("outcome", [UNTESTED, "True", "", "holds", None])
def test_unknown_outcomes_are_refused(outcome):
    with pytest.raises(ValueError, match=r"^outcome must be one of true, "):
        record("flux-gain", "exact", measured="", outcome=outcome)


@pytest.mark.parametrize(
    "given_",
    [
        {"outcome": "supported"},
        {"outcome": "supported", "estimate": 1, "low": 1, "high": 1},
        {"estimate": 1, "low": 1},
        {"low": 1, "high": 2},
    ],
)
def test_an_outcome_cannot_be_given_where_the_rule_gives_it(given_):
    with pytest.raises(ValueError, match=r"^cost, simulated is judged by its rule: give estimate, low and high"):
        record("cost", "simulated", measured="", **given_)


@pytest.mark.parametrize("estimate", [0.5, 3.0, math.nan])
def test_an_estimate_outside_its_interval_is_refused(estimate):
    with pytest.raises(ValueError, match=r"^estimate must be within its interval, got .* 1 to 2"):
        record("cost", "simulated", measured="", estimate=estimate, low=1, high=2)


def test_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"^low must be a number, got nan"):
        record("flux-gain", "exact", measured="", outcome="true", low=math.nan)


@given(st.floats(0, 1e9), st.floats(0, 1e9) | st.just(math.inf), st.text())
def test_a_finding_travels_in_the_output_of_its_cell_as_valid_json(low, more, text):
    finding = record("fig3-fifty", "simulated", measured=text, estimate=low, low=low, high=low + more, n=text)
    bundle = json.loads(json.dumps(finding._repr_mimebundle_(include=None, exclude=None), allow_nan=False))
    expected = {"id": "fig3-fifty", "name": "simulated", "outcome": finding.outcome, "measured": text, "n": text}
    high = "inf" if math.isinf(low + more) else low + more
    assert bundle[MIMETYPE] == expected | {"estimate": low, "low": low, "high": high}
    assert bundle["text/html"] == finding._repr_html_()
    assert bundle["text/plain"] == f"fig3-fifty, simulated: {finding.outcome} ({text})"


def test_cards_are_escaped():
    evidence = {"exact": Evidence(evidence=EXACT, rule="r < 0 & 1")}
    claim = Claim(id="a", where="Section <1>", claim="E < M & M > 0", evidence=evidence)
    measured = '<script>"x"</script>'
    card = Finding(claim=claim, name="exact", measured=measured, outcome="true as amended", n="<5")._repr_html_()
    for text in ("Section &lt;1&gt;", "E &lt; M &amp; M &gt; 0", "&lt;script&gt;&quot;x&quot;&lt;/script&gt;"):
        assert text in card
    assert "<script>" not in card
    assert "r &lt; 0 &amp; 1" in card
    assert "&lt;5" in card
    assert 'class="outcome outcome-true-as-amended">true as amended<' in card
    assert 'id="claim-a-exact"' in card


def test_cards_show_the_estimate_beside_the_papers_value():
    ends = {"low": 2.9, "high": math.inf}
    card = record("fig3-fifty", "deepship", measured="m", estimate=6.04, n="15 ships", **ends)._repr_html_()
    assert "6.04 (95 % 2.90 to no limit); the paper: 50" in card
    assert "other recordings, 15 ships" in card
    assert "Estimate" not in record("flux-gain", "exact", measured="m", outcome="true")._repr_html_()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.284, "0.284"),
        (0.9998, "1.000"),
        (0.0498, "0.0498"),
        (1, "1"),
        (6.04, "6.04"),
        (113.4, "113"),
        (4321.5, "4322"),
        ("inf", "no limit"),
    ],
)
def test_numbers_have_few_digits(value, text):
    assert claims.digits(value) == text


# Collecting


def proof(**changes):
    return record("a", "exact", **({"measured": "0 dB", "outcome": "true"} | changes))


def simulation(**changes):
    return record("b", "simulated", **({"measured": "1", "estimate": 113, "low": 85, "high": 150} | changes))


def ships(**changes):
    return record("b", "ships", **({"measured": "2", "estimate": 6, "low": 3, "high": 20} | changes))


@pytest.mark.usefixtures("small_ledger")
def test_collect_finds_what_notebooks_recorded_strongest_first(notebook):
    first = notebook("02-1-flux", simulation(n="20 seeds"), ships(high=math.inf, n="15 ships"))
    rows = collect([first, notebook("02-2-max", proof())])
    assert [tuple(row) for row in rows] == [(*COLUMNS, "name", "measured")] * 4
    nothing = {"estimate": None, "low": None, "high": None, "n": ""}
    a = {"id": "a", "where": "Section a", "claim": "Claim a", "paper": None}
    b = {"id": "b", "where": "Section b", "claim": "Claim b", "paper": 50.0}
    assert rows[0] == {
        **a,
        **nothing,
        **{"evidence": EXACT, "rule": "prove", "name": "exact"},
        **{"outcome": "true", "chapter": "02-2-max", "measured": "0 dB"},
    }
    assert rows[1] == {
        **b,
        **{"estimate": 6.0, "low": 3.0, "high": "inf", "n": "15 ships"},
        **{"evidence": "other recordings", "rule": "count", "name": "ships"},
        **{"outcome": "inconclusive", "chapter": "02-1-flux", "measured": "2"},
    }
    assert (rows[2]["id"], rows[2]["name"], rows[2]["outcome"]) == ("b", "simulated", "supported")
    untested = {"evidence": "", "rule": "", "name": "", "outcome": UNTESTED, "chapter": "", "measured": "", **nothing}
    assert rows[3] == {"id": "c", "where": "Section c", "claim": "Claim c", "paper": None, **untested}
    json.dumps(rows, allow_nan=False)


def test_without_notebooks_every_claim_is_untested_and_evidence_is_in_order():
    rows = collect([])
    assert list(by_claim(rows)) == IDS
    assert {row["outcome"] for row in rows} == {UNTESTED}
    assert len(rows) == sum(max(1, len(claim.evidence)) for claim in ledger().values())
    for of_claim in by_claim(rows).values():
        order = [EVIDENCE.index(row["evidence"]) for row in of_claim if row["evidence"]]
        assert order == sorted(order)
    json.dumps(rows, allow_nan=False)


@pytest.mark.usefixtures("small_ledger")
def test_evidence_recorded_twice_is_refused(notebook):
    paths = [notebook(name, proof()) for name in ("first", "second")]
    with pytest.raises(ValueError, match=r"evidence exact on claim a is recorded twice: in first and in second"):
        collect(paths)


@pytest.mark.usefixtures("small_ledger")
def test_what_is_agreed_has_the_outcomes_of_the_ledger():
    outcomes = [row["outcome"] for row in agreed()]
    assert outcomes == ["true", "not supported", "supported", UNTESTED]
    assert [row | {"outcome": UNTESTED} for row in agreed()] == collect([])


# Outcomes of claims


@given(st.lists(st.tuples(kinds, st.sampled_from((*OUTCOMES, UNTESTED))), min_size=1))
def test_a_claim_rests_on_its_strongest_evidence_and_simulation_alone_never_refutes(found):
    rows = [
        {"evidence": kind, "outcome": outcome} for kind, outcome in sorted(found, key=lambda f: EVIDENCE.index(f[0]))
    ]
    strongest, outcome = rows[0], outcome_of(rows)
    if strongest["evidence"] != SIMULATED:
        assert outcome == strongest["outcome"]
    elif strongest["outcome"] == "not supported":
        assert outcome == "not testable here"
    else:
        assert outcome == strongest["outcome"]


def test_no_agreed_outcome_is_a_refutation_by_simulation():
    for rows in by_claim(agreed()).values():
        if outcome_of(rows) in ("false as stated", "not supported"):
            assert rows[0]["evidence"] != SIMULATED


@pytest.mark.usefixtures("small_ledger")
def test_the_summary_counts_claims_by_what_they_rest_on(notebook):
    text = summary(collect([notebook("chapter", proof(), simulation(), ships())]))
    assert text.startswith("Of 3 claims, 1 have no evidence yet, and **1 rest on proof")
    assert "own words**: 1 true. **1 rest on recordings**" in text
    assert "others: 1 not supported. **0 rest on simulation alone**: none; " in text
    assert text.count(". ") == 2
    without = [row for row in collect([notebook("whole", proof(), simulation(), ships())]) if row["evidence"]]
    assert summary(without).startswith("Of 2 claims, **1 rest on proof")


# Disagreements


@pytest.mark.usefixtures("small_ledger")
def test_agreed_outcomes_are_no_disagreement(notebook):
    assert disagreements(collect([notebook("chapter", proof(), simulation(), ships())])) == []


@pytest.mark.usefixtures("small_ledger")
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"a": {"outcome": "false as stated"}},
            "a, exact: chapter found 'false as stated' (0 dB), but claims.toml expects 'true'",
        ),
        (
            {"b": {"low": 20}},
            "b, simulated: chapter found 'inconclusive' (113 (95 % 20 to 150)), but claims.toml expects 'supported'",
        ),
        (
            {"a": None},
            "a, exact: no notebook found 'not yet tested' (nothing), but claims.toml expects 'true'",
        ),
    ],
    ids=["worse", "less certain", "no longer tested"],
)
def test_a_changed_outcome_is_reported(notebook, changed, expected):
    changes = {"a": {}, "b": {}} | changed
    found = [ships()]
    found += [make(**changes[id]) for id, make in (("a", proof), ("b", simulation)) if changes[id] is not None]
    assert disagreements(collect([notebook("chapter", *found)])) == [expected]
