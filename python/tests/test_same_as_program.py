"""Every figure equals that of the program, bit by bit: of runs, of edited documents, of sums."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import httperf
from conftest import RUNS
from httperf import Histogram, Result, Timing
from httperf.documents.result import Summary
from support import ROOT, as_json, prints, read_json, without_optional


@pytest.mark.parametrize("name", RUNS)
def test_figures_of_a_run_are_those_of_its_document(documents: dict[str, Path], name: str) -> None:
    result = httperf.load(documents[name], Result)
    assert as_json(result.figures) == as_json(read_json(documents[name])["figures"])


@pytest.mark.parametrize("name", RUNS)
def test_times_are_those_of_the_csv_row(documents: dict[str, Path], name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(prints("report", "--format", "csv", documents[name])))
    result = httperf.load(documents[name], Result)
    timings = {"latency": result.latency, "service": result.service, "connect": result.connect, "lag": result.lag}
    for clock, timing in timings.items():
        for share in (0.5, 0.75, 0.9, 0.95, 0.99, 0.999):
            column = f"{clock}_p{100 * share:g}_ms"
            if column in row:
                ms = timing.quantile_ms(share)
                assert row[column] == ("" if ms is None else f"{ms:.3f}"), column
    for share in (0.5, 0.75, 0.9, 0.95, 0.99, 0.999):
        found = result.all_calls_quantile(share)
        has_enough = result.figures.all_calls.calls >= httperf.samples_needed(share)
        expected = f"{found.ms:.3f}" if found and has_enough else ""
        assert row[f"all_p{100 * share:g}_ms"] == expected, share
    assert row["replies"] == str(result.summary.replies)
    assert row["verdict"] == result.verdict.level


@pytest.mark.parametrize("name", ["connections", "status", "none"])
def test_the_distribution_is_that_of_the_hgrm_file(documents: dict[str, Path], name: str) -> None:
    check_distribution(documents[name], httperf.load(documents[name], Result).latency)


def check_distribution(file: Path, timing: Timing) -> None:
    lines = prints("report", "--format", "hgrm", file).splitlines()[2:]
    points = [line.split()[:3] for line in lines if not line.startswith("#")]
    ours = [[f"{point.value_us / 1e3:.3f}", f"{point.share:.12f}", str(point.count)] for point in timing.percentiles()]
    assert points == ours
    mean, stddev, most = timing.moments.mean_s, timing.moments.stddev_s, timing.moments.max_ns / 1e9
    assert lines[-3].split() == ["#[Mean", "=", f"{mean * 1e3:.3f},", "StdDeviation", "=", f"{stddev * 1e3:.3f}]"]
    assert lines[-2].split()[2] == f"{most * 1e3:.3f},"


def test_quantiles_that_no_report_has_are_those_of_objectives(url: str) -> None:
    percents = ["10", "33.3", "50", "71", "90", "95.8"]
    objectives = ",".join(f"{clock}p{percent}<1h" for clock in ("", "service.") for percent in percents)
    result = httperf.run([url, "--rate", "400", "--num-conns", "100", "--slo", objectives], Result)
    for index, timing in enumerate((result.latency, result.service)):
        for percent, judged in zip(percents, result.objectives[index * len(percents) :], strict=False):
            assert judged.measured == {"figure": timing.quantile_s(float(percent) / 100)}, judged.objective


# From a microsecond to beyond an hour, with many that are equal.
times_ns = st.lists(
    st.one_of(st.integers(0, 3000), st.sampled_from([0, 999_500, 1_000_000, 7_777_777]), st.integers(0, 5 * 10**12)),
    max_size=40,
)
timings = st.tuples(times_ns, st.integers(1, 400)).map(lambda drawn: Timing.of(drawn[0] * drawn[1]))


@st.composite
def edits(draw: st.DrawFn) -> dict[str, Timing]:
    """Timings for a document, by their place in the summary."""
    names = ["connect", "response", "transfer", "lag", "unfinished", *(f"calls.{i}.latency" for i in range(4))]
    return {name: draw(timings) for name in names}


def edited(document: Any, timings: dict[str, Timing]) -> Any:
    """The document of a run that has measured these."""
    document = copy.deepcopy(document)
    for name, timing in timings.items():
        place, steps = document["summary"], name.split(".")
        for step in steps[:-1]:
            place = place[int(step)] if step.isdigit() else place[step]
        place[steps[-1]] = timing.to_json()
    return document


@settings(max_examples=15)
@given(edits())
def test_figures_of_any_times_are_those_of_the_program(documents: dict[str, Path], drawn: dict[str, Timing]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edited.json"
        file.write_text(json.dumps(edited(read_json(documents["connections"]), drawn)))
        result = httperf.load(file, Result)
        assert as_json(result.figures) == as_json(json.loads(prints("report", "--format", "json", file))["figures"])
        check_distribution(file, result.latency)


@settings(max_examples=6)
@given(edits(), edits())
def test_any_timings_add_up_as_those_of_the_program(
    documents: dict[str, Path], some: dict[str, Timing], others: dict[str, Timing]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("a.json", "b.json")]
        for index, (file, drawn) in enumerate(zip(files, (some, others), strict=True)):
            document = edited(read_json(documents["connections"]), drawn)
            document["parts"][0]["run"] = str(index)
            file.write_text(json.dumps(document))
        a, b = (httperf.load(file, Result) for file in files)
        check_sum(httperf.merge(files), a, b)


@pytest.mark.parametrize(
    ("digits", "us", "is_read"),
    [(3, 3_900_000_000, True), (2, 3_900_000_000, True), (3, 5_400_000_000, False), (2, 5_400_000_000, False)],
)
def test_times_of_other_libraries_are_read_as_by_the_program(
    documents: dict[str, Path], tmp_path: Path, digits: int, us: int, is_read: bool
) -> None:
    """Of a histogram that reaches to two hours. That of a timing ends behind an hour."""
    layout = Histogram({}, 1, 7_200_000_000, digits)
    histogram = Histogram({layout._index_of(us): 1}, 1, 7_200_000_000, digits)
    document = read_json(documents["connections"])
    document["summary"]["connect"] = Timing(Timing.of([us * 1000]).moments, histogram).to_json()
    file = tmp_path / "wide.json"
    file.write_text(json.dumps(document))
    command = [os.environ["HTTPERF"], "report", "--format", "json", os.fspath(file)]
    printed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout
    assert bool(printed) == is_read
    if is_read:
        result = httperf.load(file, Result)
        assert as_json(result.figures) == as_json(json.loads(printed)["figures"])
        assert result.connect.to_json() == json.loads(printed)["summary"]["connect"]
    else:
        message = r"wide\.json: summary\.connect\.histogram: expected values up to 4294967295 µs, got one of 540"
        with pytest.raises(httperf.DocumentError, match=message):
            httperf.load(file)


def test_results_of_generators_that_worked_together_add_up(url: str, tmp_path: Path) -> None:
    options = "--rate 200 --num-conns 80 --num-calls 2"
    a, b = (httperf.run([url, *options.split(), "--client", f"{index}/2"], Result) for index in range(2))
    whole = httperf.merge([a, b])
    check_sum(whole, a, b)
    b.save(tmp_path / "b.json")
    assert httperf.merge([a, tmp_path / "b.json"]) == whole
    assert whole.summary.replies == a.summary.replies + b.summary.replies == 320
    assert len(whole.parts) == 2


def check_sum(whole: Result, a: Result, b: Result) -> None:
    """Checks that each timing of a sum is that of its parts, and that its figures are the program's."""
    parts = [dict(timings_of(result.summary)) for result in (a, b)]
    for path, timing in timings_of(whole.summary):
        assert timing == parts[0][path] + parts[1][path], path
    assert as_json(whole.figures) == as_json(whole.document["figures"])


