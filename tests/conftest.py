"""Settings that all tests share."""

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("pcenlib", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("pcenlib")
