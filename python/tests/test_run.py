"""Starting of the program: what it measured, and what it says where it fails."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import httperf
from conftest import serving
from httperf import Capacity, Comparison, Result, RunError, Sweep, TlsLab
from support import output_of


def test_a_run_is_measured(url: str) -> None:
    result = httperf.run([url, "--rate", "400", "--num-conns", "40"], Result)
    assert (result.exit_status, result.summary.replies, result.latency.count) == (0, 40, 40)
    assert result.parts[0].command[1] == url


def test_objectives_that_are_missed_are_a_status_and_not_a_failure(url: str) -> None:
    result = httperf.run([url, "--rate", "200", "--num-conns", "30", "--slo", "max<1us"], Result)
    assert result.exit_status == 4
    assert [judged.outcome for judged in result.objectives] == ["missed"]


def test_other_commands_return_their_documents(url: str) -> None:
    quick = ["--warmup", "0", "--pause", "0"]
    sweep = httperf.run(["sweep", url, "--rates", "50", "--duration", "0.2", "--settle", "0", *quick], Sweep)
    assert len(sweep.runs) == 1
    trials = ["--trials", "1", "--trial-min", "0.2", "--trial-max", "0.3", "--start", "100", "--max-rate", "200"]
    capacity = httperf.run(["capacity", url, "--slo", "p90<5s", *trials, *quick], Capacity)
    assert list(capacity.to_pandas()["rate"]) == [trial.rate for trial in capacity.trials] == [100.0]
    turns = httperf.run(["ab", url, url, "--request-rate", "100", "--rounds", "2", "--trial", "0.2", *quick])
    assert isinstance(turns, Comparison)
    assert turns.base.name == url


def test_variants_of_tls_are_compared() -> None:
    with serving("--tls") as url:
        lab = httperf.run(["tls-lab", url, "--groups", "X25519,P-256", "--rounds", "2", "--handshakes", "2"], TlsLab)
    assert [variant.name for variant in lab.variants] == ["X25519", "P-256"]
    assert (lab.rounds_complete, lab.interrupted) == (2, False)


def test_saved_results_are_compared(documents: dict[str, Path]) -> None:
    files = [documents["calls"], documents["calls"]]
    comparison = httperf.run(["compare", *files, "--force"], Comparison)
    assert [subject.new.replies for subject in comparison.against] == [400]


def test_what_the_program_refuses_is_raised_with_its_message(url: str, documents: dict[str, Path]) -> None:
    with pytest.raises(RunError) as refused:
        httperf.run([url, "--rate", "fast"])
    assert (refused.value.status, refused.value.document) == (1, None)
    assert refused.value.messages == "httperf: illegal request rate fast"
    assert str(refused.value) == "httperf exited with status 1: httperf: illegal request rate fast"
    with pytest.raises(RunError, match="the plans differ in"):
        httperf.merge([documents["calls"], documents["connections"]])
    with pytest.raises(RunError, match="hold the same run"):
        httperf.merge([documents["calls"], documents["calls"]])


def test_a_run_that_failed_after_all_is_raised_with_what_it_measured(url: str) -> None:
    """A server without TLS: the first handshake fails, and none succeeds."""
    with pytest.raises(RunError) as failed:
        httperf.run([url.replace("http:", "https:"), "--num-conns", "2", "--timeout", "5"])
    assert failed.value.status == 255
    assert isinstance(failed.value.document, Result)
    assert failed.value.document.summary.replies == 0


def test_an_output_of_ones_own_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="expected arguments without --output"):
        httperf.run([url, "--output", "r.json"])


INTERRUPTED = """
import os, signal, sys, threading, time
import httperf

def interrupt():
    while not (os.path.exists("log") and os.path.getsize("log")):
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)

# It is ignored where the tests were started in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
arguments = [sys.argv[1], "--rate", "50", "--duration", "120", "--interval-log", "log"]
result = httperf.run(arguments, httperf.Result)
print(result.exit_status, result.ended_early, result.summary.replies > 0)
"""


def test_an_interrupt_ends_a_run_with_what_was_measured(url: str, tmp_path: Path) -> None:
    assert output_of(INTERRUPTED, tmp_path, url) == "0 asked True\n"


TWICE = """
import os, signal, threading, time
import httperf

def interrupt():
    while not os.path.exists("started"):
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)

# It is ignored where the tests were started in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
try:
    httperf.run([])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_second_interrupt_kills_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn = tmp_path / "stubborn"
    stubborn.write_text("#!/bin/sh\ntrap '' INT\n: >started\nexec sleep 90\n")
    stubborn.chmod(0o755)
    monkeypatch.setenv("HTTPERF", os.fspath(stubborn))
    assert output_of(TWICE, tmp_path) == "interrupted\n"


def test_a_program_that_a_signal_ended_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "httperf"
    crashing.write_text("#!/bin/sh\necho oh >&2\nkill -ABRT $$\n")
    crashing.chmod(0o755)
    monkeypatch.setenv("HTTPERF", os.fspath(crashing))
    with pytest.raises(RunError, match="httperf was ended by signal 6: oh") as failed:
        httperf.run([])
    assert failed.value.status == -signal.SIGABRT


def test_the_program_is_found_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httperf._run._script_folders", lambda: [os.fspath(tmp_path / "scripts")])
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "path"))
    monkeypatch.delenv("HTTPERF")
    with pytest.raises(httperf.ProgramNotFoundError, match="neither beside this package nor on the search path"):
        httperf.find_program()
    # Each of these comes before those above it.
    for folder in ("path", "scripts", "named"):
        program = tmp_path / folder / "httperf"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        if folder == "named":
            monkeypatch.setenv("HTTPERF", os.fspath(program))
        assert httperf.find_program() == program
    monkeypatch.setenv("HTTPERF", os.fspath(tmp_path / "none"))
    with pytest.raises(httperf.ProgramNotFoundError, match="HTTPERF: expected a program, got"):
        httperf.find_program()
