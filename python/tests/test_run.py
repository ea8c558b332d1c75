"""Starting of the program: what it measured, and what it says where it fails."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

import httperf
from conftest import serving
from httperf import Capacity, Comparison, Document, Result, RunError, Sweep, TlsLab
from support import output_of, started


def test_a_run_is_measured(url: str) -> None:
    result = httperf.run([url, "--rate", "400", "--num-conns", "40"], Result)
    assert (result.exit_status, result.summary.replies, result.latency.count) == (0, 40, 40)
    assert result.parts[0].command[3:] == (url, "--rate", "400", "--num-conns", "40")


@pytest.mark.parametrize("start", ["", "httperf "])
def test_a_command_line_is_split_as_a_shell_splits_it(url: str, start: str) -> None:
    result = httperf.run(f"{start}--num-conns 2 --header 'X-Words: two words' {url}")
    assert isinstance(result, Result)
    assert result.summary.connections == 2
    with pytest.raises(ValueError, match="No closing quotation"):
        httperf.run(f"--header 'X-Words: {url}")


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
    turns = httperf.run(["ab", url, url, "--request-rate", "100", "--rounds", "2", "--force", "--trial", "0.2", *quick])
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
    with pytest.raises(RunError, match="plans that differ in"):
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


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("http://127.0.0.1:1/ --rate 5", Sweep, "expected arguments that make a sweep, got those of a result"),
        ("--server localhost", TlsLab, "a comparison of TLS variants, got those of a result"),
        ("", Capacity, "a search for a capacity, got those of a result"),
        ("sweep http://127.0.0.1:1/", Result, "a result, got those of a sweep"),
        ("ab http://127.0.0.1:1/ http://127.0.0.1:1/", Result, "a result, got those of a comparison"),
        ("capacity http://127.0.0.1:1/", Sweep, "a sweep, got those of a search for a capacity"),
        ("tls-lab https://127.0.0.1:1/", Comparison, "a comparison, got those of a comparison of TLS variants"),
        ("replay access.log http://127.0.0.1:1/", Comparison, "a comparison, got those of a result"),
    ],
)
def test_arguments_that_make_another_document_are_refused_before_the_run(
    words: str, kind: type[Document], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, ": >$home/started")
    with pytest.raises(ValueError, match=message):
        httperf.run(words.split(), kind)
    assert not (tmp_path / "started").exists()


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Puts a script in the place of the program. `$home` is its folder."""
    stand_in = folder / "stand-in"
    stand_in.write_text(f"#!/bin/sh\nhome={folder}\n{script}\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("HTTPERF", os.fspath(stand_in))
    return stand_in


# As a newer program with a command that is not known yet: it copies what stands in for its document.
COPIES = 'while [ $# -gt 0 ]; do [ "$1" != --output ] || cp "$home/made.json" "$2"; shift; done; echo oh >&2'


def test_a_document_of_another_kind_is_not_lost(
    documents: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(documents["calls"], tmp_path / "made.json")
    program(tmp_path, monkeypatch, COPIES)
    with pytest.raises(RunError) as other:
        httperf.run(["newer"], Sweep)
    assert str(other.value) == "httperf exited with status 0; expected a sweep, got a result: oh"
    assert isinstance(other.value.document, Result)
    assert (other.value.document.summary.replies, other.value.document.messages) == (400, "oh")
    # That the program failed is said first.
    program(tmp_path, monkeypatch, f"{COPIES}; exit 255")
    with pytest.raises(RunError, match=r"^httperf exited with status 255: oh$"):
        httperf.run(["newer"], Sweep)


@pytest.mark.parametrize("status", [0, 2, 255])
def test_a_document_that_cannot_be_read_is_kept(status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"format": "httperf-result", "version": 7}'
    (tmp_path / "made.json").write_text(text)
    program(tmp_path, monkeypatch, f"{COPIES}; exit {status}")
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    with pytest.raises(RunError) as failed:
        httperf.run([])
    assert (failed.value.status, failed.value.messages, failed.value.document) == (status, "oh", None)
    assert failed.value.file is not None
    assert failed.value.file.read_text() == text
    said = f"httperf exited with status {status}; the document cannot be read (version 7 of the format is newer than "
    assert str(failed.value).startswith(said)
    assert str(failed.value).endswith(f"; the document is in {failed.value.file}: oh")


def test_nothing_is_left_behind(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    httperf.run([url, "--num-conns", "1"])
    with pytest.raises(RunError):
        httperf.run([url, "--rate", "fast"])
    with pytest.raises(RunError, match=r"^httperf exited with status 0; there is no document$"):
        httperf.run(["--version"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("--output", "--output"),
        ("--output=r.json", "--output"),
        ("--outp=r.json", "--output"),
        ("--ou", "--output"),
        ("--json", "--json"),
        ("--js", "--json"),
    ],
)
def test_an_output_of_ones_own_is_refused(word: str, option: str) -> None:
    for words in ([word], ["sweep", "http://127.0.0.1:1/", word]):
        with pytest.raises(ValueError, match=f"expected arguments without {option}, got {word}: the document is"):
            httperf.run(words)


def test_the_document_is_written_where_the_first_word_ends_the_options(
    url: str, documents: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    calls = os.fspath(documents["calls"])
    (tmp_path / "visit.hurl").write_text(f"GET {url}\nHTTP 200\n")
    (tmp_path / "access.log").write_text('1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 5\n')
    quick = ["--warmup", "0", "--pause", "0", "--settle", "0"]
    trials = ["--trials", "1", "--trial-min", "0.2", "--trial-max", "0.3", "--start", "100", "--max-rate", "200"]
    for words in (
        ["--num-conns", "3", url],
        [url],
        ["sweep", "--rates", "50", "--duration", "0.2", *quick, url],
        ["capacity", "--slo", "p90<5s", *trials, *quick[:4], url],
        ["ab", "--request-rate", "100", "--rounds", "2", "--force", "--trial", "0.2", *quick[:4], url, url],
        ["compare", "--force", calls, calls],
        ["run", "--rate", "50", "--duration", "0.2", os.fspath(tmp_path / "visit.hurl")],
        ["replay", os.fspath(tmp_path / "access.log"), url],
        ["rerun", calls],
        ["merge", calls],
    ):
        assert httperf.run(words).document, words
    with serving("--tls") as tls:
        httperf.run(["tls-lab", "--groups", "X25519", "--rounds", "1", "--handshakes", "1", tls], TlsLab)


INTERRUPTED = """
import os, signal, sys, threading, time
import httperf

def interrupt():
    while not (os.path.exists("log") and os.path.getsize("log")):
        time.sleep(0.1)
    if sys.argv[2] == "alone":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        os.killpg(0, signal.SIGINT)

# It is ignored where the tests were started in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
arguments = [sys.argv[1], "--rate", "50", "--duration", "120", "--interval-log", "log"]
result = httperf.run(arguments, httperf.Result)
print(result.exit_status, result.ended_early, result.summary.replies > 0)
"""


@pytest.mark.parametrize("whom", ["alone", "group"])
def test_an_interrupt_ends_a_run_with_what_was_measured(whom: str, url: str, tmp_path: Path) -> None:
    """Of Python alone, as by another process; of all its group, as by Ctrl-C in a terminal."""
    assert output_of(INTERRUPTED, tmp_path, url, whom) == "0 asked True\n"


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
    program(tmp_path, monkeypatch, "trap '' INT\n: >$home/started\nexec sleep 90")
    assert output_of(TWICE, tmp_path) == "interrupted\n"


# A program that goes on until it is told to end.
ENDLESS = """
for signal in HUP TERM; do trap "echo $signal >>$home/ended; exit 1" $signal; done
: >$home/started
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("call", ["httperf.run([])", "httperf.merge([])"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_python_ends_the_program_first(
    number: signal.Signals, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, ENDLESS)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with started(f"import httperf; {call}", tmp_path) as python:
        while not (tmp_path / "started").exists():
            assert python.poll() is None
            time.sleep(0.05)
        python.send_signal(number)
        assert python.wait(timeout=60) == -number
    assert (tmp_path / "ended").read_text() == f"{number.name[3:]}\n"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_signals_that_python_handles_are_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, ENDLESS)
    script = "import httperf, signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); httperf.run([])"
    with started(script, tmp_path) as python:
        while not (tmp_path / "started").exists():
            assert python.poll() is None
            time.sleep(0.05)
        python.terminate()
        assert python.wait(timeout=60) == 7
    # The program was killed.
    assert not (tmp_path / "ended").exists()


def test_a_program_that_a_signal_ended_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "echo oh >&2\nkill -ABRT $$")
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
