"""How an experiment is done: every choice that the paper and its released code make differently."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from pcenlib.core.checks import check_range
from pcenlib.core.evaluation import Counting
from pcenlib.core.novelty import smoothing_coefficient
from pcenlib.core.setting import NIGHTHAWK, RIGHT_WHALE, Setting
from pcenlib.experiments.detectors import Detector

__all__ = [
    "NIGHTHAWK_PAPER",
    "NIGHTHAWK_RELEASED",
    "RIGHT_WHALE_BELOW_900",
    "RIGHT_WHALE_PAPER",
    "RIGHT_WHALE_RELEASED",
    "Protocol",
    "switches",
]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How an experiment is done: every choice that the paper and its released code make differently.

    Parameters
    ----------
    setting : Setting
        Window, transform, bands, magnitudes or their squares, and s.
    background : {"before", "including"}
        Whether M[t] stops before frame t, equation 4, or includes it, as librosa's does.
    start : float, optional
        Background before the first frame; by default, the first frame itself. librosa's is 1, whatever the level.
    borders : {"context", "tiled"}
        What comes before a clip: the sound that was heard there, or, as in the released code, the clip itself:
        the clip, the clip again, the clip reversed, of which the first third is dropped.
    skip_clip, skip_recording : int
        Frames that are left out at the start of each clip and of each recording.
    rectified : bool
        Whether max-pooled flux is at least 0; equation 2 has no such limit.
    minimum_subtracted : bool
        Whether the smallest value of each clip and each recording is subtracted from all of its values.
    dropped_in_recordings : int
        Number of lowest bands that max-pooled PCEN leaves out in recordings, though not in clips: in section 4 the
        released code drops the lowest bins there twice.
    lower_median : bool
        Whether the threshold of an even number of clips is the lower of the two middle values, or their mean.
    count : {"frames", "peaks"}
        What a false alarm is: each frame above the threshold, or each run of them.
    detectors : mapping of str to Detector, optional
        Detectors of one's own, by name; by default, the paper's three. `background`, `start`, `rectified` and
        `dropped_in_recordings` are for the paper's alone. A function that is not in a module, or a
        `functools.partial` of one that is, needs ``jobs=1``.
    """

    setting: Setting
    background: Literal["before", "including"] = "before"
    start: float | None = None
    borders: Literal["context", "tiled"] = "context"
    skip_clip: int = 0
    skip_recording: int = 0
    rectified: bool = False
    minimum_subtracted: bool = False
    dropped_in_recordings: int = 0
    lower_median: bool = False
    count: Counting = "peaks"
    detectors: Mapping[str, Detector] | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        choices = {"background": ("before", "including"), "borders": ("context", "tiled"), "count": ("frames", "peaks")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("skip_clip", "skip_recording"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise ValueError(f"{name} must be a non-negative integer, got {getattr(self, name)!r}")
        if self.start is not None:
            check_range("start", self.start, 0, open_low=True)
        check_range("dropped_in_recordings", self.dropped_in_recordings, 0, self.setting.n_bands - 1)
        for_three = self.background != "before" or self.start or self.rectified or self.dropped_in_recordings
        if self.detectors is not None and (for_three or not self.detectors):
            raise ValueError(
                "detectors must hold at least one detector, and go without background, start, rectified and "
                "dropped_in_recordings, which are for the paper's three"
            )


# Fields that are one choice together, by its name. Any other field is a choice by itself.
TOGETHER = {
    **dict.fromkeys(("sr", "win_length", "hop_length", "n_fft"), "window"),
    **dict.fromkeys(("n_bands", "fmin", "fmax", "scale"), "bands"),
    "skip_recording": "start",
    "skip_clip": "borders",
}


def switches(paper: Protocol, released: Protocol) -> dict[str, Protocol]:
    """The first protocol with one choice at a time made as in the second.

    Parameters
    ----------
    paper, released : Protocol
        Two protocols.

    Returns
    -------
    dict of str to Protocol
        For each choice that differs, its name and the first protocol with it thrown. Some fields go together: those of
        the bands, those of the window and its transform, the start of a background and what is skipped of a recording,
        the borders of a clip and what is skipped there.
    """
    of_setting, of_protocol = _changes(paper.setting, released.setting), _changes(paper, released)
    of_protocol.pop("setting", None)
    thrown = {label: replace(paper, setting=replace(paper.setting, **new)) for label, new in of_setting.items()}
    # The bands and the window last, and then the choices of the protocol.
    return dict(reversed(thrown.items())) | {label: replace(paper, **new) for label, new in of_protocol.items()}


def _changes(mine: Any, theirs: Any) -> dict[str, dict[str, Any]]:
    """Fields that differ, as they are in the second, by the choice that they belong to."""
    changed: dict[str, dict[str, Any]] = {}
    for name in (each.name for each in fields(mine)):
        new = getattr(theirs, name)
        if getattr(mine, name) != new:
            changed.setdefault(TOGETHER.get(name, name), {})[name] = new
    return changed


NIGHTHAWK_PAPER = Protocol(setting=NIGHTHAWK, minimum_subtracted=True, skip_recording=round(0.5 / NIGHTHAWK.hop))
"""Section 3 as it is written.

Where it says nothing, the choice that is kinder to PCEN is to let its background settle: half a second of each scene
is left out.
"""

NIGHTHAWK_RELEASED = Protocol(
    setting=replace(
        NIGHTHAWK.with_bands(15, 89),
        power=2,
        # librosa's time_constant=0.1 is a cut-off period 2 pi times as long.
        s=smoothing_coefficient(2 * math.pi * 0.1, hop=NIGHTHAWK.hop),
    ),
    background="including",
    start=2.0**-62,  # 1, for waveforms multiplied by 2^31 and squared
    borders="tiled",
    skip_clip=10,
    skip_recording=100,
    rectified=True,
    minimum_subtracted=True,
    lower_median=True,
    count="frames",
)
"""Section 3 as the authors' notebooks ran it."""

RIGHT_WHALE_PAPER = Protocol(setting=RIGHT_WHALE, skip_recording=round(2 / RIGHT_WHALE.hop))
"""Section 4 as it is written, except that two seconds of each ship are left out for the background to settle."""

RIGHT_WHALE_BELOW_900 = replace(RIGHT_WHALE_PAPER, setting=RIGHT_WHALE.within(RIGHT_WHALE.fmin, 900))
"""The same without the bands above 900 Hz.

Those next to half of the sampling rate are nearly empty, and what they hold depends on the resampler.
"""

RIGHT_WHALE_RELEASED = Protocol(
    setting=replace(
        # Of bins 0 to 128 of the transform, the code drops the five lowest; the first is none of the paper's bands.
        RIGHT_WHALE.with_bands(4, 127),
        s=smoothing_coefficient(2 * math.pi * 1.0, hop=RIGHT_WHALE.hop),
    ),
    background="including",
    skip_recording=round(2 / RIGHT_WHALE.hop),
    rectified=True,
    dropped_in_recordings=5,
    lower_median=True,
    count="frames",
)
"""Section 4 as the authors' notebooks ran it, with the sound around each clip, which they had too."""
