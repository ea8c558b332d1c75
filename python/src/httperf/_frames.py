"""Documents as pandas' data frames. pandas is imported where it is first needed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._read import json_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from ._histogram import Histogram
    from ._load import Capacity, Comparison, Result, Sweep
    from .documents.result import Interval

__all__ = ["of_capacity", "of_comparison", "of_histogram", "of_intervals", "of_result", "of_sweep"]


def of_histogram(histogram: Histogram) -> pd.DataFrame:
    """A row for each class of a histogram."""
    rows = [
        {"ms": point.value_us / 1e3, "count": count, "cumulative": point.count, "share": point.share}
        for point, (_, count) in zip(histogram.cumulative(), histogram.classes(), strict=True)
    ]
    return _frame(rows, ["ms", "count", "cumulative", "share"])


def of_intervals(intervals: Iterable[Interval]) -> pd.DataFrame:
    """A row for each interval of a series."""
    rows = [_row_of_interval(interval) for interval in intervals]
    return _frame(rows, list(rows[0]) if rows else ["from_s", "length_s", "phase"])


def _row_of_interval(interval: Interval) -> dict[str, Any]:
    latency = interval.latency
    return {
        "from_s": interval.from_ns / 1e9,
        "length_s": interval.length_ns / 1e9,
        "phase": interval.phase,
        "arrivals": interval.arrivals,
        "offered": interval.offered,
        "sent": interval.sent,
        "replies": interval.replies,
        "http_errors": interval.http_errors,
        "unexpected": interval.unexpected,
        "failed_calls": interval.failed_calls,
        "errors": sum(interval.errors.values()),
        "open": interval.open,
        "lag_max_ms": interval.lag_max_ns / 1e6,
        "latency_p50_ms": latency.quantile_ms(0.5),
        "latency_p90_ms": latency.quantile_ms(0.9),
        "latency_p99_ms": latency.quantile_ms(0.99),
        "latency_max_ms": latency.quantile_ms(1.0),
    }


def of_result(result: Result) -> pd.DataFrame:
    """One row with the figures of a result."""
    row: dict[str, Any] = {
        "started": result.parts[0].started,
        "verdict": result.verdict.level,
        "ended_early": result.ended_early,
    }
    row.update(flattened(result.figures))
    return _frame([row], list(row))


def of_sweep(sweep: Sweep) -> pd.DataFrame:
    """A row for each rate with complete runs."""
    rows = [flattened(step) for step in sweep.figures.steps]
    return _frame(rows, _columns_of(rows) or ["rate"])


def of_capacity(capacity: Capacity) -> pd.DataFrame:
    """A row for each trial."""
    rows = [flattened(trial) for trial in capacity.trials]
    return _frame(rows, _columns_of(rows) or ["rate"])


def of_comparison(comparison: Comparison) -> pd.DataFrame:
    """A row for each figure of each result that was compared with the base."""
    rows = [{"against": against.new.name, **flattened(row)} for against in comparison.against for row in against.rows]
    return _frame(rows, _columns_of(rows) or ["against", "metric"])


def flattened(record: Any, prefix: str = "") -> dict[str, Any]:
    """Values of a record by the path that they have in the document, such as ``latency_ms.p99``.

    Lists of records are left out.
    """
    row: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value, name = getattr(record, field.name), prefix + json_name(field)
        if dataclasses.is_dataclass(value):
            row.update(flattened(value, f"{name}."))
        elif isinstance(value, tuple) and any(dataclasses.is_dataclass(item) for item in value):
            continue
        else:
            row[name] = list(value) if isinstance(value, tuple) else value
    return row


def _columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names that occur, in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("data frames need pandas: pip install 'httperf[pandas]'") from None
    frame: pd.DataFrame = pd.DataFrame(rows, columns=columns)
    return frame
