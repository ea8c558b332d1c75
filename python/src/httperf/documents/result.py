# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records of the document of a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .._methods import GroupMethods, IntervalMethods, SeriesMethods, SummaryMethods
from .._read import default
from .._timing import Classes, DurationMoments, Timing
from .._verdict import Reason

__all__ = [
    "AllCalls",
    "AltSvcSummary",
    "ArrivalFigures",
    "BufferSize",
    "CallOutcome",
    "CauseFigures",
    "CauseKind",
    "Certificate",
    "Client",
    "Clocks",
    "Compressed",
    "Compression",
    "Conclusion",
    "ConclusionKind",
    "Confidence",
    "CpuTime",
    "EarlyEnd",
    "EarlyRequests",
    "EcnMarks",
    "ErrorFigures",
    "Errors",
    "FailedLook",
    "FailureCauses",
    "Firsts",
    "Fleet",
    "FleetRank",
    "Group",
    "Groups",
    "GrpcFigures",
    "GrpcSummary",
    "HandshakeFailure",
    "HandshakeFailureClass",
    "HandshakeFigures",
    "Http2Summary",
    "InFlight",
    "InFlightFigures",
    "Interval",
    "Judged",
    "Kept",
    "KernelFigures",
    "Lack",
    "Level",
    "Lifetimes",
    "LostRank",
    "Machine",
    "MachineCapacity",
    "Measured",
    "Mismatch",
    "Mismatches",
    "ModelFigures",
    "ModelSummary",
    "NoReply",
    "NotMade",
    "Objective",
    "Obstacle",
    "Part",
    "Pauses",
    "Percentile",
    "Phase",
    "PhaseRows",
    "PhaseVisits",
    "QuicSummary",
    "QuicTransport",
    "RankClock",
    "RateSamples",
    "RateWindows",
    "ReceiveFigures",
    "ReplayComparison",
    "ReplayFigures",
    "RunFigures",
    "ScenarioRow",
    "ScenarioVisits",
    "Scope",
    "Series",
    "ServerSettings",
    "SessionSummary",
    "SizeMoments",
    "Sizes",
    "SlowCall",
    "SocketBuffers",
    "Stall",
    "StatusChange",
    "StatusCodes",
    "Steady",
    "StepFigures",
    "StepRow",
    "StepStreams",
    "StoodStill",
    "StreamCounts",
    "StreamFigures",
    "StreamSummary",
    "Summary",
    "Tally",
    "ThreadUsage",
    "Times",
    "TlsSummary",
    "TokensFrom",
    "ToldSeconds",
    "Transport",
    "UdpLosses",
    "UnmadeCalls",
    "Usage",
    "Verdict",
    "VisitCounts",
    "VisitFigures",
    "Visits",
    "WarmUp",
    "WebSocketFigures",
    "WebSocketSummary",
    "Window",
]


@dataclass(frozen=True, kw_only=True)
class MachineCapacity:
    """Largest load that a machine was found to offer without lag."""

    connections_per_second: int
    """Connections per second, with one request each."""
    requests_per_second: int
    """Requests per second on persistent connections."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """One of several generators that work together (`--client=I/N`)."""

    count: int
    """The number of generators; at least 1."""
    index: int
    """Its number, from 0; below `count`."""
    stream: int | None = None
    """The number of its random sequence: 0, the classic one, for a single run; each of several trials has its own. 0
    by default.
    """


EarlyEnd: TypeAlias = Literal["asked", "exact", "missed", "hopeless"]
"""Reason for ending a run before its workload ended."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Properties of a machine that matter to a measurement."""

    host: str
    """Host name."""
    local_ports: tuple[int, int] | None = None
    """Range of local ports for connections, both ends included, if known."""
    memory: int | None = None
    """Memory in bytes, if known."""
    open_files: int
    """Limit on open files of this program."""
    processor: str | None = None
    """Model of the processors, if known."""
    processors: int
    """Number of processors."""
    system: str
    """Operating system, with the kernel's release."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One run of the program."""

    capacity: MachineCapacity | None = None
    """Capacity of that machine by the latest `httperf self-check`, if there was one that applies to this run."""
    client: Client | None = None
    """Index and number of generators (`--client`). Missing in older documents."""
    command: tuple[str, ...]
    """Command line, starting with the name of the program. Invalid UTF-8 is replaced, and `...` stands for what is
    secret.
    """
    ended_early: EarlyEnd | None = None
    """Reason for ending before the workload did, if it did."""
    httperf: str
    """Version of the program."""
    machine: Machine
    """Machine it ran on."""
    run: str | None = None
    """Random digits that identify this run. Missing in older documents."""
    started: str
    """Start: an RFC 3339 date and time, in UTC."""


ConclusionKind: TypeAlias = Literal[
    "nothing_measured",
    "no_reply",
    "client_limited",
    "falls_behind",
    "refuses",
    "fails",
    "stood_still",
    "keeps_up",
    "answers",
]
"""Conclusion of a run about the server, in a word."""


@dataclass(frozen=True, kw_only=True)
class StoodStill:
    """A period in which replies were due and nothing came."""

    from_s: float
    """Its beginning, in seconds since the start of the run."""
    length_s: float
    """Its length in seconds."""


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """Conclusion of a run about the server."""

    answered_in_time: float | None = None
    """Share of the load (0 to 1) that was answered without an error while it was offered; `None` if arrivals wait
    for replies.
    """
    kind: ConclusionKind
    """The conclusion in a word."""
    latency_grows: bool
    """True if latency grew as long as the load lasted."""
    stood_still: StoodStill | None = None
    """Longest period in which replies were due and nothing came, if it is worth a word."""
    text: str
    """The same in a sentence whose subject is the server."""


Level: TypeAlias = Literal["VALID", "SUSPECT", "INVALID"]
"""Reliability of figures."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Reliability of a run's figures, with the reasons."""

    level: Level
    """Worst level of the reasons."""
    reasons: tuple[Reason, ...]
    """Reasons for the level, worst first, followed by notes."""


Measured: TypeAlias = str | dict[str, Any]
"""Measured value of an objective's figure."""


Objective: TypeAlias = str
"""A bound that a figure of a run must meet. The bound is within the range of its metric."""


Kept: TypeAlias = Literal["met", "missed", "unknown"]
"""Outcome of an objective."""


Scope: TypeAlias = str | dict[str, Any]
"""A part of a run that has figures of its own."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Outcome of an objective."""

    at_least: float | None = None
    """Time in seconds that the latency exceeds for certain, if calls without a usable reply leave its value open;
    `None` for other figures.
    """
    measured: Measured
    """Measured value of its figure."""
    objective: Objective
    """Objective, such as `p99<50ms`."""
    outcome: Kept
    """Outcome."""
    samples: int
    """Number of calls, connections or sessions behind the figure, including those that failed."""
    scope: Scope | None = None
    """Part of the run that it is for; `None` for the whole."""


@dataclass(frozen=True, kw_only=True)
class Percentile:
    """Percentile of all calls."""

    ms: float
    """Value in milliseconds."""
    or_more: bool
    """True if the percentile is longer than the value: too many calls had no usable reply, and this is how long they
    had waited at least.
    """


NoReply: TypeAlias = Literal["timed_out", "failed", "unexpected", "unfinished"]
"""Reason why a call has no usable reply."""


@dataclass(frozen=True, kw_only=True)
class AllCalls:
    """Latency of all calls that were due, in milliseconds; `None` if there are too few calls for a percentile."""

    answered: int
    """Calls that ended with a usable reply."""
    calls: int
    """Number of calls: answered, failed and unfinished."""
    failed: int
    """Calls that failed, or whose replies failed a check."""
    max: Percentile | None = None
    """Maximum."""
    no_reply: NoReply | None = None
    """Most frequent reason for the lack of a reply, or `unfinished` if there is no other; `None` if all calls were
    answered.
    """
    p50: Percentile | None = None
    """50th percentile."""
    p75: Percentile | None = None
    """75th percentile."""
    p90: Percentile | None = None
    """90th percentile."""
    p95: Percentile | None = None
    """95th percentile."""
    p99: Percentile | None = None
    """99th percentile."""
    p99_9: Percentile | None = field(default=None, metadata={"json": "p99.9"})
    """99.9th percentile."""
    p99_99: Percentile | None = field(default=None, metadata={"json": "p99.99"})
    """99.99th percentile."""
    unfinished: int
    """Calls that were pending when the run ended."""


CauseKind: TypeAlias = Literal[
    "refused",
    "unreachable",
    "connect_timed_out",
    "kernel_timed_out",
    "connect_reset",
    "no_descriptor",
    "no_port",
    "file_table_full",
    "no_socket_file",
    "not_permitted",
    "system",
    "proxy_refused",
    "proxy_closed",
    "proxy_timed_out",
    "proxy_malformed",
    "tls_alert",
    "not_tls",
    "tls_untrusted",
    "tls_failed",
    "tls_closed",
    "tls_timed_out",
    "tls_broken",
    "tls_truncated",
    "no_protocol",
    "closed_unanswered",
    "closed_mid_reply",
    "reset_unanswered",
    "reset_mid_reply",
    "send_timed_out",
    "reply_timed_out",
    "body_timed_out",
    "malformed",
    "limit_exceeded",
    "not_http",
    "speaks_tls",
    "speaks_http1",
    "speaks_http2",
    "stream_reset",
    "reply_rejected",
    "go_away",
    "violation",
    "quic_silent",
    "quic_idle",
    "quic_no_version",
    "quic_closed",
    "quic_reset",
    "quic_violation",
    "no_web_sockets",
    "web_socket_violation",
    "web_socket_unread",
    "web_socket_cut",
    "web_socket_timed_out",
]
"""Kind of cause."""


