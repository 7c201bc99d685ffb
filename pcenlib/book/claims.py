"""The ledger: every claim of the paper, the evidence for and against it, and what comes of it.

`claims.toml` beside this module states each claim, and for each kind of evidence the rule that judges it: what is
estimated, from how much, with which interval, and what counts as agreement. A rule is committed before its result. A
notebook measures and ends a cell with `record`; what it measured travels in that cell's output. The build collects the
outputs of all notebooks, and fails where an outcome is not the one that reviewers agreed on.

A claim may have several rows of evidence. Its outcome is that of the strongest (`EVIDENCE` has the order), with one
exception: simulated sound can support a claim, but a simulation that disagrees refutes nothing, so a claim with nothing
better against it is not testable here.
"""

import functools
import html
import itertools
import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = [
    "COLUMNS",
    "EVIDENCE",
    "OUTCOMES",
    "UNTESTED",
    "Claim",
    "Evidence",
    "Finding",
    "agreed",
    "by_claim",
    "collect",
    "disagreements",
    "judge",
    "ledger",
    "outcome_of",
    "record",
    "summary",
]

EVIDENCE = (
    "exact or arithmetic",
    "the paper's named data",
    "other recordings",
    "recorded and re-propagated",
    "simulated",
    "the paper's text",
)
"""Kinds of evidence, the strongest first."""

OUTCOMES = (
    "true",
    "true as amended",
    "false as stated",
    "supported",
    "not supported",
    "inconclusive",
    "not testable here",
)
UNTESTED = "not yet tested"
COLUMNS = ("id", "where", "claim", "evidence", "outcome", "paper", "estimate", "low", "high", "n", "rule", "chapter")
"""What every row of `collect` says first; `name` and `measured` follow."""

EXACT, NAMED, OTHER, REPROPAGATED, SIMULATED, TEXT = EVIDENCE
MIMETYPE = "application/vnd.pcenlib.finding+json"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One kind of evidence on a claim, with its rule.

    Parameters
    ----------
    evidence : str
        One of `EVIDENCE`.
    rule : str
        What is derived or estimated, and for an estimate its number, interval, agreement and power, as text.
    agreement : (float, float), optional
        Lowest and highest value that agrees with the claim. An outcome is then computed, by `judge`.
    outcome : str
        The outcome that reviewers agreed on; `UNTESTED` until there is one.
    """

    evidence: str
    rule: str
    agreement: tuple[float, float] | None = None
    outcome: str = UNTESTED


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper: where it stands, the paper's value if it has one, and the evidence by its name."""

    id: str
    where: str
    claim: str
    paper: float | None = None
    evidence: Mapping[str, Evidence]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a notebook found about a claim; Jupyter shows it as a card."""

    claim: Claim
    name: str
    outcome: str
    measured: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: str = ""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        fields = ("name", "outcome", "measured", "estimate", "low", "high", "n")
        data = {"id": self.claim.id, **{name: getattr(self, name) for name in fields}}
        # JSON has no number for what has no end.
        data = {key: str(value) if value in (math.inf, -math.inf) else value for key, value in data.items()}
        return {MIMETYPE: data, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def _repr_html_(self) -> str:
        evidence = self.claim.evidence[self.name]
        number = in_words(self.estimate, self.low, self.high)
        if number and self.claim.paper is not None:
            number += f"; the paper: {digits(self.claim.paper)}"
        lines = {
            f"Claim</strong> ({html.escape(self.claim.where)})<strong>": self.claim.claim,
            "Evidence": f"{evidence.evidence}{f', {self.n}' if self.n else ''}",
            "Estimate": number,
            "Found": self.measured,
        }
        shown = "".join(f"<p><strong>{name}:</strong> {html.escape(text)}</p>" for name, text in lines.items() if text)
        return (
            f'<div class="claim" id="{anchor(self.claim.id, self.name)}">{shown}'
            f"<p><strong>Outcome:</strong> {badge(self.outcome)}</p>"
            f"<details><summary>The rule</summary><p>{html.escape(evidence.rule)}</p></details></div>"
        )

    def __repr__(self) -> str:
        return f"{self.claim.id}, {self.claim.evidence[self.name].evidence}: {self.outcome} ({self.measured})"


def anchor(id: str, name: str) -> str:
    """Identifier of a finding's card on its page."""
    return f"claim-{id}-{name}"


def badge(outcome: str) -> str:
    """An outcome as HTML that the style sheet colors."""
    return f'<span class="outcome outcome-{outcome.replace(" ", "-")}">{html.escape(outcome)}</span>'


