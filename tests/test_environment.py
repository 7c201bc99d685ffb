"""The environment is the same however it is made: locks, pyproject.toml, environment.yml and what is there agree."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pcenlib
from pcenlib.core import version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
READERS, EVERYTHING = "requirements.txt", "tests/requirements.txt"
PYTHONS = ["3.11.2", "3.12.0", "3.13.0", "3.14.0"]

each_python = pytest.mark.parametrize("python", PYTHONS)


def read(file):
    return (ROOT / file).read_text(encoding="utf-8")


def locked(file, python):
    """The versions that a lock gives on a Python of this version."""
    environment = {"python_version": python.rpartition(".")[0], "python_full_version": python}
    entries = [Requirement(line.rstrip(" \\")) for line in read(file).splitlines() if line[0].isalnum()]
    valid = [entry for entry in entries if entry.marker is None or entry.marker.evaluate(environment)]
    versions = {canonicalize_name(entry.name): str(entry.specifier).removeprefix("==") for entry in valid}
    assert len(versions) == len(valid), "a name is locked twice"
    return versions


def wanted(file):
    """What pyproject.toml asks for, of all that a lock is made from."""
    groups = PROJECT["dependency-groups"]
    lists = [PROJECT["project"]["dependencies"], groups["build"]]
    lists += [extra for name, extra in EXTRAS.items() if name not in ("learn", "test") or file == EVERYTHING]
    lists += [groups["peers"]] if file == EVERYTHING else []
    requirements = [Requirement(line) for lines in lists for line in lines]
    return [requirement for requirement in requirements if requirement.name != "pcenlib"]


# ----------------------------------------------------------------------------------------------------------------------
# Locks


@each_python
@pytest.mark.parametrize("file", [READERS, EVERYTHING])
def test_the_lock_has_what_the_project_asks_for(file, python):
    versions = locked(file, python)
    for requirement in wanted(file):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement


@pytest.mark.parametrize("file", [READERS, EVERYTHING])
def test_the_lock_has_nothing_that_the_project_no_longer_asks_for(file):
    direct = re.findall(r"^([\w.-]+)==(?:.*\n    --hash)+.*\n    # via.*pcenlib \(pyproject", read(file), re.MULTILINE)
    assert set(direct) == {canonicalize_name(requirement.name) for requirement in wanted(file)}


@pytest.mark.parametrize("file", [READERS, EVERYTHING])
def test_every_locked_version_has_hashes_and_no_address(file):
    entries = re.split(r"\n(?=\w)", read(file))[1:]
    assert all("==" in entry.splitlines()[0] and "--hash=sha256:" in entry for entry in entries)
    assert "/" not in read(file)


@each_python
def test_readers_get_the_versions_that_are_tested(python):
    assert locked(READERS, python).items() <= locked(EVERYTHING, python).items()


@each_python
def test_readers_get_no_test_tools(python):
    assert not locked(READERS, python).keys() & {"hypothesis", "jax", "mypy", "playwright", "pytest", "ruff"}


def test_what_is_installed_is_what_is_locked():
    installed = {canonicalize_name(found.metadata["Name"]): found.version for found in metadata.distributions()}
    versions = locked(EVERYTHING, ".".join(map(str, sys.version_info[:3])))
    assert {name: installed.get(name) for name in versions} == versions


# ----------------------------------------------------------------------------------------------------------------------
# Other places that state what the project states


def test_conda_and_binder_install_the_readers_lock_and_then_pcenlib():
    environment = yaml.safe_load(read("environment.yml"))
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert pip == ["--require-hashes", f"--requirement {READERS}"]
    assert "python=3.11" in environment["dependencies"]
    assert "pip install --no-deps --no-build-isolation --editable ." in read("postBuild")
    assert os.access(ROOT / "postBuild", os.X_OK)


def test_the_version_is_stated_once_and_repeated_truly():
    citation, config = yaml.safe_load(read("CITATION.cff")), yaml.safe_load(read("_config.yml"))
    assert pcenlib.__version__ == version.__version__ == citation["version"]
    assert config["repository"]["branch"] == f"v{version.__version__}"


def test_the_repository_has_one_address():
    citation, config = yaml.safe_load(read("CITATION.cff")), yaml.safe_load(read("_config.yml"))
    assert citation["repository-code"] == config["repository"]["url"]


def test_github_runs_every_python_that_is_locked():
    (workflow,) = (ROOT / ".github" / "workflows").glob("*.yml")
    build = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]["build"]
    assert build["strategy"]["matrix"]["python"] == [python.rpartition(".")[0] for python in PYTHONS]
    assert f"--python-version {PYTHONS[0]}" in read("Makefile")


# ----------------------------------------------------------------------------------------------------------------------
# make, with a Python that is only a shell script

PYTHON = """#!/bin/sh
case "$*" in
*"version_info <"*) {old} ;;
*ensurepip*) {bare} ;;
--version) echo "Python 3.9.2" ;;
"-m venv .venv") mkdir -p .venv/bin && cp pip .venv/bin ;;
esac
"""


@pytest.fixture
def install(tmp_path):
    for folder in ("pcenlib", "tests"):
        (tmp_path / folder).mkdir()
    for file in ("Makefile", "pyproject.toml", EVERYTHING):
        (tmp_path / file).write_text(read(file), encoding="utf-8")

    def run(old="exit 0", bare="exit 0", pip="exit 0", python="./python"):
        for name, script in {"python": PYTHON.format(old=old, bare=bare), "pip": f"#!/bin/sh\n{pip}\n"}.items():
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)
        command = ["make", "--silent", f"PYTHON={python}", ".venv/.complete"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (result.returncode == 0) == (tmp_path / ".venv" / ".complete").exists()
        return result.stderr.splitlines()

    return run


@pytest.mark.parametrize(
    ("trouble", "advice"),
    [
        (
            {"python": "./nowhere"},
            r"There is no \./nowhere here\. Install Python 3\.11\.2 or newer, .*",
        ),
        ({"old": "exit 1"}, r"Python 3\.9\.2 is too old\. Install Python 3\.11\.2 or newer, .*"),
        ({"bare": "exit 1"}, r"This Python has no venv\. Install it \(.*: apt install python3-venv\)\."),
    ],
)
def test_a_python_that_does_not_do_gets_one_line_of_advice(install, tmp_path, trouble, advice):
    line, _make = install(**trouble)
    assert re.fullmatch(advice, line)
    assert not (tmp_path / ".venv").exists()
    assert install() == []


@pytest.mark.parametrize("end", ["exit 1", "kill -INT $PPID; sleep 1", "kill -KILL $PPID"])
def test_after_an_interrupted_installation_the_next_run_starts_from_nothing(install, tmp_path, end):
    install(pip=f"touch .venv/half; {end}")
    assert (tmp_path / ".venv" / "half").exists()
    assert install() == []
    assert not (tmp_path / ".venv" / "half").exists()


def test_an_interrupted_update_is_not_taken_for_complete(install, tmp_path):
    install()
    (tmp_path / "pyproject.toml").touch()
    install(pip="exit 1")


def test_fresh_says_that_it_needs_root(tmp_path):
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    result = subprocess.run(["make", "fresh"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert result.stderr.splitlines()[0].endswith("Run: sudo make fresh")
