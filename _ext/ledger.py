"""The ledger's page: what the words mean, a summary, a forest plot of all estimates, and all evidence by claim."""

import html
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler

from pcenlib.book import claims
from pcenlib.show import charts, plots

Row = Mapping[str, Any]

EVIDENCE = {
    "exact or arithmetic": "A proof, a computation with no chance in it, or plain arithmetic.",
    "the paper's named data": "Recordings that the paper names and used, or all of the set it took them from.",
    "other recordings": "Recordings of the same kind that the paper did not use.",
    "recorded and re-propagated": "Recorded calls, made fainter and duller by computer as distance would, "
    "in recorded noise.",
    "simulated": "Sound that this edition made, fitted to recordings. It can support a claim and never refute one.",
    "the paper's text": "What one part of the paper says, read beside another part.",
}
OUTCOMES = {
    "true": "Proved, or so in the paper's own data.",
    "true as amended": "True with a change that the chapter states: a condition, another number, another reading.",
    "false as stated": "A counterexample exists, or the paper's own data or text say otherwise. "
    "The chapter says what remains.",
    "supported": "The whole interval, measured on other sound than the paper's, agrees with the claim.",
    "not supported": "None of that interval agrees with the claim.",
    "inconclusive": "Part of the interval agrees, part does not: more data are needed to tell.",
    "not testable here": "The only evidence is a simulation that disagrees, and a simulation refutes nothing. "
    "The paper's own recordings would be needed.",
    claims.UNTESTED: "No chapter has tested it.",
}
RULE = (
    "A rule says which values agree with the claim: an estimate agrees if its whole 95 % interval is among them, "
    "disagrees if none of it is, and is inconclusive otherwise."
)
WRITTEN = (
    "**When the rules were written.** Every rule for an estimate was committed before the estimate that it now judges. "
    "The rules were not written blind, though: rough figures from the same recordings (ESC-50, DeepShip, ShipsEar, and "
    "the re-propagated nighthawks) and from earlier simulations were already known, most of them from the first "
    "edition of this book."
)
AXIS = "estimate ÷ the paper's value\n(open dots: ÷ the least or most that agrees)"
INKS = {"light": ("#1a1a1a", "#ffffff", plots.CYCLE), "dark": ("#e6e6e6", "#121212", ["#7db0f7", "#ff9f6b", "#2fd0a2"])}
"""Text, ground, and the colors of the plot, of which it takes the first and the third, in the theme's two modes."""


def write(rows: Sequence[Row], titles: Mapping[str, str], target: Path) -> None:
    """Write `claims.md`, and the plot and the summary that pages include, into the staged book."""
    generated = target / "_generated"
    (generated / "ledger-summary.md").write_text(claims.summary(rows) + "\n", encoding="utf-8")
    for theme in INKS:
        draw(rows, theme, generated / f"forest-{theme}.svg")
    (target / "claims.md").write_text(page(rows, titles), encoding="utf-8")


def page(rows: Sequence[Row], titles: Mapping[str, str]) -> str:
    """The page as MyST Markdown."""
    outcomes = Counter(claims.outcome_of(of_claim) for of_claim in claims.by_claim(rows).values())
    counts = ", ".join(f"**{outcomes[outcome]}** {outcome}" for outcome in OUTCOMES if outcomes[outcome])
    lines = [
        *("# Claims ledger", ""),
        "Every claim of the paper, in its order, with all the evidence that this edition has on it. Numbers from",
        "recordings, and numbers over twenty seeds, come from tables stored with the book, which `make real-results`",
        "and `make seeds` [compute again](how-to.md). All other numbers were computed when this book was built. The",
        "build applies the rules to all of them, and an outcome that changes stops it until somebody has reviewed it.",
        "The same table as data: `_build/claims.json`.",
        *("", "## What the words mean", ""),
        *("**Evidence**, the strongest first. A claim's outcome rests on the strongest evidence there is.", ""),
        *definitions(EVIDENCE),
        *("**Outcomes.** " + RULE, ""),
        *definitions({claims.badge(outcome): text for outcome, text in OUTCOMES.items()}),
        *(WRITTEN, ""),
        *("## In short", ""),
        *(f"{len(claims.by_claim(rows))} claims: {counts}.", ""),
        *(claims.summary(rows), ""),
        *("## Every estimate beside the paper's value", ""),
        "Each row is an estimate (dot) with its 95 % interval. The line is the paper's value, and what agrees with the",
        "claim is shaded. An arrowhead means that the interval goes on. Open dots are claims for which the paper gives",
        "no number; there the line is the edge of what agrees. The names of the rows are in the table below.",
        "",
        *(line for theme in INKS for line in image(theme, described(rows))),
        *("## Claim by claim", ""),
        *("The strongest evidence comes first. Open a row for its numbers and its rule.", ""),
        *table(rows, titles),
    ]
    return "\n".join([*lines, ""])


def definitions(terms: Mapping[str, str]) -> Iterator[str]:
    """A definition list."""
    for term, text in terms.items():
        yield from (term, f": {text}", "")