@dataclass(frozen=True, kw_only=True)
class CauseFigures:
    """Failures of one cause."""

    cause: CauseKind
    """Kind of cause."""
    detail: str
    """Detail that makes it one of its kind, such as an error code or the rule that was broken; empty if nothing
    does.
    """
    failures: int
    """Number of failures."""
    hint: str | None = None
    """A remedy, or a question that leads to one."""
    sentence: str
    """The cause in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """A figure of the latency with its 95 % confidence interval, in milliseconds."""

    figure: str
    """Name: `mean`, `p50` and so on."""
    high: float | None = None
    """Upper bound."""
    inflation: float
    """Variance of the figure, divided by that of as many independent calls."""
    low: float | None = None
    """Lower bound; `None` if there are too few samples, or the run is too short or never became steady."""
    value: float
    """Value, from latencies rounded to two digits."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """Percentiles of a time, in milliseconds; `None` if there are too few samples for one."""

    max: float | None = None
    """Maximum."""
    mean: float | None = None
    """Mean."""
    min: float | None = None
    """Minimum."""
    p50: float | None = None
    """50th percentile."""
    p75: float | None = None
    """75th percentile."""
    p90: float | None = None
    """90th percentile."""
    p95: float | None = None
    """95th percentile."""
    p99: float | None = None
    """99th percentile."""
    p99_9: float | None = field(default=None, metadata={"json": "p99.9"})
    """99.9th percentile."""
    p99_99: float | None = field(default=None, metadata={"json": "p99.99"})
    """99.99th percentile."""
    samples: int
    """Number of samples."""


@dataclass(frozen=True, kw_only=True)
class ErrorFigures:
    """Calls in error, of the calls that were due."""

    connections_failed: int
    """Connections that failed."""
    connections_tried: int
    """Connections that were tried."""
    due: int
    """Calls that were due: those that ended, and those that were pending when the run ended."""
    ended: int
    """Calls that were due and ended."""
    failed: int
    """Calls that failed: they had no complete reply, or could not be made."""
    http_errors: int
    """Calls with a reply of status 400 or above that is not the expected one, and failed no check."""
    of_connections: bool
    """True if the share is one of connections, as no calls are made."""
    share: float | None = None
    """Share (0 to 1) of the calls that were due that are in error: failed, answered with an error of HTTP, or with
    an unexpected reply; of connections that failed, if no calls are made. `None` if none has ended.
    """
    unexpected: int
    """Calls whose reply failed a check."""


@dataclass(frozen=True, kw_only=True)
class GrpcFigures:
    """Figures of calls of gRPC."""

    calls: int
    """Calls that ended: those with a complete reply, and those without."""
    failed: int
    """Calls with another status."""
    malformed: int
    """Complete replies with something that is no message, or with part of one."""
    ok: int
    """Calls with status OK."""
    ok_share: float | None = None
    """Share (0 to 1) of calls with status OK; `None` if none ended."""
    received: int
    """Messages received in complete replies."""
    received_bytes: int
    """Bytes of these messages as they came, compressed or not, without their prefixes."""
    unanswered: int
    """Calls without a complete reply: timed out, reset, or lost with their connection."""
    untold: int
    """Calls with a complete reply whose server told no status, so that it follows from that of HTTP."""


@dataclass(frozen=True, kw_only=True)
class InFlightFigures:
    """Mean number of replies that were due at a time in the measured phase: the first byte of their request was
    sent, and the reply was not complete.
    """

    by_law: float | None = None
    """Mean number of replies that were due at a time by Little's law: complete replies per second times their mean
    service time. `None` without replies, or if some are streams or WebSockets without an end of their own.
    """
    disagreement: float | None = None
    """Difference of the measured number from that by Little's law, as a share of the latter. `None` if they need not
    agree: if there are calls without a reply, or the run was too short for its calls.
    """
    measured: float
    """Mean number of replies that were due at a time, counted as requests were sent and replies came."""


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """Calls whose status is not the recorded one."""

    count: int
    """Number of calls."""
    measured: int | None = None
    """Status of the reply; `None` if there was no reply."""
    recorded: int
    """Recorded status."""


@dataclass(frozen=True, kw_only=True)
class ReplayComparison:
    """Comparison of a replay with its recording."""

    changed: int
    """Calls with another status, or without a reply."""
    changes: tuple[StatusChange, ...]
    """Calls with another status than recorded, by recorded and measured status, most frequent first."""
    measured_ms: Times
    """Measured times of the same calls in milliseconds, from the first byte of the request to the end of the reply."""
    recorded_ms: Times
    """Recorded times in milliseconds, of the calls that have a recorded and a measured one."""
    same: int
    """Calls with the recorded status."""


@dataclass(frozen=True, kw_only=True)
class Steady:
    """Point at which a run became steady."""

    state: Literal["unknown", "from", "never"]
    """Which of them it is."""
    seconds: float | None = None
    """Seconds since the beginning of the measured phase."""


TokensFrom: TypeAlias = Literal["usage", "events", "both"]
"""Source of the numbers of tokens in answers."""


@dataclass(frozen=True, kw_only=True)
class ModelFigures:
    """Figures of the answers of language models. Times are in milliseconds."""

    answers: int
    """Complete replies that answer the prompt."""
    good: int | None = None
    """Answers that met all bounds of the goodput; `None` without bounds."""
    goodput_rate: float | None = None
    """Answers that met all bounds of the goodput per second of the measured phase; `None` without bounds."""
    goodput_share: float | None = None
    """Share (0 to 1) of the calls that were due whose answers met all bounds of the goodput; `None` without bounds."""
    itl_ms: Times
    """Inter-token latency: from one event with content to the next that did not come together with it."""
    other_api: str | None = None
    """Most frequent other API whose answers came."""
    output_token_rate: float
    """Tokens of answers that became complete in the measured phase, per second."""
    output_tokens: int
    """Tokens of answers."""
    prompt_tokens: int
    """Tokens of prompts, as far as they were told."""
    token_rate_per_user: float | None = None
    """Tokens per second that a user sees: one divided by the median time per output token."""
    tokens_from: TokensFrom
    """Source of the numbers of tokens."""
    tpot_ms: Times
    """Time per output token of each streamed answer."""
    ttft_ms: Times
    """Time to first token, from the instants at which calls were due."""
    ttft_service_ms: Times
    """Time to first token, from the first bytes sent."""
    unread: int = 0
    """Events and whole replies that could not be read."""


@dataclass(frozen=True, kw_only=True)
class StreamFigures:
    """Figures of replies that were read as event streams. Times are in milliseconds."""

    coalesced: int
    """Events that came together with an earlier one of their stream."""
    coalesced_share: float | None = None
    """Share (0 to 1) of events that came together with an earlier one of their stream; `None` if there are no
    events.
    """
    completed: int
    """Streams whose replies were complete."""
    cut: int
    """Streams that ended before their replies were complete."""
    duration_ms: Times
    """From the first event to the last one of complete streams."""
    event_rate: float
    """Events received in the measured phase, per second."""
    events: int
    """Events received."""
    events_per_stream_median: int | None = None
    """Median number of events of a complete stream, to 3 significant digits."""
    first_byte_ms: Times
    """From the instants at which calls were due to the first bytes of streams."""
    first_event_ms: Times
    """From the instants at which calls were due to the first events."""
    first_event_service_ms: Times
    """From the first bytes sent to the first events."""
    gap_ms: Times
    """From one event to the next that did not come together with it."""
    longest_gap_ms: Times
    """Longest gap of each complete stream."""
    model: ModelFigures | None = None
    """Figures of language models, if replies are read as theirs."""
    started: int
    """Streams that began."""
    unfinished: int
    """Streams that had not ended when the run did."""


StatusCodes: TypeAlias = dict[str, int]
"""Complete replies by status code; codes that did not occur are left out."""


@dataclass(frozen=True, kw_only=True)
class FailedLook:
    """A check or a capture that failed."""

    look: str
    """The check or the capture, as it is written."""
    replies: int
    """Number of replies that failed it."""
    statuses: StatusCodes | None = None
    """Their statuses, if it is the expected status."""


@dataclass(frozen=True, kw_only=True)
class NotMade:
    """Calls of a step that could not be made for the same reason."""

    calls: int
    """Number of calls."""
    reason: str
    """File and line of the step, and the reason, such as ``login.hurl:3: `token` has no value``."""


@dataclass(frozen=True, kw_only=True)
class StepRow:
    """Calls of a step."""

    abandoned: int
    """Visits that ended at this step because it failed."""
    calls: int
    """Calls that ended."""
    checks_failed: int
    """Checks that failed."""
    checks_made: int
    """Checks made, the expected status among them."""
    failed: int
    """Calls without a reply."""
    failures: tuple[FailedLook, ...]
    """Checks and captures that failed."""
    first_event_ms: Times | None = None
    """Times to the first events of streams in milliseconds, from the instants at which calls were due; absent
    without streams.
    """
    http_errors: int
    """Replies of status 400 and above that failed no check."""
    latency_ms: Times
    """Latencies of completed calls in milliseconds, from the instants at which they were due."""
    not_made: tuple[NotMade, ...] | None = None
    """Calls among the failed ones that could not be made, by the reason. Each ended a visit."""
    origin: str
    """File and line of the step."""
    service_ms: Times
    """Service times of the same calls in milliseconds, from the first byte sent."""
    step: str
    """Name of the step."""
    time_share: float | None = None
    """Share (0 to 1) of the time of visits that ended; `None` if none ended."""
    ttft_ms: Times | None = None
    """Times to first token of models' answers in milliseconds, from the same instants; absent without such answers."""
    unexpected: int
    """Replies that failed a check or lacked the value of a capture."""
    unfinished: int
    """Calls that the end of the run left unfinished."""


