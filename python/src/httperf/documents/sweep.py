# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records of the document of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .._read import default
from .result import Kept, Level, Percentile

__all__ = [
    "End",
    "Lacking",
    "Mean",
    "Peak",
    "Recovery",
    "State",
    "Step",
    "StreamWaits",
    "SweepConclusion",
    "SweepConclusionKind",
    "SweepFigures",
    "SweepSettings",
]


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """Settings of a sweep."""

    pause_s: float
    """Minimum pause between two runs, in seconds."""
    rates: tuple[float, ...]
    """Arrivals per second, strictly ascending."""
    repeats: int
    """Number of runs at each rate."""
    settle_s: float
    """Maximum time for the server and this machine to recover from a run, in seconds; 0 skips the check."""
    shuffled_by: int | None = None
    """Seed of the random order; `None` for ascending rates."""
    stop_after: int | None = None
    """Number of consecutive rates at which the server could not keep up after which the sweep ends; `None` to try
    all rates.
    """


End: TypeAlias = Literal["complete", "saturated", "asked"]
"""Reason why a sweep makes no more runs."""


SweepConclusionKind: TypeAlias = Literal["nothing_measured", "client_limited", "keeps_up", "falls_behind", "collapses"]
"""Conclusion of a sweep about the server, in a word."""


@dataclass(frozen=True, kw_only=True)
class SweepConclusion:
    """Conclusion of a sweep about the server."""

    kind: SweepConclusionKind
    """The conclusion in a word."""
    text: str
    """The same in a sentence whose subject is the server."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean over runs, with its 95 % confidence interval."""

    high: float | None = None
    """Upper bound."""
    low: float | None = None
    """Lower bound; `None` if there is a single run."""
    value: float
    """Mean."""


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Maximum rate of replies without an error."""

    good_reply_rate: float
    """Replies without an error per second."""
    rate: float
    """Rate offered."""


State: TypeAlias = Literal["kept_up", "saturated", "unanswered", "client_limited"]
"""State of the server at a rate."""


@dataclass(frozen=True, kw_only=True)
class StreamWaits:
    """Waits in streams at a rate: medians and 99th percentiles in milliseconds, as means over the runs. `None` if a
    run has too few samples.
    """

    first_p50_ms: Mean | None = None
    """Median of the times from when calls were due to the first events; of language models, to the first tokens."""
    first_p99_ms: Mean | None = None
    """99th percentile of the times from when calls were due to the first events; of language models, to the first
    tokens.
    """
    gap_p50_ms: Mean | None = None
    """Median of the gaps between events; of language models, of the times per output token."""
    gap_p99_ms: Mean | None = None
    """99th percentile of the gaps between events; of language models, of the times per output token."""
    of_tokens: bool
    """True if these are of the tokens of language models."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Results at one rate: means over its complete runs. Runs in which the generator was the bottleneck are left out
    unless it was in all of them.
    """

    achieved: Mean
    """Arrivals started per second."""
    all_p50: Percentile | None = None
    """Median of the latency of all calls, answered or not."""
    all_p50_between: tuple[float, float] | None = None
    """95 % confidence interval of `all_p50` in milliseconds; `None` if there is a single run, or if it is longer
    than known.
    """
    all_p99: Percentile | None = None
    """99th percentile of the latency of all calls, answered or not."""
    all_p99_between: tuple[float, float] | None = None
    """95 % confidence interval of `all_p99`, as for `all_p50`."""
    answered_share: Mean
    """Share of the offered load that was answered without an error while load was offered."""
    client_limited_runs: int
    """Number of these in which the generator was the bottleneck."""
    error_share: Mean
    """Share of the calls (or connections, if no calls are made) that ended in an error."""
    good_reply_rate: Mean
    """Complete replies without an error per second while load was offered: status below 400, and no failed check."""
    lacks_recovery: bool
    """True if the server or this machine had not recovered before one of these runs."""
    latency_p50_ms: Mean | None = None
    """Median of the latency of the answered calls, in milliseconds."""
    latency_p99_ms: Mean | None = None
    """99th percentile of the latency of the answered calls, in milliseconds."""
    objectives: Kept | None = None
    """Outcome of the objectives over all runs; `None` if there are none."""
    objectives_not_met: tuple[str, ...]
    """Objectives that were missed, or whose outcome is unknown."""
    rate: float
    """Rate requested."""
    reasons: tuple[str, ...]
    """Names of the findings behind verdicts other than VALID."""
    reply_rate: Mean
    """Complete replies per second while load was offered: the throughput of a run."""
    reply_rate_max: float
    """Maximum of the sampled replies per second of the runs."""
    reply_rate_min: float
    """Minimum of the sampled replies per second of the runs."""
    reply_rate_stddev: float
    """Standard deviation of the sampled replies per second, as a mean over the runs."""
    response_ms: Mean | None = None
    """From the first byte of a request to the status line of its reply, in milliseconds."""
    runs: int
    """Number of complete runs."""
    state: State
    """State of the server at this rate."""
    stream_waits: StreamWaits | None = None
    """Waits in streams; `None` if there were none."""
    verdict: Level
    """Worst verdict on a run."""


@dataclass(frozen=True, kw_only=True)
class SweepFigures:
    """Figures of a sweep. Rates are arrivals per second."""

    conclusion: SweepConclusion = field(default_factory=default(SweepConclusion, {'kind': 'nothing_measured', 'text': ''}))
    """Conclusion about the server. Missing in older documents, as the two other fields with a default."""
    knee: float | None = None
    """Estimate of the rate above which replies no longer follow: what was answered at the first rate beyond it, no
    less and no more than `knee_between`, with no more digits than these let it have. `None` if it was not reached
    or cannot be determined.
    """
    knee_between: tuple[float, float] | None = None
    """Highest rate that the server kept up with (0 if it kept up with none), and the next one; `None` if it kept up
    with the highest.
    """
    knee_of_repeats: Mean | None = None
    """Mean of the estimates of each repeat, before they are rounded; `None` without repeats, or if one of them has
    none.
    """
    objectives_met_at: float | None = None
    """Highest rate at which all objectives were met in every run; `None` if there are no objectives, or no such
    rate.
    """
    peak: Peak | None = None
    """Rate with the most replies without an error, of those at which the generator was not the bottleneck; `None` if
    there were none.
    """
    steps: tuple[Step, ...]
    """Rates with complete runs, ascending."""


Lacking: TypeAlias = str | dict[str, Any]
"""Resource that had not recovered before a run."""


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """Waits between two runs, in seconds. There are none before the first run."""

    lacking: Lacking | None = None
    """Resource that had not recovered when the time limit expired."""
    pause_s: float
    """Pause requested."""
    ports_s: float
    """Time after that until enough local ports were free for the connections of the run."""
    server_s: float
    """Time after that until the server answered about as quickly as before the first run."""
