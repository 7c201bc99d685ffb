"""Settings that all tests share."""

import os

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("pcenlib", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("pcenlib")

# Tests call make as a reader does, not as a part of `make test`.
for name in ("MAKEFLAGS", "MAKELEVEL"):
    os.environ.pop(name, None)
