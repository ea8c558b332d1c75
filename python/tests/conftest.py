"""A server for all tests, and documents that the program has made of short runs against it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import settings

import support

mpl.use("agg")
# Tests send these to programs. Where pytest was started with them ignored, as by nohup, so would they be.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("same")

# With the tools of `scripts/python.sh long`.
if importlib.util.find_spec("nbclient") is None:
    collect_ignore = ["test_jupyter.py"]

RUNS = {
    "connections": "--rate 400 --num-conns 200 --num-calls 2",
    "calls": "--request-rate 800 --num-calls 400 --concurrency 3",
    "phases": "--rate 200 --duration 0.6 --warmup 0.3 --drain 0.3",
    "sessions": "--wsess=20,3,0 --rate 200 --burst-length 2",
    "status": "--rate 200 --num-conns 60 --uri /status/503",
    "unexpected": "--rate 200 --num-conns 60 --expect-status 404 --slo p99<1s",
    "timeouts": "--rate 200 --num-conns 40 --uri /delay/2s --timeout 0.05",
    "pending": "--rate 200 --duration 0.3 --uri /delay/200ms --timeout 5",
    "streams": "--rate 100 --num-conns 20 --uri /sse/5 --stream=sse",
    "kernel": "--rate 200 --num-conns 60 --kernel-sends 2",
    "classic": "--num-conns 20 --record classic",
    "none": "--num-conns 0",
}
"""Options of short runs, by what is special in them."""


@pytest.fixture(scope="session", autouse=True)
def _program() -> Iterator[None]:
    program = support.program()
    if program is None:
        pytest.skip("no program: HTTPERF is not set, and target/debug/httperf is not there")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPERF", program)
        yield


@pytest.fixture(scope="session")
def url(_program: None) -> Iterator[str]:
    """URL of a server that runs as long as the tests."""
    with serving() as url:
        yield url


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """A server of the program with these options: its URL."""
    command = [os.environ["HTTPERF"], "serve", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().removeprefix("listening on ").strip()
        server.terminate()


@pytest.fixture(scope="session")
def documents(url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files with the results of `RUNS`."""
    folder = tmp_path_factory.mktemp("documents")
    files = {name: folder / f"{name}.json" for name in RUNS}

    def make(name: str) -> None:
        words = RUNS[name].split()
        path = words.pop(words.index("--uri") + 1) if "--uri" in words else "/"
        words = [url.rstrip("/") + path, *(word for word in words if word != "--uri")]
        # Objectives that are not met have a status of their own.
        command = [os.environ["HTTPERF"], *words, "--output", os.fspath(files[name])]
        subprocess.run(command, check=name != "unexpected", capture_output=True, timeout=120)

    # They wait more than they compute.
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(make, RUNS))
    return files


@pytest.fixture(scope="session")
def sweep_file(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File with a sweep."""
    file = tmp_path_factory.mktemp("sweep") / "sweep.json"
    options = "--rates 40,80 --repeats 2 --duration 0.3 --warmup 0 --drain 0.1 --pause 0 --settle 0 --timeout 2"
    support.prints("sweep", url, *options.split(), "--output", file)
    return file


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says what came of the tests in the words that scripts/checks.sh looks for."""
    stats = terminalreporter.stats
    failed = stats.get("failed", []) + stats.get("error", [])
    for report in failed:
        print(f"test {report.nodeid} ... FAILED")
    result = "FAILED" if failed else "ok"
    ignored = len(stats.get("skipped", []))
    print(f"test result: {result}. {len(stats.get('passed', []))} passed; {len(failed)} failed; {ignored} ignored;")
