"""Sounds in the book: players that keep the level of what they play.

`IPython.display.Audio` makes every clip equally loud, which would erase the very thing that a chapter on distance is
about. Here the gain is the caller's, and clips that are compared are given the same.
"""

import base64
import html
import io

import numpy as np
import numpy.typing as npt
import soundfile

from pcenlib.core.checks import check_range

__all__ = ["Player", "player"]


RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)  # of MP3, in samples per second


class Player:
    """An audio element with a caption, as a notebook shows it."""

    def __init__(self, mp3: bytes, caption: str) -> None:
        self.mp3 = mp3
        self.caption = caption

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.mp3).decode()
        caption = html.escape(self.caption)
        return (
            f'<figure class="sound"><audio controls preload="metadata" aria-label="{caption}" '
            f'src="data:audio/mpeg;base64,{source}"></audio><figcaption>{caption}</figcaption></figure>'
        )

    def __repr__(self) -> str:
        return f"Player({self.caption!r})"


def player(x: npt.ArrayLike, sr: int, caption: str, *, gain: float = 0.0) -> Player:
    """A player for a waveform, at a level of your choice.

    Parameters
    ----------
    x : array_like, shape (sample,)
        Waveform.
    sr : int
        Samples per second.
    caption : str
        What it is and what to listen for; also read aloud by screen readers.
    gain : float
        Gain in dB. Give sounds that are to be compared the same one.

    Returns
    -------
    Player
        Shown by Jupyter as an audio element with its caption.

    Notes
    -----
    Encoded as MP3, an eighth of the size of WAV.
    """
    check_range("gain", gain, -np.inf)
    if sr not in RATES:
        raise ValueError(f"sr must be a rate that MP3 knows, one of {RATES}, got {sr!r}; resample x first")
    samples = np.asarray(x, dtype=np.float64) * 10 ** (gain / 20)
    if samples.ndim != 1 or samples.size == 0:
        raise ValueError(f"x must be one channel of at least one sample, got shape {samples.shape}")
    peak = np.abs(samples).max()
    if not peak <= 1:
        raise ValueError(f"x must stay within [-1, 1] after the gain: its peak is {peak:g}; lower the gain")
    with io.BytesIO() as buffer:
        soundfile.write(buffer, samples, sr, format="MP3")
        return Player(buffer.getvalue(), caption)
