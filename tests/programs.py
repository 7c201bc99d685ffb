"""Lines that are written to be compiled, run by Python itself."""

import re


def run_lines(lines, **names):
    """Run lines in which ``u5`` stands for the number 5; returns all names."""
    text = "\n".join(lines)
    names |= {f"u{number}": int(number) for number in re.findall(r"\bu(\d+)\b", text)}
    exec(text, names)  # noqa: S102 (written by pcenlib itself)
    return names
