"""Speed and memory of `pcenlib.detection_functions` beside librosa, in one run.

Everything is measured from WAV files of 16 bits to the three detection functions, in one process with one thread, and
by wall clock. The ways that are compared take turns; a ratio is the median, over all turns, of librosa's time to ours
in the same turn, so that whatever else the machine does hits both. librosa is used as its documentation does:
`librosa.load`, which gives float32, then `feature.melspectrogram` or `stft`, then `pcen`, and numpy for the flux. The
sound is simulated: seeded noise, for no step depends on what is heard.

    python benchmarks/bench.py [--output benchmarks/results.json]

prints tables and writes the same numbers as JSON. `make bench` does just that. If `mkl_fft` is installed, MKL's
Fourier transform is plugged into `scipy.fft`, as a user of pcenlib can do, for another two rows.
"""

import argparse
import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import librosa
import numpy as np
import scipy.fft
import soundfile

from pcenlib import NIGHTHAWK, RIGHT_WHALE, Setting, detection_blocks, detection_functions
from pcenlib.core import streaming
from pcenlib.jobs import run

PACKAGES = ("numpy", "scipy", "numba", "soundfile", "soxr", "librosa", "mkl_fft")


class Case(NamedTuple):
    """A recording to measure on, and what the project has set itself: ratios to librosa's time."""

    title: str
    setting: Setting
    seconds: int
    repeats: int
    floors: dict[str, float]
    aim: float


CASES = {
    "scene": Case("bird scene, 10 s", NIGHTHAWK, 10, 41, {"float64": 2.5, "float32": 4}, 4),
    "night": Case("bird recording, 10 min", NIGHTHAWK, 600, 7, {"float64": 6, "float32": 9}, 10),
    "sea": Case("whale recording, 1 h", RIGHT_WHALE, 3600, 11, {"float64": 5, "float32": 8}, 8),
}


# What is compared


