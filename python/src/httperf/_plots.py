"""Pictures of documents with matplotlib, which is imported where it is first needed.

Each function draws into the given axes, or into new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._histogram import Point
    from ._load import Comparison, Result, Sweep
    from ._timing import Timing
    from .documents.comparison import Change
    from .documents.result import Interval, Series
    from .documents.sweep import Mean, Step

__all__ = ["plot_comparison", "plot_latency", "plot_percentiles", "plot_series", "plot_sweep"]


def plot_latency(results: Result | Sequence[Result], ax: Axes | None = None) -> Axes:
    """Draws the percentiles of the latency and of the service time of the calls that were answered.

    Of several results, only latencies are drawn, with the instants of their starts as labels.
    """
    if isinstance(results, Sequence):
        for result in results:
            ax = plot_percentiles(result.latency, ax, label=f"latency, {result.parts[0].started}")
        return _new_if_none(ax)
    ax = plot_percentiles(results.latency, ax, label="latency (from when due)")
    return plot_percentiles(results.service, ax, label="service (from when sent)")


def plot_percentiles(timing: Timing, ax: Axes | None = None, *, label: str | None = None) -> Axes:
    """Draws the percentiles of a timing, over an axis that stretches with each further nine."""
    ax = _new_if_none(ax)
    before = ax.get_xlim()[1] if ax.lines else 10.0
    points = list(timing.percentiles(20))
    odds = _odds_of(points, timing.count)
    # The histogram rounds up; no time is above the maximum.
    ax.plot(odds, [min(point.value_us / 1e3, timing.max_ms or 0.0) for point in points], label=label)
    ax.set_xscale("log")
    ax.autoscale(axis="y")
    most = max(before, *odds) if odds else before
    marks = [1.0, 2.0] + [10.0**nines for nines in range(1, 10) if 10.0**nines <= most]
    ax.set_xticks(marks, [_name_of_odds(odds) for odds in marks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(1.0, most)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("percentile")
    ax.set_ylabel("time (ms)")
    return _finished(ax, has_legend=label is not None)


def _odds_of(points: list[Point], count: int) -> list[float]:
    """One in how many took longer; the maximum is one of all, and nothing is rarer."""
    return [min(1.0 / (1.0 - point.share), float(count)) if point.share < 1.0 else float(count) for point in points]


def _name_of_odds(odds: float) -> str:
    return f"p{round(100 * (1 - 1 / odds), 7):g}"


def plot_series(result: Result, ax: Axes | None = None, *, figure: Literal["rates", "latency"] = "rates") -> Axes:
    """Draws a result over time: calls per second (offered, answered, and what went wrong), or percentiles of the
    latency of the calls that were answered.

    Warm-up and drain are shaded.
    """
    ax = _new_if_none(ax)
    intervals = _drawn(result.series)
    middles = [(interval.from_ns + interval.length_ns / 2) / 1e9 for interval in intervals]
    if figure == "rates":
        lines: list[tuple[str, str, list[float | None]]] = [
            (name, style, [interval.rate(count(interval)) for interval in intervals])
            for name, style, count in _COUNTS
            # What never went wrong would be a line at 0.
            if name in ("offered", "replies") or any(map(count, intervals))
        ]
        ax.set_ylabel("calls per second")
    else:
        lines = [
            (name, style, [interval.latency.quantile_ms(share) for interval in intervals])
            for name, style, share in (("p50", "-", 0.5), ("p90", "--", 0.9), ("p99", ":", 0.99))
        ]
        ax.set_ylabel("latency (ms)")
    for name, style, values in lines:
        known = [(x, y) for x, y in zip(middles, values, strict=True) if y is not None]
        ax.plot([x for x, _ in known], [y for _, y in known], style, marker=".", label=name)
    label = "warm-up, drain"
    for interval in result.series.intervals:
        if interval.phase != "measured":
            ends_ns = interval.from_ns + interval.length_ns
            ax.axvspan(interval.from_ns / 1e9, ends_ns / 1e9, color="0.9", linewidth=0, label=label)
            label = "_"
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("time since the start of the run (s)")
    return _finished(ax, has_legend=True)


def _drawn(series: Series) -> list[Interval]:
    """Intervals that are long enough for a rate: what is left of a second at the end of a phase says little, unless the
    whole phase is short.
    """
    drawn: list[Interval] = []
    for interval in series.intervals:
        is_first = not drawn or drawn[-1].phase != interval.phase
        if interval.length_ns >= series.width_ns / (10 if is_first else 2):
            drawn.append(interval)
    return drawn


_COUNTS: list[tuple[str, str, Callable[[Interval], int]]] = [
    ("offered", "--", lambda interval: interval.offered),
    ("replies", "-", lambda interval: interval.replies),
    ("failed", ":", lambda interval: interval.failed_calls),
    ("status 400 or above", ":", lambda interval: interval.http_errors),
    ("unexpected", ":", lambda interval: interval.unexpected),
]
"""Lines over time: name, style and count. A reply may have a status of 400 or above and be unexpected."""


def plot_sweep(
    sweep: Sweep, ax: Axes | None = None, *, figure: Literal["replies", "errors", "response"] = "replies"
) -> Axes:
    """Draws a sweep over the offered rate: replies per second, the share of errors, or the mean response time.

    ``"replies"`` is figure 2 of the classic paper: the mean of each rate with the least and the most replies of a
    second, and the diagonal on which a server stays that keeps up. Rates at which the generator was the bottleneck are
    hollow, and no line goes through them.
    """
    ax = _new_if_none(ax)
    steps = sweep.figures.steps
    good = [step for step in steps if step.state != "client_limited"]
    limited = [step for step in steps if step.state == "client_limited"]
    if figure == "replies":
        _draw_replies(ax, sweep, good, limited)
    elif figure == "errors":
        _draw_means(ax, [(step, step.error_share) for step in good], "-", factor=100.0)
        _draw_means(ax, [(step, step.error_share) for step in limited], "", factor=100.0)
        ax.set_ylabel("errors (% of calls)")
        _end_above(ax, [100.0 * step.error_share.value for step in steps])
    else:
        _draw_means(ax, [(step, step.response_ms) for step in good], "-")
        _draw_means(ax, [(step, step.response_ms) for step in limited], "")
        ax.set_ylabel("mean response time (ms)")
        _end_above(ax, [step.response_ms.value for step in steps if step.response_ms is not None])
    ax.set_xlim(left=0.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(f"offered rate ({sweep.unit} per second)")
    return _finished(ax, has_legend=figure == "replies")


def _draw_replies(ax: Axes, sweep: Sweep, good: list[Step], limited: list[Step]) -> None:
    # Of connections with several calls, replies are no rates of arrivals; then no diagonal is drawn.
    most = max((step.rate for step in (*good, *limited)), default=0.0)
    if _is_one_call_each(sweep):
        ax.plot([0.0, most], [0.0, most], color="0.7", linewidth=1, label="as offered")
    for steps, style, label in ((good, "-", "replies"), (limited, "", "limited by the generator")):
        if not steps:
            continue
        means = [step.reply_rate.value for step in steps]
        below = [max(step.reply_rate.value - step.reply_rate_min, 0.0) for step in steps]
        above = [max(step.reply_rate_max - step.reply_rate.value, 0.0) for step in steps]
        ax.errorbar(
            [step.rate for step in steps],
            means,
            yerr=[below, above],
            fmt=f"o{style}",
            color="C0",
            markerfacecolor="C0" if style else "white",
            markersize=4,
            linewidth=1.5,
            elinewidth=1,
            capsize=2,
            label=f"{label} (mean, least and most of a second)" if style else label,
        )
    if sweep.figures.knee is not None:
        ax.axvline(sweep.figures.knee, color="C3", linestyle=":", label=f"knee: about {sweep.figures.knee:g}/s")
    ax.set_ylabel("replies per second")


def _is_one_call_each(sweep: Sweep) -> bool:
    connections = sweep.plan["workload"].get("connections", {})
    return sweep.unit == "calls" or connections.get("calls") == 1


def _draw_means(ax: Axes, means: list[tuple[Step, Mean | None]], style: str, factor: float = 1.0) -> None:
    known = [(step.rate, mean) for step, mean in means if mean is not None]
    ax.errorbar(
        [rate for rate, _ in known],
        [factor * mean.value for _, mean in known],
        yerr=[[factor * _margins(mean)[side] for _, mean in known] for side in (0, 1)],
        fmt=f"o{style}",
        color="C0",
        markerfacecolor="C0" if style else "white",
        markersize=4,
        capsize=2,
    )


def _end_above(ax: Axes, values: list[float]) -> None:
    """Ends the vertical axis above these values, however far intervals of confidence reach."""
    ax.set_ylim(top=1.2 * max(values, default=0.0) or 1.0)


def _margins(mean: Mean | Change) -> tuple[float, float]:
    low = mean.value if mean.low is None else mean.low
    high = mean.value if mean.high is None else mean.high
    return max(mean.value - low, 0.0), max(high - mean.value, 0.0)


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draws the relative change of each figure, with its interval of confidence. Figures without one are left out.

    Of several results, each has its colour.
    """
    ax = _new_if_none(ax)
    names = list(dict.fromkeys(row.metric for against in comparison.against for row in against.rows if row.relative))
    count = len(comparison.against)
    for index, against in enumerate(comparison.against):
        known = [(row.metric, row.relative) for row in against.rows if row.relative is not None]
        offset = (index - (count - 1) / 2) * 0.6 / count
        ax.errorbar(
            [100.0 * change.value for _, change in known],
            [names.index(metric) + offset for metric, _ in known],
            xerr=[[100.0 * _margins(change)[side] for _, change in known] for side in (0, 1)],
            fmt="o",
            capsize=3,
            label=f"{against.new.name} against {comparison.base.name}",
        )
    if count == 1:
        ax.set_title(f"{comparison.against[0].new.name} against {comparison.base.name}", fontsize="medium")
    ax.axvline(0.0, color="0.5", linewidth=1)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(f"change (%), with its interval of {round(100 * comparison.confidence, 7):g} % confidence")
    return _finished(ax, has_legend=count > 1)


def _new_if_none(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    new: Any = pyplot.subplots(layout="constrained")[1]
    axes: Axes = new
    return axes


def _finished(ax: Axes, *, has_legend: bool) -> Axes:
    ax.grid(visible=True, alpha=0.3)
    if has_legend:
        ax.legend(frameon=False)
    return ax