@dataclass(frozen=True, kw_only=True)
class ScenarioRow:
    """Visits that followed a scenario."""

    abandoned: int
    """Visits that ended at a step that failed."""
    completed: int
    """Visits whose steps were all made."""
    cut: int
    """Visits that the end of the run cut short."""
    duration_ms: Times
    """Durations of completed visits in milliseconds, from the instants at which they were due."""
    scenario: str
    """Name of the scenario."""
    steps: tuple[StepRow, ...]
    """Figures of its steps."""


@dataclass(frozen=True, kw_only=True)
class PhaseRows:
    """Figures of a load phase."""

    phase: str
    """Name of the phase."""
    scenarios: tuple[ScenarioRow, ...]
    """Figures of each scenario, of the visits and calls that were due in the phase."""


@dataclass(frozen=True, kw_only=True)
class VisitFigures:
    """Figures of the visits of a run."""

    phases: tuple[PhaseRows, ...]
    """Figures of each load phase, if there is more than one."""
    total: tuple[ScenarioRow, ...]
    """Figures of the whole run."""


@dataclass(frozen=True, kw_only=True)
class WebSocketFigures:
    """Figures of WebSockets. Times are in milliseconds."""

    answered: int
    """Messages that were answered."""
    closed: int
    """WebSockets that both sides closed."""
    coalesced_share: float | None = None
    """Share (0 to 1) of pushed messages that came together with an earlier one; `None` if none was pushed."""
    cut: int
    """WebSockets that ended without a close."""
    gap_ms: Times
    """From one message that was pushed to the next that did not come together with it."""
    opened: int
    """WebSockets that were opened."""
    opening_ms: Times
    """From the instants at which calls were due to the opening."""
    outstanding: int
    """Messages that had not been answered when the run ended."""
    ping_ms: Times
    """From pings to their pongs."""
    pushed: int
    """Messages that the server pushed: that answered none."""
    received: int
    """Messages received."""
    received_rate: float
    """Messages received in the measured phase, per second."""
    refused: int
    """Requests that were answered without opening one."""
    round_trip_ms: Times
    """From the instants at which messages were due to their answers."""
    round_trip_service_ms: Times
    """From the instants at which messages were sent to their answers."""
    sent: int
    """Messages sent."""
    sent_rate: float
    """Messages sent per second of the run."""
    unanswered: int
    """Messages whose WebSocket ended before they were answered."""
    unfinished: int
    """WebSockets that were open when the run ended."""


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """Figures of a run. Times are in milliseconds, rates per second of the measured phase."""

    all_calls: AllCalls = field(default_factory=default(AllCalls, {'answered': 0, 'calls': 0, 'failed': 0, 'max': None, 'no_reply': None, 'p50': None, 'p75': None, 'p90': None, 'p95': None, 'p99': None, 'p99.9': None, 'p99.99': None, 'unfinished': 0}))
    """From the instants at which calls were due to the ends of their replies: all calls, answered or not."""
    bytes_per_second: float
    """Bytes of requests and replies per second of the measured phase, as the classic report counts them."""
    causes: tuple[CauseFigures, ...] = ()
    """Failed connections by cause, most frequent first."""
    confidence: tuple[Confidence, ...]
    """Confidence intervals of the latency."""
    connect_ms: Times
    """From connect to established, TLS included."""
    connection_rate: float
    """Connections initiated per second of the measured phase, whatever phase they were due in."""
    connections: int
    """Connections initiated."""
    cpu_us_per_reply: float | None = None
    """Processor time of the program per reply, in microseconds; `None` if there are no replies."""
    duration_s: float
    """Length of the measured phase in seconds."""
    error_share: ErrorFigures = field(default_factory=default(ErrorFigures, {'connections_failed': 0, 'connections_tried': 0, 'due': 0, 'ended': 0, 'failed': 0, 'http_errors': 0, 'of_connections': False, 'share': None, 'unexpected': 0}))
    """Calls in error, of the calls that were due: the share of errors."""
    errors: int
    """Failed connections."""
    failed_ms: Times
    """Latencies of calls that failed."""
    grpc: GrpcFigures | None = None
    """Calls of gRPC; `None` if calls are others."""
    in_flight: InFlightFigures | None = None
    """Replies that were due at a time; `None` in results from versions that did not count them."""
    kernel_ms: Times = field(default_factory=default(Times, {'max': None, 'mean': None, 'min': None, 'p50': None, 'p75': None, 'p90': None, 'p95': None, 'p99': None, 'p99.9': None, 'p99.99': None, 'samples': 0}))
    """From the instant at which the kernel passed the last bytes of a request to the device to its receipt of the
    segment that completed the reply, for calls stamped by the kernel.
    """
    kernel_share: float | None = None
    """Share (0 to 1) of the replies to calls stamped by the kernel with a known time; `None` if there are none."""
    lag_ms: Times
    """From the instants at which arrivals were due to the start of the work."""
    latency_ms: Times
    """From the instants at which calls were due to the ends of their replies: answered calls only."""
    offered_rate: float | None = None
    """Arrivals per second that were due in the measured phase, which in a run of a fixed number ends with the last
    of them; `None` if arrivals wait for each other, if there were fewer than two, or if they were not recorded.
    """
    rate_asked: float | None = None
    """Scheduled arrivals per second, of all parts together; `None` if arrivals wait for each other."""
    receive_lag_ms: Times = field(default_factory=default(Times, {'max': None, 'mean': None, 'min': None, 'p50': None, 'p75': None, 'p90': None, 'p95': None, 'p99': None, 'p99.9': None, 'p99.99': None, 'samples': 0}))
    """From the kernel's receipt of the segment that completed a reply to the program's read."""
    receive_lag_share: float | None = None
    """Share (0 to 1) of replies with a known receive lag; `None` if there are no replies."""
    replay: ReplayComparison | None = None
    """Comparison with the recording; `None` if the workload is no replay, or nothing was recorded to compare with."""
    replies: int
    """Complete replies."""
    reply_rate: float
    """Complete replies per second of the measured phase, whatever phase they were due in: the throughput."""
    request_rate: float
    """Requests sent per second of the measured phase, whatever phase they were due in."""
    requests: int
    """Requests sent."""
    response_ms: Times
    """From the first byte of a request to the status line of its reply."""
    send_lag_ms: Times = field(default_factory=default(Times, {'max': None, 'mean': None, 'min': None, 'p50': None, 'p75': None, 'p90': None, 'p95': None, 'p99': None, 'p99.9': None, 'p99.99': None, 'samples': 0}))
    """From the write of the last bytes of a request to the instant at which the kernel passed them to the device,
    for calls stamped by the kernel.
    """
    service_ms: Times
    """From the first byte of a request to the end of its reply."""
    session_ms: Times | None = None
    """From the instants at which completed sessions were due to their ends; `None` if there are no sessions."""
    statuses: tuple[int, ...]
    """Replies by class of status, 1xx to 5xx."""
    steady: Steady
    """Point at which the run became steady."""
    streams: StreamFigures | None = None
    """Streams and answers of language models; `None` if there were none."""
    transfer_ms: Times
    """From the status line of a reply to its end."""
    unexpected: int = 0
    """Replies that failed a check."""
    unexpected_ms: Times = field(default_factory=default(Times, {'max': None, 'mean': None, 'min': None, 'p50': None, 'p75': None, 'p90': None, 'p95': None, 'p99': None, 'p99.9': None, 'p99.99': None, 'samples': 0}))
    """Latencies of calls whose replies failed a check."""
    unfinished_ms: Times
    """Time since their due instants of calls that were pending when the run ended."""
    visits: VisitFigures | None = None
    """Visits of scenarios, by scenario, step and load phase; `None` if the workload has none."""
    websockets: WebSocketFigures | None = None
    """WebSockets; `None` if calls opened none."""


