"""What records of documents can do beside having fields. The generated classes inherit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import _frames
from ._read import MisshapenError
from ._timing import Timing

if TYPE_CHECKING:
    from pandas import DataFrame

    from .documents.result import Clocks, Interval

__all__ = ["OUTCOMES", "GroupMethods", "IntervalMethods", "SeriesMethods", "SummaryMethods"]

OUTCOMES = ("success", "http_error", "failure", "unexpected")
"""Outcomes of calls, in the order of lists that have an entry for each."""

T = TypeVar("T")


class SummaryMethods:
    """What a summary does when it is made."""

    if TYPE_CHECKING:
        calls: tuple[Clocks, ...]

    def __post_init__(self) -> None:
        from .documents.result import Clocks

        empty = Clocks(latency=Timing(), service=Timing())
        object.__setattr__(self, "calls", _by_outcome(self.calls, empty, "summary.calls"))


class GroupMethods:
    """What a group of calls does when it is made."""

    if TYPE_CHECKING:
        outcomes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", _by_outcome(self.outcomes, 0, "outcomes"))


def _by_outcome(entries: tuple[T, ...], empty: T, path: str) -> tuple[T, ...]:
    """An entry for each outcome: older programs knew fewer."""
    if len(entries) > len(OUTCOMES):
        raise MisshapenError(path, f"expected {len(OUTCOMES)} outcomes at most, got {len(entries)}")
    return entries + (empty,) * (len(OUTCOMES) - len(entries))


class SeriesMethods:
    """Methods of a series."""

    if TYPE_CHECKING:
        intervals: tuple[Interval, ...]

    def to_pandas(self) -> DataFrame:
        """A row for each interval, with counts, the largest lag, and percentiles of the latency."""
        return _frames.of_intervals(self.intervals)


class IntervalMethods:
    """Methods of an interval of a series."""

    if TYPE_CHECKING:
        length_ns: int

    def rate(self, count: int) -> float:
        """A count of this interval per second; 0 if the interval has no length."""
        return count / (self.length_ns / 1e9) if self.length_ns else 0.0
