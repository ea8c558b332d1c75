"""Data frames and pictures, and what is said where pandas or matplotlib are not there."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import httperf
from httperf import Comparison, Result, Sweep
from httperf._frames import flattened
from support import prints, read_json


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_a_series_is_a_row_for_each_interval(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["phases"], Result)
    frame = result.series.to_pandas()
    assert list(frame["phase"].unique()) == ["warm_up", "measured", "drain"]
    assert list(frame["replies"]) == [interval.replies for interval in result.series.intervals]
    measured = frame[frame["phase"] == "measured"]
    assert measured["offered"].sum() == sum(
        interval.offered for interval in result.series.intervals if interval.phase == "measured"
    )
    assert measured["latency_p50_ms"].notna().any()


def test_a_histogram_is_a_row_for_each_class(documents: dict[str, Path]) -> None:
    latency = httperf.load(documents["calls"], Result).latency
    frame = latency.to_pandas()
    assert frame["count"].sum() == frame["cumulative"].iloc[-1] == latency.count == 400
    assert frame["share"].iloc[-1] == 1.0
    assert frame["ms"].is_monotonic_increasing
    # The table gives the same quantile as the timing.
    assert frame[frame["share"] >= 0.9]["ms"].iloc[0] == latency.quantile_ms(0.9)
    assert httperf.Timing().to_pandas().empty


def test_a_result_is_a_row_of_figures(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["status"], Result)
    (row,) = result.to_pandas().to_dict("records")
    assert row["latency_ms.p50"] == result.figures.latency_ms.p50
    assert (row["verdict"], row["statuses"]) == (result.verdict.level, [0, 0, 0, 0, 60])
    assert math.isnan(row["latency_ms.p99.9"])
    assert math.isnan(row["kernel_ms.p50"])


@dataclasses.dataclass(frozen=True)
class Flat:
    low: float
    high: int | None


@dataclasses.dataclass(frozen=True)
class Deep:
    name: str
    flat: Flat


@dataclasses.dataclass(frozen=True)
class Row:
    number: float | None
    count: int | None
    word: str | None
    counts: tuple[int, ...]
    pairs: tuple[Flat, ...]
    maybe: tuple[Flat, ...] | None
    flat: Flat | None
    deep: Deep | None


def test_columns_follow_from_types_and_not_from_values() -> None:
    unknown = flattened(Row(None, None, None, (), (), None, None, None))
    known = flattened(Row(1.5, 2, "x", (1,), (Flat(1, 2),), (), Flat(1, 2), None))
    assert list(unknown) == list(known) == ["number", "count", "word", "counts", "flat.low", "flat.high"]
    for column in ("number", "count", "flat.low", "flat.high"):
        assert math.isnan(unknown[column]), column
    assert (unknown["word"], unknown["counts"], known["counts"]) == (None, [], [1])
    deep = flattened(Row(1.5, 2, "x", (1,), (), (), Flat(1, 2), Deep("y", Flat(3, None))))
    assert list(deep)[-3:] == ["deep.name", "deep.flat.low", "deep.flat.high"]


def test_runs_with_and_without_intervals_of_confidence_have_the_same_columns(documents: dict[str, Path]) -> None:
    document = read_json(documents["calls"])
    columns = []
    for confidence in ([], [{"figure": "p50", "value": 1.0, "low": 0.5, "high": 1.5, "inflation": 1.0}]):
        document["figures"]["confidence"] = confidence
        columns.append(list(httperf.loads(json.dumps(document), Result).to_pandas().columns))
    assert columns[0] == columns[1]
    assert "confidence" not in columns[0]


def test_a_sweep_is_a_row_for_each_rate(sweep_file: Path) -> None:
    sweep = httperf.load(sweep_file, Sweep)
    frame = sweep.to_pandas()
    assert list(frame.columns[:4]) == ["rate", "state", "verdict", "runs"]
    assert list(frame["rate"]) == [40.0, 80.0]
    assert list(frame["reply_rate.value"]) == [step.reply_rate.value for step in sweep.figures.steps]
    assert frame["latency_p99_ms.value"].isna().all()


# Of five rounds: on a busy machine, one made anew might have no row at all.
COMPARISON = Path(__file__).parent / "data" / "comparison.json"


def test_a_comparison_is_a_row_for_each_figure() -> None:
    comparison = httperf.load(COMPARISON, Comparison)
    assert httperf.loads(prints("report", "--format", "json", COMPARISON)) == comparison
    frame = comparison.to_pandas()
    assert list(frame["metric"])[:3] == ["replies", "errors", "mean"]
    assert {"relative.value", "difference.low"} <= set(frame.columns)
    assert "relative" not in frame.columns


def points(ax: Axes) -> list[list[float]]:
    """Vertical places of all points that are drawn, line by line."""
    lines: list[Any] = list(ax.get_lines())
    return [[float(y) for y in line.get_ydata()] for line in lines]


def test_percentiles_end_at_the_maximum(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["connections"], Result)
    ax = httperf.plot_latency(result)
    assert [max(line) for line in points(ax)] == [
        min((timing.histogram.max_us or 0) / 1e3, timing.max_ms or 0) for timing in (result.latency, result.service)
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("percentile", "time (ms)")
    several = httperf.plot_latency([result, result])
    assert len(several.get_lines()) == 2
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["p0", "p50", "p90", "p99"]


@pytest.mark.parametrize("count", [1, 3, 100, 2000, 2048])
def test_percentiles_are_drawn_up_to_the_maximum_and_not_beyond(count: int) -> None:
    (line,) = httperf.plot_percentiles(httperf.Timing.of(range(10**6, 10**6 * (count + 1), 10**6))).get_lines()
    odds = [float(x) for x in np.asarray(line.get_xdata())]
    assert odds == sorted(odds)
    assert odds[-1] == count


def test_a_series_is_drawn_in_rates_and_in_latencies(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["phases"], Result)
    rates = httperf.plot_series(result)
    assert rates.get_ylabel() == "calls per second"
    # Each of the phases is shorter than a second, and one interval.
    assert points(rates)[1] == [each.rate(each.replies) for each in result.series.intervals if each.length_ns > 10**8]
    assert rates.get_legend_handles_labels()[1] == ["offered", "replies", "warm-up, drain"]
    failed = httperf.plot_series(httperf.load(documents["status"], Result))
    assert points(failed)[2] == points(failed)[1]
    assert httperf.plot_series(result, figure="latency").get_ylabel() == "latency (ms)"


def test_a_sweep_is_drawn_over_the_offered_rate(sweep_file: Path) -> None:
    sweep = httperf.load(sweep_file, Sweep)
    ax = httperf.plot_sweep(sweep)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("offered rate (connections per second)", "replies per second")
    drawn = {y for line in points(ax) for y in line}
    assert {step.reply_rate.value for step in sweep.figures.steps} <= drawn
    assert httperf.plot_sweep(sweep, figure="errors").get_ylabel() == "errors (% of calls)"
    assert httperf.plot_sweep(sweep, figure="response").get_ylabel() == "mean response time (ms)"


def test_a_comparison_is_drawn_with_its_intervals() -> None:
    comparison = httperf.load(COMPARISON, Comparison)
    ax = httperf.plot_comparison(comparison)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["replies", "mean", "p50", "p90", "p99"]
    assert ax.get_xlabel() == "change (%), with its interval of 95 % confidence"
    ax = httperf.plot_comparison(dataclasses.replace(comparison, confidence=0.999))
    assert ax.get_xlabel() == "change (%), with its interval of 99.9 % confidence"


def test_pictures_are_drawn_into_given_axes_and_can_be_saved(documents: dict[str, Path], tmp_path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    result = httperf.load(documents["calls"], Result)
    assert httperf.plot_latency(result, left) is left
    assert result.lag.plot(right, label="lag") is right
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_not_installed_is_named(documents: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    result = httperf.load(documents["calls"], Result)
    for module in ("pandas", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"data frames need pandas: pip install pandas$"):
        result.to_pandas()
    with pytest.raises(ImportError, match=r"pictures need matplotlib: pip install matplotlib$"):
        httperf.plot_latency(result)
