"""Long-distance detection of bioacoustic events with per-channel energy normalization.

The library behind the executable edition of Lostanlen et al. (2019). Sound flows one way:
recording -> spectrogram E -> detection function -> events. Arrays are ``(..., band, frame)``; options are keyword-only;
times are seconds, frequencies hertz, levels decibels.

The library has eight rooms, each of which imports only from those before it: `core`, `jobs`, `show`, `field`,
`simulation`, `datasets`, `experiments`, `book`. What most people need is here; it is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
