"""Speed and memory of `pcenlib.detection_functions` beside librosa and other peers, in one run.

Everything is measured from WAV files of 16 bits to the three detection functions, in one process with one thread, by
processor time and by wall clock. The ways that are compared take turns; a ratio is the median, over all turns, of
librosa's time to that of a way in the same turn, so that whatever else the machine does hits both. Each way runs for a
while right before it is measured. librosa is used as its documentation does: `librosa.load`, which gives float32, then
`feature.melspectrogram` or `stft`, then `pcen`, and numpy for the flux. scipy.signal and, where it is installed, torch
are used in the same manner. The sound is simulated: seeded noise, for no step depends on what is heard.

    python benchmarks/bench.py [--output benchmarks/results.json]

prints tables and writes the same numbers as JSON. `make bench` does just that.
"""

import argparse
import ast
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
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import librosa
import llvmlite.binding
import numba
import numpy as np
import scipy.signal
import soundfile

from pcenlib import NIGHTHAWK, RIGHT_WHALE, Setting, detection_blocks, detection_functions
from pcenlib.core import kernels, streaming
from pcenlib.core.butterflies import FRAMES
from pcenlib.core.transform import bands, transform
from pcenlib.jobs import run

# Seconds that a way runs before it is measured: what ran before it, and filled the memory, can slow down a processor
# for a while, and memory that was given back has to be asked for again.
WARM_UP = 0.3

PACKAGES = ("numpy", "scipy", "numba", "soundfile", "soxr", "librosa", "torch")


class Case(NamedTuple):
    """A recording to measure on, and what the project has set itself: ratios to librosa's processor time."""

    title: str
    setting: Setting
    seconds: int
    repeats: int
    floors: dict[str, float]
    aim: float


CASES = {
    "scene": Case("bird scene, 10 s", NIGHTHAWK, 10, 15, {"AVX-512": 7, "AVX2": 5}, 10),
    "night": Case("bird recording, 10 min", NIGHTHAWK, 600, 3, {"AVX-512": 14, "AVX2": 10}, 20),
    "sea": Case("whale recording, 1 h", RIGHT_WHALE, 3600, 9, {"AVX-512": 10, "AVX2": 8}, 14),
}


# What is compared


