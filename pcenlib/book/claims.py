"""The ledger: every claim of the paper, measured again by the notebooks, with a verdict.

`claims.toml` beside this module states each claim and the verdict that reviewers agreed on. A notebook measures a
claim and ends a cell with `record`; what it measured travels in that cell's output. The build collects the outputs of
all notebooks, and fails where a verdict is not the one agreed on.
"""

import functools
import html
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["UNTESTED", "VERDICTS", "Claim", "Finding", "collect", "disagreements", "ledger", "record"]


UNTESTED = "not yet tested"
VERDICTS = ("holds", "holds with a correction", "differs", "needs the original data")
MIMETYPE = "application/vnd.pcenlib.finding+json"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: where it stands, how the book tests it, and the verdict agreed on."""

    id: str
    where: str
    claim: str
    test: str
    verdict: str


@dataclass(frozen=True)
class Finding:
    """What a notebook measured about a claim; Jupyter shows it as a card."""

    claim: Claim
    measured: str
    verdict: str

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        data = {"id": self.claim.id, "measured": self.measured, "verdict": self.verdict}
        return {MIMETYPE: data, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def _repr_html_(self) -> str:
        claim, measured, verdict = map(html.escape, (self.claim.claim, self.measured, self.verdict))
        return (
            f'<div class="claim" id="claim-{self.claim.id}">'
            f"<p><strong>Claim</strong> ({html.escape(self.claim.where)}): {claim}</p>"
            f"<p><strong>Measured</strong>: {measured}</p>"
            f'<p><strong>Verdict</strong>: <span class="verdict {verdict_class(self.verdict)}">{verdict}</span></p>'
            "</div>"
        )

    def __repr__(self) -> str:
        return f"{self.claim.id}: {self.verdict} ({self.measured})"


def verdict_class(verdict: str) -> str:
    """Name of the style sheet's class for a verdict."""
    return "verdict-" + verdict.replace(" ", "-")


@functools.cache
def ledger() -> Mapping[str, Claim]:
    """Every claim of the paper by its identifier, in the order of the paper."""
    entries = tomllib.loads(resources.files("pcenlib.book").joinpath("claims.toml").read_text(encoding="utf-8"))
    return {id: Claim(id=id, **entry) for id, entry in entries.items()}


def record(id: str, verdict: str, *, measured: str) -> Finding:
    """State what was measured about a claim. The value of a notebook cell's last line.

    Parameters
    ----------
    id : str
        Identifier of the claim in the ledger.
    verdict : {"holds", "holds with a correction", "differs", "needs the original data"}
        What the measurement says of it; computed from the measurement, not typed.
    measured : str
        The measurement in a few words and numbers.

    Returns
    -------
    Finding
        Shown as a card, and collected by the build into the ledger's page.
    """
    if id not in ledger():
        raise ValueError(f"id must be a claim of claims.toml, got {id!r}; known: {', '.join(ledger())}")
    if verdict not in VERDICTS:
        raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    return Finding(ledger()[id], measured, verdict)


def collect(notebooks: Iterable[Path]) -> list[dict[str, str]]:
    """The whole ledger with what executed notebooks recorded.

    Parameters
    ----------
    notebooks : iterable of Path
        Executed notebooks.

    Returns
    -------
    list of dict
        One for each claim, in the order of the ledger: the fields of `Claim`, `measured`, `verdict` as measured, and
        `chapter`, the stem of the notebook's file name; an untested claim has no measurement and no chapter.
    """
    found: dict[str, dict[str, str]] = {}
    for path in notebooks:
        for data in _recorded(path):
            other = found.get(data["id"])
            if other:
                raise ValueError(f"claim {data['id']} is recorded twice: in {other['chapter']} and in {path.stem}")
            found[data["id"]] = {**data, "chapter": path.stem}
    untested = {"measured": "", "verdict": UNTESTED, "chapter": ""}
    return [asdict(claim) | found.get(id, untested) for id, claim in ledger().items()]


def disagreements(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """A sentence for each row of `collect` whose verdict is not the one in claims.toml."""
    return [
        f"{row['id']}: {row['chapter'] or 'no notebook'} found '{row['verdict']}' ({row['measured'] or 'nothing'}), "
        f"but claims.toml expects '{ledger()[row['id']].verdict}'"
        for row in rows
        if row["verdict"] != ledger()[row["id"]].verdict
    ]


def _recorded(path: Path) -> list[dict[str, str]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [output["data"][MIMETYPE] for output in outputs if MIMETYPE in output.get("data", {})]