def with_librosa(
    path: Path, setting: Setting, dtype: type[np.floating] = np.float32
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three detection functions as a user of librosa would write them."""
    y, sr = librosa.load(path, sr=None, dtype=dtype)
    if setting is NIGHTHAWK:
        E = librosa.feature.melspectrogram(
            y=y, sr=sr, n_fft=1024, win_length=256, hop_length=32, power=1, n_mels=128, fmin=2000, htk=True
        )
    else:
        E = np.abs(librosa.stft(y, n_fft=256, hop_length=128))[1:]
    pcen = librosa.pcen(E, sr=sr, hop_length=setting.hop_length, b=setting.s, gain=1, bias=1, power=0, eps=1e-10)
    rises = np.diff(np.log(E + 1e-10), axis=1)
    return np.maximum(rises, 0).mean(axis=0), rises.max(axis=0), pcen.max(axis=0)


@contextlib.contextmanager
def without_numba() -> Iterator[None]:
    """As if numba were not installed."""
    kernels = streaming.load_kernels
    streaming.load_kernels = lambda: None
    try:
        yield
    finally:
        streaming.load_kernels = kernels


class Mkl:
    """MKL's transform for ``scipy.fft.set_backend``.

    ``mkl_fft.interfaces.scipy_fft`` is one, too. But it goes through the middle axis of an array with three, which is
    how pcenlib calls it, one transform at a time; the first axis of two it takes at once.
    """

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        import mkl_fft

        if method is not scipy.fft.fft or kwargs != {"axis": 1, "overwrite_x": True}:
            return NotImplemented
        for part in args[0]:
            mkl_fft.fft(part, axis=0, out=part)
        return args[0]


def ways() -> dict[str, Callable[[Path, Setting], object]]:
    """What is compared, by name."""

    def ours(path: Path, setting: Setting, dtype: str, context: Callable[[], Any] = contextlib.nullcontext) -> object:
        with context():
            return detection_functions(path, setting, dtype=dtype)

    found: dict[str, Callable[[Path, Setting], object]] = {
        "librosa": with_librosa,
        "librosa, double precision": functools.partial(with_librosa, dtype=np.float64),
    }
    contexts: dict[str, Callable[[], Any]] = {"": contextlib.nullcontext, ", without numba": without_numba}
    if importlib.util.find_spec("mkl_fft"):
        contexts[", MKL's transform"] = functools.partial(scipy.fft.set_backend, Mkl)
    for suffix, context in contexts.items():
        for dtype in ("float64", "float32"):
            found[dtype + suffix] = functools.partial(ours, dtype=dtype, context=context)
    return found


# Measurements


def speed(folder: Path) -> dict[str, Any]:
    """Seconds of each way in each case, and ratios to librosa's."""
    compared = ways()
    for detect in compared.values():  # imports, compilation
        detect(folder / "scene.wav", NIGHTHAWK)
    results = {}
    for name, case in CASES.items():
        seconds: dict[str, list[float]] = {way: [] for way in compared}
        for _ in range(case.repeats):
            for way, detect in compared.items():
                start = time.perf_counter()
                detect(folder / f"{name}.wav", case.setting)
                seconds[way].append(time.perf_counter() - start)
        turns = np.array(list(seconds.values()))
        results[name] = {
            "title": case.title,
            "repeats": case.repeats,
            "seconds": dict(zip(compared, np.median(turns, axis=1).tolist(), strict=True)),
            "quickest": dict(zip(compared, turns.min(axis=1).tolist(), strict=True)),
            "times_librosa": dict(zip(compared, np.median(turns[0] / turns, axis=1).tolist(), strict=True)),
            "floor": case.floors,
            "aim": case.aim,
        }
    return results


def errors(folder: Path) -> dict[str, Any]:
    """Largest difference of each way from double precision throughout, in the first minutes of the recordings."""
    results = {}
    for name, setting, shift in (("scene", NIGHTHAWK, 4), ("sea", RIGHT_WHALE, 1)):
        path = folder / f"{name}.wav"
        with without_numba():
            exact = detection_functions(path, setting)
        results[CASES[name].title] = {
            dtype: dict(
                zip(
                    exact._fields,
                    (
                        float(np.abs(values - expected).max())
                        for values, expected in zip(detection_functions(path, setting, dtype=dtype), exact, strict=True)
                    ),
                    strict=True,
                )
            )
            for dtype in ("float64", "float32")
        }
        # librosa centres its windows, so that its first frames start before the recording does. Its PCEN is another.
        flux = dict(zip(exact._fields, with_librosa(path, setting), strict=True))
        results[CASES[name].title]["librosa"] = {
            field: float(np.abs(flux[field][shift:][: len(exact[0]) - 1] - getattr(exact, field)[1:]).max())
            for field in exact._fields[:2]
        }
    return results


def shares(folder: Path) -> dict[str, Any]:
    """Where the time goes: microseconds a frame in each step, of the quickest of some runs."""
    results = {}
    for name, case in CASES.items():
        for dtype in ("float64", "float32"):
            runs = []
            for _ in range(3 if name == "night" else 9):
                spent: dict[str, float] = {}
                with timed_steps(spent):
                    start = time.perf_counter()
                    functions = detection_functions(folder / f"{name}.wav", case.setting, dtype=dtype)
                    spent["all"] = time.perf_counter() - start
                runs.append({step: 1e6 * value / len(functions[0]) for step, value in spent.items()})
            steps = min(runs, key=lambda run: run["all"])
            steps["the rest"] = 2 * steps["all"] - sum(steps.values())
            results[f"{case.title}, {dtype}"] = steps
    return results


@contextlib.contextmanager
def timed_steps(spent: dict[str, float]) -> Iterator[None]:
    """Add up the seconds that are spent in each step."""

    def timed(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            result = function(*args, **kwargs)
            spent[step] = spent.get(step, 0.0) + time.perf_counter() - start
            return result

        return wrapper

    kernels, fft, read = streaming.load_kernels, streaming.scipy.fft, soundfile.SoundFile.read
    compiled = kernels()
    steps = SimpleNamespace(fold=timed("window", compiled.fold), detect=timed("bands and functions", compiled.detect))
    streaming.load_kernels = lambda: steps
    streaming.scipy.fft = SimpleNamespace(fft=timed("transform", fft.fft))
    soundfile.SoundFile.read = timed("read", read)
    try:
        yield
    finally:
        streaming.load_kernels, streaming.scipy.fft, soundfile.SoundFile.read = kernels, fft, read


def memory(folder: Path) -> dict[str, Any]:
    """Peak memory in MB of processes of their own, which keep no results in the case of `detection_blocks`."""
    results: dict[str, dict[str, float]] = {"pcenlib": {}, "librosa": {}}
    for label, name, way in (
        ("10 s", "scene", "pcenlib"),
        ("10 min", "night", "pcenlib"),
        ("1 h", "long", "pcenlib"),
        ("1 h, whale", "sea", "pcenlib"),
        ("10 s", "scene", "librosa"),
        ("10 min", "night", "librosa"),
    ):
        command = [sys.executable, __file__, "--peak", way, folder / f"{name}.wav"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
        results[way][label] = float(output)
    growth = results["librosa"]["10 min"] - results["librosa"]["10 s"]
    results["librosa"]["1 h, extrapolated"] = results["librosa"]["10 min"] + growth * 3000 / 590
    return results


def peak(way: str, path: str) -> None:
    """Print the peak memory of this process in MB once it has gone through a recording."""
    if way == "librosa":
        with_librosa(Path(path), NIGHTHAWK)
    else:
        setting = NIGHTHAWK if soundfile.info(path).samplerate == NIGHTHAWK.sr else RIGHT_WHALE
        for _ in detection_blocks(path, setting):
            pass
    peaks = [line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if "VmHWM" in line]
    print(float(peaks[0].split()[1]) / 1024)


def scaling(folder: Path) -> dict[str, Any]:
    """Seconds on one core and on two: 40 scenes shared among processes, and one long recording among threads.

    Measured in a new process, as users have it: one that has run librosa is slower.
    """
    command = [sys.executable, __file__, "--scaling", folder]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603


def print_scaling(folder: Path) -> None:
    """Measure `scaling` in this process."""
    largest_values(folder / "scene.wav")  # kernels are loaded
    scenes = [folder / f"scene-{number}.wav" for number in range(40)]
    jobs: dict[str, Callable[[int], object]] = {
        "40 bird scenes of 10 s": lambda n: run.run(largest_values, scenes, jobs=n, progress=False),
        "one bird recording of 1 h": lambda n: detection_functions(folder / "long.wav", NIGHTHAWK, jobs=n),
    }
    results = {}
    for name, job in jobs.items():
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(9 if "scenes" in name else 3):
            for n, values in seconds.items():
                start = time.perf_counter()
                job(n)
                values.append(time.perf_counter() - start)
        one, two = (statistics.median(values) for values in seconds.values())
        results[name] = {"one core": one, "two cores": two, "speed-up": one / two}
    print(json.dumps(results))


def largest_values(path: Path) -> list[float]:
    """Maximum of each detection function: what the first stage of the evaluation asks of a clip."""
    return [float(values.max()) for values in detection_functions(path, NIGHTHAWK)]


def start_up() -> dict[str, float]:
    """Seconds to import, and to the end of a first call, in a process of its own; kernels were compiled before."""
    code = """
import time
start = time.perf_counter()
import pcenlib
imported = time.perf_counter()
pcenlib.detection_functions([0.0] * 1000, pcenlib.RIGHT_WHALE)
print(imported - start, time.perf_counter() - start)
"""
    runs = []
    for _ in range(5):
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
        runs.append([float(value) for value in output.split()])
    imported, called = np.median(runs, axis=0)
    return {"import": float(imported), "import and first call": float(called)}


# Input and output


def make_recordings(folder: Path) -> None:
    """Write the recordings: seeded noise of 16 bits."""
    durations = {name: (case.setting.sr, case.seconds) for name, case in CASES.items()}
    durations |= {"long": (NIGHTHAWK.sr, 3600)} | {f"scene-{number}": (NIGHTHAWK.sr, 10) for number in range(40)}
    rng = np.random.default_rng(0)
    for name, (sr, seconds) in durations.items():
        with soundfile.SoundFile(folder / f"{name}.wav", "w", sr, 1, "PCM_16") as file:
            for _ in range(seconds):
                file.write(0.1 * rng.standard_normal(sr, np.float32))


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    cpu = platform.processor()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "processor": cpu,
        "cores": os.cpu_count(),
        "memory in GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"),
    }


def tables(results: dict[str, Any]) -> Iterator[str]:
    """The results as lines of text."""
    yield f"{results['machine']['processor']}, {results['machine']['cores']} cores"
    yield ""
    yield f"{'times the speed of librosa':34}" + "".join(f"{case['title']:>26}" for case in results["speed"].values())
    for way in next(iter(results["speed"].values()))["seconds"]:
        cells = [
            f"{case['times_librosa'][way]:.1f} ({case['seconds'][way]:.3f} s)" for case in results["speed"].values()
        ]
        yield f"{way:34}" + "".join(f"{cell:>26}" for cell in cells)
    for dtype in ("float64", "float32"):
        cells = [
            f"{case['floor'][dtype]} ({'met' if case['times_librosa'][dtype] >= case['floor'][dtype] else 'missed'})"
            for case in results["speed"].values()
        ]
        yield f"{'floor of ' + dtype:34}" + "".join(f"{cell:>26}" for cell in cells)
    for title, table in (
        ("largest error against double precision throughout", results["errors"]),
        ("microseconds a frame", results["shares"]),
        ("peak memory in MB", results["memory"]),
        ("seconds", results["scaling"] | {"start": results["start_up"]}),
    ):
        yield ""
        yield title
        for name, row in table.items():
            cells = [
                f"{key}: "
                + (", ".join(f"{v:.1e}" for v in value.values()) if isinstance(value, dict) else f"{value:.2f}")
                for key, value in row.items()
            ]
            yield f"  {name:32}" + "; ".join(cells)


def main() -> None:
    """Measure everything, print and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("results.json"))
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--scaling", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(*options.peak)
        return
    if options.scaling:
        print_scaling(options.scaling)
        return
    results: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_recordings(folder)
        for measure in (speed, errors, shares, memory, scaling):
            print(f"{measure.__name__} ...", file=sys.stderr, flush=True)
            results[measure.__name__] = measure(folder)
    results["start_up"] = start_up()
    options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print("\n".join(tables(results)))


if __name__ == "__main__":
    main()
