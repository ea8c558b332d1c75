"""Figures of a run, worked out anew from what was measured, as the program does when it reads a document.

docs/reference/figures.md says what each of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from ._histogram import check_share, rank_of
from ._read import read
from ._timing import Timing, in_ms, in_seconds, samples_needed
from .documents.result import (
    AllCalls,
    CauseFigures,
    Clocks,
    Confidence,
    ErrorFigures,
    GrpcFigures,
    InFlightFigures,
    NoReply,
    Percentile,
    ReplayComparison,
    RunFigures,
    Steady,
    StreamFigures,
    Summary,
    Times,
    VisitFigures,
    WebSocketFigures,
    Window,
)

__all__ = ["all_calls_quantile", "completed", "run_figures", "times_of"]

_AS_WRITTEN: dict[str, tuple[Any, Any]] = {
    "rate_asked": (float | None, None),
    "visits": (VisitFigures | None, None),
    "replay": (ReplayComparison | None, None),
    "streams": (StreamFigures | None, None),
    "websockets": (WebSocketFigures | None, None),
    "grpc": (GrpcFigures | None, None),
    "causes": (tuple[CauseFigures, ...], []),
    "confidence": (tuple[Confidence, ...], []),
    "steady": (Steady, {"state": "unknown"}),
}
"""Figures that are taken from the document: their type, and what they are if an older program did not write them."""

_REPLIES_MIN = 100
"""Least number of replies for which the number in flight must be their rate times their service time."""

_EDGES_MAX = 0.02
"""Largest share of the replies' time at the edges of the measured phase for which it must."""


def run_figures(saved: Mapping[str, Any], plan: Mapping[str, Any], summary: Summary) -> RunFigures:
    """Figures of a run with this plan. `saved` are those of the document."""
    answered = completed(summary)
    unexpected, failed = summary.calls[3].latency, summary.calls[2].latency
    duration_s = in_seconds(summary.duration_ns)
    window = summary.window or _totals(summary)

    def per_second(count: int) -> float:
        return float(count) / duration_s if duration_s > 0 else 0.0

    kernel, receive = summary.kernel, summary.receive
    written = {
        name: read(kind, saved.get(name, absent), f"figures.{name}") for name, (kind, absent) in _AS_WRITTEN.items()
    }
    return RunFigures(
        **written,
        duration_s=duration_s,
        connections=summary.connections,
        requests=summary.requests,
        replies=summary.replies,
        errors=sum(summary.errors.values()),
        error_share=_error_figures(summary),
        statuses=summary.statuses,
        unexpected=_unexpected_replies(summary),
        offered_rate=None if written["rate_asked"] is None else _offered_rate(plan, summary),
        connection_rate=per_second(window.connections),
        request_rate=per_second(window.requests),
        reply_rate=per_second(window.replies),
        bytes_per_second=per_second(window.request_bytes + window.reply_bytes),
        in_flight=_in_flight(summary, window.replies, per_second(window.replies), duration_s),
        cpu_us_per_reply=_cpu_us(summary) / float(summary.replies) if summary.replies else None,
        latency_ms=times_of(answered.latency),
        all_calls=_all_calls(summary, answered.latency),
        service_ms=times_of(answered.service),
        response_ms=times_of(summary.response),
        transfer_ms=times_of(summary.transfer),
        connect_ms=times_of(summary.connect),
        lag_ms=times_of(summary.lag),
        receive_lag_ms=times_of(receive.lag),
        receive_lag_share=_share(receive.lag.count, receive.unstamped),
        send_lag_ms=times_of(kernel.send_lag if kernel else Timing()),
        kernel_ms=times_of(kernel.service if kernel else Timing()),
        kernel_share=_share(kernel.service.count, kernel.unstamped) if kernel else None,
        unexpected_ms=times_of(unexpected),
        failed_ms=times_of(failed),
        unfinished_ms=times_of(summary.unfinished),
        session_ms=times_of(summary.sessions.latency) if summary.sessions else None,
    )


