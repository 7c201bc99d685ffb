"""Callers, measured from their waveforms."""

import dataclasses
import functools

import numpy as np
import pytest
import scipy.signal
from numpy.testing import assert_allclose, assert_array_equal

from pcenlib.simulation.callers import (
    UP_CALL_LEVELS,
    UP_CALL_SPREAD,
    Nighthawk,
    UpCall,
    nighthawk_call,
    nighthawks,
    scops_owl_hoot,
    up_call,
    up_calls,
)
from tests.sounds import centroid

SR, SEA_SR = 22050, 2000
each_caller = pytest.mark.parametrize("caller", [nighthawk_call, scops_owl_hoot])


@functools.cache
def calls(sr=SR, n=30, bird=None):
    rng = np.random.default_rng(0)
    return [nighthawk_call(sr, rng, bird=bird) for _ in range(n)]


def pulse_rate(call, sr=SR):
    envelope = np.abs(scipy.signal.hilbert(call))
    frequency, power = scipy.signal.periodogram(envelope, sr, window="hann", nfft=2**16)
    return frequency[np.argmax(np.where(frequency > 60, power, 0))]


@each_caller
def test_a_seed_determines_the_sound(caller):
    first, again, other = (caller(SR, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@each_caller
def test_a_generator_gives_a_new_sound_each_time(caller):
    rng = np.random.default_rng(1)
    assert not np.array_equal(caller(SR, rng), caller(SR, rng))


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
    rates = [pulse_rate(call) for call in calls()]
    assert np.mean(rates) == pytest.approx(219, rel=0.02)
    assert 0.005 < np.std(rates) / np.mean(rates) < 0.06


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


def test_a_higher_voice_needs_a_higher_sample_rate():
    bird = Nighthawk(start=9000.0, end=12000.0)
    assert np.isfinite(nighthawk_call(44100, np.random.default_rng(0), bird=bird)).all()
    with pytest.raises(ValueError, match=r"^sr must be a finite number at least 25120"):
        nighthawk_call(22050, np.random.default_rng(0), bird=bird)


OTHER_BIRDS = {
    "slow pulses": Nighthawk(pulse_rate=90.0),
    "fast pulses": Nighthawk(pulse_rate=400.0, width=700.0),
    "rising and narrow": Nighthawk(start=2500.0, end=4500.0, width=250.0),
    "low": Nighthawk(start=1200.0, end=900.0, width=250.0),
    "long": Nighthawk(duration=0.5, attack=0.1, release=0.05),
}


@pytest.mark.parametrize("bird", OTHER_BIRDS.values(), ids=OTHER_BIRDS.keys())
def test_a_bird_calls_as_it_is_described(bird):
    heard = calls(n=15, bird=bird)
    assert np.mean([len(call) / SR for call in heard]) == pytest.approx(bird.duration, rel=0.03)
    assert np.mean([pulse_rate(call) for call in heard]) == pytest.approx(bird.pulse_rate, rel=0.02)
    edge = round(0.15 * bird.duration * SR)
    begins, ends = (np.mean([centroid(call[part], SR) for call in heard]) for part in (slice(edge), slice(-edge, None)))
    fall = bird.end - bird.start
    # The resonance moves as the square of time: by 1 % of its way in the middle of the first part, 86 % in the last's.
    assert begins == pytest.approx(bird.start + 0.01 * fall, rel=0.04)
    assert ends == pytest.approx(bird.start + 0.86 * fall, rel=0.04)


@pytest.mark.parametrize(("width", "start"), [(200.0, 4000.0), (560.0, 4000.0), (560.0, 2500.0)])
def test_width_of_the_resonance(width, start):
    bird = Nighthawk(width=width, start=start, end=start, pulse_rate=50.0)
    spreads = []
    for call in calls(n=10, bird=bird):
        frequency, power = scipy.signal.periodogram(call, SR, window="hann")
        centre = np.sum(frequency * power) / np.sum(power)
        spreads.append(np.sqrt(np.sum((frequency - centre) ** 2 * power) / np.sum(power)))
    # The power of a Gaussian gain is narrower than the gain by the square root of two.
    assert np.mean(spreads) == pytest.approx(width / np.sqrt(2), rel=0.03)


@pytest.mark.parametrize("bird", [Nighthawk(), Nighthawk(start=10000.0, end=10000.0, width=1000.0)])
def test_a_call_is_the_same_at_any_sample_rate_but_for_what_that_cannot_hold(bird):
    fine, coarse = (nighthawk_call(sr, np.random.default_rng(0), bird=bird) for sr in (44100, 22050))
    halved = scipy.signal.decimate(fine, 2, ftype="fir", n=500)[: coarse.size]
    assert np.corrcoef(halved, coarse[: halved.size])[0, 1] > 0.99


def test_pulses_are_a_little_irregular_in_strength():
    spreads = []
    for call in calls(n=10, bird=Nighthawk(start=4000.0, end=4000.0, duration=0.4)):
        envelope = np.abs(scipy.signal.hilbert(call))[round(0.05 * SR) : -round(0.05 * SR)]
        peaks, _ = scipy.signal.find_peaks(envelope, distance=round(0.7 * SR / 219))
        spreads.append(np.std(envelope[peaks]) / np.mean(envelope[peaks]))
    assert np.mean(spreads) == pytest.approx(0.2, abs=0.04)


def test_attack_and_release():
    bird = Nighthawk(duration=0.4, attack=0.1, release=0.05)
    squares = np.zeros((60, round(0.4 * SR)))
    for row, call in zip(squares, calls(n=60, bird=bird), strict=True):
        row[:] = np.interp(np.arange(row.size) / row.size, np.arange(call.size) / call.size, call**2)
    level = np.sqrt(np.convolve(squares.mean(axis=0), np.ones(200) / 200, mode="same"))
    full = np.median(level[round(0.15 * SR) : round(0.3 * SR)])
    attack, release = (level[round(time * SR)] / full for time in (0.05, 0.4 - 0.025))
    assert attack == pytest.approx(0.5, abs=0.05)
    assert release == pytest.approx(0.5, abs=0.05)


def test_birds_differ_and_their_calls_differ_less():
    birds = nighthawks(40, np.random.default_rng(0))
    assert len(set(birds)) == 40
    spread = np.std([bird.pulse_rate for bird in birds])
    within = np.mean([np.std([pulse_rate(call) for call in calls(n=5, bird=bird)]) for bird in birds[:10]])
    assert within < 0.5 * spread


def test_birds_vary_around_the_median_bird():
    birds = nighthawks(2000, np.random.default_rng(0))
    assert nighthawks(2000, np.random.default_rng(0)) == birds
    for field in dataclasses.fields(Nighthawk):
        values = np.array([getattr(bird, field.name) for bird in birds])
        assert np.median(values) == pytest.approx(field.default, rel=0.03)
        if field.name not in ("release", "level"):
            assert 0.02 < np.std(np.log(values)) < 0.35
    levels = np.array([bird.level for bird in birds])
    assert np.mean(levels) == pytest.approx(91, abs=0.3)
    assert np.std(levels) == pytest.approx(2.5, rel=0.05)


def test_a_smaller_flock_is_the_first_birds_of_a_larger_one():
    assert nighthawks(7, np.random.default_rng(3))[:4] == nighthawks(4, np.random.default_rng(3))


def test_the_level_of_a_bird_does_not_change_its_waveform():
    loud, soft = (calls(n=1, bird=Nighthawk(level=level))[0] for level in (100.0, 60.0))
    assert_array_equal(loud, soft)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1"])
@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Nighthawk) if field.name != "level"])
def test_impossible_birds_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        Nighthawk(**{name: value})


