"""The command line: ``python -m pcenlib detect ...``, or ``pcenlib detect ...`` where it is installed.

Each subcommand is a function that adds its parser, and one that runs it and returns the exit status. What they need is
imported when they run, so ``--help`` appears at once.
"""

import argparse
import sys
from collections.abc import Sequence

from pcenlib.datasets import command as data
from pcenlib.field import command as detect

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
        0 if all went well, 1 if some recordings could not be read, 2 if the command cannot be carried out, 130 if it
        was interrupted.
    """
    parser = argparse.ArgumentParser(
        prog="pcenlib",
        description="Long-distance detection of bioacoustic events with per-channel energy normalization.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (detect, data):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except (OSError, ValueError) as error:
        print(f"pcenlib: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pcenlib: interrupted; the same command goes on where this one was", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