def with_librosa(path: Path, setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three detection functions as a user of librosa would write them."""
    y, sr = librosa.load(path, sr=None)
    if setting is NIGHTHAWK:
        E = librosa.feature.melspectrogram(
            y=y, sr=sr, n_fft=1024, win_length=256, hop_length=32, power=1, n_mels=128, fmin=2000, htk=True
        )
    else:
        E = np.abs(librosa.stft(y, n_fft=256, hop_length=128))[1:]
    pcen = librosa.pcen(E, sr=sr, hop_length=setting.hop_length, b=setting.s, gain=1, bias=1, power=0, eps=1e-10)
    rises = np.diff(np.log(E + 1e-10), axis=1)
    return np.maximum(rises, 0).mean(axis=0), rises.max(axis=0), pcen.max(axis=0)


def with_scipy(path: Path, setting: Setting) -> tuple[np.ndarray, ...]:
    """The three detection functions by scipy.signal and numpy."""
    x, sr = soundfile.read(path, dtype="float32")
    window = np.zeros(setting.n_fft, np.float32)
    window[: setting.win_length] = setting.window
    stft = scipy.signal.ShortTimeFFT(window, setting.hop_length, sr)
    E = np.abs(stft.stft(x))
    E = E[1:] if setting is RIGHT_WHALE else setting.filters.astype(np.float32) @ E
    M, _ = scipy.signal.lfilter([setting.s], [1, setting.s - 1], E, axis=1, zi=(1 - setting.s) * E[:, :1])
    rises = np.diff(np.log(E + 1e-10), axis=1)
    return np.maximum(rises, 0).mean(axis=0), rises.max(axis=0), np.log1p((E[:, 1:] / (M[:, :-1] + 1e-10)).max(axis=0))


def with_torch(path: Path, setting: Setting) -> tuple[Any, ...]:
    """The three detection functions by torch on one thread, the background by a loop over frames."""
    import torch

    torch.set_num_threads(1)
    x, _ = soundfile.read(path, dtype="float32")
    window = torch.from_numpy(setting.window.astype(np.float32))
    options = {"win_length": setting.win_length, "window": window, "return_complex": True}
    E = torch.stft(torch.from_numpy(x), setting.n_fft, setting.hop_length, **options).abs()
    E = E[1:] if setting is RIGHT_WHALE else torch.from_numpy(setting.filters.astype(np.float32)) @ E
    M = torch.empty_like(E)
    M[:, 0] = E[:, 0]
    for t in range(1, E.shape[1]):
        M[:, t] = torch.lerp(M[:, t - 1], E[:, t - 1], setting.s)
    rises = torch.diff(torch.log(E + 1e-10), dim=1)
    return rises.clamp(min=0).mean(dim=0), rises.amax(dim=0), torch.log1p((E / (M + 1e-10)).amax(dim=0))


@contextlib.contextmanager
def without_numba() -> Iterator[None]:
    """As if numba were not installed."""
    kernels = streaming.load_kernels
    streaming.load_kernels = lambda: None
    try:
        yield
    finally:
        streaming.load_kernels = kernels


def ways() -> dict[str, Callable[[Path, Setting], object]]:
    """What is compared, by name."""

    def plainly(path: Path, setting: Setting) -> object:
        with without_numba():
            return detection_functions(path, setting)

    found: dict[str, Callable[[Path, Setting], object]] = {
        "librosa": with_librosa,
        "scipy.signal": with_scipy,
    }
    if importlib.util.find_spec("torch"):
        found["torch"] = with_torch
    return found | {
        "float64": detection_functions,
        "float32": functools.partial(detection_functions, dtype="float32"),
        "float64, without numba": plainly,
    }


# Measurements


def instructions() -> str:
    """The vector instructions of this processor, which the floors depend on."""
    features = llvmlite.binding.get_host_cpu_features()
    return "AVX-512" if features.get("avx512f") else "AVX2"


def speed(folder: Path) -> dict[str, Any]:
    """Seconds of each way in each case, and ratios to librosa's."""
    compared = ways()
    for detect in compared.values():  # imports, compilation
        detect(folder / "scene.wav", NIGHTHAWK)
        detect(folder / "short.wav", RIGHT_WHALE)
    results = {}
    for name, case in CASES.items():
        turns: list[list[tuple[float, float]]] = []
        for _ in range(case.repeats):
            turns.append([])
            for detect in compared.values():
                warm_up(functools.partial(detect, folder / f"{name}.wav", case.setting))
                start = time.process_time(), time.perf_counter()
                detect(folder / f"{name}.wav", case.setting)
                turns[-1].append((time.process_time() - start[0], time.perf_counter() - start[1]))
        processor, wall = np.moveaxis(turns, 2, 0)
        results[name] = {
            "title": case.title,
            "length": case.seconds,
            "repeats": case.repeats,
            "times_librosa": by_way(compared, processor[:, :1] / processor),
            "times_librosa_by_wall_clock": by_way(compared, wall[:, :1] / wall),
            "seconds": by_way(compared, processor),
            "seconds_by_wall_clock": by_way(compared, wall),
            "floor": case.floors[instructions()],
            "aim": case.aim,
        }
    return results


def warm_up(call: Callable[[], object]) -> None:
    """Call once, and again until the time is up."""
    start = time.perf_counter()
    while True:
        call()
        if time.perf_counter() > start + WARM_UP:
            return


def by_way(ways: Iterable[str], values: np.ndarray) -> dict[str, float]:
    """Medians over turns, by the names of ways."""
    return dict(zip(ways, np.median(values, axis=0).tolist(), strict=True))


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
    """Where the time goes: microseconds of the processor a frame in each step, medians of some runs."""
    results = {}
    for name, case in CASES.items():
        for dtype in ("float64", "float32"):
            path, setting = folder / f"{name}.wav", case.setting
            n_frames = len(detection_functions(path, setting, dtype=dtype)[0])
            chunks = list(streaming.samples(path, setting.sr, dtype=dtype))
            x = np.concatenate(chunks)
            engine, only_bins = kernels.engine(setting, dtype), engine_without_functions(setting, dtype)
            steps: dict[str, Callable[[], object]] = {
                "all": lambda path=path, setting=setting, dtype=dtype: detection_functions(path, setting, dtype=dtype),
                "read": lambda path=path, setting=setting, dtype=dtype: deque(
                    streaming.samples(path, setting.sr, dtype=dtype), maxlen=0
                ),
                "compiled": lambda engine=engine, x=x, setting=setting: go_through(engine, x, setting),
                "bins": lambda engine=only_bins, x=x, setting=setting: go_through(engine, x, setting),
            }
            turns = []
            warm_up(steps["all"])
            for _ in range(3 if name == "night" else 9):
                turns.append([processor_time(step) for step in steps.values()])
            spent = dict(zip(steps, 1e6 * np.median(turns, axis=0) / n_frames, strict=True))
            results[f"{case.title}, {dtype}"] = {
                "read": float(spent["read"]),
                "window and transform": float(spent["bins"]),
                "bands and functions": float(spent["compiled"] - spent["bins"]),
                "the rest": float(spent["all"] - spent["read"] - spent["compiled"]),
                "all": float(spent["all"]),
            }
    return results


def engine_without_functions(setting: Setting, dtype: str) -> Callable[..., None]:
    """The compiled engine, but for what follows the transform; under a version of its own in numba's cache."""
    detect, version = kernels.detect, kernels.__version__
    kernels.detect, kernels.__version__ = nothing, f"{version} without functions"
    kernels._compiled.cache_clear()
    try:
        return kernels.engine(setting, dtype)
    finally:
        kernels.detect, kernels.__version__ = detect, version
        kernels._compiled.cache_clear()


@numba.njit
def nothing(of_bands: Any, work: Any, floor: Any, s: Any, E: Any, M: Any, functions: Any) -> None:
    """Nothing, in place of `detect`."""


def go_through(engine: Callable[..., None], x: np.ndarray, setting: Setting) -> None:
    """Run an engine over samples in blocks, as `streaming` does."""
    E, M = np.zeros(setting.n_bands, np.float32), np.zeros(setting.n_bands)
    length = 1920 * setting.hop_length
    for begin in range(0, len(x) - setting.win_length, length):
        block = x[begin : begin + length - setting.hop_length + setting.win_length]
        if len(block) >= setting.win_length:
            engine(block, E, M, np.empty((3, setting.n_frames(len(block)))))


def processor_time(call: Callable[[], object]) -> float:
    """Seconds of the processor that a call takes."""
    start = time.process_time()
    call()
    return time.process_time() - start


# The limit


def peak_rate() -> float:
    """Sums and products a second, in double precision on one core, of a loop that does nothing else."""
    n_chains, length, n_frames, repeats = 8, 16, 512, 2000  # chains that do not wait for each other
    lines = [f"x{k} = a[t + {k * n_frames}]" for k in range(n_chains)]
    lines += [f"x{k} = x{k} * b + c" for _ in range(length) for k in range(n_chains)]
    lines += [f"a[t + {k * n_frames}] = x{k}" for k in range(n_chains)]
    loop = f"for _ in range({repeats}):\n    for t in range({n_frames}):\n"
    text = "def chains(a, b, c):\n" + textwrap.indent(loop + textwrap.indent("\n".join(lines), " " * 8), " " * 4)
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 (our own text)
    chains = numba.njit(fastmath={"contract"})(names["chains"])
    a = np.ones(n_chains * n_frames)
    chains(a, 0.5, 0.5)
    quickest = min(processor_time(lambda: chains(a, 0.5, 0.5)) for _ in range(9))
    return 2 * n_chains * length * n_frames * repeats / quickest


def operations(setting: Setting) -> float:
    """Sums, products, ratios and roots a frame: counted in the text of the transform, and by hand for the rest."""
    found = transform(setting.memoryless, "float64", kernels.BATCH)
    bands_of = bands(setting.memoryless, tuple(found.places.tolist()), kernels.BATCH)
    of_transform = count_operations(ast.parse("\n".join(found.lines)), len(found.tables.pairs)) / FRAMES
    # A weight and a sum for each bin of a band; for each band, three for the background, and two ratios and a product.
    return of_transform + 2 * bands_of.weights.size + 6 * setting.n_bands


def count_operations(node: ast.AST, n_pairs: int) -> int:
    """Operations on numbers, not on indices, as often as loops repeat them."""
    if isinstance(node, ast.Subscript):
        return 0
    if isinstance(node, ast.If):  # samples are copied, and nothing is computed
        return 0
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets[0].id) <= 2:
        return 0  # i = i0 + t
    times = 1
    if isinstance(node, ast.For):
        bound = ast.unparse(node.iter)
        times = n_pairs if "pairs" in bound else int("".join(filter(str.isdigit, bound)))
        return times * sum(count_operations(child, n_pairs) for child in node.body)
    own = isinstance(node, ast.BinOp | ast.UnaryOp) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "root")
    return own + sum(count_operations(child, n_pairs) for child in ast.iter_child_nodes(node))