@dataclass(frozen=True, kw_only=True)
class ArrivalFigures:
    """Adherence of arrivals to their schedule."""

    due: int
    """Number of scheduled arrivals that were due."""
    first_due_ns: int = 0
    """Due instant of the first arrival started, since the start of the run."""
    first_started_ns: int = 0
    """Start of that arrival, minus its wait for room."""
    held: int
    """Number of them that had to wait for room among the connections that may be open."""
    intervals_due: Timing
    """Intervals between arrivals, by their due instants. Each worker has those between its own arrivals."""
    intervals_started: Timing
    """Intervals between arrivals, by their starts, minus their waits for room. Each worker has those between its own
    arrivals.
    """
    light: DurationMoments = field(default_factory=default(DurationMoments, {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}))
    """Times for which arrivals kept their place that found at least three quarters of them free, where the plan
    bounds how many may go on at once: what the server takes while that bound delays nothing. Those of the warm-up
    count as well.
    """
    opening: DurationMoments = field(default_factory=default(DurationMoments, {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}))
    """Waits of calls for a connection that was opened for them, from when they were due until it was established.
    They are part of the latency, and none of `waits`.
    """
    span_due_ns: int
    """Time from the first to the last arrival started, by their due instants."""
    span_started_ns: int
    """Time from the first to the last arrival started, by their starts, minus their waits for room."""
    started: int
    """Number of them that were started."""
    waiting: int = 0
    """Number of those due that still waited for room when the run ended. They count among the unfinished calls."""
    waits: Timing = field(default_factory=default(Timing, {'histogram': '', 'moments': {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}}))
    """Their waits for room: of those that were held, and of those that still waited at the end."""


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """Durations of calls by two clocks."""

    latency: Timing
    """From the instant at which the call was due to its end: the wait of a user who arrives on schedule. Free of
    coordinated omission.
    """
    service: Timing
    """From the first byte sent to the end: the time for which the server is accountable."""


Tally: TypeAlias = dict[str, int]
"""Number of occurrences by name.

Whoever chooses the names, there are no more than 64 of them, and `other`. Which ones are kept follows from the
names alone, not from their order: those without digits first, since these are the words of standards and our own;
then those with the numbers of unknown codes; either in alphabetical order. So parts of a run add up in any order.
"""


FailureCauses: TypeAlias = dict[str, Tally]
"""Failures by cause: as many as there are `Errors`(crate::Errors)."""


@dataclass(frozen=True, kw_only=True)
class Compressed:
    """Compressed bodies that were decompressed successfully."""

    bytes: int
    """Bytes on the wire."""
    decoded_bytes: int
    """Bytes after decompression."""
    replies: int
    """Number of replies."""


Errors: TypeAlias = dict[str, int]
"""Failed connections by class; classes without one are left out."""


@dataclass(frozen=True, kw_only=True)
class Group(GroupMethods):
    """The calls of one group."""

    latency: Timing
    """Latency of completed calls, without unexpected replies."""
    outcomes: tuple[int, ...]
    """Number of calls by `CallOutcome`, in the order of its variants."""
    service: Timing
    """Service time of the same calls: from the first byte sent to the end."""


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Calls by group."""

    groups: dict[str, Group]
    """Groups by name. Invalid UTF-8 in a name is replaced."""
    other: Group
    """Calls of further groups, seen when there were already 100."""


@dataclass(frozen=True, kw_only=True)
class GrpcSummary:
    """Figures of calls of gRPC.

    Each call that ended is in `statuses` or in `unanswered`.
    """

    malformed: int
    """Complete replies with something that is no message, or with part of one."""
    messages: Tally
    """Calls with a status other than OK, by that and what the server says about it."""
    received: int
    """Messages received in complete replies."""
    received_bytes: int
    """Bytes of these messages as they came, compressed or not, without their prefixes."""
    statuses: Tally
    """Calls with a complete reply by the name of their status; `code N` for one without a name."""
    unanswered: int
    """Calls that ended without a complete reply: timed out, reset, or lost with their connection."""
    untold: int
    """Calls in `statuses` whose server told no status, so that it follows from that of HTTP."""


@dataclass(frozen=True, kw_only=True)
class AltSvcSummary:
    """What replies said about HTTP/3 (`Alt-Svc`, RFC 7838), where connections begin over TCP and new ones go over
    QUIC once a server says that it speaks HTTP/3. Each worker learns for itself.

    Counts of connections belong to the phase in which these were due, the rest to the run with its warm-up.
    """

    broken: int
    """Offers given up because a connection did not reach the server over QUIC: connections went over TCP again. Each
    worker counts its own.
    """
    failures: Tally
    """Connections of these whose handshake failed, by reason. Their calls failed with them."""
    first_seen_ns: int | None = None
    """The time from the start of the run to the first reply that offered HTTP/3 on the server's own host, in
    nanoseconds.
    """
    followed: int
    """Connections initiated over QUIC for that reason."""
    obstacle: str | None = None
    """The reason why offers were not followed, if all connections of the plan have to go over TCP."""
    other_host: str | None = None
    """The first offer of HTTP/3 on another host, which is not followed."""
    port: int | None = None
    """The port that it named."""
    withdrawn: int
    """Offers taken back by the server (`Alt-Svc: clear`, or a field without HTTP/3). Each worker counts its own."""


@dataclass(frozen=True, kw_only=True)
class BufferSize:
    """Size of a buffer, in bytes as they are given to the system: it reserves twice as many, for what each datagram
    costs besides (socket(7)).
    """

    asked: int
    """Asked for."""
    granted: int
    """Granted."""


@dataclass(frozen=True, kw_only=True)
class SocketBuffers:
    """Sizes of the buffers of UDP sockets, in bytes."""

    receive: BufferSize
    """For what arrives."""
    send: BufferSize
    """For what is sent."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Distribution of sizes in bytes, to 3 significant digits, with the exact maximum."""

    classes: dict[str, int]
    """Number of sizes by their class, which is the size rounded down to 3 significant digits."""
    max: int
    """Maximum; 0 if there are none."""


@dataclass(frozen=True, kw_only=True)
class EcnMarks:
    """Marks of explicit congestion notification (RFC 3168, section 5). Datagrams without a mark are not counted."""

    ce: int
    """Datagrams that say that congestion was experienced on their way."""
    ect0: int
    """Datagrams with the mark ECT(0)."""
    ect1: int
    """Datagrams with the mark ECT(1)."""


@dataclass(frozen=True, kw_only=True)
class QuicSummary:
    """Figures of the QUIC below HTTP/3 in a run. They count in the phase in which they were taken: when a connection
    ended, or when the phase did.
    """

    black_holes: int
    """Times at which a path turned out to carry less than it had, so that its MTU was found anew."""
    buffers: SocketBuffers | None = None
    """The buffers of the sockets."""
    bytes_lost: int
    """Bytes of these."""
    congestion_events: int
    """Times at which a congestion window was reduced."""
    congestion_window: Sizes
    """The congestion window of each of them, at its end."""
    datagrams_received: int
    """UDP datagrams received."""
    datagrams_sent: int
    """UDP datagrams sent."""
    ecn: EcnMarks
    """Marks of congestion on datagrams received."""
    ecn_unconfirmed: int
    """Connections, among those with a round-trip time, whose server did not confirm our marks ECT(0), so that marks
    on what we send tell nothing (RFC 9000, section 13.4.2).
    """
    handshake_datagrams_received: int
    """UDP datagrams that were received for completed handshakes."""
    handshake_datagrams_sent: int
    """UDP datagrams that were sent for completed handshakes."""
    mtu_max: int
    """The largest UDP payload that any path was found to carry, in bytes."""
    mtu_probes_lost: int
    """Probes of them that were lost: most of them say that the path carries no more."""
    mtu_probes_sent: int
    """Probes of a path's MTU that were sent, which are among the packets (RFC 8899)."""
    packets_lost: int
    """Packets of them that were declared lost, probes of the path's MTU aside (RFC 9002, section 6)."""
    packets_sent: int
    """Packets sent."""
    qlogs_cut: int
    """Files of `--qlog` that are incomplete, as they could not be written or reached the limit of their size."""
    retries: int
    """Connections whose server first asked for a proof of the address (Retry; RFC 9000, section 8.1.2)."""
    rtt: Timing
    """The smoothed round-trip time of each connection that was established, at its end (RFC 9002, section 5.3)."""
    rtt_min_ns: int | None = None
    """The least round-trip time of any connection, in nanoseconds."""
    sends_blocked: int
    """Attempts to send that had to wait for room in a socket's buffer. Nothing is lost by that."""
    socket_drops: int
    """Datagrams that this program's sockets dropped, as their buffers were full: the server had sent them, and they
    had arrived. The kernel counts datagrams that it had put together once.
    """


