"""Flight calls and their annotations, on a synthetic copy."""

import pytest

from pcenlib.datasets.flight_calls import FlightCall, FlightCalls


def test_each_clip_has_its_call_and_the_recording_it_was_cut_from(wholes):
    dataset = FlightCalls(wholes[0] / "flight_calls")
    assert dataset.calls["audio/A2_ALFL_1.flac"] == FlightCall("ALFL", "A2", 1.01, 1.06, 1000, 8000)
    assert [clip.group for clip in dataset.clips] == ["A1", "A2", "A2", "A1", "B7"]
    assert {call.species for call in dataset.calls.values()} == {"ALFL", "OVEN"}


@pytest.mark.parametrize(("column", "value"), [("call_end", "0.5"), ("high_hz", "900"), ("file", "")])
def test_a_call_that_ends_before_it_begins_is_left_out(copy, column, value):
    home, files = copy("flight_calls")
    path = home / "annotations.csv"
    header, first, *others = path.read_text(encoding="utf-8").splitlines()
    values = first.split(",")
    values[header.split(",").index(column)] = value
    path.unlink()
    path.write_text("\n".join([header, ",".join(values), *others]), encoding="utf-8")
    dataset = FlightCalls(home)
    assert "that rise" in dataset.skipped["annotations.csv, line 2"]
    with pytest.warns(UserWarning, match="line 2"):
        assert [clip.name for clip in dataset.clips] == files[1:]
