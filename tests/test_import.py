"""What importing the library brings along."""

import subprocess
import sys

import pcenlib

HEAVY = {
    "IPython",
    "librosa",
    "matplotlib",
    "numba",
    "pandas",
    "pooch",
    "requests",
    "scipy.signal",
    "soundfile",
    "soxr",
}


def test_import_leaves_heavy_packages_alone():
    code = "import sys, pcenlib; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pcenlib" in modules
    assert not {*HEAVY, "numpy", "scipy"} & set(modules)


def test_the_core_is_light():
    code = "import sys; from pcenlib import *; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pcenlib.core.streaming" in modules
    assert not HEAVY & set(modules)


def test_what_runs_a_function_does_not_know_what_is_computed():
    code = "import sys, pcenlib.jobs.run; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    of_core = {name for name in modules if name.startswith("pcenlib.core.")}
    assert of_core == {"pcenlib.core.checks", "pcenlib.core.version"}
    assert not {*HEAVY, "filelock", "scipy"} & set(modules)


def test_everything_named_is_there():
    assert len(set(pcenlib.__all__)) == len(pcenlib.__all__)
    assert all(getattr(pcenlib, name).__doc__ for name in pcenlib.__all__)
