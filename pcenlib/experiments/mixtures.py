"""False alarms in several kinds of nights, and from them those in any mixture, without another experiment."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from pcenlib.core.streaming import AVERAGED_FLUX, MAX_POOLED_PCEN
from pcenlib.datasets.nighthawk import SimulatedNighthawk
from pcenlib.experiments.evaluate import Workers, clip_values, count_alarms
from pcenlib.experiments.protocols import Protocol
from pcenlib.experiments.tables import calibrate, thresholds_by_detector
from pcenlib.simulation.scenes import Night

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["alarms_by_kind", "mixture_ratio"]


def alarms_by_kind(
    dataset: SimulatedNighthawk, nights: Mapping[str, Night], protocol: Protocol, **workers: Unpack[Workers]
) -> "pd.DataFrame":
    """False alarms a scene in each kind of night, at thresholds that half of the calls exceed.

    Parameters
    ----------
    dataset : SimulatedNighthawk
        Whose calls, heard in its own night, set the thresholds, and how many scenes of each kind are counted.
    nights : mapping of str to Night
        The kinds.
    protocol : Protocol
        How calls and alarms are measured.
    **workers
        As for `evaluate`.

    Returns
    -------
    DataFrame
        A row for each `detector` and `distance`, with the alarms at the thresholds of all birds together; a column for
        each kind.
    """
    import pandas as pd

    protocols = {"": protocol}
    thresholds = calibrate(clip_values(dataset, protocols, **workers), lower=protocol.lower_median)
    edges = thresholds_by_detector(thresholds)
    alarms = {}
    for kind, night in nights.items():
        counts = count_alarms(replace(dataset, night=night), protocols, edges, **workers)
        # Equal thresholds of two birds are two rows in either table: each is counted once.
        once = counts.drop_duplicates(["recording", "detector", "threshold"])
        of_birds = thresholds.merge(once, on=["detector", "threshold"])
        total = of_birds.groupby(["detector", "distance"], observed=True)["false_alarms"].sum()
        alarms[kind] = total / dataset.n_scenes
    return pd.DataFrame(alarms)


def mixture_ratio(
    alarms: "pd.DataFrame",
    shares: Mapping[str, float],
    *,
    n_scenes: int,
    detector: str = MAX_POOLED_PCEN,
    over: str = AVERAGED_FLUX,
) -> float:
    """How many times more false alarms one detector raises than another, in a mixture of kinds of nights.

    Parameters
    ----------
    alarms : DataFrame
        From `alarms_by_kind`.
    shares : mapping of str to float
        Share of each kind in the scenes; they add up to 1.
    n_scenes : int
        How many scenes there are in all.
    detector, over : str
        The alarms of `over`, plus a half, are divided by those of `detector`, plus a half.

    Returns
    -------
    float
        Geometric mean of the ratio over distances.
    """
    if not np.isclose(sum(shares.values()), 1):
        raise ValueError(f"shares must add up to 1, got {dict(shares)!r}")
    mixed = n_scenes * (alarms[list(shares)] * list(shares.values())).sum(axis=1) + 0.5
    return float(np.exp(np.mean(np.log(mixed[over] / mixed[detector]))))
