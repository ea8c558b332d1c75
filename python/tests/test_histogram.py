"""Histograms and timings by themselves."""

from __future__ import annotations

import base64
import dataclasses
import math
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import httperf
from httperf import Classes, Histogram, Point, Timing

HOUR_US = 3_600_000_000

values = st.lists(st.one_of(st.integers(0, 5000), st.integers(0, HOUR_US)), max_size=60)
times_ns = st.lists(st.one_of(st.integers(0, 10**7), st.integers(0, 4 * 10**12)), max_size=60)


@given(values)
def test_decoding_what_was_encoded_gives_the_same(us: list[int]) -> None:
    histogram = Histogram.of(us)
    assert Histogram.decode(histogram.encode()) == histogram


@given(values, values)
def test_a_sum_is_the_histogram_of_all_values(some: list[int], others: list[int]) -> None:
    assert Histogram.of(some) + Histogram.of(others) == Histogram.of(some + others)


@given(values, st.integers(0, 1000))
def test_a_quantile_is_the_class_of_the_value_at_its_rank(us: list[int], per_mille: int) -> None:
    share = per_mille / 1000
    found = Histogram.of(us).quantile_us(share)
    if not us:
        assert found is None
        return
    rank = max(1, -(-per_mille * len(us) // 1000))
    exact = sorted(us)[rank - 1]
    assert found is not None
    # Three digits are kept; but for a share of 0, a class is named by its upper end.
    assert abs(found - exact) <= exact * 1e-3
    assert found >= exact or share == 0


@given(times_ns, times_ns)
def test_timings_add_up_exactly_and_survive_saving(some: list[int], others: list[int]) -> None:
    both = Timing.of(some) + Timing.of(others)
    assert both == Timing.of(some + others)
    assert Timing.from_json(both.to_json(), "both") == both


@given(times_ns.filter(bool))
def test_the_distribution_ends_at_the_largest_value_with_all_counts(ns: list[int]) -> None:
    timing = Timing.of(ns)
    cumulative, percentiles = timing.histogram.cumulative(), list(timing.percentiles())
    assert cumulative[-1] == percentiles[-1] == Point(timing.histogram.max_us or 0, 1.0, len(ns))
    shares = [point.share for point in cumulative]
    assert shares == sorted(set(shares))
    assert [point.value_us for point in cumulative] == [us for us, _ in timing.histogram.classes()]


def test_moments_are_exact() -> None:
    timing = Timing.of([2_000_001, 4_000_000, 4_000_000, 4_000_000, 5_000_000, 5_000_000, 7_000_000, 9_000_000])
    assert (timing.count, timing.min_ms, timing.mean_ms, timing.max_ms) == (8, 2.000001, 5.0, 9.0)
    assert timing.stddev_ms == 2.13809


def test_a_quantile_needs_enough_samples() -> None:
    assert [httperf.samples_needed(share) for share in (0.5, 0.9, 0.99, 0.999, 1.0)] == [2, 10, 100, 1000, 1]
    timing = Timing.of([1000] * 99)
    assert (timing.quantile_ms(0.9), timing.quantile_ms(0.99), timing.quantile_ms(1.0)) == (0.001, None, 0.001)


@pytest.mark.parametrize("share", [99, 1.000001, -3, math.nan])
def test_what_is_no_share_is_refused_by_every_quantile(share: float) -> None:
    for timing in (Timing(), Timing.of([1000] * 99)):
        classes = Classes.of([(us, count) for us, count in timing.histogram.classes()])
        quantiles: list[Callable[[float], object]] = [
            timing.quantile_ms,
            timing.quantile_s,
            timing.histogram.quantile_us,
            classes.quantile_ms,
            httperf.samples_needed,
        ]
        for quantile in quantiles:
            with pytest.raises(ValueError, match=f"expected a share from 0 to 1, got {share}"):
                quantile(share)


def test_nothing_has_no_figures() -> None:
    nothing = Timing()
    assert (nothing.count, nothing.mean_ms, nothing.quantile_ms(1.0), nothing.stddev_ms) == (0, None, None, None)
    assert (nothing.histogram.min_us, nothing.histogram.max_us, nothing.histogram.mean_us) == (None, None, None)
    assert (list(nothing.percentiles()), nothing.histogram.cumulative()) == ([], [])
    assert nothing.histogram.encode() == ""


def test_values_beyond_an_hour_count_as_an_hour() -> None:
    assert Histogram.of([HOUR_US, 10 * HOUR_US]) == Histogram.of([HOUR_US, HOUR_US])


def test_histograms_of_other_libraries_are_read_with_their_own_precision() -> None:
    coarse = Histogram({100: 3, 300: 1}, 1, 1_000_000, 2)
    read = Histogram.decode(coarse.encode())
    assert (read, read.digits, read.highest) == (coarse, 2, 1_000_000)
    assert (Histogram() + read).count == 4


layouts = st.tuples(st.sampled_from([1, 4, 1000]), st.integers(2000, 4 * HOUR_US), st.integers(0, 4)).map(
    lambda drawn: Histogram({}, *drawn)
)


@given(layouts, layouts, st.lists(st.integers(0, 4 * HOUR_US), max_size=20))
def test_a_sum_of_different_layouts_can_be_read_again_or_is_refused(a: Histogram, b: Histogram, us: list[int]) -> None:
    for value in us:
        b += dataclasses.replace(b, counts={b._index_of(value): 1})
    most = b.max_us or 0
    if most > a._upper_end(a._size - 1):
        assert most > a.highest
        with pytest.raises(ValueError, match="expected values up to"):
            a + b
        return
    both = a + b
    assert Histogram.decode(both.encode()) == (both if us else Histogram())
    assert (both.count, both.highest, both.digits) == (len(us), a.highest, a.digits)


def test_values_without_a_class_are_not_added() -> None:
    narrow, wide = Histogram({}, 1, 1_000_000), Histogram.of([5, HOUR_US])
    assert (wide + narrow) == wide
    with pytest.raises(ValueError, match="expected values up to 1048575 µs, got one of 3600809983 µs"):
        narrow + wide


def packed(cookie: int, *header: float, payload: bytes = b"") -> str:
    body = struct.pack(">IIIIQQd", cookie, len(payload), *header) + payload
    compressed = zlib.compress(body)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(compressed)) + compressed).decode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("?", "expected base64"),
        ("AAAA", "fewer than 8 bytes"),
        (base64.b64encode(bytes(12)).decode(), "begins with 0x0"),
        (base64.b64encode(struct.pack(">II", 0x1C849314, 4) + b"none").decode(), "compressed histogram"),
        (packed(0x1C849303, 0, 3, 1, HOUR_US, 1.0), "whole histogram"),
        (packed(0x1C849313, 7, 3, 1, HOUR_US, 1.0), "without offset"),
        (packed(0x1C849313, 0, 9, 1, HOUR_US, 1.0), "possible histogram"),
        (packed(0x1C849313, 0, 3, 1, HOUR_US, 1.0, payload=b"\x80"), "cut short"),
        # A count behind more zeros than there are classes.
        (packed(0x1C849313, 0, 3, 1, HOUR_US, 1.0, payload=b"\xff\xff\xff\x7f\x02"), "got more"),
    ],
)
def test_what_is_no_histogram_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Histogram.decode(text)
