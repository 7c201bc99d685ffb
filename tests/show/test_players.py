"""Players: level kept, captions safe, bad sounds refused."""

import base64
import io
import re

import numpy as np
import pytest
import soundfile

from pcenlib.show.players import RATES, Player, player


def tone(amplitude, sr, frequency=440.0):
    return amplitude * np.sin(2 * np.pi * frequency * np.arange(sr) / sr)


def level(x):
    return 10 * np.log10(np.mean(x**2))


@pytest.mark.parametrize("sr", [8000, 22050, 44100])
@pytest.mark.parametrize(("amplitude", "gain"), [(0.5, 0), (0.5, -40), (0.001, 0), (0.001, 40), (1, 0)])
def test_a_player_keeps_the_level(sr, amplitude, gain):
    x = tone(amplitude, sr)
    decoded, rate = soundfile.read(io.BytesIO(player(x, sr, "tone", gain=gain).mp3))
    inner = slice(sr // 10, -sr // 10)
    assert rate == sr
    assert decoded.shape == x.shape
    assert level(decoded[inner]) == pytest.approx(level(x[inner]) + gain, abs=0.5)


def test_a_player_keeps_the_frequency():
    decoded, sr = soundfile.read(io.BytesIO(player(tone(0.5, 22050, 1000.0), 22050, "tone").mp3))
    assert np.abs(np.fft.rfft(decoded)).argmax() * sr / len(decoded) == pytest.approx(1000, abs=2)


@pytest.mark.parametrize("sr", RATES)
def test_every_rate_of_mp3_plays(sr):
    assert soundfile.info(io.BytesIO(player(tone(0.5, sr), sr, "tone").mp3)).samplerate == sr


def test_html_holds_the_sound_and_its_caption():
    sound = player(tone(0.5, 8000), 8000, "a call at 30 m")
    html = sound._repr_html_()
    assert base64.b64decode(re.search('src="data:audio/mpeg;base64,([^"]+)"', html)[1]) == sound.mp3
    assert '<audio controls preload="metadata" aria-label="a call at 30 m"' in html
    assert "<figcaption>a call at 30 m</figcaption>" in html


def test_captions_are_escaped():
    html = Player(b"", '<b>"louder" & clearer</b>')._repr_html_()
    assert html.count("&lt;b&gt;&quot;louder&quot; &amp; clearer&lt;/b&gt;") == 2
    assert "<b>" not in html


def test_repr_is_short():
    assert repr(Player(bytes(10**6), "a call")) == "Player('a call')"


@pytest.mark.parametrize(
    "x",
    [[], 0.5, np.zeros((2, 100)), [0.5, np.nan], [0.5, np.inf], [0.5, 1.001], [0.5, -1.001]],
    ids=["empty", "scalar", "two channels", "nan", "infinite", "above 1", "below -1"],
)
def test_bad_sounds_are_refused(x):
    with pytest.raises(ValueError, match=r"^x must"):
        player(x, 8000, "bad")


def test_clipping_counts_after_the_gain():
    x = tone(0.5, 8000)
    player(4 * x, 8000, "loud, turned down", gain=-7)
    with pytest.raises(ValueError, match=r"^x must stay within .* lower the gain"):
        player(x, 8000, "too loud", gain=7)


@pytest.mark.parametrize("gain", [np.nan, np.inf, "0"])
def test_bad_gain_is_refused(gain):
    with pytest.raises(ValueError, match=r"^gain must"):
        player([0.5], 8000, "bad", gain=gain)


@pytest.mark.parametrize("sr", [0, 2000, 96000])
def test_rates_that_mp3_does_not_know_are_refused(sr):
    with pytest.raises(ValueError, match=r"^sr must"):
        player([0.5], sr, "bad")
