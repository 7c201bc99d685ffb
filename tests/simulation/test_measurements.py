"""Measurements of calls, rising tones and ships: on sounds whose numbers are known, and beside recorded ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.experiments import stored
from pcenlib.simulation import measurements
from pcenlib.simulation.callers import UpCall, nighthawk_call, nighthawks, up_call
from pcenlib.simulation.measurements import (
    MODULATION_RATES,
    THIRD_OCTAVES,
    CallMeasurements,
    measure_call,
    measure_ship,
    measure_sweep,
)
from pcenlib.simulation.noises import noise
from pcenlib.simulation.ships import ship_noise, ships

SR, SEA_SR = 22050, 2000
BAND = (2500.0, 5000.0)
RATES = (150.0, 300.0)
# (samples per second, contrast in dB)
CONDITIONS = pytest.mark.parametrize(
    ("sr", "contrast"), [(16000, 20), (22050, 10), (22050, 20), (22050, 40), (44100, 20)]
)


def times(duration, sr):
    return np.arange(round(duration * sr)) / sr


def clip(call, sr=SR, *, contrast=20.0, onset=0.3, duration=1.0, band=BAND, seed=0):
    """A call of amplitude 1 in white noise, so far above the power of the noise within the band."""
    # The squared envelope of noise is twice its variance; that of a tone of amplitude 1 is 1.
    share = (band[1] - band[0]) / (sr / 2)
    variance = 10 ** (-contrast / 10) / (2 * share)
    x = np.sqrt(variance) * np.random.default_rng(seed).standard_normal(round(duration * sr))
    begin = round(onset * sr)
    x[begin : begin + call.size] += call
    return x


def measure(x, sr=SR, **options):
    return measure_call(x, sr, **{"band": BAND, "pulse_rates": RATES, **options})


def averages(calls, sr, **options):
    """Mean of each measurement over several clips."""
    return CallMeasurements(*np.mean([measure(x, sr, **options) for x in calls], axis=0))


# Tones


@CONDITIONS
@pytest.mark.parametrize("frequency", [3000.0, 4321.0])
def test_a_tone(sr, contrast, frequency):
    tone = np.sin(2 * np.pi * frequency * times(0.2, sr))
    found = averages([clip(tone, sr, contrast=contrast, seed=seed) for seed in range(8)], sr)
    assert found.onset == pytest.approx(0.3, abs=0.003)
    assert found.duration == pytest.approx(0.2, abs=0.006)
    # The loudest moment is that of tone and noise together, which matters where the noise is not weak.
    assert contrast - 0.5 < found.contrast < contrast + 1 + 10 ** (1 - contrast / 10)
    if contrast >= 20:
        assert found.centre == pytest.approx(frequency, abs=1)
        assert_allclose([found.start, found.end], frequency, rtol=0.01)
        assert frequency - 60 < found.low < found.centre < found.high < frequency + 60


def test_a_tone_in_silence_is_exact():
    tone = np.sin(2 * np.pi * 3500 * times(0.2, SR))
    found = measure(clip(tone, contrast=np.inf))
    # The Hann window of 10 ms is at a quarter of its power 2.2 ms before the tone starts, and there is one at each end.
    assert found.onset == pytest.approx(0.3, abs=0.002)
    assert found.duration == pytest.approx(0.2, abs=0.004)
    assert_allclose([found.start, found.centre, found.end], 3500, atol=0.5)
    energy = np.cumsum(np.abs(np.fft.rfft(np.hanning(round(0.2 * SR)), 2**20)) ** 2)
    reach = np.searchsorted(energy, 0.9 * energy[-1]) * SR / 2**20  # of a Hann window as long as the tone
    assert_allclose([found.low, found.high], [3500 - reach, 3500 + reach], atol=SR / 4096 / 2)  # half a bin
    assert found.contrast > 100


@pytest.mark.parametrize("frequency", [3000, 3501.3, 4000.7])
@pytest.mark.parametrize("duration", [0.05, 0.2, 0.3])
def test_frequencies_are_not_biased_by_the_width_of_a_bin(frequency, duration):
    found = measure(clip(np.sin(2 * np.pi * frequency * times(duration, SR)), contrast=80))
    assert found.centre == pytest.approx(frequency, abs=0.7)
    assert found.high - found.centre == pytest.approx(found.centre - found.low, abs=1.5)


def test_gain_does_not_matter():
    x = clip(np.sin(2 * np.pi * 3500 * times(0.2, SR)))
    assert_allclose(measure(1e-4 * x), measure(x), rtol=1e-6)


def test_only_the_band_matters():
    call = np.sin(2 * np.pi * 3500 * times(0.2, SR))
    louder = 30 * np.sin(2 * np.pi * 800 * times(0.1, SR))
    assert_allclose(measure(clip(call) + clip(louder, contrast=np.inf, onset=0.7)), measure(clip(call)), rtol=0.01)
    low = measure(clip(call) + clip(louder, contrast=np.inf, onset=0.7), band=(600.0, 1000.0))
    assert (low.onset, low.duration) == (pytest.approx(0.7, abs=0.003), pytest.approx(0.1, abs=0.006))
    assert low.centre == pytest.approx(800, abs=2)


def test_the_loudest_call_of_a_clip_is_measured():
    weak, strong = (level * np.sin(2 * np.pi * 3500 * times(0.1, SR)) for level in (0.5, 1.0))
    for onset in (0.1, 0.8):
        found = measure(clip(strong, onset=onset) + clip(weak, contrast=np.inf, onset=0.5))
        assert found.onset == pytest.approx(onset, abs=0.003)
        assert found.duration == pytest.approx(0.1, abs=0.006)


@pytest.mark.parametrize(("gap", "joined"), [(0.015, True), (0.030, True), (0.045, False), (0.1, False)])
def test_interruptions(gap, joined):
    first, second = np.sin(2 * np.pi * 3500 * times(0.08, SR)), 0.9 * np.sin(2 * np.pi * 3500 * times(0.08, SR))
    whole = np.concatenate([first, np.zeros(round(gap * SR)), second])
    for call, onset in ((whole, 0.3), (whole[::-1], 0.3 if joined else 0.38 + gap)):
        found = measure(clip(call))
        assert found.onset == pytest.approx(onset, abs=0.003)
        assert found.duration == pytest.approx(0.16 + gap if joined else 0.08, abs=0.006)


@pytest.mark.parametrize(
    ("inside", "place", "gap", "expected"),
    [
        ("..###..", 3, 1, (2, 4)),
        ("..###..", 2, 1, (2, 4)),
        ("..###..", 4, 1, (2, 4)),
        ("##.##.#", 0, 1, (0, 1)),
        ("##.##.#", 3, 1, (3, 4)),
        ("##.##.#", 4, 1, (3, 4)),
        ("##.##.#", 6, 1, (6, 6)),
        ("##.##.#", 3, 2, (0, 6)),
        ("##..#.#", 0, 2, (0, 1)),
        ("##..#.#", 4, 2, (4, 6)),
        ("#", 0, 1, (0, 0)),
    ],
)
def test_the_stretch_around_a_place_by_hand(inside, place, gap, expected):
    assert measurements._around(np.array(list(inside)) == "#", place, gap) == expected


@pytest.mark.parametrize("end", [slice(60), slice(-60, None)])
def test_what_the_clip_cut_off_at_its_borders_is_no_call(end):
    x = clip(np.sin(2 * np.pi * 3500 * times(0.2, SR)))
    x[end] += 10 * np.sin(2 * np.pi * 3500 * np.arange(60) / SR)
    assert measure(x).onset == pytest.approx(0.3, abs=0.003)


# Envelopes


@pytest.mark.parametrize("drop", [3.0, 6.0, 12.0])
@pytest.mark.parametrize("sr", [16000, 44100])
def test_duration_at_a_level_below_the_peak(drop, sr):
    # The power exp(-(t/w)^2) falls by `drop` dB within w sqrt(drop ln(10)/10) of its peak.
    width = 0.06
    time = times(0.5, sr) - 0.25
    bell = np.exp(-0.5 * (time / width) ** 2) * np.sin(2 * np.pi * 3500 * time)
    found = measure(clip(bell, sr, contrast=40), sr, drop=drop)
    half = width * np.sqrt(drop * np.log(10) / 10)
    assert found.duration == pytest.approx(2 * half, rel=0.04)
    assert found.onset == pytest.approx(0.55 - half, abs=0.004)


@pytest.mark.parametrize("attack", [0.02, 0.05, 0.1])
def test_attack(attack):
    time = times(0.4, SR)
    call = np.minimum(1, time / attack) * np.sin(2 * np.pi * 3500 * time)
    found = averages([clip(call, contrast=30, seed=seed) for seed in range(5)], SR)
    # The amplitude grows in proportion to time: from the square root of 10 % to that of 50 % of the power.
    assert found.attack == pytest.approx((np.sqrt(0.5) - np.sqrt(0.1)) * attack, abs=0.003)


def test_attack_to_a_level_that_is_not_the_peak():
    # Half of the power for most of the time; the peak is so much higher that the call begins late in its rise.
    time = times(0.4, SR)
    call = np.minimum(1, time / 0.1) * np.sin(2 * np.pi * 3500 * time)
    call[time > 0.35] *= 2
    found = averages([clip(call, contrast=40, seed=seed) for seed in range(3)], SR, drop=6.3)
    assert found.onset > 0.39
    assert found.attack == pytest.approx((np.sqrt(0.5) - np.sqrt(0.1)) * 0.1, abs=0.003)


def test_attack_of_a_sudden_call_is_that_of_the_smoothing():
    found = averages([clip(np.sin(2 * np.pi * 3500 * times(0.2, SR)), contrast=30, seed=s) for s in range(5)], SR)
    assert 0.001 < found.attack < 0.003


# Pulses and sweeps


@CONDITIONS
@pytest.mark.parametrize("rate", [170.0, 219.0, 280.0])
def test_rate_of_pulses(sr, contrast, rate):
    time = times(0.25, sr)
    call = (0.5 + 0.5 * np.cos(2 * np.pi * rate * time)) * np.sin(2 * np.pi * 3700 * time)
    found = measure(clip(call, sr, contrast=contrast), sr)
    assert found.pulse_rate == pytest.approx(rate, abs=1)
    assert found.duration == pytest.approx(0.25, abs=0.01)
    assert found.striation > 10


def test_weak_pulses_of_a_clear_call_stand_out_from_its_length():
    time = times(0.25, SR)
    call = (1 + 0.02 * np.cos(2 * np.pi * 220 * time)) * np.sin(2 * np.pi * 3700 * time)
    found = measure(clip(call, contrast=70))
    assert found.pulse_rate == pytest.approx(220, abs=1)
    assert found.striation > 10


def test_rates_outside_those_that_are_looked_for():
    time = times(0.25, SR)
    call = (0.5 + 0.5 * np.cos(2 * np.pi * 100 * time)) * np.sin(2 * np.pi * 3700 * time)
    assert measure(clip(call), pulse_rates=(50.0, 140.0)).pulse_rate == pytest.approx(100, abs=1)
    assert measure(clip(call)).striation < 0.2 * measure(clip(call), pulse_rates=(50.0, 140.0)).striation


def test_weaker_pulses_stand_out_less():
    time = times(0.25, SR)
    striations = []
    for depth in (1.0, 0.3, 0.1, 0.0):
        call = (1 + depth * np.cos(2 * np.pi * 220 * time)) / (1 + depth) * np.sin(2 * np.pi * 3700 * time)
        striations.append(averages([clip(call, seed=seed) for seed in range(5)], SR).striation)
    assert striations == sorted(striations, reverse=True)
    assert striations[-1] < 6


@CONDITIONS
@pytest.mark.parametrize(("first", "last"), [(4200.0, 3200.0), (3000.0, 4500.0)])
def test_a_sweep(sr, contrast, first, last):
    time = times(0.3, sr)
    sweep = np.sin(2 * np.pi * (first * time + (last - first) * time**2 / (2 * 0.3)))
    found = averages([clip(sweep, sr, contrast=contrast, seed=seed) for seed in range(4)], sr)
    at = lambda share: first + share * (last - first)  # noqa: E731
    margin = 30 if contrast >= 20 else 90
    # The Hann window of the measurement weighs the middle of each third.
    assert found.start == pytest.approx(at(1 / 6), abs=margin)
    assert found.end == pytest.approx(at(5 / 6), abs=margin)
    assert found.centre == pytest.approx(at(1 / 2), abs=margin)
    if contrast >= 20:
        # sin^4(pi t), the power of that window, has 5 % of its area below 0.263.
        low, high = sorted([at(0.263), at(0.737)])
        assert_allclose([found.low, found.high], [low, high], atol=40)


def test_an_early_call_is_no_part_of_its_own_background():
    time = times(0.3, SR)
    sweep = np.sin(2 * np.pi * (4200 * time - 1000 * time**2 / (2 * 0.3)))
    early, late = (measure(clip(sweep, onset=onset, contrast=40)) for onset in (0.07, 0.5))
    assert_allclose(early[3:8], late[3:8], atol=4)  # frequencies


def test_other_voices_at_other_rates():
    # An up-call of a whale, as far as this book needs one: 80 to 180 Hz in a second.
    time = times(1.0, 2000)
    call = np.hanning(time.size) * np.sin(2 * np.pi * (80 * time + 50 * time**2))
    x = clip(call, 2000, duration=5.0, onset=2.0, band=(50.0, 350.0), contrast=30)
    found = measure_call(x, 2000, band=(50.0, 350.0), pulse_rates=(5.0, 20.0))
    # At a quarter of its peak power, a Hann window is half as long: 105 to 155 Hz, whose thirds are around these.
    assert found.duration == pytest.approx(0.5, abs=0.03)
    assert_allclose([found.start, found.centre, found.end], [113.3, 130, 146.7], atol=2)


# Noise is taken off


@pytest.mark.parametrize("slope", [-6.0, 0.0, 6.0])
def test_frequencies_are_those_of_the_call_and_not_of_the_noise(slope):
    rng = np.random.default_rng(0)
    time = times(0.2, SR)
    call = np.exp(-0.5 * ((time - 0.1) / 0.05) ** 2) * np.sin(2 * np.pi * 3300 * time)
    found = []
    for _ in range(10):
        x = 0.2 * noise(SR, SR, rng, slope=slope, fmin=1000)
        x[6000 : 6000 + time.size] += call
        found.append(measure(x))
    assert np.mean([f.centre for f in found]) == pytest.approx(3300, abs=20)
    assert np.mean([f.start for f in found]) == pytest.approx(3300, abs=150)


def test_what_noise_is_left():
    # Of noise whose power at each frequency is exponentially distributed, exp(-1) of the mean lies above the mean.
    tone = np.sin(2 * np.pi * 3000 * times(0.2, SR))
    found = averages([clip(tone, contrast=10, seed=seed) for seed in range(30)], SR)
    left = 10 ** (-10 / 10) * np.exp(-1)
    middle = np.mean(BAND)
    assert_allclose([found.start, found.end], (3000 + left * middle) / (1 + left), atol=8)


# Nighthawks


@pytest.fixture(scope="module")
def recorded():
    table = stored.load("nighthawk-calls").table
    return table[(table["striation"] >= 5) & (table["contrast"] >= 3)]


@pytest.fixture(scope="module")
def simulated(recorded):
    """Calls of 40 birds, at the contrasts of the recorded ones."""
    rng = np.random.default_rng(0)
    rows = []
    for bird, contrast in zip(nighthawks(40, rng), rng.choice(recorded["contrast"], 40), strict=True):
        call = nighthawk_call(SR, rng, bird=bird)
        power = np.convolve(call**2, np.hanning(220) / np.hanning(220).sum(), mode="same").max()
        x = clip(np.sqrt(0.5 / power) * call, contrast=contrast, seed=rng.integers(2**31), duration=0.8, onset=0.25)
        rows.append(measure(x))
    return pd.DataFrame(rows)


def test_the_stored_table_has_the_clear_calls_that_the_caller_was_fitted_to(recorded):
    assert len(recorded) >= 10
    assert list(recorded.columns) == ["clip", *CallMeasurements._fields]


@pytest.mark.parametrize("name", ["duration", "attack", "low", "centre", "high", "start", "end", "pulse_rate"])
def test_the_median_of_simulated_calls_lies_within_the_spread_of_recorded_ones(name, recorded, simulated):
    low, high = recorded[name].quantile([0.25, 0.75])
    step = 0.002 if name == "attack" else 0  # of a measurement that the smoothing limits
    assert low - step <= simulated[name].median() <= high + step


@pytest.mark.parametrize("name", ["duration", "start", "end", "pulse_rate"])
def test_simulated_calls_vary_about_as_much_as_recorded_ones(name, recorded, simulated):
    recorded_spread, simulated_spread = (np.subtract(*t[name].quantile([0.75, 0.25])) for t in (recorded, simulated))
    assert 1 / 2.5 < simulated_spread / recorded_spread < 2.5


def test_simulated_calls_show_their_pulses_as_clearly_as_recorded_ones(recorded, simulated):
    assert recorded["striation"].min() < simulated["striation"].median() < recorded["striation"].max()


# Calls that are refused


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", [0.0] * 1000 + [1.0]),
        ("x", np.zeros(SR)),
        ("x", np.ones((2, SR))),
        ("x", [np.nan] * SR),
        ("sr", 0),
        ("band", (0.0, 5000.0)),
        ("band", (2500.0, 11025.0)),
        ("band", (5000.0, 2500.0)),
        ("band", (np.nan, 2500.0)),
        ("pulse_rates", (0.0, 300.0)),
        ("pulse_rates", (300.0, 150.0)),
        ("pulse_rates", (150.0, 12000.0)),
        ("drop", 0),
        ("drop", -3),
    ],
)
def test_bad_calls_are_refused(name, value):
    x = clip(np.sin(2 * np.pi * 3500 * times(0.2, SR)))
    with pytest.raises(ValueError, match=f"^{name} must"):
        measure_call(**{"x": x, "sr": SR, "band": BAND, "pulse_rates": RATES, name: value})


# Rising tones

GRIDS = {
    "starts": np.arange(60, 161, 10),
    "ends": np.arange(140, 301, 10),
    "durations": np.arange(0.5, 1.41, 0.1),
    "curvatures": np.array([0.7, 1.0, 1.5, 2.0]),
}


def clip_with(call, onset, *, snr, seed=0):
    """Three seconds with a call in them, so many dB above white noise."""
    rng = np.random.default_rng(seed)
    x = noise(3 * SEA_SR, SEA_SR, rng) * 10 ** (-snr / 20) / np.sqrt(2)
    wave = up_call(call, SEA_SR)
    begin = round(onset * SEA_SR)
    x[begin : begin + wave.size] += wave
    return x


@pytest.mark.parametrize("snr", [-5.0, 0.0, 10.0])
@pytest.mark.parametrize(
    ("start", "end", "duration", "curvature"),
    [(100, 200, 1.0, 1.0), (80, 250, 0.8, 1.5), (130, 190, 1.2, 2.0), (90, 240, 0.9, 0.7)],
)
def test_a_sweep_is_found_where_it_is(start, end, duration, curvature, snr):
    call = UpCall(start=start, end=end, duration=duration, curvature=curvature, harmonic=-60)
    found = measure_sweep(clip_with(call, 0.9, snr=snr), SEA_SR, **GRIDS)
    # The fades of the call and the length of the window blur its ends.
    assert found.onset == pytest.approx(0.9, abs=0.15)
    assert found.duration == pytest.approx(duration, abs=0.31)
    assert found.start == pytest.approx(start, abs=20)
    assert found.end == pytest.approx(end, abs=30)
    middle = found.start + (found.end - found.start) * 0.5**found.curvature
    assert middle == pytest.approx(start + (end - start) * 0.5**curvature, abs=15)


def test_contrast_grows_with_the_level_and_is_small_in_noise():
    contrasts = [
        measure_sweep(clip_with(UpCall(), 1.0, snr=snr), SEA_SR, **GRIDS).contrast for snr in (-40, -10, 0, 10)
    ]
    assert_array_equal(contrasts, np.sort(contrasts))
    assert contrasts[0] < 5 < contrasts[2]


def test_harmonic_is_told_from_none():
    strong, weak = (
        measure_sweep(clip_with(UpCall(harmonic=harmonic), 1.0, snr=10.0), SEA_SR, **GRIDS).harmonic
        for harmonic in (-3.0, -40.0)
    )
    assert strong > weak + 5
    assert strong == pytest.approx(0, abs=5)


def test_a_sweep_longer_than_the_clip_is_refused():
    with pytest.raises(ValueError, match=r"^durations must"):
        measure_sweep(np.ones(SEA_SR), SEA_SR, **{**GRIDS, "durations": [2.0]})


def test_only_rising_lines_are_tried():
    """As in one recorded up-call, whose loudest tone falls: it used to be taken for the call."""
    x = clip_with(UpCall(start=150, end=145, duration=0.6, curvature=1.0, harmonic=-60), 0.9, snr=20.0)
    found = measure_sweep(x, SEA_SR, **GRIDS | {"starts": [100, 150], "ends": [145, 160]})
    assert found.end > found.start


def test_every_stored_up_call_rises():
    table = stored.load("right-whale-calls").table
    assert (table["end"] > table["start"]).all()


def test_lines_that_all_fall_are_refused():
    with pytest.raises(ValueError, match=r"^ends must"):
        measure_sweep(np.ones(4 * SEA_SR), SEA_SR, **GRIDS | {"starts": [150], "ends": [150, 100]})


# Ships


def fluctuating(*, slope=0.0, rate=None, depth=0.0, seconds=20, sr=SEA_SR, seed=0):
    """Noise whose amplitude swings at a rate."""
    x = noise(seconds * sr, sr, np.random.default_rng(seed), slope=slope)
    return x if rate is None else x * (1 + depth * np.cos(2 * np.pi * rate * np.arange(x.size) / sr))


@given(slope=st.floats(-8, 3), seed=st.integers(0, 100))
def test_slope_of_a_ship_is_that_of_its_noise(slope, seed):
    assert measure_ship(fluctuating(slope=slope, seed=seed), SEA_SR).slope == pytest.approx(slope, abs=0.5)


@given(rate=st.sampled_from(MODULATION_RATES[4:]), seed=st.integers(0, 100))
def test_rate_of_a_deep_modulation_is_found_and_stands_out(rate, seed):
    found = measure_ship(fluctuating(slope=-4, rate=rate, depth=0.7, seed=seed), SEA_SR)
    assert found.rate == pytest.approx(rate, abs=0.5)
    assert found.excess > 12


def test_deeper_modulation_stands_out_further():
    excesses = [measure_ship(fluctuating(rate=7, depth=depth), SEA_SR).excess for depth in (0.1, 0.2, 0.4, 0.8)]
    assert excesses == sorted(excesses)


def test_steady_noise_has_no_rhythm():
    assert max(measure_ship(fluctuating(seed=seed), SEA_SR).excess for seed in range(10)) < 6


def test_levels_are_over_their_mean_and_modulation_over_its_median():
    found = measure_ship(fluctuating(slope=-4, rate=5, depth=0.5), SEA_SR)
    assert found.levels.shape == THIRD_OCTAVES.shape
    assert np.mean(10 ** (found.levels / 10)) == pytest.approx(1)
    assert found.modulation.shape == MODULATION_RATES.shape
    assert np.median(found.modulation) == 0
    assert found.modulation.max() == found.excess


def test_gain_and_sample_rate_do_not_matter():
    x = fluctuating(slope=-4, rate=5, depth=0.5, sr=8000)
    one, other = measure_ship(x, 8000), measure_ship(30 * x, 8000)
    assert other.levels == pytest.approx(one.levels)
    assert other.modulation == pytest.approx(one.modulation)
    assert (one.rate, one.slope) == (5, pytest.approx(-4, abs=0.5))


def test_a_tone_and_a_slam_hardly_matter():
    x = fluctuating(slope=-4, rate=6, depth=0.4)
    with_both = x + 5 * np.sin(2 * np.pi * 250 * np.arange(x.size) / SEA_SR)
    with_both[20000:20040] += 50
    found = measure_ship(with_both, SEA_SR)
    assert found.rate == 6
    assert found.excess > 12


@pytest.mark.parametrize(
    ("x", "sr", "message"),
    [
        (np.ones((2, 9000)), SEA_SR, "shape"),
        (np.ones(9000), 1000, "sr"),
        (np.ones(7000), SEA_SR, "duration of x"),
    ],
)
def test_bad_ships_are_refused(x, sr, message):
    with pytest.raises(ValueError, match=message):
        measure_ship(x, sr)


def test_stored_passages_have_every_column_that_the_chapter_shows():
    table = stored.load("ship-passages").table
    assert len(table) == 15
    assert table.filter(like="level_").shape[1] == THIRD_OCTAVES.size
    assert table.filter(like="modulation_").shape[1] == MODULATION_RATES.size
    assert (table["excess"] == table.filter(like="modulation_").max(axis=1)).all()


def test_ships_are_fitted_to_the_recorded_passages():
    table = stored.load("ship-passages").table
    rng, found = np.random.default_rng(0), []
    for number, ship in enumerate(ships(180, rng)):
        n_samples = round(SEA_SR * table["duration"].iloc[number % len(table)])
        found.append(measure_ship(ship_noise(n_samples, SEA_SR, rng, ship=ship), SEA_SR))
    excess, rate = (np.array([getattr(ship, name) for ship in found]) for name in ("excess", "rate"))
    assert np.median([ship.slope for ship in found]) == pytest.approx(np.median(table["slope"]), abs=0.5)
    shares = [0.25, 0.5, 0.75]
    assert np.quantile(excess, shares) == pytest.approx(np.quantile(table["excess"], shares), abs=1.5)
    assert np.mean(rate < 5) == pytest.approx(np.mean(table["rate"] < 5), abs=0.15)
    recorded = np.median(table.filter(like="modulation_"), axis=0)
    simulated = np.median([ship.modulation for ship in found], axis=0)
    for low in range(4):  # in steps of 5 Hz
        inside = np.floor(MODULATION_RATES / 5) == low
        assert np.mean(simulated[inside]) == pytest.approx(np.mean(recorded[inside]), abs=1)
