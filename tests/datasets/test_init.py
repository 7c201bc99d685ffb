"""Data sets and simulations do not know detectors."""

import pkgutil
import subprocess
import sys

import pcenlib.datasets
import pcenlib.simulation

MODULES = sorted(
    found.name
    for package in (pcenlib.datasets, pcenlib.simulation)
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
)
PROGRAM = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    loaded = [name for name in sys.modules if name.startswith(("pcenlib.core.streaming", "pcenlib.experiments"))]
    if loaded:
        sys.exit(f"{module} loads {loaded[0]}")
"""


def test_no_module_loads_a_detector_or_an_experiment():
    done = subprocess.run([sys.executable, "-c", PROGRAM, *MODULES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
