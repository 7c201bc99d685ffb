"""Tables that open elsewhere: round trips through crowsetta, a reader that is not ours."""

import csv
import io
import re
from pathlib import Path, PureWindowsPath

import crowsetta
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from pcenlib import NIGHTHAWK
from pcenlib.field import tables
from pcenlib.field.events import Event
from pcenlib.field.search import Search
from pcenlib.field.tables import FORMATS, RAVEN, to_audacity, to_csv, to_raven
from pcenlib.jobs.files import write_whole

PARAMETERS = Search(setting=NIGHTHAWK, threshold=2.5).parameters


def event(file="night.wav", file_start=0.0, start=1.5, **changes):
    return Event(
        file=file,
        file_start=file_start,
        start=start,
        end=start + 0.25,
        peak=start + 0.01,
        low=3000.5,
        high=4200.25,
        score=3.0,
        contrast=25.6,
        time="2021-01-16T19:17:31.500-04:00",
        clock="UTC-04:00, from GUANO",
    )._replace(**changes)


EVENTS = [event(), event(start=7.123456), event("other, with\ttab.wav", 3600.0, time="", clock="")]
STARTS, ENDS = [1.5, 7.123456, 3601.5], [1.75, 7.373456, 3601.75]


def written(tmp_path, content, name="table.txt"):
    write_whole(tmp_path / name, content)
    return tmp_path / name


EXPECTED = {
    "raven": """\
Selection	View	Channel	Begin Time (s)	End Time (s)	Low Freq (Hz)	High Freq (Hz)	Begin Path	File Offset (s)\
	PCEN Peak Time (s)	PCEN Score	PCEN Contrast (dB)	Recorder Time	Recorder Clock	Annotation
1	Spectrogram 1	1	1.500000	1.750000	3000.500	4200.250	HERE/night.wav	1.500000\
	1.510000	3.0000	25.60	2021-01-16T19:17:31.500-04:00	UTC-04:00, from GUANO	PCEN
2	Spectrogram 1	1	7.123456	7.373456	3000.500	4200.250	HERE/night.wav	7.123456\
	7.133456	3.0000	25.60	2021-01-16T19:17:31.500-04:00	UTC-04:00, from GUANO	PCEN
3	Spectrogram 1	1	3601.500000	3601.750000	3000.500	4200.250	"HERE/other, with	tab.wav"	1.500000\
	3601.510000	3.0000	25.60			PCEN
""",
    "audacity": """\
1.500000	1.750000	PCEN 25.6 dB night.wav
\\	3000.500000	4200.250000
7.123456	7.373456	PCEN 25.6 dB night.wav
\\	3000.500000	4200.250000
3601.500000	3601.750000	PCEN 25.6 dB other, with\\ttab.wav
\\	3000.500000	4200.250000
""",
    "csv": """\
file,file_start,start,end,peak,low,high,score,contrast,time,clock,threshold,min_gap,channel,scale
night.wav,0.000000,1.500000,1.750000,1.510000,3000.500,4200.250,3.0000,25.60,2021-01-16T19:17:31.500-04:00,\
"UTC-04:00, from GUANO",2.5,0.06,mean,mel
night.wav,0.000000,7.123456,7.373456,7.133456,3000.500,4200.250,3.0000,25.60,2021-01-16T19:17:31.500-04:00,\
"UTC-04:00, from GUANO",2.5,0.06,mean,mel
"other, with	tab.wav",3600.000000,1.500000,1.750000,1.510000,3000.500,4200.250,3.0000,25.60,,,2.5,0.06,mean,mel
""",
}  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_every_byte_of_a_table_is_known(format):
    parameters = {"threshold": 2.5, "min_gap": 0.06, "channel": "mean", "scale": "mel"}
    assert FORMATS[format](EVENTS, parameters) == EXPECTED[format].replace("HERE", str(Path.cwd()))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of the reader, with the newest pandas
def test_raven_tables_open_in_another_reader(tmp_path):
    path = written(tmp_path, to_raven(EVENTS, PARAMETERS))
    boxes = crowsetta.Transcriber("raven").from_file(path, annot_col="Annotation").to_bbox()
    assert_allclose([box.onset for box in boxes], STARTS)
    assert_allclose([box.offset for box in boxes], ENDS)
    assert_allclose([(box.low_freq, box.high_freq) for box in boxes], [(3000.5, 4200.25)] * 3, atol=1e-3)


def test_raven_tables_have_ravens_columns_first_and_say_where_in_which_file():
    table = pd.read_csv(io.StringIO(to_raven(EVENTS, PARAMETERS)), sep="\t", keep_default_na=False)
    assert list(table.columns) == RAVEN
    assert list(table.columns[:7]) == [
        "Selection", "View", "Channel", "Begin Time (s)", "End Time (s)", "Low Freq (Hz)", "High Freq (Hz)",
    ]  # fmt: skip
    assert table["Selection"].tolist() == [1, 2, 3]
    assert set(table["View"]) == {"Spectrogram 1"}
    assert table["Begin Path"].tolist() == [str(Path(one.file).absolute()) for one in EVENTS]
    assert_allclose(table["File Offset (s)"], [1.5, 7.123456, 1.5])
    assert_allclose(table["PCEN Peak Time (s)"], np.add(STARTS, 0.01))
    assert table["Recorder Time"].tolist() == ["2021-01-16T19:17:31.500-04:00"] * 2 + [""]
    assert table["Recorder Clock"].tolist() == ["UTC-04:00, from GUANO"] * 2 + [""]


