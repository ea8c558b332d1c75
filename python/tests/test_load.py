"""Reading of documents, and what is refused."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

import httperf
from httperf import DocumentError, Result
from support import ROOT, output_of, read_json


def test_a_document_survives_saving(documents: dict[str, Path], tmp_path: Path) -> None:
    result = httperf.load(documents["sessions"], Result)
    result.save(tmp_path / "again.json")
    assert httperf.load(tmp_path / "again.json") == result
    assert pickle.loads(pickle.dumps(result)) == result


def test_what_has_dictionaries_within_has_no_hash(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["calls"], Result)
    for value in (result, result.latency, result.latency.histogram):
        assert not isinstance(value, Hashable)
        with pytest.raises(TypeError, match=f"unhashable type: '{type(value).__name__}'"):
            hash(value)
    for kind in (httperf.Sweep, httperf.Capacity, httperf.Comparison, httperf.TlsLab):
        assert not issubclass(kind, Hashable)


def test_names_are_those_of_the_document(documents: dict[str, Path]) -> None:
    result = httperf.load(documents["phases"], Result)
    assert result.document["figures"]["latency_ms"]["p50"] == result.figures.latency_ms.p50
    assert result.plan["phases"] == result.document["plan"]["phases"]
    assert {interval.phase for interval in result.series.intervals} == {"warm_up", "measured", "drain"}
    assert result.ended_early is None
    assert result.calls("success").latency.count == result.figures.all_calls.answered


def test_objectives_and_failures_are_there(documents: dict[str, Path]) -> None:
    unexpected = httperf.load(documents["unexpected"], Result)
    assert [(judged.objective, judged.outcome) for judged in unexpected.objectives] == [("p99<1s", "missed")]
    assert unexpected.calls("unexpected").latency.count == unexpected.summary.mismatches.status == 60
    timeouts = httperf.load(documents["timeouts"], Result)
    assert timeouts.summary.errors == {"client-timo": 40}
    p50 = timeouts.all_calls_quantile(0.5)
    assert p50 is not None
    assert p50.or_more
    for result in (unexpected, timeouts, httperf.load(documents["none"], Result)):
        for share in (99, -3):
            with pytest.raises(ValueError, match=f"expected a share from 0 to 1, got {share}"):
                result.all_calls_quantile(share)


def test_fields_that_a_newer_program_has_added_are_ignored(documents: dict[str, Path]) -> None:
    document = read_json(documents["calls"])
    expected = httperf.loads(json.dumps(document), Result)
    for place in (document, document["summary"], document["figures"], document["parts"][0]):
        place["of_the_future"] = {"a": [1]}
    assert httperf.loads(json.dumps(document), Result).summary == expected.summary


def test_a_document_of_another_kind_is_refused_by_name(documents: dict[str, Path], sweep_file: Path) -> None:
    with pytest.raises(DocumentError, match=r"calls\.json: not a sweep of httperf, but a result$"):
        httperf.load(documents["calls"], httperf.Sweep)
    with pytest.raises(DocumentError, match=r"sweep\.json: not a result of httperf, but a sweep$"):
        httperf.load(sweep_file, Result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[1]", "not a document of httperf: expected a `format` of httperf-result, httperf-sweep"),
        ('{"format": "k6"}', "got 'k6'"),
        ('{"format": "httperf-result", "version": 2}', "version 2 of the format is newer than this package"),
        ('{"format": "httperf-sweep", "version": 9}', "version 9 of the format is newer than this package"),
        ('{"format": "httperf-result", "version": "1"}', "version: expected a whole number, got '1'"),
        ('{"format": "httperf-result", "version": 1}', "parts: expected a list, got None"),
        ('{"format": "httperf-result", "version": 1, "parts": []}', "parts: expected at least one run, got none"),
        ('{"format": "httperf-capacity", "version": 1}', "settings: expected an object, got None"),
        ('{"format": "httperf-comparison", "version": 1}', "confidence: expected a number, got None"),
    ],
)
def test_what_is_no_document_is_refused_in_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(DocumentError) as refused:
        httperf.load(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("summary.replies", "many", "summary.replies: expected a whole number, got 'many'"),
        ("summary.replies", True, "summary.replies: expected a whole number, got True"),
        ("summary.gave_up", 1, "summary.gave_up: expected true or false, got 1"),
        ("summary.series.intervals.0.phase", "hot", "summary.series.intervals[0].phase: expected one of warm_up, "),
        ("summary.connect.moments.min_ns", 10**12, "summary.connect.moments: expected consistent moments, got 3 times"),
        ("summary.connect.moments.sum_ns", "-1", "summary.connect.moments.sum_ns: expected a string of digits"),
        pytest.param(
            "summary.connect.moments.sum_ns",
            "9" * 5000,
            "summary.connect.moments.sum_ns: expected a number of 128 bits, got 5000 digits",
            id="thousands of digits",
        ),
        (
            "summary.connect.moments.sum_ns",
            "340282366920938463463374607431768211456",
            "summary.connect.moments.sum_ns: expected a number of 128 bits, got 39 digits",
        ),
        ("summary.duration_ns", 1 << 64, "summary.duration_ns: expected a number of 64 bits"),
        pytest.param(
            "figures.rate_asked", 10**400, "figures.rate_asked: expected a number of 64 bits", id="a rate beyond all"
        ),
        ("plan.recording", None, "plan.recording: expected an object, got None"),
        ("plan.recording", {"detail": 1}, "plan.recording.detail: expected true or false, got 1"),
        ("summary.connect.histogram", "AAAA", "summary.connect.histogram: expected the compressed V2 encoding"),
        ("summary.connect.histogram", "", "summary.connect.histogram: expected 3 values, got 0"),
        ("summary.calls", [{}], "summary.calls[0]: missing field `latency`"),
        ("summary.periodic", [1, 2, 3], "summary.periodic: expected 2 items, got 3"),
        ("verdict.level", "FINE", "verdict.level: expected one of VALID, SUSPECT, INVALID, got 'FINE'"),
        ("parts.0.machine", None, "parts[0].machine: expected an object, got None"),
    ],
)
def test_a_field_that_is_wrong_is_named(
    documents: dict[str, Path], path: str, value: Any, message: str, tmp_path: Path
) -> None:
    document = copy.deepcopy(httperf.load(documents["calls"], Result).document)
    place: Any = document
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    with pytest.raises(DocumentError) as refused:
        httperf.loads(json.dumps(document))
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_lists_and_objects_within_too_many_others_are_refused(opening: str) -> None:
    with pytest.raises(DocumentError, match="lists or objects within too many others"):
        httperf.loads(opening * 200_000)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_numbers_are_refused(word: str) -> None:
    with pytest.raises(DocumentError, match=f"not JSON: {word} is no number"):
        httperf.loads(f'{{"format": {word}}}')


def test_a_number_beyond_all_is_refused(documents: dict[str, Path]) -> None:
    text = documents["calls"].read_text().replace('"rate_asked": ', '"rate_asked": 1e999, "was": ')
    with pytest.raises(DocumentError, match=r"figures\.rate_asked: expected a number, got inf"):
        httperf.loads(text)


@pytest.mark.parametrize("plan", [{}, {"workload": None}, {"workload": {"connections": 1}}])
def test_a_plan_of_several_runs_has_a_workload(plan: Any, sweep_file: Path) -> None:
    document = read_json(sweep_file)
    document["plan"] = plan
    with pytest.raises(DocumentError, match=r"plan\.workload"):
        httperf.loads(json.dumps(document))


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        httperf.load(tmp_path / "none.json")


def test_documents_are_read_on_systems_that_lack_what_posix_has(documents: dict[str, Path]) -> None:
    """Windows has neither these signals nor these modules; only the program needs Linux."""
    script = """
import signal, sys
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
import httperf
print(httperf.load(sys.argv[1], httperf.Result).summary.replies)
"""
    assert output_of(script, Path.cwd(), os.fspath(documents["calls"])) == "400\n"


def test_what_is_to_be_installed_is_our_distribution() -> None:
    """On PyPI, `httperf` is another project's."""
    manifest = (ROOT / "python" / "pyproject.toml").read_text()
    assert '\nname = "httperf-load"\n' in manifest
    pages = ["README.md", "docs/reference/python.md", "docs/guide/install.md", "python/README.md"]
    files = [*(ROOT / "python" / "src").rglob("*.py"), *(ROOT / "python" / "examples").iterdir()]
    installed = re.compile(r"pip(?:x run --spec| install)(?: --upgrade)? '?(?:\./)?(httperf\w*(?:-load)?)")
    texts = [file.read_text() for file in (*files, *(ROOT / page for page in pages))]
    assert {name for text in texts for name in installed.findall(text)} == {"httperf-load", "httperf_load"}


def test_the_version_is_that_of_the_program() -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    assert f'\n[workspace.package]\nversion = "{httperf.__version__}"\n' in manifest