def test_levels_of_birds_are_numbers():
    assert Nighthawk(level=-10.0).level == -10.0
    with pytest.raises(ValueError, match=r"^level must"):
        Nighthawk(level=np.nan)


@pytest.mark.parametrize("n_birds", [0, -1, 2.5, None])
def test_a_flock_is_a_number_of_birds(n_birds):
    with pytest.raises(ValueError, match=r"^n_birds must be a positive integer"):
        nighthawks(n_birds, np.random.default_rng(0))


# Up-calls


def instantaneous_frequency(x, sr):
    return np.diff(np.unwrap(np.angle(scipy.signal.hilbert(x)))) * sr / (2 * np.pi)


@pytest.mark.parametrize("curvature", [0.7, 1.0, 1.5, 2.5])
def test_frequency_rises_as_the_power_of_time(curvature):
    sr = 8000
    call = UpCall(start=90, end=220, duration=1.2, curvature=curvature, harmonic=-200)
    frequency = instantaneous_frequency(up_call(call, sr), sr)
    progress = (np.arange(frequency.size) + 0.5) / sr / call.duration
    middle = (progress > 0.1) & (progress < 0.9)
    assert_allclose(frequency[middle], (90 + 130 * progress**curvature)[middle], atol=1.5)


def test_a_call_that_falls_is_one_whose_end_is_below_its_start():
    frequency = instantaneous_frequency(up_call(UpCall(start=200, end=100, harmonic=-200), SEA_SR), SEA_SR)
    assert frequency[200] > 180
    assert frequency[-200] < 140


