"""Run one notebook with papermill; the output appears only if every cell succeeded.

usage: execute.py SOURCE TARGET
"""

import sys
import time
from pathlib import Path

import papermill
from papermill.exceptions import PapermillExecutionError


def execute(source: Path, target: Path) -> float:
    """Run the notebook and return the seconds it took. SystemExit names the notebook and the cell that failed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    part = target.with_suffix(".part.ipynb")
    start = time.perf_counter()
    try:
        papermill.execute_notebook(source, part, kernel_name="python3", cwd=source.parent, progress_bar=False)
    except PapermillExecutionError as error:
        first_line = (error.source.strip().splitlines() or [""])[0]
        sys.exit(
            f"\nFAILED {source}, cell {error.cell_index + 1} ({first_line})\n{error.ename}: {error.evalue}\n"
            f"The notebook up to there: {part}"
        )
    part.rename(target)
    return time.perf_counter() - start


if __name__ == "__main__":
    notebook = Path(sys.argv[1])
    print(f"{notebook.stem:45s} {execute(notebook, Path(sys.argv[2])):6.1f} s", flush=True)