@dataclass(frozen=True, kw_only=True)
class Compression:
    """Compression of header fields."""

    encoded: int
    """Bytes of the header blocks."""
    plain: int
    """Bytes of names and values before compression."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of a server (RFC 9113, section 6.5.2), with the defaults for those it did not send."""

    header_list: int | None = None
    """Maximum size of a list of header fields; `None` if unlimited."""
    header_table: int
    """Bytes of its dynamic table for decompression."""
    max_frame: int
    """Maximum size of a frame."""
    max_streams: int | None = None
    """Maximum number of concurrent streams; `None` if unlimited."""
    window: int
    """Initial flow-control window of streams."""


@dataclass(frozen=True, kw_only=True)
class Http2Summary:
    """Figures of HTTP/2 or HTTP/3 in a run.

    Figures that do not belong to a single call, such as those of compression, count in the phase in which the
    event happened.
    """

    alt_svc: AltSvcSummary | None = None
    """What replies said about HTTP/3, if any said something and the plan leaves the choice to the server."""
    bytes_received: int
    """Bytes of frames received; over HTTP/3, of UDP datagrams."""
    bytes_sent: int
    """Bytes of frames sent, of any type; over HTTP/3, of UDP datagrams."""
    concurrent_max: int
    """Maximum number of streams open on a connection at once."""
    concurrent_sum: int
    """Number of streams open on the connection each time one was opened, itself included, summed up."""
    first_violation: str | None = None
    """Reason why HTTP/2 failed on the first connection on which it could not be spoken or its rules were violated,
    if any.
    """
    goaways: Tally
    """GOAWAY frames received, by error code."""
    quic: QuicSummary | None = None
    """Figures of QUIC, over which HTTP/3 goes."""
    reply_headers: Compression
    """Header fields of replies, including trailers and interim replies."""
    request_headers: Compression
    """Header fields of requests."""
    resets_received: Tally
    """Streams reset by the server, by error code."""
    resets_sent: Tally
    """Streams reset by the client, by reason: an error in the reply, or a call that was given up."""
    retried: int
    """Calls made again for that reason."""
    server_settings: ServerSettings | None = None
    """The server's settings on the first connection."""
    spoken: Tally
    """Established connections by the protocol negotiated: `HTTP/2`, `HTTP/3`, `HTTP/1.1`."""
    stream_waits: Timing
    """Waits of calls for one of the streams that the server allows at once; only of those that waited."""
    streams: int
    """Streams opened."""
    unprocessed: int
    """Streams that the server declared unprocessed: refused, or beyond the last one of a GOAWAY."""
    violations: Tally
    """Connections that ended because the server violated the protocol or exceeded a limit, by reason."""
    window_waits: Timing
    """Waits of request bodies for the server's flow-control windows; only of those that waited. They are part of a
    call's latency, but not of its service time.
    """


@dataclass(frozen=True, kw_only=True)
class InFlight:
    """Replies that were due from the server in the measured phase: the first byte of their request was sent, and the
    end of the reply had not come.
    """

    at_begin: int
    """Number of replies that were due at the beginning of the measured phase."""
    at_end: int
    """Number of replies that were due at its end."""
    time_us: int
    """Time for which replies were due, added up over all of them, in microseconds."""


@dataclass(frozen=True, kw_only=True)
class KernelFigures:
    """Times of all such calls that were answered, by the kernel's clock."""

    send_lag: Timing
    """From the write of the last bytes of a request to the instant at which the kernel passed them to the device."""
    service: Timing
    """From then to the kernel's receipt of the segment that completed the reply."""
    unstamped: int
    """Complete replies without a known service time."""


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """Lifetimes of connections that completed at least one call."""

    bins_ms: tuple[tuple[int, int], ...]
    """Non-empty bins in ascending order: lower edge in ms, and count."""
    moments: DurationMoments
    """Exact moments."""


@dataclass(frozen=True, kw_only=True)
class Mismatches:
    """Unexpected replies by the check they failed."""

    answer: int = 0
    """Replies of a language model that are no answers."""
    capture: int = 0
    """Replies without the value of a capture."""
    check: int = 0
    """Replies that failed a check of their step."""
    close: int = 0
    """WebSockets that the server closed for an error, or before it had answered all messages."""
    grpc: int = 0
    """Calls of gRPC with a status other than OK."""
    hash: int
    """Replies whose body has an unexpected digest."""
    size: int
    """Replies whose body has an unexpected size."""
    status: int
    """Replies with an unexpected status."""
    undecodable: int
    """Replies whose bodies could not be decompressed."""


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """Periods in which a worker was ready to run but did not: it was stopped, its processor ran something else, or
    its quota was exhausted. Whatever arrived meanwhile was noticed late.
    """

    count: int
    """Number of pauses, over all workers."""
    longest_ns: int
    """Longest pause of any worker."""
    total_ns: int
    """Total length; of several workers, the largest total."""


@dataclass(frozen=True, kw_only=True)
class ReceiveFigures:
    """Receive lag of the replies that the kernel stamped. In a closed loop by the program's clock it is asked of one
    read in 16.
    """

    clock_steps: int
    """Number of times the wall clock, which the kernel's stamps use, was set during the run. Of several workers or
    machines, the largest number.
    """
    lag: Timing
    """From the kernel's receipt of the segment that completed a reply to the instant at which the reply counts as
    read. Replies read together share the lag of the last.
    """
    read_late: int = 0
    """Complete replies that the generator left unread until the next arrival, as nothing waited for them."""
    unstamped: int
    """Complete replies for which the kernel was asked and had no stamp."""


@dataclass(frozen=True, kw_only=True)
class ReplayFigures:
    """Comparison of the calls of a replay with the recording."""

    changes: tuple[StatusChange, ...]
    """Calls with another status, or none."""
    measured: Timing
    """Their measured times, from the first byte sent to the end of the reply."""
    other_changes: int
    """Calls with another status beyond the first `ReplayFigures::CHANGES_MAX` kinds."""
    recorded: Timing
    """Recorded times of the calls that have a recorded and a measured one."""
    same: int
    """Calls with the recorded status."""


RateSamples: TypeAlias = tuple[tuple[int, int], ...]
"""Rates, kept as counts and times: events from one sampling instant to the next, starting at the beginning of the
measured phase.

In a run of one generator, these are its samples; in a merged run, they are computed from `RateWindows`.
"""


RateWindows: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
"""The measured phase of each generator, window by window: its rate samples, and the part after the last of them.

Generators are sampled at different instants (`--client I/N`), so their samples cannot be added one by one. Their
windows are kept separately, in a canonical order, so that results merge exactly, in any order and grouping.
"""


Phase: TypeAlias = Literal["warm_up", "measured", "drain"]
"""Phase of a run."""


@dataclass(frozen=True, kw_only=True)
class StreamCounts:
    """Streams and WebSockets in one interval of a run."""

    events: int
    """Events of streams, messages of streams of gRPC, and messages that came on WebSockets."""
    first: Classes
    """Times from the instants at which calls were due to the first events of their streams, with language models to
    the first tokens, of those that came in this interval, to two digits. Calls are those whose latencies count.
    """
    open: int
    """Streams and WebSockets open at the end of the interval."""
    sent: int
    """Messages sent on WebSockets."""
    tokens: int
    """Events with content of language models' answers."""


@dataclass(frozen=True, kw_only=True)
class VisitCounts:
    """Visits of scenarios in one interval of a run."""

    abandoned: int
    """Visits that ended at a step that failed."""
    checks_failed: int
    """Checks that replies failed, the expected status among them."""
    completed: int
    """Visits whose steps were all made."""
    open: int
    """Visits under way at the end of the interval."""


@dataclass(frozen=True, kw_only=True)
class Interval(IntervalMethods):
    """Events of one interval of a run."""

    arrivals: int
    """Arrivals (of connections or sessions) due in this interval that have started. What is told while the run goes
    on has those that were due earlier and started in it, and not those that start later.
    """
    error_replies: int = 0
    """Complete replies that are errors: of an unexpected status of 400 or above, or that failed a check. A reply
    that is both counts once.
    """
    errors: Errors
    """Failed connections by class."""
    failed_calls: int
    """Calls that failed."""
    from_ns: int
    """Beginning, since the start of the run."""
    http_errors: int
    """Complete replies with status 400 or above."""
    lag_max_ns: int
    """Largest lag of an arrival."""
    latency: Classes
    """Latencies of the calls answered in this interval, to two digits, without unexpected replies. In the measured
    phase, calls due before it are left out.
    """
    length_ns: int
    """Length. The last interval of a phase may be shorter than the others."""
    offered: int
    """Calls due in this interval that were made; while the run goes on, as for arrivals. Each is answered, given up,
    or unfinished when the run ends.
    """
    open: int
    """Connections open at the end of the interval."""
    phase: Phase
    """Phase of the run."""
    replies: int
    """Complete replies."""
    sent: int
    """Requests written completely."""
    streams: StreamCounts | None = None
    """Streams and WebSockets; `None` until the first one."""
    unexpected: int = 0
    """Complete replies that failed a check, whatever their status."""
    visits: VisitCounts | None = None
    """Visits; `None` if the workload has no scenarios."""


@dataclass(frozen=True, kw_only=True)
class Series(SeriesMethods):
    """Time series of a run."""

    intervals: tuple[Interval, ...]
    width_ns: int
    """Length of an interval, except the last of each phase: one second times a power of two."""


