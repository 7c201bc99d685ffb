"""Recordings with calls at known times, for the tests of detection."""

import numpy as np
import soundfile

from pcenlib.simulation import noises

NOISE = 0.003


def write_night(path, caller, *, sr, seconds, times, snrs, channels=1, seed=0, noise=NOISE, **options):
    """Write noise with a call at each of the times, so many dB above the noise; returns the duration of each call."""
    rng = np.random.default_rng(seed)
    calls = [noise * 10 ** (snr / 20) * caller(sr, rng) for snr in snrs]
    with soundfile.SoundFile(path, "w", sr, channels, **options) as file:
        for minute in range(0, seconds, 60):
            n = min(60, seconds - minute) * sr
            x = noise * rng.standard_normal((n, channels))
            for time, call in zip(times, calls, strict=True):
                begin = round(time * sr) - minute * sr
                low, high = max(0, begin), min(n, begin + len(call))
                if low < high:
                    x[low:high] += call[low - begin : high - begin, np.newaxis]
            file.write(x)
    return [len(call) / sr for call in calls]


def whale(sr, rng):
    """A second of hiss from 100 to 200 Hz, in place of a whale."""
    return noises.noise_burst(sr, rng, fmin=100, fmax=200, duration=1.0)


def write_whales(path, *, seconds=60, times=(10, 25, 40), snr=40, sr=2000, **options):
    """A recording with whales, which is quickly searched with the setting of the right whale and a threshold of 3."""
    return write_night(path, whale, sr=sr, seconds=seconds, times=times, snrs=[snr] * len(times), **options)


def errors(found, times):
    """How far from each of the times the next found one is."""
    return np.abs(np.subtract.outer(np.asarray(times), np.asarray(found))).min(axis=1)
