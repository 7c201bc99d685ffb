"""Waveforms and files that several tests read."""

import numpy as np
import soundfile


def white(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape)


def write(path, x, sr, **options):
    """Write samples (sample, channel) by the second: libsndfile's Vorbis encoder overflows its stack on longer ones."""
    channels = 1 if x.ndim == 1 else x.shape[1]
    with soundfile.SoundFile(path, "w", samplerate=sr, channels=channels, **options) as file:
        for begin in range(0, len(x), sr):
            file.write(x[begin : begin + sr])
    return path
