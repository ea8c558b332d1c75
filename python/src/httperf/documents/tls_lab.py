# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records of the document of a comparison of TLS variants."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "EstimateObject",
    "Figures",
    "SettingsObject",
    "TrialObject",
    "VariantObject",
]


@dataclass(frozen=True, kw_only=True)
class SettingsObject:
    """Settings of an experiment."""

    concurrency: int
    """Concurrent handshakes of such a trial."""
    handshakes: int
    """Sequential handshakes of a latency trial."""
    rate_handshakes: int
    """Handshakes of a trial of the sustained rate; 0 skips these trials."""
    rounds: int
    """Number of rounds."""
    seed: int
    """Seed of the random order of trials."""
    timeout_s: float
    """Time limit of a connect, and of a handshake, in seconds."""
    verify: bool
    """True if certificates were verified."""


@dataclass(frozen=True, kw_only=True)
class EstimateObject:
    """A mean with its 95 % confidence interval."""

    high: float | None = None
    low: float | None = None
    mean: float


@dataclass(frozen=True, kw_only=True)
class TrialObject:
    """Figures of a variant in one round."""

    completed: int
    """Handshakes completed."""
    cpu_us: float
    """Processor time of the client per connection, in microseconds."""
    failed: int
    """Connections that failed."""
    p50_us: float
    """Median handshake, in microseconds."""
    p99_us: float | None = None
    """99th percentile."""
    rate_per_s: float | None = None
    """Handshakes per second."""
    received_bytes: float
    """Bytes received per handshake."""
    sent_bytes: float
    """Bytes sent per handshake."""
    why_failed: str | None = None
    """Most frequent reason. Missing in older documents."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures of a variant: means over rounds."""

    cipher: str
    """Negotiated cipher suite."""
    completed: int
    """Handshakes completed."""
    cpu_us: EstimateObject | None = None
    """Processor time of the client per connection, in microseconds."""
    failed: int
    """Connections that failed."""
    group: str | None = None
    """Negotiated group, if any."""
    p50_difference_us: EstimateObject | None = None
    """Median minus that of the first measured variant."""
    p50_ratio: EstimateObject | None = None
    """Median as a multiple of that of the first measured variant."""
    p50_us: EstimateObject | None = None
    """Median handshake, in microseconds."""
    p99_us: EstimateObject | None = None
    """99th percentile; missing with fewer than 100 handshakes in a trial."""
    rate_per_s: EstimateObject | None = None
    """Handshakes per second at the concurrency of the settings."""
    received_bytes: float
    """Bytes received per handshake."""
    sent_bytes: float
    """Bytes sent per handshake."""
    tls_version: str
    """Negotiated version, such as `TLSv1.3`."""
    trials: tuple[TrialObject, ...]
    """Figures of each round."""


@dataclass(frozen=True, kw_only=True)
class VariantObject:
    """A variant and its outcome."""

    figures: Figures | None = None
    """Figures of a measured variant."""
    kind: str
    """`full` or `resumed`."""
    lost_in_round: int | None = None
    """Round in which a variant was lost, from 1. Missing in older documents."""
    name: str
    """Group or cipher suite offered."""
    outcome: str
    """`measured`, `refused`, or `lost`: accepted at first, but not in a later round."""
    reason: str | None = None
    """Reason why there are no figures, or why connections failed."""
