"""What real data sets share: a folder of published recordings, each file checked before it is used.

A data set states what its files are: how many, their rate, channels and length. A file that is missing, empty, damaged,
truncated, or not what the set states is named with the reason and left out, and `Report` says what is left. A missing
folder or table is an error, because there is nothing to list. If a set states no rate, readers resample.

Only headers and sizes are checked: none of these sets publishes checksums of its files. `RealSet.sha256` tells whether
two folders hold the same.
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pcenlib.core.integrity import missing_bytes
from pcenlib.core.recordings import info, waveform
from pcenlib.datasets.download import Remote
from pcenlib.datasets.interface import Clip, Sound

__all__ = ["About", "OnlyRecordings", "RealSet", "Report", "fault", "read", "wav_files"]

MISSING = "missing"
# Relative difference in length up to which a file is what was published.
TOLERANCE = 0.05
# Files that a report names of a kind; the others it counts.
NAMED = 5
# Faults that a report gives in full; the others it counts.
MOST = 100


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known about a published data set: how to cite and get it, and what its folder must look like.

    `key` is its name in the bibliography, `unit` is what its files are, and `n_files` is how many the whole set has.
    Samples per second, channels and seconds of every file are None if they are not stated. Files shorter than
    `min_duration` are of no use. `remotes` are what can be downloaded, with checksums.
    """

    title: str
    key: str
    citation: str
    licence: str
    obtain: str
    layout: str
    unit: str
    n_files: int | None = None
    sr: int | None = None
    n_channels: int | None = 1
    duration: float | None = None
    min_duration: float = 0.0
    remotes: tuple[Remote, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """What part of a data set is there; printed, it says so.

    A table of the set names files that are `missing`. What is `skipped`, files and lines of tables, cannot be used, and
    comes with the reason. `repeats` are copies of other files, each with the first of those. A `problem` is why nothing
    of the set can be used.
    """

    unit: str
    n_files: int | None = None
    present: Sequence[str] = ()
    missing: Sequence[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    problem: str = ""

    @property
    def complete(self) -> bool:
        """Whether all is there, as far as one can know."""
        return bool(self.present) and not (self.problem or self.missing or self.skipped) and self.n_missing == 0

    @property
    def n_missing(self) -> int:
        """How many files are not there, as far as one can know."""
        named = len(self.missing)
        return named if self.n_files is None else max(named, self.n_files - len(self.present) - len(self.skipped))

    @property
    def summary(self) -> str:
        """What is there in one line, as in *160 of 2000 clips present*."""
        if self.problem:
            return "cannot be used"
        of = "" if self.n_files is None else f" of {self.n_files}"
        counts = {"repeated": len(self.repeats), "left out": len(self.skipped)}
        rest = "".join(f", {count} {what}" for what, count in counts.items() if count)
        return f"{len(self.present)}{of} {self.unit} present{rest}"

    def __str__(self) -> str:
        lines = [self.summary, *([f"  {self.problem}"] if self.problem else [])]
        if self.n_missing and not self.problem:
            lines.append(f"  missing: {_some(self.missing) or self.n_missing}")
        lines += [f"  left out: {name}: {reason}" for name, reason in islice(self.skipped.items(), MOST)]
        if len(self.skipped) > MOST:
            lines.append(f"  left out: {len(self.skipped) - MOST} others")
        if self.repeats:
            lines.append(f"  the same as others to the last byte, left out: {_some(list(self.repeats))}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True)
class RealSet:
    """A data set in a folder. Each published set has its own class, which says where its sounds are.

    Only the folder goes to another process, because the name of a clip or a recording says where its sound is. The
    content of the folder is looked up once, at first use.

    Parameters
    ----------
    folder : path
        Where the set is.
    """

    folder: Path

    about: ClassVar[About]
    clip_duration: ClassVar[float] = 0.0
    """Length of each clip in seconds, without the sound before it; 0 for a set without clips."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    @classmethod
    def validate(cls, folder: Path) -> Report:
        """What of the set is in a folder; never an error."""
        try:
            return cls(folder).report
        except (OSError, ValueError) as error:
            return Report(unit=cls.about.unit, n_files=cls.about.n_files, problem=str(error))

    @cached_property
    def report(self) -> Report:
        """What of the set is there. OSError or ValueError if nothing of it can be used."""
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.about.title} must be in the folder {self.folder}, which is not there")
        listed, skipped = self._listed()
        names = Counter(listed)
        faults = {name: fault(self.folder / name, self.about) for name in names}
        missing = [name for name, reason in faults.items() if reason == MISSING]
        skipped = skipped | {name: reason for name, reason in faults.items() if reason and reason != MISSING}
        present = [name for name, reason in faults.items() if not reason]
        if not present and not missing and not skipped:
            raise FileNotFoundError(f"{self.folder} holds no {self.about.unit} of {self.about.title}")
        report = Report(
            unit=self.about.unit,
            n_files=self.about.n_files,
            present=present,
            missing=missing,
            skipped=skipped,
            notes=[f"listed {count} times, taken once: {name}" for name, count in names.items() if count > 1],
        )
        return self._looked_at(report)

    @property
    def skipped(self) -> dict[str, str]:
        """Every file that ought to be there and cannot be used, and why."""
        return dict.fromkeys(self.report.missing, MISSING) | dict(self.report.skipped)

    @cached_property
    def sha256(self) -> str:
        """Hash of the content of every file that can be used, and of their names."""
        digest = hashlib.sha256()
        for name in sorted(self.report.present):
            with (self.folder / name).open("rb") as file:
                digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        return digest.hexdigest()

    @property
    def clips(self) -> list[Clip]:
        """Clips with calls; none, unless the set has any."""
        return []

    @property
    def recordings(self) -> list[str]:
        """Names of recordings without a call; none, unless the set has any."""
        return []

    def clip(self, clip: Clip) -> Sound:
        """Sound of a clip: all of its file."""
        return Sound(*read(self.folder / clip.name))

    def recording(self, name: str) -> Sound:
        """Sound of a recording: its file."""
        return Sound(self.folder / name)

    def _listed(self) -> tuple[Iterable[str], dict[str, str]]:
        """Files that the set should have, from its table or from the folder, and what is wrong with the list."""
        raise NotImplementedError

    def _looked_at(self, report: Report) -> Report:
        """The report after a look into the files, for sets that need one."""
        return report

    @cached_property
    def _present(self) -> Sequence[str]:
        """Files that can be used; a warning names those that cannot."""
        if self.report.skipped:
            faults = [f"{name}: {reason}" for name, reason in self.report.skipped.items()]
            warnings.warn(f"{self.about.title}: left out {_some(faults, '; ')}", stacklevel=3)
        return self.report.present


@dataclass(frozen=True)
class OnlyRecordings(RealSet):
    """A data set whose WAV files are all recordings without a call."""

    pattern: ClassVar[str] = "*"
    """Where in the folder they are, as for `wav_files`."""

    def _listed(self) -> tuple[list[str], dict[str, str]]:
        return wav_files(self.folder, self.pattern), {}

    @property
    def recordings(self) -> list[str]:
        """Names of the recordings, in alphabetical order."""
        return list(self._present)


def fault(path: Path, about: About) -> str:
    """Why a file of a data set cannot be used; empty if it is what `about` states."""
    if not path.exists():
        return MISSING
    try:
        size = path.stat().st_size
        if size == 0:
            return "empty"
        missing = missing_bytes(path)
        if missing:
            return f"truncated: {size} bytes, where its header states {size + missing}"
        found = info(path)
        # These state no bytes: only the decoder knows which samples are there. FLAC's complains, MP3's stops.
        if path.suffix.lower() == ".flac":
            waveform(path, found.sr, first=max(0, found.n_samples - 1))
        if path.suffix.lower() == ".mp3" and (held := len(waveform(path, found.sr))) < found.n_samples:
            return f"truncated: {held} samples, where its header states {found.n_samples}"
    except OSError as error:
        return str(error).replace(str(path), "it")
    duration = found.n_samples / found.sr
    if found.n_samples == 0:
        return "holds no sample"
    if about.sr is not None and found.sr != about.sr:
        return f"has {found.sr} samples a second, expected {about.sr}"
    if about.n_channels is not None and found.n_channels != about.n_channels:
        return f"has {found.n_channels} channels, expected {about.n_channels}"
    if about.duration is not None and abs(duration / about.duration - 1) > TOLERANCE:
        return f"lasts {duration:.3g} s, expected {about.duration:g} s"
    if duration < about.min_duration:
        return f"lasts {duration:.3g} s, expected at least {about.min_duration:g} s"
    return ""


def wav_files(folder: Path, pattern: str = "*") -> list[str]:
    """Paths within a folder of its WAV files that match a glob pattern, in alphabetical order."""
    found = (path for path in folder.glob(pattern) if path.suffix.lower() == ".wav")
    return sorted(path.relative_to(folder).as_posix() for path in found)


def read(
    path: Path, *, channel: int | None = None, first: int = 0, n_samples: int | None = None
) -> tuple[npt.NDArray[np.floating], int]:
    """Waveform and samples per second of a file, or of `n_samples` from `first` on.

    A channel is a number from 0; by default, the mean of all.
    """
    sr = info(path).sr
    return waveform(path, sr, channel=channel, first=first, last=None if n_samples is None else first + n_samples), sr


def _some(names: Sequence[str], separator: str = ", ") -> str:
    """The first names, and how many others there are."""
    others = len(names) - NAMED
    return separator.join([*names[:NAMED], *([f"and {others} others"] if others > 0 else [])])