@dataclass(frozen=True, kw_only=True)
class SessionSummary:
    """Figures of a session workload."""

    completed: int
    """Sessions whose every call was answered satisfactorily."""
    connections: int
    """Connections established by completed sessions."""
    failed: int
    """Sessions that failed."""
    failed_latency: Timing
    """From the instants at which failed sessions were due to their ends."""
    failtime_ns: int
    """Lifetimes of failed sessions, added up."""
    latency: Timing
    """From the instants at which completed sessions were due to their ends."""
    lengths: dict[str, int]
    """Sessions, completed or failed, by the number of complete replies they received."""
    lifetime_ns: int
    """Lifetimes of completed sessions, added up."""
    rates: RateSamples
    """Completed sessions per second at the sampling instants."""
    service: Timing
    """From the beginnings of completed sessions to their ends."""
    unfinished: Timing = field(default_factory=default(Timing, {'histogram': '', 'moments': {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}}))
    """Time since their due instants of sessions that had not ended, or not begun, when the run did."""
    windows: RateWindows = ()
    """Completed sessions of each generator, window by window, like `reply_windows`."""


Mismatch: TypeAlias = Literal["status", "undecodable", "size", "hash", "capture", "check", "answer", "close", "rpc"]
"""Check that a reply failed. A reply that failed several counts under the first in this order."""


CallOutcome: TypeAlias = Literal["success", "http_error", "failure", "unexpected"]
"""Outcome of a call."""


@dataclass(frozen=True, kw_only=True)
class QuicTransport:
    """State of a QUIC connection."""

    packets_lost: int
    """Packets, of any call, that were declared lost on the connection between the first byte sent of this one and
    its end.
    """
    rtt_ns: int
    """Smoothed round-trip time."""


@dataclass(frozen=True, kw_only=True)
class Transport:
    """State of a TCP connection, from the kernel (`TCP_INFO`)."""

    retransmits: int
    """Segments retransmitted since the connection began."""
    rtt_ns: int
    """Smoothed round-trip time."""
    rtt_variance_ns: int
    """Variation of the round-trip time."""


@dataclass(frozen=True, kw_only=True)
class SlowCall:
    """One of the slowest calls, with the parts of its latency."""

    call: int
    """Number, from 0, in order of creation."""
    connect_ns: int | None = None
    """Time that connection took to establish; part of `wait` if it was new."""
    connection: int | None = None
    """Number of the connection that carried it, if any."""
    due_ns: int
    """Instant at which it was due, since the start of the run."""
    latency_ns: int
    """Time from the instant at which the call was due to its end."""
    mismatch: Mismatch | None = None
    """Check that the reply failed, if any."""
    outcome: CallOutcome
    """Outcome."""
    quic: QuicTransport | None = None
    """The same over QUIC, from the library."""
    receive_lag_ns: int | None = None
    """Time between the kernel's receipt of the segment that completed the reply and the program's read, if known. It
    is part of `transfer` and `response`, unless those end by the kernel's clock.
    """
    response_ns: int | None = None
    """Time from the first byte sent to the status line of the reply, if it came."""
    reused: bool
    """True if that connection had carried another call before."""
    server_timing: str | None = None
    """The `Server-Timing` field of the reply, if there was one. Invalid UTF-8 is replaced.

    <https://www.w3.org/TR/server-timing/>
    """
    status: int | None = None
    """Status of the reply, if there was one."""
    transfer_ns: int | None = None
    """Time from the status line to the end."""
    transport: Transport | None = None
    """State of the transport when the call ended, from the kernel."""
    uri: str
    """Request target. Invalid UTF-8 is replaced."""
    wait_ns: int | None = None
    """Time from the instant at which it was due to the first byte sent, if it was sent."""


@dataclass(frozen=True, kw_only=True)
class Stall:
    """A period in which replies or TLS handshakes were due and nothing came, although the generator was listening."""

    from_ns: int
    """Beginning, since the start of the run."""
    length_ns: int
    """Length."""


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Figures of language models.

    A token is *told* by the usage at the end of a reply; where none is told, each event with content counts as
    one.
    """

    answers: int
    """Complete replies that answer the prompt, streamed or whole."""
    counted: int
    """Answers whose events with content were counted instead."""
    errors: Tally
    """Replies and events that tell of an error, by its message."""
    finish_reasons: Tally
    """Answers by the reason why the model stopped; `none` if none was told."""
    first_token: Clocks
    """Time to first token: from the instants at which calls were due, and from the first bytes sent, to the first
    events with content.
    """
    foreign: Tally = field(default_factory=dict)
    """Answers of another API, by its name."""
    good: int
    """Answers that met all bounds of the goodput, if there are any."""
    malformed: int
    """Events and whole replies that are not what the API says."""
    output_sizes: Sizes
    """Tokens of each answer."""
    output_tokens: int
    """Tokens of answers."""
    per_token: Timing
    """Time per output token of each streamed answer with at least two: from its first event with content to its
    last, divided by the tokens after the first.
    """
    prompt_sizes: Sizes
    """Tokens of each prompt that were told."""
    prompt_tokens: int
    """Tokens of prompts, as far as they were told."""
    token_gap: Timing
    """Inter-token latency: from one event with content to the next that did not come together with it."""
    told: int
    """Answers whose tokens were told."""
    undone: int
    """Complete streams that were read without the event that ends them (`[DONE]`)."""
    unfinished_missed: int = 0
    """Calls that were pending when the run ended and can no longer meet all bounds of the goodput."""
    unfinished_with_token: int
    """Streams that had brought a token and not ended when the run did."""
    whole: int
    """Those of them that came whole, and have neither a first token nor gaps."""


@dataclass(frozen=True, kw_only=True)
class StreamSummary:
    """Figures of replies that were read as event streams.

    Each event of a stream is its first, ends a gap, or came together with the one before it: `events =
    first_event.latency + gap + coalesced`.
    """

    coalesced: int
    """Events that came together with an earlier one of their stream, in the same read."""
    comments: int
    """Comments received."""
    completed: int
    """Streams whose replies were complete."""
    cut: int
    """Streams that were cut: their connection or HTTP stream ended before the reply did, or the call was given up."""
    duration: Timing
    """From the first event to the last one of complete streams."""
    events: int
    """Events received."""
    events_per_stream: Sizes
    """Events of complete streams."""
    first_byte: Clocks
    """From the instants at which calls were due, and from the first bytes sent, to the status lines of streams."""
    first_event: Clocks
    """The same to the first events."""
    gap: Timing
    """From one event of a stream to the next that did not come together with it."""
    longest_gap: Timing
    """Longest gap of each complete stream that has any."""
    model: ModelSummary | None = None
    """Figures of language models, if replies are read as theirs."""
    oversized: int
    """Events that were larger than the limit, and cut."""
    started: int
    """Streams that began: the header blocks of their replies came."""
    unfinished: int
    """Streams that had not ended when the run did."""
    unfinished_with_event: int
    """Those of them that had begun to bring events."""
    unread: int = 0
    """Complete streams that could not be decompressed, so that nothing is known of their events."""
    within_event: int
    """Complete streams whose last bytes belong to an event that no empty line ended."""
    without_event: int
    """Complete streams without an event."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Summary of a server's certificate."""

    chain_length: int
    """Number of certificates in the chain, itself included."""
    days_left: int
    """Whole days from the run to expiry; negative after expiry."""
    key: str
    """Key type, such as `EC P-256` or `RSA 2048`."""
    subject: str
    """Subject in one line, such as `CN=www.example.com`."""


@dataclass(frozen=True, kw_only=True)
class EarlyRequests:
    """Requests sent as 0-RTT data."""

    accepted: int
    """Accepted by the server."""
    rejected: int
    """Rejected by the server."""
    replayed: int
    """Sent again after a rejection."""


HandshakeFailureClass: TypeAlias = Literal["protocol", "transport"]
"""Classes of failure that OpenSSL distinguishes, with the codes of its `SSL_get_error`."""


@dataclass(frozen=True, kw_only=True)
class HandshakeFailure:
    """Reason for a failed handshake."""

    class_: HandshakeFailureClass = field(metadata={"json": "class"})
    """Class named in the classic tool's message."""
    details: tuple[str, ...]
    """Messages of the TLS library, one line each; may be empty."""
    reason: str
    """Reason as counted in the report, such as `alert handshake_failure from the server`."""


@dataclass(frozen=True, kw_only=True)
class SizeMoments:
    """Moments of sizes in bytes."""

    count: int
    """Number of values."""
    max: int
    """Maximum."""
    min: int
    """Minimum."""
    sum: int
    """Sum."""


@dataclass(frozen=True, kw_only=True)
class HandshakeFigures:
    """Costs of handshakes of one kind."""

    received: SizeMoments
    """Bytes received per handshake, up to the last one needed."""
    sent: SizeMoments
    """Bytes sent per handshake, including record headers but not 0-RTT data."""
    time: Timing
    """From the established transport to the end of the handshake."""


