"""ShipsEar: 90 recordings of ships, most of them nearer than 50 m (section 4.1)."""

from dataclasses import dataclass

from pcenlib.datasets.real import About, OnlyRecordings

__all__ = ["ShipsEar"]


@dataclass(frozen=True)
class ShipsEar(OnlyRecordings):
    """The recordings of ShipsEar."""

    about = About(
        title="ShipsEar",
        key="santos2016",
        citation="Santos-Domínguez, Torres-Guijarro, Cardenal-López and Pena-Gimenez (2016). ShipsEar: an underwater "
        "vessel noise database. Applied Acoustics 113, 64-69.",
        licence="for research, on request; not for redistribution",
        obtain="ask the authors for the 90 recordings: https://atlanttic.uvigo.es/underwaternoise/",
        layout="*.wav",
        unit="recordings",
        n_files=90,
        sr=52734,
    )