def test_raven_counts_channels_from_one():
    for channel, expected in [(None, "1"), (0, "1"), (1, "2")]:
        parameters = Search(setting=NIGHTHAWK, threshold=2.5, channel=channel).parameters
        assert to_raven(EVENTS, parameters).splitlines()[1].split("\t")[2] == expected


def test_audacity_labels_open_in_another_reader(tmp_path):
    path = written(tmp_path, to_audacity(EVENTS, PARAMETERS))
    boxes = crowsetta.Transcriber("aud-bbox").from_file(path).to_bbox()
    assert_allclose([box.onset for box in boxes], STARTS)
    assert_allclose([box.offset for box in boxes], ENDS)
    assert_allclose([(box.low_freq, box.high_freq) for box in boxes], [(3000.5, 4200.25)] * 3)
    assert boxes[0].label == "PCEN 25.6 dB night.wav"
    assert to_audacity(EVENTS[:1], PARAMETERS) == "1.500000\t1.750000\tPCEN 25.6 dB\n\\\t3000.500000\t4200.250000\n"


def test_csv_is_tidy_and_tells_the_parameters():
    table = pd.read_csv(io.StringIO(to_csv(EVENTS, PARAMETERS)), keep_default_na=False)
    assert_allclose(table["start"], [1.5, 7.123456, 1.5])
    assert table["file"].tolist() == [one.file for one in EVENTS]
    for name, value in PARAMETERS.items():
        assert set(table[name]) == {value}, name
    assert {"threshold", "min_gap", "min_duration", "s", "fmin", "pcenlib"} <= set(PARAMETERS)


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_table_is_a_valid_file(format, tmp_path):
    content = FORMATS[format]([], PARAMETERS)
    if format == "audacity":
        assert content == ""  # label tracks have no header
        return
    full = FORMATS[format](EVENTS, PARAMETERS)
    assert content == full.splitlines(keepends=True)[0]
    assert pd.read_csv(written(tmp_path, content), sep="\t" if format == "raven" else ",").empty


@pytest.mark.parametrize("format", ["raven", "csv"])
def test_names_with_separators_do_not_break_the_table(format):
    lines = list(
        csv.reader(io.StringIO(FORMATS[format](EVENTS, PARAMETERS)), delimiter="\t" if format == "raven" else ",")
    )
    assert len({len(line) for line in lines}) == 1


HOSTILE = ["=1+2.wav", "+1.wav", "-1.wav", "@sum.wav", "\t=1.wav", "\r=1.wav", "\n=1.wav", "=1+2/a.wav", "b.wav"]


def rows(format, events, parameters=PARAMETERS):
    """Cells of a table, as any reader of CSV finds them."""
    text = io.StringIO(FORMATS[format](events, parameters), newline="")
    return list(csv.DictReader(text, delimiter="\t" if format == "raven" else ","))


@pytest.mark.parametrize("format", ["raven", "csv"])
def test_no_cell_is_taken_for_a_formula_and_every_path_is_still_that_of_its_file(format):
    events = [event(name, contrast=-3.2, time="=now()", clock="@home") for name in HOSTILE]
    table = rows(format, events, {**PARAMETERS, "channel": "+mean"})
    for row in table:
        texts = [cell for cell in row.values() if not re.fullmatch(r"-?\d+\.\d+", cell)]
        assert not [cell for cell in texts if cell.startswith(tuple("=+-@\t\r\n"))]
        assert row["PCEN Contrast (dB)" if format == "raven" else "contrast"] == "-3.20"  # a number is a number
        assert {"'=now()", "'@home"} <= set(texts)
    paths = [Path(row["Begin Path" if format == "raven" else "file"]).absolute() for row in table]
    assert paths == [Path(name).absolute() for name in HOSTILE]


def test_a_label_of_audacity_is_one_line_without_tabs():
    lines = to_audacity([event(name) for name in HOSTILE], PARAMETERS).split("\n")
    assert len(lines) == 2 * len(HOSTILE) + 1
    assert [line.count("\t") for line in lines[:-1]] == [2] * (2 * len(HOSTILE))
    assert not [line for line in lines if "\r" in line]
    assert lines[8].endswith(r"PCEN 25.6 dB \t=1.wav")


class WindowsPath(PureWindowsPath):
    """A path as Windows has it, where the current folder is another."""

    def absolute(self):
        return WindowsPath(r"D:\survey") / self


def test_paths_of_windows_are_in_the_tables_as_windows_writes_them(monkeypatch):
    monkeypatch.setattr(tables, "Path", WindowsPath)
    events = [event(r"night 1\a.wav"), event(r"C:\other\b.wav"), event("=1.wav")]
    assert [row["Begin Path"] for row in rows("raven", events)] == [
        r"D:\survey\night 1\a.wav", r"C:\other\b.wav", r"D:\survey\=1.wav",
    ]  # fmt: skip
    assert [row["file"] for row in rows("csv", events)] == [r"night 1\a.wav", r"C:\other\b.wav", "./=1.wav"]
    labels = to_audacity(events, PARAMETERS).splitlines()[::2]
    assert [label.split("\t")[2] for label in labels] == [
        "PCEN 25.6 dB " + name for name in ("a.wav", "b.wav", "=1.wav")
    ]
