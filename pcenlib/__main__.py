"""The command line: ``python -m pcenlib detect ...``, or ``pcenlib detect ...`` where it is installed.

Each subcommand is a function that adds its parser, and one that runs it and returns the exit status. What they need is
imported when they run, so ``--help`` appears at once, and an interrupt is never a traceback.
"""

import io
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default, the ones the program was started with.

    Returns
    -------
    int
        0 if all went well, 1 if some recordings could not be read, or some pictures not be drawn, 2 if the command
        cannot be carried out, 130 if it was interrupted.
    """
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        print("pcenlib: interrupted; the same command goes on where this one was", file=sys.stderr)
        return 130


def _main(arguments: Sequence[str] | None) -> int:
    import argparse
    import warnings
    from concurrent.futures import BrokenExecutor

    from pcenlib.datasets import command as data
    from pcenlib.field import command as detect

    parser = argparse.ArgumentParser(
        prog="pcenlib",
        description="Long-distance detection of bioacoustic events with per-channel energy normalization.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (detect, data):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what it cannot show
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: print(f"pcenlib: {message}", file=sys.stderr)
            status: int = options.run(options)
    except (OSError, ValueError, ModuleNotFoundError, BrokenExecutor) as error:
        print(f"pcenlib: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
