"""HDR histograms of microseconds: the compressed V2 encoding, sums, and quantiles.

The layout, the encoding and the rule for quantiles are those of HdrHistogram's libraries, so that every figure
here equals that of the program.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

__all__ = ["Histogram", "Point", "check_share", "rank_of"]


def rank_of(share: float, count: int) -> int:
    """Rank, from 1, of a quantile among this many values in ascending order: the lowest that has this share of them.

    0.55 of 100 values are 55; the error of the product in floating point is left out.
    """
    return max(1, math.ceil(share * (1.0 - 2.0**-50) * float(count)))


def check_share(share: float) -> None:
    """Refuses what is no share: 99 where 0.99 is meant."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"expected a share from 0 to 1, got {share}")


@dataclass(frozen=True)
class Point:
    """A point of a distribution."""

    value_us: int
    """Value in microseconds."""
    share: float
    """Share (0 to 1) of values that are no larger."""
    count: int
    """Number of values that are no larger."""


@dataclass(frozen=True)
class Histogram:
    """Counts of whole microseconds, to a number of significant digits. It never changes."""

    # Counts are a dictionary.
    __hash__ = None  # type: ignore[assignment]

    counts: Mapping[int, int] = field(default_factory=dict)
    """Counts that are not 0, by the index of their class, ascending."""
    lowest: int = 1
    """Lowest value that differs from 0."""
    highest: int = 3_600_000_000
    """Largest value: an hour. Larger ones count as this."""
    digits: int = 3
    """Significant digits that are kept."""

    def __post_init__(self) -> None:
        ascending = {index: count for index, count in sorted(self.counts.items()) if count}
        object.__setattr__(self, "counts", ascending)

    @staticmethod
    def of(values_us: Iterable[int]) -> Histogram:
        """Histogram of these values."""
        empty = Histogram()
        counts: dict[int, int] = {}
        for value in values_us:
            index = empty._index_of(value)
            counts[index] = counts.get(index, 0) + 1
        return Histogram(counts)

    # Figures.

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.counts.values())

    @property
    def min_us(self) -> int | None:
        """Lower end of the lowest class; ``None`` if there are no values."""
        return next((self._lower_end(index) for index in self.counts), None)

    @property
    def max_us(self) -> int | None:
        """Upper end of the highest class; ``None`` if there are no values."""
        return next((self._upper_end(index) for index in reversed(self.counts)), None)

    @property
    def mean_us(self) -> float | None:
        """Mean of the middles of the classes. The moments of a `Timing` have the exact mean."""
        if not self.counts:
            return None
        middles = ((self._lower_end(index) + self._upper_end(index)) / 2 * n for index, n in self.counts.items())
        return math.fsum(middles) / self.count

    def quantile_us(self, share: float) -> int | None:
        """Least value at or below which this share (0 to 1) of the values lie; ``None`` if there are none.

        It is the upper end of a class; for a share of 0, the lower end of the first one. Raises `ValueError` for what
        is no share.
        """
        check_share(share)
        if share == 0:
            return self.min_us
        rank = rank_of(share, self.count)
        seen = 0
        for index, count in self.counts.items():
            seen += count
            if seen >= rank:
                return self._upper_end(index)
        return None

    def classes(self) -> Iterator[tuple[int, int]]:
        """Classes with values, ascending: upper end in microseconds, and count."""
        return ((self._upper_end(index), count) for index, count in self.counts.items())

    def cumulative(self) -> list[Point]:
        """The cumulative distribution: a point for each class with values."""
        total = self.count
        seen = accumulate(self.counts.values())
        return [Point(self._upper_end(index), n / total, n) for index, n in zip(self.counts, seen, strict=True)]

    def percentiles(self, per_halving: int = 5) -> Iterator[Point]:
        """Points of the distribution, denser towards the maximum: so many for each halving of the rest.

        These are the lines of ``httperf report --format hgrm``.
        """
        total, seen, target = self.count, 0, 0.0
        for index, count in self.counts.items():
            seen += count
            end = self._upper_end(index)
            while seen / total >= target:
                if target == 1.0:
                    yield Point(end, 1.0, seen)
                    return
                yield Point(end, target, seen)
                target = 1.0 if seen == total else _next_share(target, per_halving)

    # Sums.

    def __add__(self, other: Histogram) -> Histogram:
        """Histogram of the values of both, with the classes of this one.

        Counts add up exactly where both have the same classes; otherwise the sum has the values as exactly as the
        coarser one has them. Raises `ValueError` if the other has values beyond the highest class of this one.
        """
        if not isinstance(other, Histogram):
            return NotImplemented
        top, most = self._upper_end(self._size - 1), other.max_us
        if most is not None and most > top:
            raise ValueError(f"expected values up to {top} µs, got one of {most} µs")
        is_alike = self._layout == other._layout
        counts = dict(self.counts)
        for index, count in other.counts.items():
            own = index if is_alike else self._class_of(other._lower_end(index))
            counts[own] = counts.get(own, 0) + count
        return Histogram(counts, self.lowest, self.highest, self.digits)

    # The encoding.

    @staticmethod
    def decode(text: str) -> Histogram:
        """Reads the compressed V2 encoding in base64. An empty text is an empty histogram.

        Raises `ValueError` if the text is something else.
        """
        if not text:
            return Histogram()
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"expected base64: {error}") from None
        return _decoded(_unpacked(data))

    def encode(self) -> str:
        """The compressed V2 encoding in base64; empty if there are no values, as in documents."""
        if not self.counts:
            return ""
        payload = b"".join(map(_varint, map(_zigzag, self._runs())))
        header = _HEADER.pack(_V2, len(payload), 0, self.digits, self.lowest, self.highest, 1.0)
        packed = zlib.compress(header + payload)
        return base64.b64encode(struct.pack(">II", _V2_COMPRESSED, len(packed)) + packed).decode()

    def _runs(self) -> Iterator[int]:
        """Counts of all classes up to the last one that is not 0; several zeros in a row are one negative number."""
        place = 0
        for index, count in self.counts.items():
            gap = index - place
            if gap:
                yield 0 if gap == 1 else -gap
            yield count
            place = index + 1

    # The layout: classes as wide as a power of two, half as many in each doubling as in the first.

    @property
    def _layout(self) -> tuple[int, int]:
        """Exponents of two: of the unit, and of half the number of classes in the first doubling."""
        unit = self.lowest.bit_length() - 1
        half = (2 * 10**self.digits - 1).bit_length() - 1
        return unit, half

    @property
    def _size(self) -> int:
        """Number of classes."""
        unit, half = self._layout
        doublings, beyond = 1, 1 << (half + 1 + unit)
        while beyond <= self.highest:
            beyond <<= 1
            doublings += 1
        return (doublings + 1) << half

    def _index_of(self, value: int) -> int:
        """Class of any value: larger ones count as the highest."""
        return self._class_of(min(max(value, 0), self.highest))

    def _class_of(self, value: int) -> int:
        unit, half = self._layout
        doubling = max(0, value.bit_length() - (half + 1 + unit))
        return (doubling << half) + (value >> (doubling + unit))

    def _lower_end(self, index: int) -> int:
        unit, half = self._layout
        doubling = max(0, (index >> half) - 1)
        return (index - (doubling << half)) << (doubling + unit)

    def _upper_end(self, index: int) -> int:
        return self._lower_end(index + 1) - 1