def timings_of(record: Any, path: str = "") -> list[tuple[str, Timing]]:
    """All timings of a record, with their paths."""
    if isinstance(record, Timing):
        return [(path, record)]
    if isinstance(record, tuple):
        return [found for index, item in enumerate(record) for found in timings_of(item, f"{path}.{index}")]
    fields = getattr(record, "__dataclass_fields__", {})
    return [found for name in fields for found in timings_of(getattr(record, name), f"{path}.{name}")]


@pytest.mark.parametrize("name", RUNS)
def test_a_document_without_what_older_ones_lack_is_read_as_by_the_program(
    documents: dict[str, Path], name: str, tmp_path: Path
) -> None:
    document = read_json(documents[name])
    document["summary"] = without_optional(Summary, document["summary"])
    for part in document["parts"]:
        del part["run"], part["client"]
    document["figures"], document["objectives"] = {}, []
    file = tmp_path / "older.json"
    file.write_text(json.dumps(document))
    check_as_read_by_program(file, "causes", "confidence", "steady", "rate_asked", "offered_rate")


def test_a_document_of_the_first_version_is_read_as_by_the_program() -> None:
    check_as_read_by_program(ROOT / "crates/httperf/tests/it/results/versions/version-1.json", "causes")


def check_as_read_by_program(file: Path, *as_written: str) -> None:
    """Compares a document with what the program makes of it, but for figures that are taken as they were written."""
    ours = httperf.load(file, Result)
    theirs = httperf.loads(prints("report", "--format", "json", file), Result)
    assert (ours.summary, ours.parts, ours.verdict) == (theirs.summary, theirs.parts, theirs.verdict)
    figures, expected = as_json(ours.figures), as_json(theirs.document["figures"])
    for name in as_written:
        figures.pop(name, None)
        expected.pop(name, None)
    assert figures == expected


def test_a_sweep_is_that_of_the_program(sweep_file: Path) -> None:
    sweep = httperf.load(sweep_file, httperf.Sweep)
    assert httperf.loads(prints("report", "--format", "json", sweep_file)).document == sweep.document
    rows = list(csv.DictReader(io.StringIO(prints("report", "--format", "csv", sweep_file))))
    assert [row["rate"] for row in rows] == [f"{run.rate:g}" for run in sweep.runs] == ["40", "40", "80", "80"]
    for row, run in zip(rows, sweep.runs, strict=True):
        ms = run.result.latency.quantile_ms(0.5)
        assert row["latency_p50_ms"] == ("" if ms is None else f"{ms:.3f}")
        assert as_json(run.result.figures) == as_json(run.result.document["figures"])
    assert (sweep.unit, sweep.end) == ("connections", "complete")
    assert [step.rate for step in sweep.figures.steps] == [40.0, 80.0]


def test_classes_are_those_of_the_schema() -> None:
    """What `generate.py` would write is there."""
    import runpy
    import sys

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["generate.py", "--check"])
        runpy.run_path(os.fspath(ROOT / "python" / "generate.py"), run_name="__main__")
