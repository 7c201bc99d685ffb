"""Small synthetic copies of real data sets, which several tests read."""

import os
import shutil

import pytest

from tests import copies


@pytest.fixture(scope="session")
def wholes(tmp_path_factory):
    """A data home with a whole copy of each set, which no test changes, and the files of each."""
    home = tmp_path_factory.mktemp("home")
    files = {}
    for name, make in copies.MAKERS.items():
        (home / name).mkdir()
        files[name] = make(home / name)
    return home, files


@pytest.fixture
def copy(wholes, tmp_path):
    """A copy of one set, of which files may be replaced but not written into, and its files."""

    def make(name):
        home, files = wholes
        shutil.copytree(home / name, tmp_path / name, copy_function=os.link)
        return tmp_path / name, files[name]

    return make
