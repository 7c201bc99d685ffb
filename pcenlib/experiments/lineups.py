"""Who competes: the paper's detectors and stronger ones, with the lengths of their memories for each animal.

How long a memory can be, and over how much can be averaged, depends on the hop: 1.5 ms for birds, 64 ms for whales. A
`Lineup` states lengths in seconds, and gives the detectors theirs in frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pcenlib.core.novelty import averaged_flux, max_pooled_flux, max_pooled_pcen, pcen
from pcenlib.core.streaming import AVERAGED_FLUX, DETECTORS, MAX_POOLED_FLUX, MAX_POOLED_PCEN
from pcenlib.experiments import detectors as own
from pcenlib.experiments.detectors import Detector, chain
from pcenlib.experiments.protocols import (
    NIGHTHAWK_PAPER,
    NIGHTHAWK_RELEASED,
    RIGHT_WHALE_BELOW_900,
    RIGHT_WHALE_PAPER,
    RIGHT_WHALE_RELEASED,
    Protocol,
)

__all__ = ["BIRDS", "SIMULATED_WHALES", "SLOWER_PCEN", "SWEEPS", "WHALES", "Lineup"]


SLOWER_PCEN = "slower PCEN"

SWEEPS: Mapping[str, Any] = {
    "starts": (70, 85, 103, 125, 150),
    "ends": (170, 195, 225, 260),
    "durations": (0.6, 0.9, 1.2),
    "curvatures": (1.0, 2.0),
}
"""Rising lines of up-calls, in hertz and seconds."""


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """Detectors for one animal, and how long they remember.

    Parameters
    ----------
    protocol : Protocol
        How they are evaluated, in which bands, and the s of max-pooled PCEN.
    slow : float
        s of all other detectors with PCEN.
    past : float
        Seconds of the past in a running median.
    spans : tuple of float
        Seconds over which PCEN is averaged. What is shorter than a hop is one frame.
    sweeps : mapping, optional
        Rising lines along which PCEN is followed: the arguments of `detectors.follow_sweeps`.
    names : tuple of str
        Which of the detectors are asked for; by default, all.
    """

    protocol: Protocol
    slow: float
    past: float
    spans: tuple[float, ...]
    sweeps: Mapping[str, Any] | None = None
    names: tuple[str, ...] = ()

    def frames(self, seconds: float) -> int:
        """Number of frames, at least one."""
        return max(1, round(seconds / self.protocol.setting.hop))

    @property
    def detectors(self) -> dict[str, Detector]:
        """The detectors by name. Those with a lag compare frames one window apart, or four."""
        setting = self.protocol.setting
        lag = setting.win_length // setting.hop_length
        slowly: Detector = partial(pcen, s=self.slow)
        over_median = partial(own.over_median, n_frames=self.frames(self.past))
        superflux = partial(own.superflux_contrast, lag=lag)
        steps: dict[str, list[Detector]] = {
            AVERAGED_FLUX: [averaged_flux],
            MAX_POOLED_FLUX: [max_pooled_flux],
            "flux, lag of 1 window": [partial(own.lagged_contrast, lag=lag), own.largest],
            "flux, lag of 4 windows": [partial(own.lagged_contrast, lag=4 * lag), own.largest],
            "SuperFlux": [superflux, own.mean_rise],
            "SuperFlux, maximum": [superflux, own.largest],
            MAX_POOLED_PCEN: [partial(max_pooled_pcen, s=setting.s)],
            SLOWER_PCEN: [partial(max_pooled_pcen, s=self.slow)],
            "over median": [over_median, own.largest],
            "energy over median": [own.band_energy, over_median, own.largest],
            "over median, minus bands": [over_median, own.minus_band_median, own.largest],
            "PCEN, minus bands": [slowly, own.minus_band_median, own.largest],
        }
        for span in self.spans:
            mean = partial(own.moving_mean, n_frames=self.frames(span))
            steps[f"PCEN, mean of {1000 * span:.0f} ms"] = [slowly, own.mean_over_bands, mean]
        if self.sweeps:
            steps["along rising lines"] = [slowly, partial(own.follow_sweeps, setting=setting, **self.sweeps)]
        return {name: partial(chain, steps=steps[name]) for name in self.names or steps}

    @property
    def evaluated(self) -> Protocol:
        """The protocol with these detectors."""
        return replace(self.protocol, detectors=self.detectors)


def _for_whales(protocol: Protocol, names: tuple[str, ...] = ()) -> Lineup:
    slow = RIGHT_WHALE_RELEASED.setting.s
    return Lineup(protocol=protocol, slow=slow, past=2.0, spans=(0.05, 0.25, 0.5), sweeps=SWEEPS, names=names)


def _within(protocol: Protocol, low: float, high: float) -> Protocol:
    return replace(protocol, setting=protocol.setting.within(low, high))


WHALES: Mapping[str, Lineup] = {
    "all": _for_whales(RIGHT_WHALE_BELOW_900),
    "call": _for_whales(_within(RIGHT_WHALE_PAPER, 50, 300)),
}
"""Detectors for recorded whales, in all bands below 900 Hz, and from 50 to 300 Hz alone."""

_NIGHT = replace(NIGHTHAWK_PAPER, minimum_subtracted=False)

BIRDS: Mapping[str, Lineup] = {
    bands: Lineup(
        protocol=protocol,
        slow=NIGHTHAWK_RELEASED.setting.s,
        past=0.5,
        spans=(0.02, 0.05, 0.1),
        names=names,
    )
    for bands, protocol, names in (("all", _NIGHT, DETECTORS), ("call", _within(_NIGHT, 2300, 6000), ()))
}
"""Detectors for simulated birds, the paper's three as written but for the minimum, and all in the bands of the call."""

SIMULATED_WHALES: Mapping[str, Lineup] = {
    "all": _for_whales(RIGHT_WHALE_PAPER, DETECTORS),
    "call": _for_whales(_within(RIGHT_WHALE_PAPER, 50, 300)),
}
"""Detectors for simulated whales, the paper's three as written, and all in the bands of the call."""
