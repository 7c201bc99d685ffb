"""The parameters of a chapter's run: how much sound, which seed, how many workers."""

from collections.abc import Mapping

__all__ = ["SCALES", "check_run"]


SCALES: Mapping[str, int] = {"default": 600, "paper": 9983}
"""Number of ten-second scenes without a call, 100 minutes of them or as many as in section 3.3."""


def check_run(*, seed: object, jobs: object, scale: object = "default") -> None:
    """Raise ValueError unless the parameters of a chapter's run are valid.

    Parameters
    ----------
    seed : int
        At least 0.
    jobs : int
        Number of worker processes, at least 1.
    scale : {"default", "paper"}
        A name of `SCALES`.

    Notes
    -----
    Parameters may come from a command line, so they may be anything.
    """
    if not isinstance(scale, str) or scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
