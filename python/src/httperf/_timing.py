"""Distributions of durations: exact moments with a histogram, and the figures that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _frames
from ._histogram import Histogram, Point, check_share, rank_of
from ._read import MisshapenError, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["Classes", "DurationMoments", "Timing", "samples_needed"]


def samples_needed(share: float) -> int:
    """Number of samples that a quantile needs to be one of them: 0.999 needs a thousand, the maximum (1) needs one.

    Raises `ValueError` for what is no share.
    """
    check_share(share)
    return round_half_up(1.0 / (1.0 - share)) if share < 1.0 else 1


def in_ms(seconds: float) -> float:
    """Milliseconds, rounded to the nanosecond."""
    return round_half_up(seconds * 1e9) / 1e6


def round_half_up(value: float) -> int:
    """The nearest whole number of one that is not negative. Python's `round` goes to the even one of two as near."""
    below = math.floor(value)
    return below + 1 if value - below >= 0.5 else below


def in_seconds(ns: int) -> float:
    """Seconds of a duration, added up as the program does: whole ones and the rest."""
    return float(ns // 1_000_000_000) + float(ns % 1_000_000_000) / 1e9


_U128_MAX = (1 << 128) - 1


@dataclass(frozen=True)
class DurationMoments:
    """Exact moments of durations."""

    count: int = 0
    """Number of values."""
    sum_ns: int = 0
    """Sum of the values."""
    sum_ns2: int = 0
    """Sum of their squares."""
    min_ns: int = 0
    """Minimum; 0 if there are no values."""
    max_ns: int = 0
    """Maximum; 0 if there are no values."""

    @staticmethod
    def of(values_ns: Iterable[int]) -> DurationMoments:
        """Moments of these durations."""
        values = list(values_ns)
        if not values:
            return DurationMoments()
        squares = min(sum(value * value for value in values), _U128_MAX)
        return DurationMoments(len(values), sum(values), squares, min(values), max(values))

    @classmethod
    def from_json(cls, value: Any, path: str) -> DurationMoments:
        """Reads the form in documents, where sums are strings of digits."""
        saved = read(dict[str, Any], value, path)
        count, least, most = (read(int, saved.get(key), f"{path}.{key}") for key in ("count", "min_ns", "max_ns"))
        sums = [_digits(saved.get(key), f"{path}.{key}") for key in ("sum_ns", "sum_ns2")]
        if not (0 <= least <= most and count * least <= sums[0] <= count * most):
            raise MisshapenError(
                path,
                f"expected consistent moments, got {count} times from {least} to {most} ns with a sum of {sums[0]} ns",
            )
        return cls(count, sums[0], sums[1], least, most)

    def to_json(self) -> dict[str, Any]:
        """The form in documents."""
        return {
            "count": self.count,
            "sum_ns": str(self.sum_ns),
            "sum_ns2": str(self.sum_ns2),
            "min_ns": self.min_ns,
            "max_ns": self.max_ns,
        }

    @property
    def mean_s(self) -> float:
        """Mean in seconds; 0 if there are no values."""
        return float(self.sum_ns) / 1e9 / float(self.count) if self.count else 0.0

    @property
    def stddev_s(self) -> float:
        """Sample standard deviation in seconds; 0 for fewer than two values."""
        count = self.count
        if count < 2:
            return 0.0
        squares, square = self.sum_ns2 * count, self.sum_ns * self.sum_ns
        # The program has integers of 128 bits, and takes floating-point numbers for larger ones.
        if max(squares, square) <= _U128_MAX:
            spread = float(max(squares - square, 0))
        else:
            spread = max(float(self.sum_ns2) * float(count) - float(self.sum_ns) ** 2, 0.0)
        return math.sqrt(spread / float(count) / float(count - 1)) / 1e9

    def __add__(self, other: DurationMoments) -> DurationMoments:
        """Moments of the values of both."""
        if not isinstance(other, DurationMoments):
            return NotImplemented
        if not (self.count and other.count):
            return self if self.count else other
        return DurationMoments(
            self.count + other.count,
            self.sum_ns + other.sum_ns,
            min(self.sum_ns2 + other.sum_ns2, _U128_MAX),
            min(self.min_ns, other.min_ns),
            max(self.max_ns, other.max_ns),
        )


def _digits(value: Any, path: str) -> int:
    text = read(str, value, path)
    if not (text.isascii() and text.isdigit()):
        raise MisshapenError(path, f"expected a string of digits, got {text[:60]!r}")
    # Python refuses to read thousands of digits.
    number = int(text) if len(text) <= len(str(_U128_MAX)) else _U128_MAX + 1
    if number > _U128_MAX:
        raise MisshapenError(path, f"expected a number of 128 bits, got {len(text)} digits")
    return number


@dataclass(frozen=True)
class Timing:
    """Distribution of a duration: exact moments, and a histogram to 3 significant digits.

    Timings add up exactly: ``a + b`` is that of the values of both.
    """

    __hash__ = None  # type: ignore[assignment]

    moments: DurationMoments = field(default_factory=DurationMoments)
    """Exact moments."""
    histogram: Histogram = field(default_factory=Histogram)
    """HDR histogram of microseconds, 1 to 3,600,000,000."""

    @staticmethod
    def of(values_ns: Iterable[int]) -> Timing:
        """Distribution of these durations."""
        values = list(values_ns)
        return Timing(DurationMoments.of(values), Histogram.of((value + 500) // 1000 for value in values))

    @classmethod
    def from_json(cls, value: Any, path: str) -> Timing:
        """Reads the form in documents."""
        saved = read(dict[str, Any], value, path)
        moments = DurationMoments.from_json(saved.get("moments"), f"{path}.moments")
        try:
            histogram = Histogram() + Histogram.decode(read(str, saved.get("histogram"), f"{path}.histogram"))
        except ValueError as error:
            raise MisshapenError(f"{path}.histogram", str(error)) from None
        if histogram.count != moments.count:
            raise MisshapenError(f"{path}.histogram", f"expected {moments.count} values, got {histogram.count}")
        return cls(moments, histogram)

    def to_json(self) -> dict[str, Any]:
        """The form in documents."""
        return {"moments": self.moments.to_json(), "histogram": self.histogram.encode()}

    @property
    def count(self) -> int:
        """Number of durations."""
        return self.moments.count

    @property
    def mean_ms(self) -> float | None:
        """Exact mean; ``None`` if there are no durations."""
        return in_ms(self.moments.mean_s) if self.count else None

    @property
    def min_ms(self) -> float | None:
        """Exact minimum; ``None`` if there are no durations."""
        return in_ms(float(self.moments.min_ns) / 1e9) if self.count else None

    @property
    def max_ms(self) -> float | None:
        """Exact maximum; ``None`` if there are no durations."""
        return in_ms(float(self.moments.max_ns) / 1e9) if self.count else None

    @property
    def stddev_ms(self) -> float | None:
        """Sample standard deviation, 0 for a single duration; ``None`` if there are none."""
        return in_ms(self.moments.stddev_s) if self.count else None

    def quantile_ms(self, share: float) -> float | None:
        """Least time within which this share (0 to 1) of the durations lie, to 3 significant digits.

        It is the same number as in the document and in every report. ``None`` if there are fewer durations than
        `samples_needed`. Raises `ValueError` for what is no share.
        """
        seconds = self.quantile_s(share)
        return None if seconds is None or self.count < samples_needed(share) else in_ms(seconds)

    def quantile_s(self, share: float) -> float | None:
        """The same in seconds, however few durations there are; ``None`` if there are none."""
        value_us = self.histogram.quantile_us(share)
        # The histogram rounds up; no duration is above the maximum.
        return None if value_us is None else in_seconds(min(value_us * 1000, self.moments.max_ns))

    def percentiles(self, per_halving: int = 5) -> Iterator[Point]:
        """Points of the distribution, denser towards the maximum (`Histogram.percentiles`)."""
        return self.histogram.percentiles(per_halving)

    def __add__(self, other: Timing) -> Timing:
        """Distribution of the durations of both, exactly."""
        if not isinstance(other, Timing):
            return NotImplemented
        return Timing(self.moments + other.moments, self.histogram + other.histogram)

    def to_pandas(self) -> DataFrame:
        """The cumulative distribution: a row for each class of the histogram.

        Columns: ``ms`` (upper end of the class), ``count``, ``cumulative`` (durations that are no longer) and ``share``
        (of all durations, 0 to 1).
        """
        return _frames.of_histogram(self.histogram)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draws the percentiles, denser towards the maximum (`httperf.plot_percentiles`)."""
        from . import _plots

        return _plots.plot_percentiles(self, ax, label=label)


@dataclass(frozen=True)
class Classes:
    """Durations of an interval to 2 significant digits: microseconds with their counts."""

    counts: tuple[tuple[int, int], ...] = ()
    """Pairs of microseconds and a count. Microseconds ascend, and no count is 0."""

    @staticmethod
    def of(pairs: Iterable[tuple[int, int]]) -> Classes:
        """Durations of these pairs of microseconds and a count, in any order."""
        counts: dict[int, int] = {}
        for us, count in pairs:
            counts[us] = counts.get(us, 0) + count
        return Classes(tuple((us, count) for us, count in sorted(counts.items()) if count))

    @classmethod
    def from_json(cls, value: Any, path: str) -> Classes:
        """Reads the form in documents."""
        return cls.of(read(tuple[tuple[int, int], ...], value, path))

    @property
    def count(self) -> int:
        """Number of durations."""
        return sum(count for _, count in self.counts)

    def quantile_ms(self, share: float) -> float | None:
        """Least time within which this share (0 to 1) of the durations lie; ``None`` if there are too few for it."""
        total = self.count
        if total < samples_needed(share):
            return None
        rank, seen = rank_of(share, total), 0
        for us, count in self.counts:
            seen += count
            if seen >= rank:
                return in_ms(in_seconds(us * 1000))
        return None

    def __add__(self, other: Classes) -> Classes:
        """Durations of both, exactly."""
        if not isinstance(other, Classes):
            return NotImplemented
        return Classes.of((*self.counts, *other.counts))
