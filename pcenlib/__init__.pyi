from .core.evaluation import chance_mtbfa, mtbfa, threshold_at_recall
from .core.novelty import (
    averaged_flux,
    background,
    max_pooled_flux,
    max_pooled_pcen,
    pcen,
    smoothing_coefficient,
)
from .core.setting import NIGHTHAWK, RIGHT_WHALE, Setting
from .core.spectrogram import spectrogram
from .core.streaming import DetectionFunctions, detection_blocks, detection_functions
from .core.version import __version__
from .field.survey import detect
from .simulation.acoustics import atmospheric_absorption, propagate, spreading_loss

__all__ = [
    "NIGHTHAWK",
    "RIGHT_WHALE",
    "DetectionFunctions",
    "Setting",
    "__version__",
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
