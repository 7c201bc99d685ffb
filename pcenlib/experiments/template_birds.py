"""Templates from recorded flight calls: does one call find another of its species, from another recording?"""

import zlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pcenlib.core.recordings import waveform
from pcenlib.core.resampling import N_RESAMPLES, interval
from pcenlib.core.setting import NIGHTHAWK, Setting
from pcenlib.core.spectrogram import spectrogram
from pcenlib.datasets.flight_calls import FlightCall, FlightCalls
from pcenlib.datasets.real import RealSet
from pcenlib.experiments.intervals import cluster_draws, totals
from pcenlib.experiments.protocols import NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import Experiment, describe
from pcenlib.experiments.templates import LOG, REPRESENTATIONS, frames_between, match, representations

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXPERIMENTS", "MARGIN", "shares", "stretch_around"]

Array = npt.NDArray[np.float64]

SLOWER = NIGHTHAWK_RELEASED.setting.s

SEED = 2019
CUT = 0.3  # at most so many seconds are cut from either end of a clip
MARGIN = 0.02
"""How far a stretch reaches beyond the call on either side at least, in seconds."""
N_STRETCHES = 10  # before each call, for each template


def bands_of(call: FlightCall) -> Setting:
    """The bands of a species, as far as the setting of section 3.1 has them."""
    return NIGHTHAWK.within(call.low, min(call.high, NIGHTHAWK.fmax))


def stretch_around(call: slice, n_template: int, n_frames: int) -> slice | None:
    """Frames around a call in which a template is slid.

    Parameters
    ----------
    call : slice
        Frames of the call.
    n_template : int
        Frames of the template.
    n_frames : int
        Frames of the clip.

    Returns
    -------
    slice or None
        As long as the longer of the two and `MARGIN` on either side; None unless the clip holds it, and another as long
        before it.
    """
    length = max(call.stop - call.start, n_template) + 2 * round(MARGIN / NIGHTHAWK.hop)
    first = (call.start + call.stop - length) // 2
    return slice(first, first + length) if length <= first and first + length <= n_frames else None


def flight_call_templates(flight_calls: RealSet) -> "pd.DataFrame":
    """How often the template of one flight call scores higher on another call of its species than before that call.

    The template is the annotated call in the bands of its species. Of all ordered pairs of calls of one species from
    two recordings, the second's clip is cut at random at both ends, and the template's largest score in the stretch
    around the call is compared with that in `N_STRETCHES` stretches of the same length, at random places before it. A
    pair is left out if there is no room for the stretch, or for another before it.

    Columns are `species`, `of` (the representation), `n_pairs`, `n_left_out`, and `higher`, the number of pairs in
    which the call scores higher: the sum over pairs of the share of the stretches, equals counting half.
    """
    import pandas as pd

    if not isinstance(flight_calls, FlightCalls):
        raise ValueError(f"flight_calls must be FlightCalls, got {flight_calls!r}")
    calls = flight_calls.calls
    of_species: dict[str, list[str]] = {}
    for name, call in calls.items():
        of_species.setdefault(call.species, []).append(name)
    rows = []
    for species, names in of_species.items():
        pairs = [(a, b) for a in names for b in names if calls[a].source != calls[b].source]
        if not pairs:
            continue
        pictures = {name: _pictures(flight_calls, name) for name in names}
        outcomes = [_compare(*pictures[a], *pictures[b], _rng(a, b)) for a, b in pairs]
        found = [outcome for outcome in outcomes if outcome is not None]
        rows += [
            {
                "species": species,
                "of": of,
                "n_pairs": len(found),
                "n_left_out": len(pairs) - len(found),
                "higher": sum(outcome[of] for outcome in found),
            }
            for of in REPRESENTATIONS
        ]
    return pd.DataFrame(rows)


def _rng(*names: str) -> np.random.Generator:
    """Random numbers of a clip, or of a pair, which do not depend on what other clips there are."""
    return np.random.default_rng([SEED, *(zlib.crc32(name.encode()) for name in names)])


def _pictures(flight_calls: FlightCalls, name: str) -> tuple[dict[str, Array], slice]:
    """Representations of a clip that is cut at random, and the frames of its call."""
    call, setting = flight_calls.calls[name], bands_of(flight_calls.calls[name])
    x = waveform(flight_calls.folder / name, setting.sr)
    begin, end = np.rint(_rng(name).uniform(0, CUT, 2) * setting.sr).astype(int)
    begin = min(begin, int(call.begin * setting.sr))
    end = max(x.size - end, min(x.size, round(call.end * setting.sr)))
    x = x[begin:end]
    lead = setting.n_frames(x.size)
    E = spectrogram(np.concatenate([x[: lead * setting.hop_length][::-1], x]), setting)
    pictures = representations(E, s=setting.s, slower=SLOWER, lead=lead)
    return pictures, frames_between(setting, call.begin - begin / setting.sr, call.end - begin / setting.sr)


def _compare(
    own: dict[str, Array], call: slice, other: dict[str, Array], other_call: slice, rng: np.random.Generator
) -> dict[str, float] | None:
    """Share of the stretches before a call in which the template of another scores lower, by representation."""
    n_template = own[LOG][:, call].shape[1]
    stretch = stretch_around(other_call, n_template, other[LOG].shape[1])
    if stretch is None:
        return None
    length = stretch.stop - stretch.start
    firsts = rng.integers(0, stretch.start - length + 1, size=N_STRETCHES)
    n_shifts = length - n_template + 1
    found = {}
    for of, picture in other.items():
        scores = match(own[of][:, call], picture[:, : stretch.stop])
        best = scores[stretch.start : stretch.start + n_shifts].max()
        before = np.array([scores[first : first + n_shifts].max() for first in firsts])
        found[of] = float(np.mean(best > before) + 0.5 * np.mean(best == before))
    return found


def shares(table: "pd.DataFrame", *, over: str = LOG) -> "pd.DataFrame":
    """How often a call scores higher, and that over the same on another representation.

    Parameters
    ----------
    table : DataFrame
        From `flight_call_templates`.
    over : str
        The other representation.

    Returns
    -------
    DataFrame
        For each representation `share` and `ratio`, each with the ends of an interval of 95 % from resampling species,
        the same ones for all representations.
    """
    import pandas as pd

    wide = table.pivot(index="species", columns="of")
    draws = cluster_draws(range(len(wide)), np.random.default_rng(SEED), N_RESAMPLES)
    found = {of: totals(wide["higher"][of], draws) / totals(wide["n_pairs"][of], draws) for of in REPRESENTATIONS}
    rows = {of: interval("share", values) | interval("ratio", values / found[over]) for of, values in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


EXPERIMENTS = {
    "template-birds": Experiment(
        run=flight_call_templates,
        sets=("flight_calls",),
        definition=describe(
            "templates of flight calls, version 1", NIGHTHAWK, SLOWER, REPRESENTATIONS, (SEED, CUT, MARGIN, N_STRETCHES)
        ),
        keys=("species", "of"),
        tolerances={"n_pairs": 0, "n_left_out": 0, "higher": 1e-5},
    ),
}
"""The experiments of this module, by the names of their stored tables."""
