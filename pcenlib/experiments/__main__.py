"""``python -m pcenlib.experiments [NAME ...]``: run experiments on the data home, and store their results."""

import argparse
import time
from pathlib import Path

from pcenlib.datasets.catalogue import VARIABLE
from pcenlib.experiments.results import EXPERIMENTS, store


def main() -> None:
    """Store the results that were asked for, or all."""
    notes = "; ".join(f"{name} {each.note}" for name, each in EXPERIMENTS.items() if each.note)
    parser = argparse.ArgumentParser(prog="python -m pcenlib.experiments", description=__doc__, epilog=notes)
    parser.add_argument("names", nargs="*", choices=[[], *EXPERIMENTS], metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--home", type=Path, metavar="FOLDER", help=f"data home (default: {VARIABLE})")
    options = parser.parse_args()
    for name in options.names or EXPERIMENTS:
        start = time.perf_counter()
        path = store(name, options.home)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
