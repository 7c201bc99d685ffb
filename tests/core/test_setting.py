"""Settings from files and for bands: the same bands or a clear error."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK, RIGHT_WHALE, smoothing_coefficient, spectrogram
from pcenlib.core.setting import load_setting

SETTINGS = pytest.mark.parametrize("setting", [NIGHTHAWK, RIGHT_WHALE], ids=["nighthawk", "right whale"])


def toml(setting, **changes):
    values = {**dataclasses.asdict(setting), **changes}
    return "".join(f"{key} = {value!r}\n" for key, value in values.items() if value is not None)


# Files


def test_settings_of_the_paper_have_names():
    assert load_setting("nighthawk") is NIGHTHAWK
    assert load_setting("right-whale") is RIGHT_WHALE


@SETTINGS
def test_a_file_gives_the_setting_that_it_describes(setting, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(toml(setting))
    assert load_setting(path) == load_setting(str(path)) == setting


def test_a_key_that_has_a_default_may_be_left_out(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(toml(NIGHTHAWK, power=None))
    assert load_setting(path) == NIGHTHAWK


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (toml(NIGHTHAWK, s=None), r"mine\.toml must have the keys sr, .*: s is missing"),
        (toml(NIGHTHAWK, period=0.1), r"mine\.toml must have the keys .*: period is unknown"),
        (toml(NIGHTHAWK, sr=None, rate=8000), r"mine\.toml .*: rate is unknown; sr is missing"),
        (toml(NIGHTHAWK, s=2.0), r"mine\.toml: s must be a finite number in \[0\.0001, 1\], got 2\.0"),
        (toml(NIGHTHAWK, s=1e-320), r"mine\.toml: s must be a finite number in \[0\.0001, 1\], got 1e-320"),
        (toml(NIGHTHAWK, fmin=10**400), r"mine\.toml: fmin must be a finite number"),
        (
            toml(NIGHTHAWK, sr=2 * 10**9),
            r"mine\.toml: sr must be a positive integer of at most 10000000, got 2000000000",
        ),
        (
            toml(NIGHTHAWK, n_fft=2**27),
            r"mine\.toml: n_fft must be a positive integer of at most 1048576, got 134217728",
        ),
        (toml(NIGHTHAWK, hop_length=10**400), r"mine\.toml: hop_length must be a positive integer of at most 1048576"),
        (toml(NIGHTHAWK, n_fft=2**20), r"mine\.toml: n_bands = 128 mel bands are too many for n_fft = 1048576"),
        (toml(NIGHTHAWK, s=None) + "s = true", r"mine\.toml: s must be a finite number in .*, got True"),
        ("s = " + "[" * 100_000, r"mine\.toml is not a TOML file: "),
        ("s = " + "1" * 10_000, r"mine\.toml is not a TOML file: "),
        (toml(NIGHTHAWK, fmin="low"), r"mine\.toml: fmin must be .* got 'low'"),
        (toml(NIGHTHAWK, hop_length=1.5), r"mine\.toml: hop_length must be a positive integer of .*, got 1\.5"),
        ("s = ", r"mine\.toml is not a TOML file: "),
        (b"\xff\xfe", r"mine\.toml is not a TOML file"),
    ],
)
def test_a_bad_file_is_named_with_the_key(content, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        load_setting(path)


def test_what_is_neither_a_name_nor_a_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"setting must be nighthawk, right-whale or a file .* got 'owl'"):
        load_setting("owl")
    with pytest.raises(FileNotFoundError, match=r"owl\.toml"):
        load_setting(tmp_path / "owl.toml")


# Bands


@SETTINGS
@pytest.mark.parametrize(("low", "high"), [(300, 900), (2500, 5000), (100, 2100), (10_000, 11_025), (7, 30_000)])
def test_restricted_bands_are_the_bands_that_were(setting, low, high):
    x = np.random.default_rng(0).standard_normal(4 * setting.win_length)
    inside = (setting.frequencies >= low) & (setting.frequencies <= high)
    if not inside.any():
        with pytest.raises(ValueError, match=rf"no band .* from {low} to {high} Hz: centers go from"):
            setting.within(low, high)
        return
    restricted = setting.within(low, high)
    assert restricted.n_bands == inside.sum()
    assert_allclose(restricted.frequencies, setting.frequencies[inside], rtol=1e-12)
    assert_allclose(spectrogram(x, restricted), spectrogram(x, setting)[inside], rtol=1e-6)
    kept = {"n_bands": setting.n_bands, "fmin": setting.fmin, "fmax": setting.fmax}
    assert dataclasses.replace(restricted, **kept) == setting


def test_a_band_that_holds_all_changes_nothing():
    assert NIGHTHAWK.within(0, 20_000) == NIGHTHAWK


@pytest.mark.parametrize(("low", "high"), [(-1, 100), (5000, 2000), (3000, 3000), (float("nan"), 4000)])
def test_bad_bands_are_refused(low, high):
    with pytest.raises(ValueError, match=r"^(low|high) must be a finite number"):
        NIGHTHAWK.within(low, high)


@SETTINGS
def test_edges_hold_what_the_band_passes(setting):
    edges = setting.band_edges
    assert edges.shape == (setting.n_bands, 2)
    assert (edges[:, 0] < setting.frequencies).all()
    assert (setting.frequencies < edges[:, 1]).all()
    time = np.arange(8 * setting.win_length) / setting.sr
    for band in (10, 64, 100):
        E = spectrogram(np.sin(2 * np.pi * setting.frequencies[band] * time), setting).mean(axis=1)
        assert edges[E.argmax(), 0] <= setting.frequencies[band] <= edges[E.argmax(), 1]


def test_edges_by_hand():
    assert_allclose(RIGHT_WHALE.band_edges[0], [3.90625, 11.71875])
    assert_allclose(NIGHTHAWK.band_edges[[0, -1], [0, 1]], [2000, 11025])


# Time scale


@SETTINGS
def test_the_period_is_the_inverse_of_the_smoothing_coefficient(setting):
    assert_allclose(smoothing_coefficient(setting.period, hop=setting.hop), setting.s)


def test_the_period_is_at_least_one_hop():
    assert dataclasses.replace(RIGHT_WHALE, s=1.0).period == RIGHT_WHALE.hop
