"""CCB18, on a synthetic copy."""

import numpy as np
import pytest

from pcenlib import RIGHT_WHALE
from pcenlib.datasets.ccb18 import Ccb18
from tests import copies
from tests.copies import TABLES
from tests.sounds import write


def test_ccb18_bins_days_and_channels(wholes):
    dataset = Ccb18(wholes[0] / "ccb18")
    assert [clip[:3] for clip in dataset.clips] == [
        ("CCB18_20090219_001500.wav, channel 1, 100.500 s", 500.0, "20090219"),
        ("CCB18_20090219_001500.wav, channel 5, 111.500 s", 500.0, "20090219"),
        ("CCB18_20090417_234500.wav, channel 4, 540.500 s", 12500.0, "20090417"),
        ("CCB18_20090417_234500.wav, channel 5, 540.500 s", 12500.0, "20090417"),
    ]
    assert dataset.report.notes == ["4 of 4 annotations can be used, without 1 of channel 3"]


@pytest.mark.parametrize(
    ("begin", "lead", "middle"),
    [(300.0, 4.096, 1.024), (2.0, 1.408, 1.024), (0.0, 0.0, 0.5), (899.9, 4.096, 2.112)],
)
def test_ccb18_clips_are_around_their_calls(tmp_path, begin, lead, middle):
    x = np.zeros((900 * 2000, 2))
    at = min(round((begin + 0.5) * 2000), len(x) - 1)
    x[at, 1] = 0.5
    write(tmp_path / "CCB18_20090220_120000.flac", x, 2000, format="FLAC")
    columns = ["Date", "Channel", "Begin.Time..s.", "End.Time..s.", "DistanceKm"]
    copies.table(tmp_path / "calls.csv", columns, [(20090220, 2, 43200 + begin, 43201 + begin, 3.0)])
    dataset = Ccb18(tmp_path)
    (clip,) = dataset.clips
    assert clip[1:3] == (3500.0, "20090220")
    found = dataset.clip(clip)
    assert found.sr == 2000
    assert found.lead == pytest.approx(lead, abs=0.065)
    n_lead = round(found.lead * 2000)
    assert n_lead % RIGHT_WHALE.hop_length == 0
    assert RIGHT_WHALE.n_frames(len(found.source) - n_lead) == 32
    assert (np.argmax(found.source) - n_lead) / 2000 == pytest.approx(middle, abs=0.065)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ((219, 1, 1000, 999, 1), "times within a day"),
        ((219, 0, 1000, 1001, 1), "channel from 1"),
        ((219, 1, 90000, 90001, 1), "times within a day"),
        ((219, 1, 1000, 1001, ""), "DistanceKm must be a number of at least 0, got ''"),
        ((219, 1, 1000, 1001, "NaN"), "DistanceKm"),
        ((219, 1, 1000, 1001, -1), "DistanceKm"),
        ((219, 9, 1000, 1001, 1), "only 5 channels"),
    ],
)
def test_ccb18_lines_that_cannot_be(copy, line, reason):
    home, _ = copy("ccb18")
    path = home / TABLES["ccb18"][0]
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.write_text(text + ",".join(map(str, line)) + "\n", encoding="utf-8")
    dataset = Ccb18(home)
    (found,) = dataset.skipped.values()
    assert reason in found
    with pytest.warns(UserWarning, match="CCB18: left out"):
        assert len(dataset.clips) == 4
    assert dataset.report.notes == ["4 of 5 annotations can be used, without 1 of channel 3"]