def times_of(timing: Timing) -> Times:
    """Percentiles of a timing, as documents have them."""
    return Times(
        samples=timing.count,
        mean=timing.mean_ms,
        min=timing.min_ms,
        p50=timing.quantile_ms(0.5),
        p75=timing.quantile_ms(0.75),
        p90=timing.quantile_ms(0.9),
        p95=timing.quantile_ms(0.95),
        p99=timing.quantile_ms(0.99),
        p99_9=timing.quantile_ms(0.999),
        p99_99=timing.quantile_ms(0.9999),
        max=timing.max_ms,
    )


def completed(summary: Summary) -> Clocks:
    """Times of the calls with a reply, whatever its status, that failed no check."""
    success, http_error = summary.calls[:2]
    return Clocks(latency=success.latency + http_error.latency, service=success.service + http_error.service)


def _totals(summary: Summary) -> Window:
    """What was due in the measured phase: what older documents have instead of what happened in it."""
    websockets = summary.websockets
    cut = max(websockets.opened - websockets.closed - websockets.unfinished, 0) if websockets else 0
    return Window(
        connections=summary.connections,
        requests=summary.requests,
        replies=summary.replies + cut,
        sessions=summary.sessions.completed if summary.sessions else 0,
        request_bytes=summary.request_bytes,
        reply_bytes=summary.header_bytes + summary.content_bytes,
    )


def _unexpected_replies(summary: Summary) -> int:
    mismatches = summary.mismatches
    return sum(getattr(mismatches, name) for name in mismatches.__dataclass_fields__)


def _error_figures(summary: Summary) -> ErrorFigures:
    success, http_errors, failed, unexpected = (clocks.latency.count for clocks in summary.calls)
    ended = success + http_errors + failed + unexpected
    due, connections_failed = ended + summary.unfinished.count, sum(summary.errors.values())
    # Those without a socket are not counted as connections, and others may fail before they are.
    without_socket = sum(summary.errors.get(name, 0) for name in ("fd-unavail", "ftab-full"))
    tried = max(summary.connections + without_socket, connections_failed)
    of_connections = due + summary.requests == 0
    if of_connections:
        share = _share(connections_failed, tried - connections_failed)
    else:
        share = float(failed + http_errors + unexpected) / float(due) if ended else None
    return ErrorFigures(
        due=due,
        ended=ended,
        failed=failed,
        http_errors=http_errors,
        unexpected=unexpected,
        share=share,
        connections_failed=connections_failed,
        connections_tried=tried,
        of_connections=of_connections,
    )


def _offered_rate(plan: Mapping[str, Any], summary: Summary) -> float | None:
    """Arrivals per second that were due. If their number ends the run, the time from the first to the last counts."""
    arrivals = summary.arrivals
    if plan.get("runtime_ns") is not None:
        seconds, intervals = in_seconds(summary.duration_ns), arrivals.due
    else:
        seconds, intervals = in_seconds(arrivals.span_due_ns), max(arrivals.started - 1, 0)
    recording = read(dict[str, Any], plan.get("recording", {}), "plan.recording")
    is_recorded = read(bool, recording.get("detail", True), "plan.recording.detail")
    return float(intervals) / seconds if is_recorded and seconds > 0 and arrivals.due > 1 else None


def _cpu_us(summary: Summary) -> float:
    return in_seconds(summary.usage.cpu.user_ns + summary.usage.cpu.system_ns) * 1e6


def _in_flight(summary: Summary, replies: int, rate: float, duration_s: float) -> InFlightFigures | None:
    """Replies that were due at a time, counted and by Little's law; `None` if they were not counted."""
    in_flight, streams, http2 = summary.in_flight, summary.streams, summary.http2
    if in_flight is None:
        return None
    measured = in_flight.time_us / 1e6 / duration_s if duration_s > 0 else 0.0
    services = [summary.calls[index].service.moments for index in (0, 1, 3)]
    calls = sum(moments.count for moments in services)
    may_be_endless = bool(summary.websockets) or bool(streams and streams.started and streams.model is None)
    if not calls or may_be_endless:
        return InFlightFigures(measured=measured)
    service = sum(moments.sum_ns / 1e9 for moments in services) / calls
    by_law = rate * service
    must_agree = (
        replies >= _REPLIES_MIN
        and not summary.calls[2].latency.count + sum(summary.errors.values())
        and not summary.retries_exhausted
        and not (http2 and (http2.retried or http2.window_waits.count))
        and (in_flight.at_begin + in_flight.at_end) * service <= _EDGES_MAX * in_flight.time_us / 1e6
    )
    difference = (measured - by_law) / by_law if by_law > 0 else 0.0
    return InFlightFigures(measured=measured, by_law=by_law, disagreement=difference if must_agree else None)


