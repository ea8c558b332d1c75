"""Documents as pandas' data frames. pandas is imported where it is first needed."""

from __future__ import annotations

import dataclasses
import math
import typing
from functools import cache
from typing import TYPE_CHECKING, Any

from ._read import json_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

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
    return _frame([_row_of_interval(interval) for interval in intervals], ["from_s", "length_s", "phase"])


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
    return _frame([row], [])


def of_sweep(sweep: Sweep) -> pd.DataFrame:
    """A row for each rate with complete runs."""
    return _frame([flattened(step) for step in sweep.figures.steps], ["rate", "state", "verdict", "runs"])


def of_capacity(capacity: Capacity) -> pd.DataFrame:
    """A row for each trial."""
    return _frame([flattened(trial) for trial in capacity.trials], ["rate", "outcome", "length_s"])


def of_comparison(comparison: Comparison) -> pd.DataFrame:
    """A row for each figure of each result that was compared with the base."""
    rows = [{"against": against.new.name, **flattened(row)} for against in comparison.against for row in against.rows]
    return _frame(rows, ["against", "metric", "verdict", "unit", "base", "new"])


def flattened(record: Any, prefix: str = "") -> dict[str, Any]:
    """Values of a record by the path that they have in the document, such as ``latency_ms.p99``.

    Numbers that are not known are NaN. Lists of records are left out, and so are records that are not known, unless
    they are of a few numbers.
    """
    row: dict[str, Any] = {}
    record_type: Any = type(record)
    for field, kind in _fields_of(record_type):
        value, name = getattr(record, field.name), prefix + json_name(field)
        if _is_record(kind):
            if value is not None:
                row.update(flattened(value, f"{name}."))
            elif _is_flat(kind):
                row.update({f"{name}.{json_name(inner)}": math.nan for inner, _ in _fields_of(kind)})
        elif any(map(_is_record, typing.get_args(kind))):
            continue
        elif value is None:
            row[name] = math.nan if kind in (float, int) else None
        else:
            row[name] = list(value) if isinstance(value, tuple) else value
    return row


@cache
def _fields_of(kind: Hashable) -> list[tuple[dataclasses.Field[Any], Any]]:
    """Fields of a record with their types, of which ``None`` is taken out."""
    record: Any = kind
    hints = typing.get_type_hints(record)
    return [(field, _known(hints[field.name])) for field in dataclasses.fields(record)]


def _known(kind: Any) -> Any:
    kinds = [each for each in typing.get_args(kind) if each is not type(None)]
    return kinds[0] if type(None) in typing.get_args(kind) and len(kinds) == 1 else kind


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind)


def _is_flat(kind: Hashable) -> bool:
    """Whether this is a record of a few numbers, which has columns even where it is not known."""
    return dataclasses.is_dataclass(kind) and all(inner in (bool, float, int) for _, inner in _fields_of(kind))


def _frame(rows: list[dict[str, Any]], first: list[str]) -> pd.DataFrame:
    """A frame of these rows, with these columns first."""
    columns = dict.fromkeys([*first, *(name for row in rows for name in row)])
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("data frames need pandas: pip install pandas") from None
    frame: pd.DataFrame = pd.DataFrame(rows, columns=list(columns))
    return frame
