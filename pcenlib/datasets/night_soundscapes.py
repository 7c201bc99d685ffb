"""Ten-second recordings of a forest at night, a public stand-in for scenes of BirdVox-DCASE-20k."""

from dataclasses import dataclass

from pcenlib.datasets.real import About, OnlyRecordings

__all__ = ["NightSoundscapes"]


@dataclass(frozen=True)
class NightSoundscapes(OnlyRecordings):
    """Night recordings among the examples of scikit-maad. Nobody has checked that nothing calls in them."""

    about = About(
        title="Night soundscapes of scikit-maad",
        key="ulloa2021",
        citation="Ulloa, Haupert, Latorre, Aubin and Sueur (2021). scikit-maad: an open-source and modular toolbox for "
        "quantitative soundscape analysis in Python. Methods in Ecology and Evolution 12(12), 2334-2340.",
        licence="BSD, as scikit-maad",
        obtain="copy the files from 000000 to 074500 and from 180000 to 204500 from data/indices of "
        "https://github.com/scikit-maad/scikit-maad. No checksums are published, so it is not downloaded here",
        layout="<recorder>_<yyyymmdd>_<hhmmss>.wav",
        unit="recordings",
        sr=22000,
        duration=10.0,
    )