def image(theme: str, alt: str) -> Iterator[str]:
    """The plot for one of the theme's two grounds."""
    yield from (
        f"```{{image}} _generated/forest-{theme}.svg",
        f":alt: {alt}",
        f":class: only-{theme} forest",
        "```",
        "",
    )


# ----------------------------------------------------------------------------------------------------------------------
# The table


def table(rows: Sequence[Row], titles: Mapping[str, str]) -> Iterator[str]:
    """The claims as an HTML table, in which no line is empty: Markdown would end it there."""
    yield '<table class="table ledger"><thead><tr><th>Evidence</th><th>What was found</th><th>Outcome</th></tr></thead>'
    for id, of_claim in claims.by_claim(rows).items():
        where, claim = html.escape(of_claim[0]["where"]), html.escape(of_claim[0]["claim"])
        about = f"{claim} <small>{where} · <code>{id}</code></small>"
        yield f'<tbody id="{id}"><tr class="of-claim"><th scope="rowgroup" colspan="2">{about}</th>'
        yield f"<td>{claims.badge(claims.outcome_of(of_claim))}</td></tr>"
        alone = len(of_claim) == 1 and claims.outcome_of(of_claim) == of_claim[0]["outcome"]
        yield from (line for row in of_claim if row["evidence"] for line in evidence(row, titles, alone=alone))
        yield "</tbody>"
    yield "</table>"


def evidence(row: Row, titles: Mapping[str, str], *, alone: bool) -> Iterator[str]:
    """A row of the table: a line to read, and folded below it the numbers and the rule.

    Evidence that is alone on its claim does not repeat the outcome.
    """
    numbers = {
        "Estimate": claims.in_words(row["estimate"], row["low"], row["high"]),
        "The paper": "" if row["paper"] is None else claims.digits(row["paper"]),
        "From": row["n"],
        "Rule": row["rule"],
    }
    folded = "".join(f"<dt>{key}</dt><dd>{html.escape(text)}</dd>" for key, text in numbers.items() if text)
    place = f"notebooks/{row['chapter']}.html#{claims.anchor(row['id'], row['name'])}"
    chapter = f' <a href="{place}">{html.escape(titles[row["chapter"]])}</a>' if row["chapter"] else ""
    yield f'<tr class="of-evidence"><td>{html.escape(row["evidence"])}</td>'
    yield f"<td>{html.escape(' '.join(row['measured'].split()) or '—')}{chapter}"
    yield f"<details><summary>Numbers and rule</summary><dl>{' '.join(folded.split())}</dl></details></td>"
    yield f"<td>{'' if alone else html.escape(row['outcome'])}</td></tr>"


# ----------------------------------------------------------------------------------------------------------------------
# The plot


def estimates(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """The empirical rows for `charts.forest`, by evidence, the strongest first; relative to the paper's value."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for kind in claims.EVIDENCE:
        for row in rows:
            if row["evidence"] == kind and row["estimate"] is not None:
                groups.setdefault(kind, []).append(relative(row))
    return groups


def relative(row: Row) -> dict[str, Any]:
    """A row as it is drawn."""
    agreement = claims.ledger()[row["id"]].evidence[row["name"]].agreement or (0.0, math.inf)
    edge = next((end for end in agreement if 0 < end < math.inf), 1.0)
    unit = edge if row["paper"] is None else row["paper"]
    variant = "" if row["name"] in ("named", "repropagated", "simulated") else row["name"].removeprefix("simulated-")
    low, high = (claims.digits(row[end]) for end in ("low", "high"))
    paper = "" if row["paper"] is None else f"; paper {claims.digits(row['paper'])}"
    return {
        "label": row["id"] + (f", {variant}" if variant else ""),
        "text": f"{claims.digits(row['estimate'])} ({low} to {high}){paper}",
        **{name: float(row[key]) / unit for name, key in (("value", "estimate"), ("low", "low"), ("high", "high"))},
        "region": (agreement[0] / unit, agreement[1] / unit),
        "filled": row["paper"] is not None,
    }


def draw(rows: Sequence[Row], theme: str, path: Path) -> None:
    """Write the forest plot for one of the theme's two grounds."""
    ink, ground, cycle = INKS[theme]
    inks: dict[Any, str] = dict.fromkeys(("text.color", "xtick.color", "axes.edgecolor", "axes.labelcolor"), ink)
    grounds: dict[Any, str] = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), ground)
    with plt.rc_context():
        plots.use_style()
        mpl.rcParams.update({**inks, **grounds, "svg.hashsalt": "forest", "axes.prop_cycle": cycler(color=cycle)})
        charts.forest(estimates(rows), xlabel=AXIS)
        plt.savefig(path, metadata={"Date": None})
        plt.close()


def described(rows: Sequence[Row]) -> str:
    """What the plot shows, for those who cannot see it."""
    empirical = [row for row in rows if row["estimate"] is not None]
    parts = []
    for kind in claims.EVIDENCE:
        outcomes = Counter(row["outcome"] for row in empirical if row["evidence"] == kind)
        counts = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items())
        parts += [f"{kind}: {counts}"] if counts else []
    return f"Forest plot of {len(empirical)} estimates with their 95 % intervals, by evidence. {'; '.join(parts)}."
