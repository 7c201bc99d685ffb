"""The parameters of a chapter's run: which seed, how many workers."""

__all__ = ["check_run"]


def check_run(*, seed: object, jobs: object) -> None:
    """Raise ValueError unless the parameters of a chapter's run are valid.

    Parameters
    ----------
    seed : int
        At least 0.
    jobs : int
        Number of worker processes, at least 1.

    Notes
    -----
    Parameters may come from a command line, so they may be anything.
    """
    for name, value, least in (("seed", seed, 0), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
