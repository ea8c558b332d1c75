"""A server for all tests, and documents that the program has made of short runs against it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

import support

mpl.use("agg")

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
    command = [os.environ["HTTPERF"], "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield line.removeprefix("listening on ").strip()
        server.terminate()


@pytest.fixture(scope="session")
def documents(url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files with the results of `RUNS`."""
    folder = tmp_path_factory.mktemp("documents")
    files = {name: folder / f"{name}.json" for name in RUNS}
    for name, options in RUNS.items():
        words = options.split()
        target = url
        if "--uri" in words:
            at = words.index("--uri")
            target = url.rstrip("/") + words[at + 1]
            del words[at : at + 2]
        # Objectives that are not met have a status of their own.
        command = [os.environ["HTTPERF"], target, *words, "--output", os.fspath(files[name])]
        subprocess.run(command, check=name != "unexpected", capture_output=True, timeout=120)
    return files


@pytest.fixture(scope="session")
def sweep_file(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File with a sweep."""
    file = tmp_path_factory.mktemp("sweep") / "sweep.json"
    options = "--rates 40,80 --repeats 2 --duration 0.3 --warmup 0 --drain 0.1 --pause 0 --settle 0 --timeout 2"
    support.prints("sweep", url, *options.split(), "--output", file)
    return file


@pytest.fixture(scope="session")
def comparison_file(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File with a comparison of two runs of several seconds' worth of calls."""
    file = tmp_path_factory.mktemp("comparison") / "comparison.json"
    options = "--request-rate 300 --rounds 4 --trial 0.3 --warmup 0 --pause 0"
    command = [os.environ["HTTPERF"], "ab", url, url, *options.split(), "--output", os.fspath(file)]
    subprocess.run(command, check=False, capture_output=True, timeout=120)
    return file