def limit(spent: dict[str, Any]) -> dict[str, Any]:
    """How close the compiled engine comes to what the processor can do at all."""
    peak = peak_rate()
    results: dict[str, Any] = {"peak, billions a second": peak / 1e9}
    for case in CASES.values():
        steps = spent[f"{case.title}, float64"]
        rate = operations(case.setting) / (steps["window and transform"] + steps["bands and functions"]) * 1e6
        results[case.title] = {
            "operations a frame": operations(case.setting),
            "billions a second": rate / 1e9,
            "share of the peak": rate / peak,
        }
    return results


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
    """Seconds to import, and to the end of a first call: with kernels to compile, and with compiled ones."""
    code = """
import time
start = time.perf_counter()
import pcenlib
imported = time.perf_counter()
pcenlib.detection_functions([0.0] * 1000, pcenlib.NIGHTHAWK)
print(imported - start, time.perf_counter() - start)
"""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users let Python keep what it has read
        runs = []
        for _ in range(6):
            command = [sys.executable, "-c", code]
            output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout  # noqa: S603
            runs.append([float(value) for value in output.split()])
    imported, called = np.median(runs[1:], axis=0)
    return {
        "import": float(imported),
        "import and first call": float(called),
        "compilation": float(runs[0][1] - called),
    }