@dataclass(frozen=True, kw_only=True)
class TlsSummary:
    """Figures of TLS in a run."""

    certificate: Certificate | None = None
    """The server's certificate in the first completed full handshake."""
    ciphers: Tally
    """Completed handshakes by cipher suite."""
    compressed_certificates: int
    """Completed handshakes whose certificate came compressed."""
    early_requests: EarlyRequests
    """Requests sent as 0-RTT data."""
    errors: Tally
    """Established connections ended by a TLS error, by reason."""
    failures: Tally
    """Failed handshakes by reason."""
    first_failure: HandshakeFailure | None = None
    """Failure of the very first handshake of the run, even if it could not begin."""
    groups: Tally
    """Completed handshakes by key-exchange group; those without one are left out."""
    handshakes: tuple[HandshakeFigures, ...]
    """Completed handshakes by `HandshakeKind`, in the order of its variants."""
    hello_retries: int
    """Completed handshakes with a HelloRetryRequest: the server asked for another key share."""
    protocols: Tally
    """Completed handshakes by protocol chosen by ALPN; those without one are left out."""
    signatures: Tally
    """Completed handshakes by algorithm of the server's signature; resumed ones have none."""
    transport: Timing
    """From connect to an established transport, before the handshake."""
    truncated: int
    """Replies delimited by the end of a connection that ended without a close_notify: they may be truncated, and
    count as failed (RFC 9112, section 9.8).
    """
    unclean_closes: int
    """Idle connections that the server ended without a close_notify."""
    versions: Tally
    """Completed handshakes by protocol version."""


@dataclass(frozen=True, kw_only=True)
class CpuTime:
    """Processor time."""

    system_ns: int
    """In the kernel, on behalf of the process."""
    user_ns: int
    """In user space."""


@dataclass(frozen=True, kw_only=True)
class UdpLosses:
    """UDP datagrams that the machine lost in buffers of its own, of all programs in its network namespace, over IPv4
    and IPv6 (`/proc/net/snmp`).
    """

    receive: int
    """Datagrams that arrived and found a socket's buffer full, or no memory (`RcvbufErrors`, `MemErrors`). The
    kernel counts datagrams that it had put together (GRO, GSO over the loopback interface) once.
    """
    send: int
    """Datagrams that found no room on their way out (`SndbufErrors`). Attempts to send that a full socket's buffer
    refused are among them; what they tried to send is not lost.
    """


@dataclass(frozen=True, kw_only=True)
class ThreadUsage:
    """Processor usage of one thread."""

    cpu: CpuTime
    """Processor time."""
    kept_waiting_ns: int
    """Time it was ready to run but no processor was free (`/proc/thread-self/schedstat`)."""
    preempted: int
    """Number of times it was preempted (involuntary context switches)."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resources used during the measured phase, and processor time lost to others."""

    cpu: CpuTime
    """Processor time of the process, all threads together."""
    processors: int
    """Number of processors; of all machines, if results were merged."""
    stolen_ns: int
    """Time that the hypervisor gave to other guests, all processors together."""
    udp: UdpLosses = field(default_factory=default(UdpLosses, {'receive': 0, 'send': 0}))
    """Datagrams that the machine lost in buffers of its own; of all machines, if results were merged. Where ranks of
    a fleet shared one, each counted all of them, and the sum is an upper bound.
    """
    workers: tuple[ThreadUsage, ...]
    """Usage of each worker's thread."""


@dataclass(frozen=True, kw_only=True)
class Firsts:
    """First events, or first tokens, of streams."""

    times: Timing
    """Times from the instants at which calls were due."""
    unfinished: int
    """Number of these times whose calls were unfinished when the run ended."""


@dataclass(frozen=True, kw_only=True)
class StepStreams:
    """Streams of one step."""

    cut: int
    """Number of them whose calls failed."""
    ended: int
    """Number of streams whose calls ended."""
    first_event: Firsts
    """First events."""
    first_token: Firsts
    """First tokens of models' answers."""


Lack: TypeAlias = Literal["value", "list", "object", "bytes", "filter", "path"]
"""Reason for which a variable cannot be filled in."""


Obstacle: TypeAlias = str | dict[str, Any]
"""Reason for which a visit cannot make its next call."""


@dataclass(frozen=True, kw_only=True)
class UnmadeCalls:
    """Calls of one step that could not be made for the same reason."""

    calls: int
    """Number of calls, each the end of a visit."""
    obstacle: Obstacle
    """Reason."""


@dataclass(frozen=True, kw_only=True)
class StepFigures:
    """Calls of one step."""

    abandoned: int
    """Number of visits that ended at this step because it failed."""
    calls: Group
    """Calls, by outcome, with their times."""
    checks_made: int
    """Number of checks made, the expected status among them. After a failed status or capture, no others are made."""
    drained: int = 0
    """Replies among them that came in the drain."""
    failed_captures: tuple[int, ...]
    """Number of replies without the value of each capture, in the order of the plan."""
    failed_checks: tuple[int, ...]
    """Number of replies that failed each check, in the order of the plan. The first is the expected status."""
    streams: StepStreams | None = None
    """Streams among the replies."""
    time: DurationMoments
    """Latency of all calls, whatever their outcome."""
    unfinished: Timing | None = None
    """Times for which calls that the end of the run left unfinished had been due."""
    unmade: tuple[UnmadeCalls, ...] | None = None
    """Visits among them whose call could not be made, by the reason. Each of these calls is one that failed."""
    wrong_statuses: StatusCodes | None = None
    """Statuses of the replies whose status was not the expected one."""


@dataclass(frozen=True, kw_only=True)
class ScenarioVisits:
    """Visits that followed one scenario."""

    abandoned: Timing
    """Durations of abandoned visits: those that ended at a step that failed."""
    completed: Timing
    """Durations of completed visits, from the instant at which each was due to its end."""
    steps: tuple[StepFigures, ...]
    """Figures of each step, in the order of the plan."""
    unfinished: Timing | None = None
    """Times for which visits that the end of the run cut short had been due."""


@dataclass(frozen=True, kw_only=True)
class PhaseVisits:
    """Visits of one load phase."""

    scenarios: tuple[ScenarioVisits, ...]
    """Figures of each scenario, in the order of the plan."""


@dataclass(frozen=True, kw_only=True)
class Visits:
    """Visits of scenarios, by the load phase in which the visit, or the call, was due."""

    feed_used_up: int | None = None
    """Number of the feed that had no row left for a further visit: none started any more."""
    phases: tuple[PhaseVisits, ...]
    """Figures of each load phase, in order."""


@dataclass(frozen=True, kw_only=True)
class WarmUp:
    """Load offered before the measured phase."""

    connections: int
    """Connections initiated."""
    duration_ns: int
    """Length of the warm-up."""
    errors: Errors
    """Connections that failed."""
    replies: int
    """Complete replies."""
    requests: int
    """Requests sent."""


@dataclass(frozen=True, kw_only=True)
class WebSocketSummary:
    """Figures of WebSockets.

    A message that is to be answered is, has lost its WebSocket, or waited when the run ended: `expected =
    answered + unanswered + outstanding`. Each message that was pushed is the first on its WebSocket, ends a gap,
    or came together with the one before it: `pushed = first_push + gap + coalesced`.
    """

    answered: int
    """Those of them that were answered."""
    closed: int
    """WebSockets that both sides closed."""
    closes: Tally
    """Ends by who closed and the code, such as `client 1000 (normal closure)`, or the limit of this program that was
    reached.
    """
    coalesced: int
    """Those of them that came together with an earlier one on the same WebSocket, in the same read."""
    compressed: int
    """WebSockets whose messages the server agreed to compress."""
    cut: int
    """WebSockets that ended without a close: their connections or HTTP streams did, or a side gave up."""
    duration: Timing
    """From the opening to the end of those that were closed."""
    expected: int
    """Those of them that were to be answered."""
    first_push: Timing
    """From the opening to the first message that was pushed."""
    gap: Timing
    """From one message that was pushed to the next that did not come together with it."""
    opened: int
    """WebSockets that were opened."""
    opening: Clocks
    """From the instants at which calls were due, and from the first bytes sent, to the opening."""
    ping: Timing
    """From pings to their pongs."""
    pings: int
    """Pings sent."""
    pushed: int
    """Those of them that answered none."""
    received: int
    """Messages received."""
    received_bytes: int
    """Bytes of the payloads of messages received, after decompression."""
    refusals: Tally = field(default_factory=dict)
    """Openings that were refused, by the status and what the server says beside it."""
    refused: int
    """Requests that the server answered without opening one: replies with another status."""
    round_trip: Clocks
    """From the instants at which messages were due, and from those at which they were sent, to their answers."""
    sent: int
    """Messages sent."""
    sent_bytes: int
    """Bytes of the payloads of messages sent, before compression."""
    unanswered: int
    """Those of them whose WebSocket ended before."""
    unfinished: int
    """WebSockets that were open when the run ended."""
    unfinished_messages: Timing = field(default_factory=default(Timing, {'histogram': '', 'moments': {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}}))
    """Ages of those of them that still waited for answers when the run ended: the times since they were due."""
    violations: Tally
    """Breaches of the protocol by servers, which ended their WebSockets."""
    wire_received_bytes: int
    """Bytes received after the opening, as HTTP carried them."""
    wire_sent_bytes: int
    """Bytes sent after the opening, as HTTP carried them."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Counts of events inside the measured window, whichever phase the calls were due in.

    Latency belongs to the calls that were due in the window, however late they end. Throughput counts what
    arrives in it: a server gains nothing by working off its queue during the drain, and answering the warm-up's
    queue in the window counts as work.
    """

    connections: int
    """Connects initiated."""
    events: int = 0
    """Events of streams."""
    messages: int = 0
    """Messages received on WebSockets."""
    output_tokens: int = 0
    """Tokens of models' answers that became complete."""
    replies: int
    """Complete replies; of calls that open WebSockets, the openings."""
    reply_bytes: int
    """Bytes of the header blocks and bodies of these replies."""
    request_bytes: int
    """Bytes of these requests."""
    requests: int
    """Requests written completely."""
    sessions: int
    """Sessions completed."""


