"""Stored tables: what is written is read, and what is stale is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import pcenlib
from pcenlib.experiments import stored
from pcenlib.experiments.protocols import NIGHTHAWK_PAPER, NIGHTHAWK_RELEASED
from pcenlib.experiments.stored import describe

TABLE = pd.DataFrame(
    {
        "group": ["bird 1", "bird 2", "day, with a comma"],
        "distance": [30.0, 60.0, 100.0],
        "alarms": [0, 7, 12],
        "mtbfa": [np.inf, 123.456789, 1e-7],
    }
)
DEFINITION = "evaluate(SimulatedNighthawk(seed=0),\n  'ünïcode' # and a hash: too)"


@pytest.fixture
def folder(tmp_path):
    stored.save("table", TABLE, definition=DEFINITION, folder=tmp_path, seed=3, counts={"clips": 704}, hash="0a")
    return tmp_path


# What is written is read


def test_a_table_comes_back_with_where_it_came_from(folder):
    found = stored.load("table", folder=folder)
    assert_frame_equal(found.table, TABLE, rtol=1e-6, check_dtype=False)  # 30.0 is read as 30
    assert found.provenance == {
        "definition": DEFINITION,
        "pcenlib": pcenlib.__version__,
        "seed": 3,
        "counts": {"clips": 704},
        "hash": "0a",
    }


def test_numbers_are_rounded_to_seven_digits(folder):
    assert stored.load("table", folder=folder).table["mtbfa"][1] == 123.4568


def test_the_same_table_gives_the_same_file(tmp_path):
    path = stored.save("again", TABLE, definition=DEFINITION, folder=tmp_path / "new", seed=3)
    assert path == tmp_path / "new" / "again.csv"
    first = path.read_bytes()
    stored.save("again", TABLE, definition=DEFINITION, folder=tmp_path / "new", seed=3)
    assert path.read_bytes() == first
    assert b"\r" not in first
    assert sorted(file.name for file in path.parent.iterdir()) == ["again.csv"]  # and nothing half-written is left


def test_a_file_can_be_read_by_others(folder):
    table = pd.read_csv(folder / "table.csv", comment="#")
    assert list(table["alarms"]) == [0, 7, 12]
    first = (folder / "table.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# definition: {json.dumps(DEFINITION)}"


def test_an_empty_table_keeps_its_columns(tmp_path):
    stored.save("empty", TABLE[:0], definition="nothing", folder=tmp_path)
    assert list(stored.load("empty", folder=tmp_path).table.columns) == list(TABLE.columns)


# What is stale is refused


def test_the_definition_must_be_the_one_that_is_asked_for(folder):
    assert len(stored.load("table", definition=DEFINITION, folder=folder).table) == 3
    with pytest.raises(
        ValueError, match=r"table\.csv is stale: it is a result of .*, not of 'seed 1'; compute it again"
    ):
        stored.load("table", definition="seed 1", folder=folder)


def test_a_file_without_a_definition_is_refused(tmp_path):
    for text in ("a,b\n1,2\n", "# seed: 3\na,b\n1,2\n", ""):
        (tmp_path / "bare.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"bare\.csv must say what it is a result of"):
            stored.load("bare", folder=tmp_path)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        stored.load("nowhere", folder=tmp_path)


# What is computed again is compared


def check(new, old=TABLE, keys=("group", "distance"), **tolerances):
    stored.check_same("name", old, new, keys=keys, tolerances=tolerances or {"alarms": 0, "mtbfa": 1e-6})


def test_the_same_table_in_any_order_and_with_other_columns_agrees(folder):
    check(TABLE)
    check(TABLE[::-1])
    check(TABLE.assign(threshold=1.0))
    check(stored.load("table", folder=folder).table)


def test_what_may_differ_by_how_much():
    check(TABLE.assign(mtbfa=[np.inf, 124, 0.009]), mtbfa=0.01)  # relative to the value, or to 1
    for mtbfa in ([np.inf, 125, 0], [np.inf, 122, 0], [np.inf, 123.456789, 0.011], [np.inf, 123.456789, -0.011]):
        with pytest.raises(ValueError, match=r"^stored table name is stale, compute it again: mtbfa are different"):
            check(TABLE.assign(mtbfa=mtbfa), mtbfa=0.01)
    check(TABLE.assign(mtbfa=[np.inf, 125, 0]), alarms=0)  # which is not compared


def test_the_error_says_where_and_what():
    with pytest.raises(
        ValueError,
        match=r"(?s)compute it again: alarms .*bird 2, 60.*index 1, first diff: 7\.0 != 8\.0$",
    ):
        check(TABLE.assign(alarms=[0, 8, 12]))


@pytest.mark.parametrize("value", [1e300, -np.inf, np.nan])
def test_infinite_is_the_same_as_infinite_alone(value):
    for old, new in ((np.inf, value), (value, np.inf)):
        with pytest.raises(ValueError, match="compute it again: mtbfa"):
            check(TABLE.assign(mtbfa=[new, 1, 1]), TABLE.assign(mtbfa=[old, 1, 1]), mtbfa=1.0)


def test_missing_is_the_same_as_missing_alone():
    missing = TABLE.assign(mtbfa=[np.nan, 1, 1])
    check(missing, missing)
    with pytest.raises(ValueError, match=r"(?s)compute it again: mtbfa .*nan != 1"):
        check(TABLE.assign(mtbfa=[1, 1, 1]), missing)


@pytest.mark.parametrize("other", [TABLE[1:], TABLE.assign(distance=[30, 60, 150])])
def test_rows_must_be_the_same(other):
    for old, new in ((TABLE, other), (other, TABLE)):
        with pytest.raises(
            ValueError, match=r"^stored table name is stale: both tables must have the same rows, but one"
        ):
            check(new, old)


def test_keys_must_tell_the_rows_apart():
    twice = pd.concat([TABLE, TABLE])
    for old, new in ((TABLE, twice), (twice, TABLE)):
        with pytest.raises(ValueError, match="not unique"):
            check(new, old)


@pytest.mark.parametrize("column", ["group", "mtbfa"])
def test_columns_must_be_there(column):
    for old, new in ((TABLE, TABLE.drop(columns=column)), (TABLE.drop(columns=column), TABLE)):
        with pytest.raises(ValueError, match=f"^stored table name is stale: {column} must be a column of both"):
            check(new, old)


# What is in the package


def names():
    return sorted(path.stem for path in stored.FOLDER.glob("*.csv"))


@pytest.mark.parametrize("name", names())
def test_every_table_of_the_package_says_where_it_came_from(name):
    found = stored.load(name)
    assert len(found.table) > 0
    assert found.provenance["definition"]
    assert found.provenance["pcenlib"]
    assert not found.table.columns.has_duplicates


def test_the_package_holds_the_recorded_nighthawks():
    assert "nighthawk-calls" in names()
    found = stored.load("nighthawk-calls")
    assert len(found.table) == found.provenance["sets"]["nighthawk"]["n_files"] == 20
    assert found.table["clip"].is_unique


# Descriptions


def test_descriptions_tell_protocols_apart():
    assert describe(NIGHTHAWK_PAPER) != describe(NIGHTHAWK_RELEASED)
    assert describe(NIGHTHAWK_PAPER) == describe(NIGHTHAWK_PAPER)


def test_a_last_digit_does_not_change_a_description():
    setting = NIGHTHAWK_RELEASED.setting
    again = replace(setting, fmax=float(np.nextafter(setting.fmax, 1e4)), s=float(np.nextafter(setting.s, 1)))
    assert repr(again) != repr(setting)
    assert describe(again) == describe(setting)
    assert describe(replace(setting, s=1.00001 * setting.s)) != describe(setting)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_descriptions_keep_seven_digits(number):
    assert float(describe(number)) == pytest.approx(number, rel=1e-6)
