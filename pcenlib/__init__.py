"""Long-distance detection of bioacoustic events with per-channel energy normalization.

The library behind the executable edition of Lostanlen et al. (2019). Sound flows one way:
recording -> spectrogram E -> detection function -> events. Arrays are ``(..., band, frame)``; options are keyword-only;
times are seconds, frequencies hertz, levels decibels.
"""

from typing import TYPE_CHECKING, Any

from pcenlib.acoustics import atmospheric_absorption, propagate, spreading_loss
from pcenlib.evaluation import chance_mtbfa, mtbfa, threshold_at_recall
from pcenlib.novelty import (
    averaged_flux,
    background,
    max_pooled_flux,
    max_pooled_pcen,
    pcen,
    smoothing_coefficient,
)
from pcenlib.spectrogram import NIGHTHAWK, RIGHT_WHALE, Setting, spectrogram
from pcenlib.streaming import DetectionFunctions, detection_blocks, detection_functions

if TYPE_CHECKING:
    from pcenlib.detection import detect

__version__ = "0.1.0"

__all__ = [
    "NIGHTHAWK",
    "RIGHT_WHALE",
    "DetectionFunctions",
    "Setting",
    "atmospheric_absorption",
    "averaged_flux",
    "background",
    "chance_mtbfa",
    "detect",
    "detection_blocks",
    "detection_functions",
    "max_pooled_flux",
    "max_pooled_pcen",
    "mtbfa",
    "pcen",
    "propagate",
    "smoothing_coefficient",
    "spectrogram",
    "spreading_loss",
    "threshold_at_recall",
]


def __getattr__(name: str) -> Any:
    """Bring in `detect` when it is asked for: it needs far more than all the others."""
    if name != "detect":
        raise AttributeError(f"module 'pcenlib' has no attribute {name!r}")
    from pcenlib.detection import detect

    return detect