def digits(value: float | str) -> str:
    """A number with three digits, or with three after the point just below 1; "inf" has no limit."""
    value = float(value)
    if math.isinf(value):
        return "no limit"
    if value.is_integer() or abs(value) >= 1000:
        return f"{value:.0f}"
    if 0.1 <= abs(value) < 10:
        return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}"
    return f"{value:.3g}"


def in_words(estimate: float | str | None, low: float | str | None, high: float | str | None) -> str:
    """An estimate and its interval."""
    if estimate is None:
        return ""
    return digits(estimate) + ("" if low is None or high is None else f" (95 % {digits(low)} to {digits(high)})")


@functools.cache
def ledger() -> Mapping[str, Claim]:
    """Every claim of the paper by its identifier, in the order of the paper."""
    entries = tomllib.loads(resources.files("pcenlib.book").joinpath("claims.toml").read_text(encoding="utf-8"))
    return {
        id: Claim(id=id, **entry | {"evidence": {name: _evidence(row) for name, row in entry["evidence"].items()}})
        for id, entry in entries.items()
    }


def _evidence(row: Mapping[str, Any]) -> Evidence:
    """A row of claims.toml, with the parts of an empirical rule joined into one text."""
    fields = {key: row[key] for key in ("evidence", "outcome") if key in row}
    if "agreement" not in row:
        return Evidence(rule=row["rule"], **fields)
    low, high = row["agreement"]
    ends = f"at least {digits(low)}" if math.isinf(high) else f"from {digits(low)} to {digits(high)}"
    ends = f"at most {digits(high)}" if low == 0 else ends
    rule = (
        f"Estimated: {row['estimand']} From: {row['n']} Interval: {row['interval']} "
        f"Agreement: the whole interval is {ends}. Power: {row['power']}"
    )
    return Evidence(rule=rule, agreement=(float(low), float(high)), **fields)


def judge(evidence: str, agreement: tuple[float, float], low: float, high: float) -> str:
    """Outcome of an estimate: agreement, disagreement, or neither, by where its whole interval is.

    Parameters
    ----------
    evidence : str
        One of `EVIDENCE`. Only the paper's own data make a claim true or false.
    agreement : (float, float)
        Lowest and highest value that agrees with the claim.
    low, high : float
        Ends of the estimate's interval.

    Returns
    -------
    str
        One of `OUTCOMES`; "inconclusive" if the interval is partly within and partly outside.

    Examples
    --------
    >>> judge("simulated", (33, math.inf), 85, 150), judge("simulated", (33, math.inf), 20, 40)
    ('supported', 'inconclusive')
    """
    yes, no = ("true", "false as stated") if evidence == NAMED else ("supported", "not supported")
    if agreement[0] <= low and high <= agreement[1]:
        return yes
    return no if high < agreement[0] or agreement[1] < low else "inconclusive"


def record(
    id: str,
    name: str,
    *,
    measured: str,
    outcome: str | None = None,
    estimate: float | None = None,
    low: float | None = None,
    high: float | None = None,
    n: str = "",
) -> Finding:
    """State what was found about a claim. The value of a notebook cell's last line.

    Parameters
    ----------
    id, name : str
        Identifier of the claim in the ledger, and name of the row of evidence.
    measured : str
        The finding in one line.
    outcome : str, optional
        What it says of the claim; computed from what was found, not typed. Only where the rule has no `agreement`.
    estimate, low, high : float, optional
        The estimate and the ends of its interval; needed where the rule has an `agreement`, which then gives the
        outcome.
    n : str
        What the estimate is from, as in *20 seeds*.

    Returns
    -------
    Finding
        Shown as a card, and collected by the build into the ledger's page.
    """
    if id not in ledger():
        raise ValueError(f"id must be a claim of claims.toml, got {id!r}; known: {', '.join(ledger())}")
    claim = ledger()[id]
    if name not in claim.evidence:
        raise ValueError(f"name must be evidence on {id}: {', '.join(claim.evidence)}; got {name!r}")
    agreement = claim.evidence[name].agreement
    if agreement is not None:
        if outcome is not None or estimate is None or low is None or high is None:
            raise ValueError(f"{id}, {name} is judged by its rule: give estimate, low and high, and no outcome")
        if not low <= estimate <= high:
            raise ValueError(f"estimate must be within its interval, got {estimate:g} and {low:g} to {high:g}")
        outcome = judge(claim.evidence[name].evidence, agreement, low, high)
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome must be one of {', '.join(OUTCOMES)}, got {outcome!r}")
    numbers = {"estimate": estimate, "low": low, "high": high}
    for key, value in numbers.items():
        if value is not None and math.isnan(value):
            raise ValueError(f"{key} must be a number, got {value}")
    plain = {key: None if value is None else float(value) for key, value in numbers.items()}
    return Finding(claim=claim, name=name, outcome=outcome, measured=measured, n=n, **plain)


