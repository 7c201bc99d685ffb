"""Settings that all tests share."""

import os
import signal

import matplotlib as mpl
from hypothesis import settings

mpl.use("Agg")
settings.register_profile("pcenlib", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("pcenlib")

# Tests call make as a reader does, not as a part of `make test`.
for name in ("MAKEFLAGS", "MAKELEVEL"):
    os.environ.pop(name, None)

# A shell starts what it runs in the background with interrupts ignored, and processes that a test starts and interrupts
# would ignore them too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