# Input and output


def make_recordings(folder: Path) -> None:
    """Write the recordings: seeded noise of 16 bits."""
    durations = {name: (case.setting.sr, case.seconds) for name, case in CASES.items()}
    durations |= {"long": (NIGHTHAWK.sr, 3600), "short": (RIGHT_WHALE.sr, 60)} | {
        f"scene-{number}": (NIGHTHAWK.sr, 10) for number in range(40)
    }
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
        "vector instructions": instructions(),
        "cores": os.cpu_count(),
        "memory in GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"),
    }


def tables(results: dict[str, Any]) -> Iterator[str]:
    """The results as lines of text."""
    cases = results["speed"].values()
    yield "{processor}, {vector instructions}, {cores} cores".format(**results["machine"])
    for title, ratios, seconds in (
        ("times librosa's speed, by processor", "times_librosa", "seconds"),
        ("the same, by wall clock", "times_librosa_by_wall_clock", "seconds_by_wall_clock"),
    ):
        yield ""
        yield f"{title:36}" + "".join(f"{case['title']:>26}" for case in cases)
        for way in next(iter(cases))["seconds"]:
            cells = [f"{case[ratios][way]:.1f} ({case[seconds][way]:.3f} s)" for case in cases]
            yield f"{way:36}" + "".join(f"{cell:>26}" for cell in cells)
    for name in ("floor", "aim"):
        met = ["met" if case["times_librosa"]["float64"] >= case[name] else "missed" for case in cases]
        cells = [f"{case[name]} ({word})" for case, word in zip(cases, met, strict=True)]
        yield f"{name + ' of float64, by processor':36}" + "".join(f"{cell:>26}" for cell in cells)
    yield ""
    yield f"peak of one core: {results['limit']['peak, billions a second']:.0f} billion sums and products a second"
    for name, row in list(results["limit"].items())[1:]:
        yield f"  {name:32}" + "; ".join(f"{key}: {value:.2f}" for key, value in row.items())
    for title, table in (
        ("largest error against double precision throughout", results["errors"]),
        ("microseconds of the processor a frame", results["shares"]),
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
    results["limit"] = limit(results["shares"])
    results["start_up"] = start_up()
    options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print("\n".join(tables(results)))


if __name__ == "__main__":
    main()
