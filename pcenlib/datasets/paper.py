"""The data sets of the paper's two experiments, simulated or real, by one name."""

import os
from dataclasses import dataclass
from typing import Any, Literal

from pcenlib.datasets.catalogue import DATASETS, VARIABLE, data_home, find
from pcenlib.datasets.interface import DataSet, Reflected
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.datasets.right_whale import SimulatedRightWhale

__all__ = ["PAPER", "paper_data_set"]


@dataclass(frozen=True)
class _Pair:
    """Names of the sets with the clips and the recordings of an experiment, and the simulated stand-in for both."""

    clips: str
    recordings: str
    simulated: type[SimulatedNighthawk] | type[SimulatedRightWhale]


PAPER = {
    "nighthawk": _Pair("coni_knight", "birdvox_dcase20k", SimulatedNighthawk),
    "right-whale": _Pair("ccb18", "shipsear", SimulatedRightWhale),
}
"""The experiments of sections 3 and 4."""


def paper_data_set(
    experiment: str,
    *,
    data: Literal["simulated", "real"] = "simulated",
    home: str | os.PathLike[str] | None = None,
    **simulation: Any,
) -> DataSet:
    """The data set of one of the paper's experiments.

    Parameters
    ----------
    experiment : {"nighthawk", "right-whale"}
        That of section 3 or of section 4.
    data : {"simulated", "real"}
        Simulated sound, or the paper's own recordings: CONI-Knight and BirdVox-DCASE-20k, or CCB18 and ShipsEar. They
        are used as far as they are there.
    home : path, optional
        The data home, as for `data_home`.
    **simulation
        What simulated sound depends on: the seed first. It changes nothing in real recordings.

    Returns
    -------
    DataSet
        Real clips before which nothing was kept, as in CONI-Knight, come after themselves reversed, as in `Reflected`.

    Notes
    -----
    FileNotFoundError names every set that is not there, and says how to get it.
    """
    if experiment not in PAPER:
        raise ValueError(f"experiment must be one of {', '.join(PAPER)}, got {experiment!r}")
    if data not in ("simulated", "real"):
        raise ValueError(f"data must be simulated or real, got {data!r}")
    pair = PAPER[experiment]
    if data == "simulated":
        return pair.simulated(**simulation)
    clips, recordings = find(pair.clips, home), find(pair.recordings, home)
    if clips is None or recordings is None:
        absent = [name for name, found in ((pair.clips, clips), (pair.recordings, recordings)) if found is None]
        where = f"the data home {data_home(home)}" if data_home(home) else f"a data home, which {VARIABLE} must name"
        raise FileNotFoundError(
            f"data='real' needs {' and '.join(absent)} in {where}. "
            + " ".join(f"{DATASETS[name].about.title}: {DATASETS[name].about.obtain}." for name in absent)
        )
    return Reflected(clips, recordings)
