"""What the bench stored: the README promises no other speed, and every floor is met."""

import json
import math
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))


def test_the_readme_promises_the_measured_speed():
    (promised,) = re.findall(r"(\d+) to (\d+) times as fast as librosa", (ROOT / "README.md").read_text("utf-8"))
    ratios = [case["times_librosa"]["float64"] for case in RESULTS["speed"].values()]
    assert [int(number) for number in promised] == [math.floor(min(ratios)), math.floor(max(ratios))]


def test_every_floor_is_met():
    for case in RESULTS["speed"].values():
        assert case["times_librosa"]["float64"] >= case["floor"], case["title"]
    assert all(row["speed-up"] >= 1.7 for row in RESULTS["scaling"].values())
    assert RESULTS["start_up"]["import and first call"] <= 0.8