def collect(notebooks: Iterable[Path]) -> list[dict[str, Any]]:
    """The whole ledger with what executed notebooks recorded.

    Parameters
    ----------
    notebooks : iterable of Path
        Executed notebooks.

    Returns
    -------
    list of dict
        One for each row of evidence, claims in the order of the ledger and the strongest evidence first: `id`, `where`,
        `claim`, `evidence`, `outcome`, `paper`, `estimate`, `low`, `high`, `n`, `rule`, `chapter` (the stem of the
        notebook's file name), `name` and `measured`. What has no end is the text "inf", and what is not known is None
        or empty. A claim without evidence has one row.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in notebooks:
        for data in _recorded(path):
            key = data["id"], data["name"]
            if key in found:
                places = f"in {found[key]['chapter']} and in {path.stem}"
                raise ValueError(f"evidence {data['name']} on claim {data['id']} is recorded twice: {places}")
            found[key] = {**data, "chapter": path.stem}
    return [row | found.get((row["id"], row["name"]), {}) for row in _rows(agreed=False)]


def agreed() -> list[dict[str, Any]]:
    """The rows of `collect` with the outcomes that reviewers agreed on, and nothing measured.

    A built book measures these outcomes, because the build fails where it does not.
    """
    return _rows(agreed=True)


def _rows(*, agreed: bool) -> list[dict[str, Any]]:
    """A row for each piece of evidence, the strongest on a claim first, before anything is measured."""
    none = Evidence(evidence="", rule="")
    rows = []
    for claim in ledger().values():
        strongest_first = sorted(claim.evidence.items(), key=lambda item: EVIDENCE.index(item[1].evidence))
        for name, evidence in strongest_first or [("", none)]:
            row = dict.fromkeys((*COLUMNS, "name", "measured"), "") | dict.fromkeys(("estimate", "low", "high"))
            row |= {"id": claim.id, "where": claim.where, "claim": claim.claim, "paper": claim.paper, "name": name}
            row |= {"evidence": evidence.evidence, "rule": evidence.rule}
            rows.append(row | {"outcome": evidence.outcome if agreed else UNTESTED})
    return rows


def by_claim(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Rows of `collect` by the claim they are on."""
    return {id: list(group) for id, group in itertools.groupby(rows, key=lambda row: str(row["id"]))}


def outcome_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Outcome of a claim, from its rows of `collect`, the strongest first."""
    strongest = rows[0]
    refuted_by_simulation = strongest["evidence"] == SIMULATED and strongest["outcome"] == "not supported"
    return "not testable here" if refuted_by_simulation else str(strongest["outcome"])


def summary(rows: Iterable[Mapping[str, Any]]) -> str:
    """What rests on proof, what on recordings, and what on simulation, in three sentences.

    Parameters
    ----------
    rows : iterable of mapping
        From `collect` or `agreed`.

    Returns
    -------
    str
        Markdown, with claims counted by their strongest evidence and by `outcome_of`.
    """
    claims = by_claim(rows).values()

    def counted(*kinds: str) -> tuple[int, str]:
        outcomes = Counter(outcome_of(claim) for claim in claims if claim[0]["evidence"] in kinds)
        parts = [f"{outcomes[outcome]} {outcome}" for outcome in (*OUTCOMES, UNTESTED) if outcomes[outcome]]
        return outcomes.total(), ", ".join(parts) or "none"

    proved, truths = counted(EXACT, TEXT)
    recorded, heard = counted(NAMED, OTHER, REPROPAGATED)
    simulated, modeled = counted(SIMULATED)
    without, _ = counted("")
    untested = f"{without} have no evidence yet, and " if without else ""
    return (
        f"Of {len(claims)} claims, {untested}**{proved} rest on proof, arithmetic, or the paper's own words**: "
        f"{truths}. **{recorded} rest on recordings**, the paper's own or others: {heard}. "
        f"**{simulated} rest on simulation alone**: {modeled}; a simulation that disagrees refutes nothing, so such a "
        "claim counts as not testable here."
    )


def disagreements(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each row of `collect` whose outcome is not the one in claims.toml."""
    found = []
    for row in rows:
        evidence = ledger()[row["id"]].evidence.get(row["name"])
        agreed = evidence.outcome if evidence else UNTESTED
        if row["outcome"] != agreed:
            number = in_words(row["estimate"], row["low"], row["high"]) or row["measured"] or "nothing"
            found.append(
                f"{row['id']}, {row['name']}: {row['chapter'] or 'no notebook'} found '{row['outcome']}' ({number}), "
                f"but claims.toml expects '{agreed}'"
            )
    return found


def _recorded(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [output["data"][MIMETYPE] for output in outputs if MIMETYPE in output.get("data", {})]
