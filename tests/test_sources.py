"""Callers and noises, measured from their waveforms."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.sources import modulated_noise, nighthawk_call, noise, noise_burst, pulsation, scops_owl_hoot

SR = 22050
SOURCES = {
    "nighthawk": lambda rng: nighthawk_call(SR, rng),
    "scops owl": lambda rng: scops_owl_hoot(SR, rng),
    "noise": lambda rng: noise(1000, SR, rng, slope=-3),
    "noise burst": lambda rng: noise_burst(SR, rng),
    "modulated noise": lambda rng: modulated_noise(1000, SR, rng, period=0.01),
}


def calls(sr=SR, n=30):
    rng = np.random.default_rng(0)
    return [nighthawk_call(sr, rng) for _ in range(n)]


def centroid(x, sr):
    frequency, power = scipy.signal.periodogram(x, sr, window="hann")
    return np.sum(frequency * power) / np.sum(power)


def slope_of(x, sr, low, high):
    """Slope of the power spectral density between two frequencies, in dB an octave."""
    frequency, density = scipy.signal.welch(x, sr, nperseg=2048)
    kept = (frequency >= low) & (frequency <= high)
    return np.polyfit(np.log2(frequency[kept]), 10 * np.log10(density[kept]), 1)[0]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_seed_determines_the_sound(source):
    first, again, other = (source(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_generator_gives_a_new_sound_each_time(source):
    rng = np.random.default_rng(1)
    assert not np.array_equal(source(rng), source(rng))


# Nighthawk


def test_nighthawk_calls_peak_at_1_and_begin_and_end_in_silence():
    for call in calls():
        assert np.abs(call).max() == pytest.approx(1)
        assert np.abs(call[[0, -1]]).max() < 0.02


@pytest.mark.parametrize("sr", [16000, 22050, 44100])
def test_nighthawk_calls_last_a_fifth_of_a_second(sr):
    durations = [len(call) / sr for call in calls(sr)]
    assert np.mean(durations) == pytest.approx(0.21, rel=0.02)
    assert 0.01 < np.std(durations) / np.mean(durations) < 0.06


def test_nighthawk_pulse_rate():
    rates = []
    for call in calls():
        envelope = np.abs(scipy.signal.hilbert(call))
        frequency, power = scipy.signal.periodogram(envelope, SR, window="hann", nfft=2**16)
        rates.append(frequency[np.argmax(np.where(frequency > 100, power, 0))])
    assert np.mean(rates) == pytest.approx(214, rel=0.02)
    assert 0.01 < np.std(rates) / np.mean(rates) < 0.06


@pytest.mark.parametrize("sr", [16000, 22050, 44100])
def test_nighthawk_resonance_falls_from_4_to_3300_hertz(sr):
    edge = round(0.030 * sr)
    assert np.mean([centroid(call[:edge], sr) for call in calls(sr)]) == pytest.approx(4000, abs=100)
    assert np.mean([centroid(call[-edge:], sr) for call in calls(sr)]) == pytest.approx(3400, abs=100)


def test_nighthawk_energy_lies_in_its_band():
    for call in calls():
        frequency, power = scipy.signal.periodogram(call, SR)
        inside = (frequency > 2500) & (frequency < 5000)
        assert power[inside].sum() > 0.95 * power.sum()


@pytest.mark.parametrize("sr", [8000, 0, np.nan])
def test_nighthawk_needs_a_sample_rate_that_holds_it(sr):
    with pytest.raises(ValueError, match=r"^sr must"):
        nighthawk_call(sr, np.random.default_rng(0))


# Noise


@given(st.integers(1, 2000), st.floats(-12, 12), st.integers(0, 100))
def test_noise_has_its_length_and_a_root_mean_square_of_1(n_samples, slope, seed):
    x = noise(n_samples, SR, np.random.default_rng(seed), slope=slope)
    assert x.shape == (n_samples,)
    assert np.mean(x**2) == pytest.approx(1)


@pytest.mark.parametrize("slope", [-6, -3, 0, 3])
@pytest.mark.parametrize("sr", [2000, 22050])
def test_slope_of_noise(slope, sr):
    x = noise(2**18, sr, np.random.default_rng(0), slope=slope)
    assert slope_of(x, sr, 100, sr / 2.2) == pytest.approx(slope, abs=0.1)


def test_noise_is_level_below_fmin():
    x = noise(2**18, SR, np.random.default_rng(0), slope=-6, fmin=2000)
    assert slope_of(x, SR, 100, 1800) == pytest.approx(0, abs=0.1)
    assert slope_of(x, SR, 2200, 10000) == pytest.approx(-6, abs=0.1)


def test_white_noise_is_gaussian():
    x = noise(100_000, SR, np.random.default_rng(0))
    assert np.mean(x) == pytest.approx(0, abs=0.015)
    assert np.mean(np.abs(x) > 1) == pytest.approx(0.3173, abs=0.006)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_samples", 0), ("n_samples", -5), ("fmin", 0), ("fmin", 11026), ("fmin", np.nan), ("slope", np.nan)],
)
def test_bad_noise_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        noise(**{"n_samples": 100, "sr": SR, "rng": np.random.default_rng(0), name: value})


# Noise bursts


@pytest.mark.parametrize(("fmin", "fmax"), [(1000, 10000), (2000, 4000)])
def test_a_burst_fills_its_band_evenly(fmin, fmax):
    rng = np.random.default_rng(0)
    bursts = np.stack([noise_burst(SR, rng, fmin=fmin, fmax=fmax) for _ in range(200)])
    frequency, power = scipy.signal.periodogram(bursts, SR)
    power = power.mean(axis=0)
    inside = (frequency > fmin) & (frequency < fmax)
    assert power[inside].sum() > 0.99 * power.sum()
    halves = np.array_split(power[inside], 2)
    assert halves[0].mean() == pytest.approx(halves[1].mean(), rel=0.05)


def test_a_burst_peaks_at_1_and_lasts_as_long_as_told():
    burst = noise_burst(SR, np.random.default_rng(0), duration=0.1)
    assert burst.shape == (2205,)
    assert np.abs(burst).max() == pytest.approx(1)
    assert np.abs(burst[[0, -1]]).max() < 0.01


@pytest.mark.parametrize(
    ("name", "value"), [("fmin", -1), ("fmin", 10001), ("fmax", 0), ("fmax", 11026), ("duration", 0.01)]
)
def test_bad_bursts_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        noise_burst(SR, np.random.default_rng(0), **{name: value})


# Modulated noise


@pytest.mark.parametrize(("active", "n_on"), [(0.5, 64), (0.25, 32), (0.75, 96), (1.0, 128)])
def test_modulated_noise_is_on_for_its_share_of_each_period(active, n_on):
    # 128 samples a period, a power of two so that no border is a matter of rounding.
    x = modulated_noise(10 * 128, 1024, np.random.default_rng(0), period=0.125, active=active)
    on = (x != 0).reshape(10, 128)
    assert_array_equal(on, np.broadcast_to(np.arange(128) < n_on, (10, 128)))


def test_modulated_noise_is_noise_times_its_envelope():
    x = noise(1024, 1024, np.random.default_rng(0))
    on = np.arange(1024) % 256 < 128
    for depth in (0, 0.25, 1):
        y = modulated_noise(1024, 1024, np.random.default_rng(0), period=0.25, depth=depth)
        assert_allclose(y, np.where(on, 1, 1 - depth) * x)


def test_modulated_noise_has_a_root_mean_square_of_1_while_on():
    x = modulated_noise(2**17, 2000, np.random.default_rng(0), period=0.128, active=0.3)
    assert np.sqrt(np.mean(x[x != 0] ** 2)) == pytest.approx(1, abs=0.01)
    assert np.mean(x != 0) == pytest.approx(0.3, abs=0.01)


# Parts of a period that are exact in binary, so that no border is a matter of rounding.
@given(st.integers(0, 64).map(lambda part: part / 64), st.floats(0, 1))
def test_phase_moves_the_pulsation_within_its_period(phase, depth):
    gain = pulsation(256, 1024, period=0.125, depth=depth, phase=phase)
    assert set(gain) <= {1.0, 1 - depth}
    assert_array_equal(gain[:128], gain[128:])
    later = pulsation(256, 1024, period=0.125, depth=depth)
    assert np.sum(gain != np.roll(later, -round(128 * phase))) <= 4  # at most a sample at each of four borders


def test_modulated_noise_takes_a_slope():
    x = modulated_noise(2**18, 2000, np.random.default_rng(0), period=0.128, depth=0.0, slope=-6)
    assert slope_of(x, 2000, 40, 900) == pytest.approx(-6, abs=0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("phase", -0.1),
        ("phase", np.nan),
        ("period", 0),
        ("period", np.inf),
        ("active", 0),
        ("active", 1.1),
        ("depth", -0.1),
        ("depth", 1.1),
    ],
)
def test_bad_modulation_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        modulated_noise(100, SR, np.random.default_rng(0), **{"period": 0.01, name: value})


def test_a_burst_in_a_band_without_any_frequency_is_refused():
    with pytest.raises(ValueError, match="fmin and fmax"):
        noise_burst(SR, np.random.default_rng(0), fmin=1001, fmax=1002)


# Scops owl


@pytest.mark.parametrize("sr", [8000, 22050])
def test_scops_owls_whistle_near_1300_hz_for_a_quarter_of_a_second(sr):
    rng = np.random.default_rng(0)
    hoots = [scops_owl_hoot(sr, rng) for _ in range(30)]
    assert np.mean([len(hoot) / sr for hoot in hoots]) == pytest.approx(0.25, rel=0.03)
    assert np.mean([centroid(hoot, sr) for hoot in hoots]) == pytest.approx(1310, rel=0.03)
    for hoot in hoots:
        assert 0.95 < np.abs(hoot).max() <= 1
        assert np.abs(hoot[[0, -1]]).max() < 0.02
        assert centroid(hoot[: len(hoot) // 8], sr) > centroid(hoot[len(hoot) // 2 :], sr) + 50  # falls at first
    with pytest.raises(ValueError, match=r"^sr must"):
        scops_owl_hoot(2000, rng)
