"""DeepShip: ships in the Strait of Georgia, a public stand-in for ShipsEar."""

from dataclasses import dataclass

from pcenlib.datasets.real import About, OnlyRecordings

__all__ = ["DeepShip"]


@dataclass(frozen=True)
class DeepShip(OnlyRecordings):
    """The recordings of DeepShip, in one folder for each class of ships.

    The whole set lasts 47 hours. Its authors publish part of it and send the rest on request, so the number of files is
    not known.
    """

    about = About(
        title="DeepShip",
        key="irfan2021",
        citation="Irfan, Zheng, Ali, Iqbal, Masood and Hamid (2021). DeepShip: an underwater acoustic benchmark "
        "dataset and a separable convolution based autoencoder for classification. Expert Systems with Applications "
        "183, 115270.",
        licence="none stated; not for redistribution",
        obtain="clone https://github.com/irfankamboh/DeepShip for a part of it; its README says whom to ask for the "
        "rest. No checksums are published, so it is not downloaded here",
        layout="<class>/*.wav, with classes Cargo, Passengership, Tanker, Tug",
        unit="recordings",
        sr=32000,
    )
    pattern = "*/*"
