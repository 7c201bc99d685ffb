"""Estimates over seeds, by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from pcenlib.experiments.estimates import (
    alarm_ratios,
    alarm_times,
    decay_ratios,
    mean_ratios,
    mean_times,
    meetings,
    over_seeds,
    reaches,
)
from pcenlib.experiments.intervals import mean_interval

FLUX, MAX, PCEN = "averaged flux", "max-pooled flux", "max-pooled PCEN"


def table(distances, *, seed=1, protocol="paper", duration=100.0, **alarms):
    """False alarms of `flux`, `max` or `pcen` at each distance, as a stored table has them."""
    names = {"flux": FLUX, "max": MAX, "pcen": PCEN}
    return pd.concat(
        pd.DataFrame(
            {
                "seed": seed,
                "protocol": protocol,
                "distance": distances,
                "detector": names[short],
                "false_alarms": counts,
                "duration": duration,
                "n_groups": 5,
            }
        )
        for short, counts in alarms.items()
    )


def only(values):
    """The one value there is."""
    (value,) = values
    return value


def test_times_count_half_an_alarm_more():
    times = alarm_times(table([30, 60], pcen=[0, 2]))
    assert times["paper", 1].to_dict() == {(30, PCEN): 200.0, (60, PCEN): 40.0}


def test_ratios_count_half_an_alarm_more():
    few = table([30, 60, 100], flux=[10, 1, 0], pcen=[1, 1, 0])
    assert alarm_ratios(few)["paper", 1].to_dict() == {30: 7.0, 60: 1.0, 100: 1.0}
    assert alarm_ratios(few, FLUX, over=PCEN)["paper", 1, 30] == 1 / 7


def test_protocols_and_seeds_are_apart():
    both = pd.concat(
        [
            table([30], flux=[4], pcen=[1]),
            table([30], flux=[7], pcen=[2], seed=2),
            table([30], flux=[1], pcen=[4], protocol="released"),
        ]
    )
    assert alarm_ratios(both).to_dict() == {
        ("paper", 1, 30): 3.0,
        ("paper", 2, 30): 3.0,
        ("released", 1, 30): pytest.approx(1 / 3),
    }
    assert mean_ratios(both).index.tolist() == [("paper", 1), ("paper", 2), ("released", 1)]


def test_the_mean_over_distances_is_geometric_and_ends_where_it_should():
    rows = table([30, 60, 300, 350], flux=[0, 4, 13, 1000], pcen=[0, 0, 1, 0])  # 1, 9, 9, and 2001
    assert only(mean_ratios(rows, within=300)) == pytest.approx(81 ** (1 / 3))
    assert only(mean_ratios(rows, within=100)) == pytest.approx(3)
    assert only(mean_ratios(rows)) == pytest.approx((81 * 2001) ** (1 / 4))


@pytest.mark.parametrize(
    ("pcen", "expected"),
    [
        ([0, 1, 9, 99], 100.0),  # as few as averaged flux at 30 m, exactly, at 100 m
        ([0, 0, 40, 90], 60 + 40 * math.log(9.5 / 0.5) / math.log(40.5 / 0.5)),  # on the line between logarithms
        ([10, 10, 10, 10], 0.0),  # never
        ([0, 0, 0, 9], 500.0),  # everywhere
    ],
)
def test_reach(pcen, expected):
    rows = table([30, 60, 100, 400], flux=[9, 50, 50, 50], pcen=pcen)
    assert only(reaches(rows, limit=500)) == pytest.approx(expected)


def test_reach_does_not_depend_on_the_order_of_rows():
    rows = table([30, 60, 100, 400], flux=[9, 50, 50, 50], pcen=[0, 1, 9, 99])
    assert only(reaches(rows.sample(frac=1, random_state=1), limit=500)) == pytest.approx(100)


def test_meeting_is_where_smoothed_ratios_cross_one():
    km = np.arange(500, 6500, 1000)
    # Ratios 9, 9, 9, 1/9, 1/9, 1/9: the means of three logarithms are 1, 1, 1/3, -1/3, -1, -1 times log 9.
    rows = table(km, max=[4, 4, 4, 0, 0, 0], pcen=[0, 0, 0, 4, 4, 4])
    assert only(meetings(rows, over=MAX, limit=20000)) == pytest.approx(3000)
    ahead = table(km, max=[4] * 6, pcen=[0] * 6)
    assert only(meetings(ahead, over=MAX, limit=20000)) == 20000


def test_an_exponential_and_a_power_law_are_told_apart():
    km = np.arange(500.0, 12000.0, 1000.0)
    noise = np.exp(0.01 * np.random.default_rng(1).normal(size=km.size))
    exponential = table(km, pcen=100 * np.exp(km / 3000) * noise - 0.5)
    power = table(km, pcen=0.1 * km**1.5 * noise - 0.5)
    assert only(decay_ratios(exponential, within=12000)) > 10
    assert only(decay_ratios(power, within=12000)) < 0.1


def test_residual_variances_by_hand():
    # Logarithms of rates 0, 0, 1: of straight lines through them, the residuals' sum of squares is
    # S_yy - S_xy^2 / S_xx, with S_yy = 2/3.
    d = np.array([1.0, 2.0, 4.0])
    rows = table(d, duration=1.0, pcen=np.exp([0, 0, 1]) - 0.5)
    log = np.log(d)  # 0, a, 2 a: S_xx = 2 a^2 and S_xy = a, so 2/3 - 1/2 = 1/6 is left
    assert np.allclose(log, np.log(2) * np.arange(3))
    # 1, 2, 4: S_xx = 14/3 and S_xy = 4 - 7/3 = 5/3, so 2/3 - 25/42 = 1/14 is left
    assert only(decay_ratios(rows, within=4)) == pytest.approx((1 / 6) / (1 / 14))
    with pytest.raises(ValueError, match="within must leave at least three distances, got 2 within 2 m"):
        decay_ratios(rows, within=2)


def test_the_mean_over_seeds_is_that_of_each_protocol_and_distance():
    index = pd.MultiIndex.from_product(
        [["paper", "released"], [1, 2, 3], [30, 60]], names=["protocol", "seed", "distance"]
    )
    values = pd.Series(np.arange(1.0, 13.0), index)
    found = over_seeds(values)
    assert found.loc[("released", 60)].to_dict() == mean_interval([8, 10, 12])
    assert over_seeds(values, log=True).loc[("paper", 30)].to_dict() == mean_interval([1, 3, 5], log=True)
    assert over_seeds(values.xs(30, level="distance")).index.tolist() == ["paper", "released"]


def test_mean_times_keep_the_order_of_detectors():
    rows = pd.concat(table([30, 60], seed=k, max=[k, 9], pcen=[1, 1], flux=[0, 0]) for k in (1, 2, 3))
    found = mean_times(rows)
    assert list(found["detector"].cat.categories) == [MAX, PCEN, FLUX]
    first = found.iloc[0]
    assert [first["protocol"], first["distance"], first["detector"], first["duration"]] == ["paper", 30, MAX, 100]
    expected = mean_interval([100 / 1.5, 100 / 2.5, 100 / 3.5], log=True)
    assert list(first[["mtbfa", "mtbfa_low", "mtbfa_high"]]) == pytest.approx(list(expected.values()))
