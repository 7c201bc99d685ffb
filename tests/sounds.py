"""Waveforms and files that several tests read."""

import math
from fractions import Fraction

import numpy as np
import scipy.signal
import soundfile
import soxr


def white(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape)


def write(path, x, sr, **options):
    """Write samples (sample, channel) by the second: libsndfile's Vorbis encoder overflows its stack on longer ones."""
    channels = 1 if x.ndim == 1 else x.shape[1]
    with soundfile.SoundFile(path, "w", samplerate=sr, channels=channels, **options) as file:
        for begin in range(0, len(x), sr):
            file.write(x[begin : begin + sr])
    return path


def resampled(x, sr, target):
    """Resample the whole by soxr; behind its end it goes on, mirrored at the last sample."""
    longer = np.concatenate([x, 2 * x[-1] - x[-2::-1]])
    n_samples = math.floor(len(x) * Fraction(target, sr) + Fraction(1, 2))
    return soxr.resample(longer, sr, target, quality="VHQ")[:n_samples]


def centroid(x, sr):
    """Mean frequency of a waveform, weighted by power."""
    frequency, power = scipy.signal.periodogram(x, sr, window="hann")
    return np.sum(frequency * power) / np.sum(power)
