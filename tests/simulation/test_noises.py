"""Noises, measured from their waveforms."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.simulation.noises import clicks, insects, noise, noise_burst, pulsation, rain, wind

SR = 22050
SOURCES = {
    "noise": lambda rng: noise(1000, SR, rng, slope=-3),
    "noise burst": lambda rng: noise_burst(SR, rng),
    "wind": lambda rng: wind(1000, SR, rng),
    "clicks": lambda rng: clicks(1000, SR, rng, rate=1000),
    "rain": lambda rng: rain(1000, SR, rng),
    "insects": lambda rng: insects(SR, SR, rng),
}


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
    [
        ("n_samples", 0),
        ("n_samples", -5),
        ("n_samples", 1.5),
        ("fmin", 0),
        ("fmin", 11026),
        ("fmin", np.nan),
        ("slope", np.nan),
    ],
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


def test_a_burst_in_a_band_without_any_frequency_is_refused():
    with pytest.raises(ValueError, match="fmin and fmax"):
        noise_burst(SR, np.random.default_rng(0), fmin=1001, fmax=1002)


# Pulsation


@pytest.mark.parametrize(("active", "n_on"), [(0.5, 64), (0.25, 32), (0.75, 96), (1.0, 128)])
@pytest.mark.parametrize("depth", [0, 0.25, 1])
def test_a_pulsation_is_on_for_its_share_of_each_period(active, n_on, depth):
    # 128 samples a period, a power of two, so no border depends on rounding.
    gain = pulsation(10 * 128, 1024, period=0.125, active=active, depth=depth).reshape(10, 128)
    assert_array_equal(gain, np.tile(np.where(np.arange(128) < n_on, 1, 1 - depth), (10, 1)))


# Parts of a period that are exact in binary, so that no border is a matter of rounding.
@given(st.integers(0, 64).map(lambda part: part / 64), st.floats(0, 1))
def test_phase_moves_the_pulsation_within_its_period(phase, depth):
    gain = pulsation(256, 1024, period=0.125, depth=depth, phase=phase)
    assert set(gain) <= {1.0, 1 - depth}
    assert_array_equal(gain[:128], gain[128:])
    later = pulsation(256, 1024, period=0.125, depth=depth)
    assert np.sum(gain != np.roll(later, -round(128 * phase))) <= 4  # at most a sample at each of four borders


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
def test_bad_pulsations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        pulsation(100, SR, **{"period": 0.01, name: value})


# Wind


def gain_of_wind(n_samples, sr, seed, **options):
    """Gain of the gusts in dB, but for a constant: the same wind, with and without them."""
    gusty, steady = (
        wind(n_samples, sr, np.random.default_rng(seed), spread=spread, **options) for spread in (6.0, 0.0)
    )
    return 20 * np.log10(gusty / steady)


@pytest.mark.parametrize("n_samples", [1, 1000, 22050])
def test_wind_has_its_length_and_a_root_mean_square_of_1(n_samples):
    x = wind(n_samples, SR, np.random.default_rng(0))
    assert x.shape == (n_samples,)
    assert np.mean(x**2) == pytest.approx(1)


@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_wind_falls_by_6_dB_an_octave(spread):  # noqa: N802
    x = wind(2**18, SR, np.random.default_rng(0), spread=spread)
    assert slope_of(x, SR, 100, 10000) == pytest.approx(-6, abs=0.1)


def test_wind_without_gusts_is_noise():
    x = wind(5000, SR, np.random.default_rng(0), spread=0.0)
    assert_allclose(x, noise(5000, SR, np.random.default_rng(0), slope=-6))


def test_standard_deviation_of_gusts():
    gain = gain_of_wind(200_000, 2000, 0, rate=40.0)  # 4000 gusts
    assert np.std(gain) == pytest.approx(6, rel=0.03)


def test_gusts_vary_as_much_at_the_borders_as_elsewhere():
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(1000):
        gain = gain_of_wind(13, 100, int(rng.integers(2**31)), rate=12.5)
        gains.append(gain[::2])  # at each quarter of a gust, where a level is drawn
    spread = np.std(np.diff(gains, axis=1), axis=0)
    assert_allclose(spread, spread.mean(), rtol=0.1)


@pytest.mark.parametrize("rate", [5.0, 20.0])
def test_rate_of_gusts(rate):
    gain = gain_of_wind(200_000, 2000, 0, rate=rate)
    maxima = np.flatnonzero((gain[1:-1] > gain[:-2]) & (gain[1:-1] > gain[2:]))
    assert maxima.size / 100 == pytest.approx(rate, rel=0.25)


# Clicks


def bursts(x, gap):
    """Stretches of a waveform that are not zero, but for so many samples within: their first samples and ends."""
    loud = np.flatnonzero(x)
    borders = np.flatnonzero(np.diff(loud) > gap)
    firsts = loud[np.concatenate([[0], borders + 1])]
    ends = loud[np.concatenate([borders, [loud.size - 1]])] + 1
    return list(zip(firsts, ends, strict=True))


def test_clicks_come_independently_at_their_rate():
    rng = np.random.default_rng(0)
    counts = [len(bursts(np.append(clicks(8000, 8000, rng, rate=5, decay=0.0002), 1), 1)) - 1 for _ in range(400)]
    assert np.mean(counts) == pytest.approx(5, rel=0.05)
    assert np.var(counts) == pytest.approx(5, rel=0.2)  # as Poisson's


def test_clicks_come_anywhere():
    firsts = [
        first / 8000
        for seed in range(300)
        if (x := clicks(8000, 8000, np.random.default_rng(seed), rate=3, decay=0.0002)).any()
        for first, _ in bursts(x, 1)
    ]
    shares, _ = np.histogram(firsts, 4, (0, 1))
    assert_allclose(shares / len(firsts), 0.25, atol=0.05)


@pytest.mark.parametrize("decay", [0.001, 0.004])
def test_clicks_start_at_1_and_decay(decay):
    rng = np.random.default_rng(0)
    x = clicks(200 * SR, SR, rng, rate=5, decay=decay, spread=0)
    length = round(8 * decay * SR)
    alone = [x[first:end] for first, end in bursts(x, 10) if end - first == length]
    assert len(alone) > 500
    power = np.mean(np.square(alone), axis=0)
    time = np.arange(length) / SR
    kept = time < 3 * decay
    assert np.polyfit(time[kept], np.log(power[kept]), 1)[0] == pytest.approx(-2 / decay, rel=0.03)
    assert np.mean(power / np.exp(-2 * time / decay)) == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("spread", [3.0, 6.0])
def test_levels_of_clicks(spread):
    x = clicks(2000 * 2000, 2000, np.random.default_rng(0), rate=1, decay=0.02, spread=spread)
    length = round(8 * 0.02 * 2000)
    alone = [x[first:end] for first, end in bursts(x, 10) if end - first == length]
    envelope = np.exp(-np.arange(length) / (0.02 * 2000))
    levels = [10 * np.log10(np.sum(click**2) / np.sum(envelope**2)) for click in alone]
    assert np.median(levels) == pytest.approx(0, abs=0.5)
    assert np.std(levels) == pytest.approx(spread, rel=0.1)


def test_high_pass_of_clicks():
    plain, high = (
        clicks(60 * SR, SR, np.random.default_rng(0), rate=50, spread=0, fmin=fmin) for fmin in (0.0, 1000.0)
    )
    frequency, before = scipy.signal.welch(plain, SR, nperseg=4096)
    _, after = scipy.signal.welch(high, SR, nperseg=4096)
    for ratio in (0.5, 1, 2, 5):
        at = np.abs(frequency - 1000 * ratio) < 50
        assert after[at].sum() / before[at].sum() == pytest.approx(1 / (1 + ratio**-4), rel=0.1)


def test_a_click_at_one_end_is_not_heard_at_the_other():
    at_the_end = at_the_start = 0
    for seed in range(4000):
        options = {"n_samples": 2000, "sr": SR, "rate": 8.0, "decay": 0.0002, "spread": 0}
        found = np.flatnonzero(clicks(rng=np.random.default_rng(seed), **options))
        if found.size and found[0] > 1950:
            far = slice(1000)
            at_the_end += 1
        elif found.size and found[-1] < 50:
            far = slice(1000, None)
            at_the_start += 1
        else:
            continue
        x = clicks(rng=np.random.default_rng(seed), fmin=1000.0, **options)
        assert np.abs(x[far]).max() < 0.01 * np.abs(x).max()
    assert min(at_the_end, at_the_start) > 10


def test_clicks_in_bands_keep_their_power_and_have_bands_of_their_own():
    options = {"n_samples": 200 * SR, "sr": SR, "rate": 5, "decay": 0.02, "spread": 0}
    white, banded = (clicks(rng=np.random.default_rng(0), octaves=octaves, **options) for octaves in (None, 0.3))
    assert_allclose(np.mean(banded**2), np.mean(white**2), rtol=0.1)
    # Most of the energy of one click lies within twice the widest band, four times 0.3 octaves.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = clicks(SR, SR, rng, rate=0.5, decay=0.02, fmin=1000.0, octaves=0.3)
        if not x.any():
            continue
        energy = np.abs(scipy.fft.rfft(x)) ** 2
        frequency = scipy.fft.rfftfreq(x.size, 1 / SR)
        loudest = frequency[energy.argmax()]
        near = np.abs(np.log2(np.maximum(frequency, 1) / loudest)) < 2.4
        assert energy[near].sum() > 0.8 * energy.sum()


def test_centres_of_clicks_lie_anywhere_above_fmin():
    centres = []
    for seed in range(300):
        x = clicks(4000, SR, np.random.default_rng(seed), rate=5, decay=0.02, fmin=1000.0, octaves=0.1)
        if x.any():
            centres.append(scipy.fft.rfftfreq(x.size, 1 / SR)[(np.abs(scipy.fft.rfft(x)) ** 2).argmax()])
    shares = np.histogram(np.log2(centres), bins=np.log2([1000, 2000, 4000, 8000]))[0] / len(centres)
    assert_allclose(shares, 1 / np.log2(11.025), atol=0.12)


@pytest.mark.parametrize("fmin", [0.0, 1000.0])
def test_no_clicks_are_silence(fmin):
    assert_array_equal(clicks(1000, SR, np.random.default_rng(0), rate=0, fmin=fmin), np.zeros(1000))


# Rain


@pytest.mark.parametrize("rate", [0.0, 60.0])
def test_rain_has_its_length_and_a_root_mean_square_of_1(rate):
    x = rain(SR, SR, np.random.default_rng(0), rate=rate)
    assert x.shape == (SR,)
    assert np.mean(x**2) == pytest.approx(1)


def test_rain_is_hiss_and_drops():
    hiss = rain(20 * SR, SR, np.random.default_rng(0), rate=0.0)
    assert np.mean(hiss**4) == pytest.approx(3, abs=0.1)  # Gaussian
    x = rain(20 * SR, SR, np.random.default_rng(0), rate=10.0, level=12.0, spread=0.0)
    drops = x / np.median(x / hiss) - hiss
    frequency, power = scipy.signal.welch(drops, SR, nperseg=1024)
    assert power[frequency < 500].mean() < 0.1 * power[frequency > 2000].mean()
    level = np.sqrt(np.convolve(drops**2, np.ones(22) / 22, mode="same"))  # over 1 ms
    peaks, _ = scipy.signal.find_peaks(level, height=1, distance=round(0.01 * SR))
    assert peaks.size == pytest.approx(200, rel=0.3)
    assert 2 < np.median(level[peaks]) < 6  # well above the hiss
    assert np.mean(level > 1) < 0.1  # and short


@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_drops_of_one_rain_are_louder_than_those_of_another(spread):
    options = {"n_samples": SR, "sr": SR, "rate": 300.0, "level": 30.0}
    levels = []
    for seed in range(40):
        wet, dry = (
            rain(rng=np.random.default_rng(seed), spread=spread, **options | rate) for rate in ({}, {"rate": 0})
        )
        share = np.sum(wet * dry) / np.sum(dry**2)  # what the hiss is of the rain
        levels.append(-20 * np.log10(share))
    assert np.std(levels) == pytest.approx(spread, rel=0.35, abs=2)


def test_more_drops_make_rain_less_like_hiss():
    def excess(rate):
        x = rain(10 * SR, SR, np.random.default_rng(0), rate=rate, level=12.0, spread=0.0)
        return np.mean(x**4) - 3  # 0 for Gaussian noise

    assert abs(excess(0.0)) < 0.1
    assert excess(60.0) > excess(5.0) + 1 > 1


# Insects


def envelope(x, sr):
    """Level of a waveform over 2 ms."""
    n = round(0.002 * sr)
    return np.sqrt(np.convolve(x**2, np.ones(n) / n, mode="same"))


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_chirps_of_one_insect(rate):
    shares, counts = [], []
    for seed in range(12):
        x = envelope(insects(20 * SR, SR, np.random.default_rng(seed), singers=1, rate=rate, spread=0), SR)
        loud = np.convolve(x > 0.05, np.ones(round(0.04 * SR)), mode="same") > 0  # pulses of a chirp joined
        counts.append(np.sum(np.diff(loud.astype(int)) > 0) / 20)
        shares.append(np.mean(x > 0.05))
    assert 0.5 * rate < min(counts) < max(counts) < 1.7 * rate
    assert np.ptp(counts) > 0.3 * rate  # not all sing at the same rate
    assert 0.01 < np.mean(shares) < 0.3  # mostly silent


def test_pulses_of_one_insect():
    rates = []
    for seed in range(20):
        x = insects(8 * SR, SR, np.random.default_rng(seed), singers=1, octaves=0.05, spread=0)
        frequency, power = scipy.signal.welch(envelope(x, SR), SR, nperseg=SR)
        among = (frequency > 20) & (frequency < 70)
        rates.append(frequency[among][power[among].argmax()])
    assert 22 < min(rates) < 38 < 47 < max(rates) < 63


@pytest.mark.parametrize("octaves", [0.05, 0.4])
def test_an_insect_sings_in_a_band_of_its_own(octaves):
    centers = []
    for seed in range(30):
        x = insects(5 * SR, SR, np.random.default_rng(seed), singers=1, octaves=octaves)
        frequency, power = scipy.signal.welch(x, SR, nperseg=2048)
        center = np.sum(frequency * power) / power.sum()
        assert power[np.abs(np.log2(np.maximum(frequency, 1) / center)) < 4 * octaves + 0.1].sum() > 0.9 * power.sum()
        centers.append(center)
    assert 2800 < min(centers) < 4000 < 6500 < max(centers) < 8600


def test_insects_have_levels_of_their_own():
    def levels(**options):
        songs = (insects(5 * SR, SR, np.random.default_rng(seed), singers=1, **options) for seed in range(60))
        return [20 * np.log10(np.quantile(envelope(x, SR), 0.999)) for x in songs]

    alike, different = levels(spread=0), levels(spread=14)
    assert np.median(alike) == pytest.approx(3, abs=3)  # peaks of a noise whose root mean square is 1
    assert np.std(alike) < 3
    assert np.std(different) == pytest.approx(14, rel=0.3)


def test_more_singers_are_heard_together():
    power = [
        np.mean([np.mean(insects(SR, SR, np.random.default_rng(k), singers=n, spread=0) ** 2) for k in range(40)])
        for n in (1, 4)
    ]
    assert power[1] / power[0] == pytest.approx(4, rel=0.4)


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        *((source, "n_samples", value) for source in (wind, clicks, rain, insects) for value in (0, -1, 1.5)),
        *((source, "sr", value) for source in (wind, clicks, rain, insects) for value in (0, -1)),
        (insects, "sr", 16000),
        *((source, "rate", value) for source in (wind, clicks, rain, insects) for value in (-1, np.nan)),
        (wind, "spread", -1),
        (wind, "rate", 0),
        (clicks, "decay", 0),
        (clicks, "spread", -1),
        (clicks, "fmin", -1),
        (clicks, "fmin", 11026),
        (clicks, "octaves", 0),
        (clicks, "octaves", np.nan),
        (rain, "level", np.nan),
        (rain, "spread", -1),
        (insects, "rate", 0),
        (insects, "singers", 0),
        (insects, "singers", 2.5),
        (insects, "octaves", 0),
        (insects, "spread", -1),
    ],
)
def test_bad_noises_are_refused(source, name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        source(**{"n_samples": 1000, "sr": SR, "rng": np.random.default_rng(0), "rate": 1.0, name: value})
