# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records of the document of a capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .result import Judged, Objective, Times, Verdict

__all__ = [
    "CapacityOutcome",
    "CapacitySettings",
    "Cause",
    "End",
    "Found",
    "Interval",
    "Trial",
]


@dataclass(frozen=True, kw_only=True)
class CapacitySettings:
    """Settings of the search."""

    implied: Objective | None = None
    """Implied objective on errors, if no objective mentions them."""
    max_rate: float | None = None
    """Highest rate to try; `None` for as much as the client can offer."""
    min_rate: float
    """Lowest rate to try."""
    objectives: tuple[Objective, ...]
    """Objectives for the server."""
    pause_s: float
    """Minimum pause between trials, in seconds."""
    precision: float
    """Maximum distance from the rate to either bound of its interval, as a share of the rate."""
    start: float
    """Rate of the first trial."""
    trial_longest_s: float = 0.0
    """Maximum length of a trial at a low rate that needs longer for its arrivals, in seconds."""
    trial_max_s: float
    """Maximum length of a trial's measured phase, in seconds, unless it needs longer for its arrivals."""
    trial_min_s: float
    """Minimum length of the first trials' measured phases, in seconds."""
    trials: int
    """Maximum number of trials."""


CapacityOutcome: TypeAlias = Literal["within", "beyond", "overload", "unclear", "client"]
"""Verdict of a trial on the server."""


Cause: TypeAlias = str | dict[str, Any]
"""Reason why a rate was not sustained, or why that is unknown."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial and its result."""

    answered: float
    """Rate of arrivals answered without an error in the measured phase."""
    backlog_growth: float
    """Growth of the number of pending calls in the measured phase, as a share of the arrivals."""
    latency_ms: Times
    """Latencies of the calls that were answered."""
    length_s: float
    """Length of the measured phase in seconds."""
    objectives: tuple[Judged, ...]
    """Outcomes of all objectives."""
    offered: float
    """Rate offered."""
    outcome: CapacityOutcome
    """Verdict on the server."""
    ranks: int | None = None
    """Number of ranks that made the trial together, if it was a fleet's (`--fleet`)."""
    rate: float
    """Rate requested."""
    reasons: tuple[Cause, ...]
    """Reasons why the rate was not sustained, or why that is unknown."""
    stream: int = 0
    """Random sequence of the trial: its value of `client.stream` in the plan."""
    unanswered: float
    """Share of the calls that were not answered even by the end of the drain."""
    verdict: Verdict
    """Reliability of the figures."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A rate with the interval that contains it with a probability of 95 %."""

    high: float
    """Upper bound."""
    low: float
    """Lower bound."""
    rate: float
    """Median: the capacity is equally likely to be above or below it."""


End: TypeAlias = Literal[
    "precise",
    "trials_used_up",
    "never_reached",
    "client_limited",
    "client_disturbed",
    "below_minimum",
    "too_few_samples",
    "asked",
    "broken",
]
"""Reason why a search ended."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Result of a search. Rates are per second."""

    because: str | None = None
    """Details of that reason."""
    capacity: Interval | None = None
    """Capacity; `None` if unknown."""
    end: End | None = None
    """Reason for the end; `None` while the search goes on."""
    sustained: float | None = None
    """Highest rate sustained in a trial; one with too few samples is none."""