@dataclass(frozen=True, kw_only=True)
class Summary(SummaryMethods):
    """Everything that a run measured. A report needs only this and the plan."""

    answered_early: int = 0
    """Complete replies to requests not counted in `requests`: the server answered before it had the whole request,
    and the rest was not sent.
    """
    arrivals: ArrivalFigures
    """Adherence of arrivals to their schedule."""
    arrivals_skipped: int
    """Arrivals skipped because too many connections were open."""
    begun_late_ns: int = 0
    """Time from the planned start to the instant at which the last of the workers began."""
    calls: tuple[Clocks, ...]
    """Durations of calls, by `CallOutcome` in the order of its variants."""
    calls_not_logged: int
    """Calls that could not be reported to an observer."""
    calls_not_offered: int
    """Calls not made for that reason."""
    causes: FailureCauses | None = None
    """The same by cause. Empty in results from versions that did not count them."""
    closed_early: int
    """Connections of a connection workload that the server closed, as announced, before their last call."""
    compressed: Compressed = field(default_factory=default(Compressed, {'bytes': 0, 'decoded_bytes': 0, 'replies': 0}))
    """Compressed bodies of complete replies, as far as they were decompressed."""
    concurrent_max: int
    """Maximum number of open connections. Of several workers or machines, the sum of their maxima, an upper bound."""
    connect: Timing
    """From connect to established."""
    connect_burst_max: int
    """Maximum number of connects initiated in one turn of a worker's loop, not counting the last turn."""
    connections: int
    """Connections for which a socket was made and a connect initiated."""
    content_bytes: int
    """Bytes of their bodies."""
    duration_ns: int
    """Length of the measured phase: from just after its first arrivals were started to the end of the run, or of the
    time in which load was to be offered.
    """
    errors: Errors
    """Failed connections."""
    footer_bytes: int
    """Bytes of their trailers."""
    gave_up: bool = False
    """True if a worker gave up, as the server did not speak the protocol of the run, HTTP/2 or TLS, on its first
    connections.
    """
    groups: Groups | None = None
    """Calls by group, if the plan requests it."""
    grpc: GrpcSummary | None = None
    """Calls of gRPC by their status, if replies are read as such."""
    header_bytes: int
    """Bytes of the header blocks of complete replies."""
    http2: Http2Summary | None = None
    """HTTP/2, if the plan uses it."""
    in_flight: InFlight | None = None
    """Replies that were due at a time. `None` in results from versions that did not count them."""
    kernel: KernelFigures | None = None
    """Service times by the kernel's clock, if the plan requests them for some calls."""
    lag: Timing
    """Lag, the generator's own error: from the instants at which scheduled arrivals were due, or pauses of a session
    or a connection ended, to the start of the work. For arrivals that found no room, from when there was room.
    """
    lifetimes: Lifetimes
    """From connect to close, of connections that completed at least one call."""
    mismatches: Mismatches = field(default_factory=default(Mismatches, {'answer': 0, 'capture': 0, 'check': 0, 'close': 0, 'grpc': 0, 'hash': 0, 'size': 0, 'status': 0, 'undecodable': 0}))
    """Complete replies that failed a check."""
    pauses: Pauses = field(default_factory=default(Pauses, {'count': 0, 'longest_ns': 0, 'total_ns': 0}))
    """Periods in which the generator was ready to run but did not."""
    periodic: tuple[int, int]
    """Status lines with status 200 and with status 302."""
    receive: ReceiveFigures = field(default_factory=default(ReceiveFigures, {'clock_steps': 0, 'lag': {'histogram': '', 'moments': {'count': 0, 'max_ns': 0, 'min_ns': 0, 'sum_ns': '0', 'sum_ns2': '0'}}, 'read_late': 0, 'unstamped': 0}))
    """Receive lag: the generator's error at the other end of a call."""
    replay: ReplayFigures | None = None
    """Comparison with the recording, if the workload is a replay."""
    replies: int
    """Complete replies of status 100 to 999."""
    reply_rates: RateSamples
    """Replies per second at the sampling instants."""
    reply_windows: RateWindows = ()
    """Replies of each generator over the whole of its measured phase, window by window; if there are several,
    `reply_rates` follows from them. Empty in older documents.
    """
    request_bytes: int
    """Bytes of requests written completely."""
    requests: int
    """Requests written completely. A request that followed the last reply of a connection, which the server does not
    process, and was made again counts once; any other request counts each time it was written.
    """
    response: Timing
    """From the first byte of a request to the status line of its reply."""
    retries_exhausted: int
    """Sessions that failed after too many retries in a row."""
    series: Series
    """Time series of the whole run."""
    sessions: SessionSummary | None = None
    """Figures of a session workload."""
    slowest: tuple[SlowCall, ...]
    """Slowest calls, slowest first."""
    stall: Stall | None = None
    """Longest period in which replies or TLS handshakes were due and nothing came; of several workers, the part of
    it common to all.
    """
    status_codes: StatusCodes = field(default_factory=dict)
    """Complete replies by status code. Empty in results from versions that did not count them."""
    statuses: tuple[int, ...]
    """Complete replies by class: 1xx to 5xx."""
    streams: StreamSummary | None = None
    """Replies that were read as event streams, if there were any."""
    tls: TlsSummary | None = None
    """TLS, if the plan uses it."""
    transfer: Timing
    """From status lines to the ends of their replies."""
    unfinished: Timing
    """Time since their due instants of calls neither answered nor given up when the run ended: less than they would
    have taken. Arrivals that were due but had not begun are included, each as one call.
    """
    usage: Usage
    """Resources used, and processor time lost to others."""
    visits: Visits | None = None
    """Visits of scenarios, if the workload has any."""
    wait: Timing
    """From the instants at which completed calls were due to the first bytes sent."""
    warmup: WarmUp | None = None
    """Load offered before the measured phase, if any."""
    websockets: WebSocketSummary | None = None
    """WebSockets, if calls were to open any."""
    window: Window | None = None
    """Events inside the measured phase. `None` in results from versions that did not count them."""


@dataclass(frozen=True, kw_only=True)
class ToldSeconds:
    """Seconds that a rank told of before it was lost."""

    failed_calls: int
    """Calls that failed."""
    offered: int
    """Calls that were due in them and were made."""
    replies: int
    """Complete replies."""
    until_ns: int
    """End of the last of them, since the start of the run, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class LostRank:
    """A rank whose result is missing."""

    host: str
    """Host name."""
    rank: int
    """Number of the rank, from 0."""
    reason: str
    """Reason."""
    told: ToldSeconds | None = None
    """What it told of the run before. No figure of the result has it."""


@dataclass(frozen=True, kw_only=True)
class RankClock:
    """A clock, compared with that of rank 0."""

    drift_ns: int | None = None
    """Change of the offset of the clock of the run from before the run to its end, in nanoseconds; `None` if it was
    not measured again.
    """
    offset_ns: int
    """Time of day there less that of rank 0, in nanoseconds."""
    uncertainty_ns: int
    """Bound on the error of the offset, and of the common start, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class FleetRank:
    """A rank of a fleet."""

    begun_late_ns: int
    """Time from the agreed start to its own, by its clock, in nanoseconds."""
    clock: RankClock | None = None
    """Its clock, as rank 0 has measured it; `None` for rank 0 itself and for ranks that did not meet."""
    cpu: float
    """Share of the time in which its busiest thread ran."""
    host: str
    """Host name."""
    lag_p99_ns: int | None = None
    """99th percentile of the schedule lag, in nanoseconds."""
    rank: int
    """Number of the rank, from 0."""
    verdict: Verdict
    """Verdict on its part."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Ranks that carried out a run together: equal processes, each with its shards of the plan."""

    allows_missing: bool = False
    """True if the plan was to go on without ranks that are lost (`--allow-missing`)."""
    lost: tuple[LostRank, ...] = ()
    """Reasons why the results of other ranks are missing, as far as they are known."""
    ranks: tuple[FleetRank, ...]
    """Ranks whose results are here, in order."""
    size: int
    """Number of ranks."""
    strangers: int = 0
    """Peers that came to the meeting and do not belong to the fleet."""
