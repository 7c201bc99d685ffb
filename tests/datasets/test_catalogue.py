"""The data home."""

from pathlib import Path

import pytest

from pcenlib.datasets.catalogue import data_home, find
from pcenlib.datasets.esc50 import Esc50


def test_data_home(monkeypatch, tmp_path):
    monkeypatch.delenv("PCENLIB_DATA", raising=False)
    assert data_home() is None
    assert find("esc50") is None
    monkeypatch.setenv("PCENLIB_DATA", str(tmp_path))
    assert data_home() == tmp_path
    assert data_home("~/other") == Path.home() / "other"
    assert find("esc50") is None
    (tmp_path / "esc50").mkdir()
    assert find("esc50") == Esc50(tmp_path / "esc50")
    with pytest.raises(ValueError, match="name must be one of coni_knight"):
        find("esc51")
