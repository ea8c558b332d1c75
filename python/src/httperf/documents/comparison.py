# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records of the document of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .._read import default
from .result import Level

__all__ = [
    "Against",
    "Change",
    "Code",
    "ComparisonOutcome",
    "Held",
    "Method",
    "Moment",
    "Overall",
    "PercentileCurve",
    "Remark",
    "Row",
    "RowVerdict",
    "Subject",
    "Tolerance",
    "Tolerated",
    "Trial",
    "Turns",
    "Unit",
]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One trial."""

    calls: int
    """Calls that ended in the trial."""
    figures: dict[str, float | None]
    """Figures by metric, in seconds, as a share of 1, or per second."""
    is_left_out: bool
    """True if its round is left out."""
    reasons: tuple[str, ...]
    """Names of the findings behind the verdict."""
    round: int
    """Number of the round, from 1."""
    side: int
    """0 for the base, 1 for the new side."""
    started: str | None = None
    """Start: an RFC 3339 date and time, in UTC."""
    verdict: Level
    """Reliability of its figures."""


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Alternating trials of both sides."""

    rounds_asked: int
    """Rounds requested, each with one trial of each side."""
    rounds_left_out: int
    """Rounds left out because the verdict on one of their trials is INVALID."""
    rounds_made: int
    """Complete rounds made."""
    seed: int
    """Seed of the random order of trials."""
    trials: tuple[Trial, ...]
    """Trials of complete rounds, in the order in which they were made."""


Method: TypeAlias = str | dict[str, Any]
"""Method of comparison."""


@dataclass(frozen=True, kw_only=True)
class PercentileCurve:
    """Points of a percentile curve, which ends at the last sample; empty if there is none."""

    ms: tuple[float, ...]
    """Times in milliseconds, one for each of them."""
    odds: tuple[float, ...]
    """1 / (1 − p): one in this many took longer. The last is the number of samples."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One interval of the measured phase, for charts."""

    at_s: float
    """Its middle, in seconds since the beginning of the measured phase."""
    p50_ms: float | None = None
    """Median latency of the calls answered in it, in milliseconds; `None` if there are too few."""
    p99_ms: float | None = None
    """99th percentile, likewise."""
    replies_per_s: float
    """Complete replies per second."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One side of a comparison."""

    conclusion: str | None = None
    """Conclusion of its run in a sentence; of several trials, the conclusions in a word each. Missing in older
    documents.
    """
    duration_s: float
    """Length of the measured phase in seconds; of several trials, their sum."""
    latency: PercentileCurve = field(default_factory=default(PercentileCurve, {'ms': [], 'odds': []}))
    """Latency of the answered calls; of several trials, of all that count. Missing in older documents."""
    name: str
    """Name of its file, or another distinctive name."""
    ranks: int | None = None
    """Number of ranks that offered the load together, if it was a fleet's (`--fleet`)."""
    replies: int
    """Complete replies."""
    started: str | None = None
    """Start: an RFC 3339 date and time, in UTC."""
    target: str
    """URL of the server, such as `http://shop.example:8080`."""
    timeline: tuple[Moment, ...] = ()
    """Intervals of the measured phase. Empty for a side of several trials, and in older documents."""
    verdict: Level
    """Reliability of its figures; of several trials, the worst that counts."""


Code: TypeAlias = Literal[
    "workload",
    "requests",
    "protocol",
    "rate",
    "phases",
    "invalid",
    "suspect",
    "ended_early",
    "same_run",
    "target",
    "duration",
    "machine",
    "version",
    "plan",
]
"""Subject of a remark."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """A remark about a comparison."""

    code: Code
    """Subject of the remark."""
    text: str
    """One sentence without its full stop."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A difference with its 95 % confidence interval."""

    high: float | None = None
    """Upper bound."""
    low: float | None = None
    """Lower bound."""
    value: float
    """Difference."""


Unit: TypeAlias = Literal["seconds", "share", "per_second"]
"""Unit of a figure."""


RowVerdict: TypeAlias = Literal["worse", "better", "no_difference_shown", "not_enough_data"]
"""Conclusion from a row."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure of both sides."""

    base: float | None = None
    """Value for the base; `None` if there is too little data."""
    difference: Change | None = None
    """Difference: new minus base."""
    metric: str
    """Name, as in objectives: `replies`, `errors`, `mean`, `p99` and so on."""
    new: float | None = None
    """Value for the new side."""
    p_value: float | None = None
    """Probability of a difference this large if there is none."""
    p_value_corrected: float | None = None
    """The p-value corrected for the number of rows (Holm): the verdict follows from it."""
    relative: Change | None = None
    """Difference as a share of the base; `None` also if the base is 0."""
    unit: Unit
    """Unit of the figures and of the difference."""
    verdict: RowVerdict
    """Conclusion."""
    why: str | None = None
    """Reason for missing data, if any."""


Held: TypeAlias = Literal["kept", "exceeded", "cannot_tell"]
"""Outcome of a tolerance."""


Tolerance: TypeAlias = str
"""A limit beyond which the difference between two runs is too large."""


@dataclass(frozen=True, kw_only=True)
class Tolerated:
    """A tolerance and its outcome."""

    outcome: Held
    """Outcome."""
    tolerance: Tolerance
    """Tolerance, such as `p99>+5%`."""


Overall: TypeAlias = Literal["worse", "better", "no_difference_shown", "not_enough_data", "void"]
"""Conclusion from all rows."""


@dataclass(frozen=True, kw_only=True)
class Against:
    """A result compared with the base."""

    new: Subject
    """The result."""
    obstacles: tuple[Remark, ...]
    """Reasons why the comparison is void, or would be if it were not forced."""
    rows: tuple[Row, ...]
    """Rows by figure; empty if the comparison is void."""
    tolerances: tuple[Tolerated, ...]
    """Outcomes of the tolerances."""
    verdict: Overall
    """Conclusion from all rows."""
    warnings: tuple[Remark, ...]
    """Other remarks that a reader should see."""


ComparisonOutcome: TypeAlias = Literal["passed", "cannot_tell", "failed"]
"""Overall outcome, for those who only need to know whether to proceed."""