def _share(known: int, unknown: int) -> float | None:
    return float(known) / float(known + unknown) if known + unknown else None


def _all_calls(summary: Summary, answered: Timing) -> AllCalls:
    without = [summary.calls[index].latency for index in (2, 3)]
    calls = answered.count + sum(timing.count for timing in without) + summary.unfinished.count

    def quantile(share: float) -> Percentile | None:
        return all_calls_quantile(summary, share) if calls >= samples_needed(share) else None

    return AllCalls(
        calls=calls,
        answered=answered.count,
        failed=sum(timing.count for timing in without),
        unfinished=summary.unfinished.count,
        no_reply=_no_reply(summary),
        p50=quantile(0.5),
        p75=quantile(0.75),
        p90=quantile(0.9),
        p95=quantile(0.95),
        p99=quantile(0.99),
        p99_9=quantile(0.999),
        p99_99=quantile(0.9999),
        max=quantile(1.0),
    )


def all_calls_quantile(summary: Summary, share: float) -> Percentile | None:
    """Quantile of the latency of all calls that were due; ``None`` if there were none.

    A call without a usable reply counts as longer than any that was answered. One that was pending when the run ended
    counts likewise for every time shorter than it had been due for, and says nothing about longer ones.

    Raises `ValueError` for what is no share.
    """
    check_share(share)
    answered, unfinished = completed(summary).latency, summary.unfinished
    without = [summary.calls[index].latency for index in (2, 3)]
    failed = sum(timing.count for timing in without)
    if not failed and not unfinished.count:
        seconds = answered.quantile_s(share)
        return None if seconds is None else Percentile(ms=in_ms(seconds), or_more=False)
    # The least time that each call can have taken: of those without a reply, for how long they had waited.
    least = reduce(add, [answered, *without, unfinished])
    within = _smallest_bound(answered, unfinished, failed, share)
    if within is not None:
        bound_us, or_more = within
        return Percentile(ms=in_ms(min(bound_us / 1e6, least.moments.max_ns / 1e9)), or_more=or_more)
    shortest = least.quantile_s(share)
    if shortest is None:
        return None
    return Percentile(ms=in_ms(max(shortest, answered.moments.max_ns / 1e9)), or_more=True)


def _smallest_bound(answered: Timing, unfinished: Timing, failed: int, share: float) -> tuple[int, bool] | None:
    """Smallest time in microseconds within which this share of the calls were answered, and whether it is that of
    pending calls instead of an answered one; ``None`` if there is none because of calls that failed.
    """
    by_answer, by_age = dict(answered.histogram.classes()), dict(unfinished.histogram.classes())
    certain, below, older = answered.count + failed, 0, unfinished.count
    for us in sorted(by_answer.keys() | by_age.keys()):
        below += by_answer.get(us, 0)
        older -= by_age.get(us, 0)
        rank = rank_of(share, certain + older)
        if 0 < below >= rank:
            return us, us not in by_answer
    return None


def _no_reply(summary: Summary) -> NoReply | None:
    """Most frequent reason why calls have no usable reply; that they were pending only where there is no other."""
    failed, unexpected = summary.calls[2].latency.count, summary.calls[3].latency.count
    if not failed and not unexpected:
        return "unfinished" if summary.unfinished.count else None
    if failed < unexpected:
        return "unexpected"
    timeouts = sum(summary.errors.get(name, 0) for name in ("client-timo", "socket-timo"))
    return "timed_out" if timeouts > 0 and timeouts == sum(summary.errors.values()) else "failed"
