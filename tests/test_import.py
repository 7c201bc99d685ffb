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


def test_everything_named_is_there():
    assert len(set(pcenlib.__all__)) == len(pcenlib.__all__)
    assert all(getattr(pcenlib, name).__doc__ for name in pcenlib.__all__)
