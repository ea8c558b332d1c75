"""Documents: what they are, how they are read and saved."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias, TypeVar, overload

from . import _figures, _frames
from ._errors import DocumentError
from ._methods import OUTCOMES
from ._read import MisshapenError, read
from ._timing import Timing
from .documents.capacity import CapacitySettings, Found, Trial
from .documents.comparison import Against, ComparisonOutcome, Method, Subject
from .documents.result import (
    CallOutcome,
    Clocks,
    Conclusion,
    EarlyEnd,
    Fleet,
    Judged,
    Part,
    Percentile,
    RunFigures,
    Series,
    Summary,
    Verdict,
)
from .documents.sweep import End, Recovery, SweepFigures, SweepSettings
from .documents.tls_lab import SettingsObject, VariantObject

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "AnyDocument",
    "Capacity",
    "Comparison",
    "Document",
    "Result",
    "Run",
    "Source",
    "Sweep",
    "TlsLab",
    "load",
    "loads",
]

Source: TypeAlias = "str | os.PathLike[str]"
"""Path of a file."""

D = TypeVar("D", bound="Document")

VERSION = 1
"""Newest version of each format. Within a version fields are added, and none goes or changes its meaning."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document that the program has written. It never changes."""

    kind: ClassVar[str]
    """What it is, such as ``sweep``."""
    format: ClassVar[str]
    """Value of its field ``format``."""

    document: Mapping[str, Any] = field(repr=False)
    """The whole document as it was read, as dictionaries and lists."""
    exit_status: int | None = field(default=None, compare=False)
    """Exit status of the program, if `httperf.run` has made the document."""
    messages: str = field(default="", compare=False, repr=False)
    """What the program wrote on standard error meanwhile."""

    # Dictionaries within have no hash. A dataclass would pretend to have one, so each subclass says it again.
    __hash__ = None  # type: ignore[assignment]

    def save(self, path: Source) -> None:
        """Writes the document to a file, which the program reads like one of its own."""
        Path(path).write_text(json.dumps(self.document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> Document:
        """Document of this value of JSON."""
        raise NotImplementedError

    def _after_run(self: D, exit_status: int, messages: str) -> D:
        return dataclasses.replace(self, exit_status=exit_status, messages=messages)


@dataclass(frozen=True, kw_only=True)
class Result(Document):
    """Result of a run, or of several that were merged."""

    kind: ClassVar[str] = "result"
    format: ClassVar[str] = "httperf-result"
    __hash__ = None

    parts: tuple[Part, ...] = field(repr=False)
    """Author, place and time of each part: one, or several after a merge."""
    plan: Mapping[str, Any] = field(repr=False)
    """What was run, as it stands in the document."""
    conclusion: Conclusion | None
    """Conclusion about the server; ``None`` in documents of older versions."""
    verdict: Verdict
    """Reliability of the figures."""
    objectives: tuple[Judged, ...]
    """Outcomes of the plan's objectives."""
    figures: RunFigures = field(repr=False)
    """Most requested figures."""
    summary: Summary = field(repr=False)
    """Everything that was measured."""
    fleet: Fleet | None = field(default=None, repr=False)
    """Ranks that carried out the run together, if it was a fleet's."""

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> Result:
        """Result of this value of JSON. Figures that follow from the rest are worked out anew."""
        saved = _checked(cls, value, path)
        parts = read(tuple[Part, ...], saved.get("parts"), _at(path, "parts"))
        if not parts:
            raise MisshapenError(_at(path, "parts"), "expected at least one run, got none")
        plan = read(dict[str, Any], saved.get("plan"), _at(path, "plan"))
        summary = read(Summary, saved.get("summary"), _at(path, "summary"))
        return cls(
            document=saved,
            parts=parts,
            plan=plan,
            conclusion=read(Conclusion | None, saved.get("conclusion"), _at(path, "conclusion")),
            verdict=read(Verdict, saved.get("verdict"), _at(path, "verdict")),
            objectives=read(tuple[Judged, ...], saved.get("objectives", []), _at(path, "objectives")),
            figures=_figures.run_figures(
                read(dict[str, Any], saved.get("figures", {}), _at(path, "figures")), plan, summary
            ),
            summary=summary,
            fleet=read(Fleet | None, saved.get("fleet"), _at(path, "fleet")),
        )

    @property
    def ended_early(self) -> EarlyEnd | None:
        """Reason for ending before the workload did, of the first part that has one."""
        return next((part.ended_early for part in self.parts if part.ended_early is not None), None)

    @property
    def series(self) -> Series:
        """The run second by second."""
        return self.summary.series

    def calls(self, outcome: CallOutcome) -> Clocks:
        """Latencies and service times of the calls with this outcome."""
        return self.summary.calls[OUTCOMES.index(outcome)]

    @cached_property
    def latency(self) -> Timing:
        """Latency of the calls that were answered: from the instant at which a call was due to the end of its reply."""
        return _figures.completed(self.summary).latency

    @cached_property
    def service(self) -> Timing:
        """Service time of the calls that were answered: from the first byte sent to the end of the reply."""
        return _figures.completed(self.summary).service

    @property
    def response(self) -> Timing:
        """From the first byte of a request to the status line of its reply."""
        return self.summary.response

    @property
    def transfer(self) -> Timing:
        """From the status line of a reply to its end."""
        return self.summary.transfer

    @property
    def connect(self) -> Timing:
        """From connect to established, TLS included."""
        return self.summary.connect

    @property
    def lag(self) -> Timing:
        """How late the generator started what was due."""
        return self.summary.lag

    @property
    def receive_lag(self) -> Timing:
        """How long replies lay in the generator's machine before they were read."""
        return self.summary.receive.lag

    def all_calls_quantile(self, share: float) -> Percentile | None:
        """Quantile of the latency of all calls that were due, answered or not (docs/reference/figures.md)."""
        return _figures.all_calls_quantile(self.summary, share)

    def to_pandas(self) -> DataFrame:
        """One row with all figures. Columns are named by their path in the document, such as ``latency_ms.p99``."""
        return _frames.of_result(self)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a sweep."""

    rate: float
    """Rate requested, in arrivals per second."""
    repeat: int
    """Index of the run among those at this rate, from 0."""
    recovery: Recovery
    """Waits before the run."""
    answered_share: float | None = None
    """Share of the offered load that was answered without an error while it was offered."""
    result: Result
    """Result."""


@dataclass(frozen=True, kw_only=True)
class Sweep(Document):
    """Runs of one plan at several rates."""

    kind: ClassVar[str] = "sweep"
    format: ClassVar[str] = "httperf-sweep"
    __hash__ = None

    settings: SweepSettings = field(repr=False)
    """Rates, repeats, order, pauses."""
    plan: Mapping[str, Any] = field(repr=False)
    """Plan of all runs, except their rates."""
    end: End | None
    """Reason why there will be no more runs; ``None`` if the program did not get to the end."""
    figures: SweepFigures = field(repr=False)
    """Knee, peak, and a row for each rate, as the program wrote them."""
    runs: tuple[Run, ...] = field(repr=False)
    """Runs, in the order in which they were made."""

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> Sweep:
        """Sweep of this value of JSON."""
        saved = _checked(cls, value, path)
        return cls(
            document=saved,
            settings=read(SweepSettings, saved.get("settings"), "settings"),
            plan=_plan(saved),
            end=read(End | None, saved.get("end"), "end"),
            figures=read(SweepFigures, saved.get("figures"), "figures"),
            runs=read(tuple[Run, ...], saved.get("runs"), "runs"),
        )

    @property
    def unit(self) -> Literal["connections", "sessions", "calls", "visits"]:
        """What the rates count."""
        workload = self.plan["workload"]
        if "connections" in workload:
            return "connections"
        if "sessions" in workload:
            return "sessions"
        return "visits" if "scenarios" in workload else "calls"

    def to_pandas(self) -> DataFrame:
        """A row for each rate with complete runs: means over them, with the ends of their intervals of confidence."""
        return _frames.of_sweep(self)


@dataclass(frozen=True, kw_only=True)
class Capacity(Document):
    """A search for the highest rate that a server sustains within objectives."""

    kind: ClassVar[str] = "search for a capacity"
    format: ClassVar[str] = "httperf-capacity"
    __hash__ = None

    part: Part | None = field(repr=False)
    """Author, place and start of the search; ``None`` before the first trial has ended."""
    settings: CapacitySettings = field(repr=False)
    """Settings of the search."""
    plan: Mapping[str, Any] = field(repr=False)
    """Plan of all trials, except their rates and lengths."""
    trials: tuple[Trial, ...] = field(repr=False)
    """Trials, in order."""
    found: Found
    """Result."""

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> Capacity:
        """Search of this value of JSON."""
        saved = _checked(cls, value, path)
        return cls(
            document=saved,
            part=read(Part | None, saved.get("part"), "part"),
            settings=read(CapacitySettings, saved.get("settings"), "settings"),
            plan=read(dict[str, Any], saved.get("plan"), "plan"),
            trials=read(tuple[Trial, ...], saved.get("trials"), "trials"),
            found=read(Found, saved.get("found"), "found"),
        )

    def to_pandas(self) -> DataFrame:
        """A row for each trial."""
        return _frames.of_capacity(self)


@dataclass(frozen=True, kw_only=True)
class Comparison(Document):
    """Results compared with a base, or two targets that took turns."""

    kind: ClassVar[str] = "comparison"
    format: ClassVar[str] = "httperf-comparison"
    __hash__ = None

    confidence: float
    """Confidence of all intervals, as a share of 1."""
    method: Method = field(repr=False)
    """How it was compared: ``"bootstrap"``, or ``{"paired": …}`` with the trials."""
    base: Subject = field(repr=False)
    """Base of the comparison."""
    against: tuple[Against, ...]
    """Results compared with the base."""
    outcome: ComparisonOutcome
    """Overall outcome."""

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> Comparison:
        """Comparison of this value of JSON."""
        saved = _checked(cls, value, path)
        return cls(
            document=saved,
            confidence=read(float, saved.get("confidence"), "confidence"),
            method=read(Method, saved.get("method"), "method"),
            base=read(Subject, saved.get("base"), "base"),
            against=read(tuple[Against, ...], saved.get("against"), "against"),
            outcome=read(ComparisonOutcome, saved.get("outcome"), "outcome"),
        )

    def to_pandas(self) -> DataFrame:
        """A row for each figure of each result that was compared with the base."""
        return _frames.of_comparison(self)


@dataclass(frozen=True, kw_only=True)
class TlsLab(Document):
    """Variants of TLS and what their handshakes cost."""

    kind: ClassVar[str] = "comparison of TLS variants"
    format: ClassVar[str] = "httperf-tls-lab"
    __hash__ = None

    server: str
    """The server, such as ``https://www.example.com:443``."""
    settings: SettingsObject = field(repr=False)
    """Settings of the experiment."""
    rounds_complete: int
    """Rounds in which every variant had its trial."""
    interrupted: bool
    """True if the experiment ended before its last round."""
    variants: tuple[VariantObject, ...] = field(repr=False)
    """Variants in the order given."""
    verdict: tuple[str, ...]
    """Meaning of the figures, in sentences."""

    @classmethod
    def from_json(cls, value: Any, path: str = "") -> TlsLab:
        """Experiment of this value of JSON."""
        saved = _checked(cls, value, path)
        return cls(
            document=saved,
            server=read(str, saved.get("server"), "server"),
            settings=read(SettingsObject, saved.get("settings"), "settings"),
            rounds_complete=read(int, saved.get("rounds_complete"), "rounds_complete"),
            interrupted=read(bool, saved.get("interrupted"), "interrupted"),
            variants=read(tuple[VariantObject, ...], saved.get("variants"), "variants"),
            verdict=read(tuple[str, ...], saved.get("verdict"), "verdict"),
        )


AnyDocument: TypeAlias = Result | Sweep | Capacity | Comparison | TlsLab

_KINDS: tuple[type[AnyDocument], ...] = (Result, Sweep, Capacity, Comparison, TlsLab)


@overload
def load(source: Source) -> AnyDocument: ...
@overload
def load(source: Source, kind: type[D]) -> D: ...
def load(source: Source, kind: type[Document] = Document) -> Document:
    """Reads a document from a file: a result, a sweep, a search for a capacity, a comparison.

    With a `kind`, such as `httperf.Result`, the document must be of it, and type checkers know what it is.

    Raises `DocumentError` if the file is no document of httperf, or is newer than this package or broken.
    """
    try:
        return loads(Path(source).read_bytes(), kind)
    except DocumentError as error:
        raise DocumentError(f"{os.fspath(source)}: {error}") from None


@overload
def loads(text: str | bytes) -> AnyDocument: ...
@overload
def loads(text: str | bytes, kind: type[D]) -> D: ...
def loads(text: str | bytes, kind: type[Document] = Document) -> Document:
    """Reads a document from text, as `load` does from a file."""
    try:
        saved = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}") from None
    except RecursionError:
        raise DocumentError("not a document of httperf: lists or objects within too many others") from None
    found = _kind_of(saved)
    if not issubclass(found, kind):
        raise DocumentError(f"not a {kind.kind} of httperf, but a {found.kind}")
    return found.from_json(saved)


def _no_number(word: str) -> NoReturn:
    """Refuses NaN and Infinity, which Python reads, but which are no JSON."""
    raise ValueError(f"{word} is no number")


def _kind_of(saved: Any) -> type[AnyDocument]:
    name = saved.get("format") if isinstance(saved, dict) else None
    for kind in _KINDS:
        if kind.format == name:
            return kind
    formats = ", ".join(kind.format for kind in _KINDS)
    raise DocumentError(f"not a document of httperf: expected a `format` of {formats}, got {name!r}")


def _checked(kind: type[Document], value: Any, path: str) -> dict[str, Any]:
    """The fields of a document of this kind, if its version is one that this package reads."""
    saved: dict[str, Any] = read(dict[str, Any], value, path)
    if saved.get("format") != kind.format:
        raise MisshapenError(_at(path, "format"), f"expected {kind.format}, got {saved.get('format')!r}")
    version = read(int | None, saved.get("version"), _at(path, "version"))
    if version is not None and version > VERSION:
        raise DocumentError(
            f"version {version} of the format is newer than this package, which reads up to {VERSION}: "
            "pip install --upgrade httperf-load"
        )
    return saved


def _plan(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of several runs, whose workload says what their rates count."""
    plan: dict[str, Any] = read(dict[str, Any], saved.get("plan"), "plan")
    workload = read(dict[str, Any], plan.get("workload"), "plan.workload")
    read(dict[str, Any], workload.get("connections", {}), "plan.workload.connections")
    return plan


def _at(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