@pytest.mark.parametrize("harmonic", [-30.0, -10.0, 0.0])
def test_second_harmonic(harmonic):
    sr = 8000
    x = up_call(UpCall(start=99.99, end=100.01, duration=4, harmonic=harmonic), sr)
    spectrum = np.abs(np.fft.rfft(x * np.hanning(x.size)))
    first, second = (spectrum[round(f * 4)] for f in (100, 200))
    assert 20 * np.log10(second / first) == pytest.approx(harmonic, abs=0.1)


@pytest.mark.parametrize("sr", [1000, 2000, 22050])
def test_length_and_fades_of_a_call(sr):
    call = UpCall(harmonic=-200)
    x = up_call(call, sr)
    assert x.size == round(call.duration * sr)
    assert x[0] == 0
    assert 0.98 < np.abs(x).max() <= 1
    faded = round(0.15 * x.size / 2)  # at half of the fade
    envelope = np.abs(scipy.signal.hilbert(x))
    assert envelope[faded] == pytest.approx(0.5, abs=0.1)
    assert envelope[-faded] == pytest.approx(0.5, abs=0.1)


def test_a_rate_too_low_for_a_call_is_refused():
    with pytest.raises(ValueError, match=r"^sr must"):
        up_call(UpCall(), 800)


def test_calls_differ_as_much_as_they_should():
    calls = up_calls(2000, np.random.default_rng(0))
    typical = UpCall()
    for name, spread in UP_CALL_SPREAD.items():
        logs = np.log([getattr(call, name) for call in calls])
        assert np.exp(np.median(logs)) == pytest.approx(getattr(typical, name), rel=0.03)
        assert np.std(logs) == pytest.approx(spread, rel=0.1)
    levels = [call.level for call in calls]
    assert np.mean(levels) == pytest.approx(typical.level, abs=0.3)
    assert np.std(levels) == pytest.approx(UP_CALL_LEVELS, rel=0.1)
    assert min(call.end / call.start for call in calls) >= np.sqrt(2) * (1 - 1e-12)


def test_a_seed_determines_calls():
    one, same, other = (up_calls(3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert one[:2] == up_calls(2, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"^n_calls must"):
        up_calls(0, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "value"),
    [("start", 0), ("end", -1), ("duration", 0), ("curvature", 0), ("harmonic", np.nan), ("level", np.inf)],
)
def test_bad_calls_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        UpCall(**{name: value})


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
