"""Five hundred damaged recordings: each gives a table or an error that names it, in little time and memory."""

import collections

from tests.fuzz import KINDS, originals, outcome, trials

N_FILES = 500


def test_recordings_that_are_whole_give_a_table(tmp_path):
    for name, content in originals(tmp_path).items():
        (tmp_path / name).write_bytes(content)
        assert outcome(str(tmp_path / name)) == "table", name


def test_damaged_recordings_give_a_table_or_an_error_that_names_them(tmp_path):
    found = list(trials(range(N_FILES), tmp_path))
    assert [trial for trial in found if trial.fault] == []
    outcomes = collections.Counter(trial.outcome for trial in found)
    assert outcomes["table"] > N_FILES / 10  # so much damage goes unnoticed, and is searched
    assert outcomes["refused"] > N_FILES / 3
    assert {trial.kind for trial in found} > set(KINDS)
