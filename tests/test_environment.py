"""The environment is one, however it is made: pins, pyproject.toml, environment.yml and what is installed agree."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import pcenlib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {normalized(line.split("==")[0]): line.split("==")[1] for line in lines if line and line[0] != "#"}


def test_every_dependency_is_pinned():
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)]
    names = {normalized(re.split(r"[<>=\[]", requirement)[0]) for requirement in wanted}
    assert names <= pins("constraints.txt").keys()


@pytest.mark.parametrize("file", ["constraints.txt", "tests/peers.txt"])
def test_what_is_installed_is_what_is_pinned(file):
    installed = {normalized(found.metadata["Name"]): found.version for found in metadata.distributions()}
    wrong = {name: installed[name] for name, version in pins(file).items() if installed.get(name, version) != version}
    assert not wrong


def test_conda_and_binder_get_the_same_pins_and_extras():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert "--constraint constraints.txt" in pip
    assert f"--editable .[{','.join(PROJECT['optional-dependencies'])}]" in pip
    assert "python=3.11" in environment["dependencies"]
    assert PROJECT["requires-python"] == ">=3.11"


def test_the_version_is_stated_once_and_repeated_truly():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert pcenlib.__version__ == PROJECT["version"] == citation["version"]


def test_the_repository_has_one_address():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    address = config["repository"]["url"]
    assert citation["repository-code"] == address