def _next_share(share: float, per_halving: int) -> float:
    halvings = int(math.log2(1.0 / (1.0 - share)))
    after = share + 1.0 / (per_halving << (halvings + 1))
    return 1.0 if after == share else after


_V2 = 0x1C849303 | 0x10
_V2_COMPRESSED = 0x1C849304 | 0x10

_HEADER = struct.Struct(">IIIIQQd")
"""Cookie, length of the counts, index offset, digits, lowest and highest value, factor."""


def _unpacked(data: bytes) -> bytes:
    if len(data) < 8:
        raise ValueError("expected the compressed V2 encoding of a histogram, got fewer than 8 bytes")
    cookie, length = struct.unpack_from(">II", data)
    if cookie != _V2_COMPRESSED:
        raise ValueError(f"expected the compressed V2 encoding of a histogram, got one that begins with {cookie:#x}")
    try:
        return zlib.decompressobj().decompress(data[8 : 8 + length], _UNPACKED_MAX)
    except zlib.error as error:
        raise ValueError(f"expected a compressed histogram: {error}") from None


_UNPACKED_MAX = 64 << 20
"""More than any histogram takes: 47 doublings of 131,072 classes, each of 9 bytes."""


def _decoded(data: bytes) -> Histogram:
    if len(data) < _HEADER.size:
        raise ValueError("expected a histogram, got one that is cut short")
    cookie, length, offset, digits, lowest, highest, factor = _HEADER.unpack_from(data)
    payload = data[_HEADER.size : _HEADER.size + length]
    if cookie != _V2 or offset != 0 or factor != 1.0 or len(payload) != length:
        raise ValueError("expected a whole histogram of whole numbers, without offset or factor")
    if not (lowest >= 1 and 2 * lowest <= highest and digits <= 5):
        raise ValueError(f"expected a possible histogram, got {digits} digits from {lowest} to {highest}")
    empty = Histogram({}, lowest, highest, digits)
    size, index, counts = empty._size, 0, {}
    for number in _numbers(payload):
        if number < 0:
            index -= number
        else:
            if number:
                counts[index] = number
            index += 1
        if index > size:
            raise ValueError(f"expected counts of {size} classes, got more")
    return Histogram(counts, lowest, highest, digits)


def _numbers(payload: bytes) -> Iterator[int]:
    """Signed numbers of a sequence of variable-length ones."""
    value, shift = 0, 0
    for byte in payload:
        # The ninth byte of a number has no mark of its own: all its bits count.
        is_last = shift == 56 or byte < 0x80
        value |= (byte if shift == 56 else byte & 0x7F) << shift
        shift += 7
        if is_last:
            yield (value >> 1) ^ -(value & 1)
            value, shift = 0, 0
    if shift:
        raise ValueError("expected a histogram, got one whose last count is cut short")


def _zigzag(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80 and len(encoded) < 8:
        encoded.append(0x80 | (number & 0x7F))
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
