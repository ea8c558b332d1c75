"""The program: where it is, and what it measures for us."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, overload

from ._errors import ProgramNotFoundError, RunError
from ._load import AnyDocument, Comparison, Document, Result, Source, load

__all__ = ["find_program", "merge", "run"]

D = TypeVar("D", bound=Document)


@overload
def run(arguments: Sequence[str | os.PathLike[str]]) -> AnyDocument: ...
@overload
def run(arguments: Sequence[str | os.PathLike[str]], kind: type[D]) -> D: ...
def run(arguments: Sequence[str | os.PathLike[str]], kind: type[Document] = Document) -> Document:
    """Runs ``httperf`` with these arguments, and returns what it measured.

    Takes the arguments of a run, and those of commands that write a document with ``--output``: ``sweep``,
    ``capacity``, ``ab``, ``compare``, ``run``, ``replay``, ``rerun``. With a `kind`, such as `httperf.Sweep`, the
    document must be of it.

    The document's `exit_status` and `messages` are those of the program. Status 2, 3 and 4 (the verdict with
    ``--strict``, objectives that were not met) come with a document, which is returned; so does status 1 of a
    comparison in which a figure is worse. Any other failure raises `RunError`.

    The first `KeyboardInterrupt` ends the run early, as Ctrl-C in a terminal: what was measured is returned, and its
    `ended_early` is ``"asked"``. The second one kills the program and is raised.
    """
    words = [os.fspath(argument) for argument in arguments]
    for word in words:
        if word == "--output" or word.startswith("--output="):
            raise ValueError("expected arguments without --output: the document is returned, and has a method `save`")
    program = find_program()
    with tempfile.TemporaryDirectory(prefix="httperf-") as folder:
        file = Path(folder) / "document.json"
        command = _with_output(words, file)
        status, messages = _wait_for([str(program), *command])
        document = load(file, kind) if file.exists() and file.stat().st_size > 0 else None
    if document is not None:
        document = document._after_run(status, messages)
        if status in _MEASURED or (status == 1 and isinstance(document, Comparison)):
            return document
    raise RunError(status, messages, document)


_MEASURED = (0, 2, 3, 4, 129, 143)
"""Exit statuses that say something about what was measured, not about a failure to measure.

The last two are those after SIGHUP, a name that Windows lacks, and SIGTERM.
"""


def merge(results: Iterable[Source | Result]) -> Result:
    """Adds up results of generators that worked together, as ``httperf merge`` does.

    Takes paths, and results. The program does it: whether plans go together, and what the verdict on the whole is,
    has one definition. Single timings add up without it: ``a.latency + b.latency``.

    Raises `RunError` if the results do not go together; the message names the reason.
    """
    with tempfile.TemporaryDirectory(prefix="httperf-") as folder:
        names = []
        for index, result in enumerate(results):
            if isinstance(result, Result):
                name = Path(folder) / f"{index}.json"
                result.save(name)
                names.append(os.fspath(name))
            else:
                names.append(os.fspath(result))
        return run(["merge", *names], Result)


def find_program() -> Path:
    """Path of the program ``httperf``: that of the environment's variable ``HTTPERF``, else the one that was installed
    with this package, else the first one on the search path.

    Raises `ProgramNotFoundError` if there is none.
    """
    named = os.environ.get("HTTPERF")
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProgramNotFoundError(f"HTTPERF: expected a program, got {named!r}")
        return Path(found)
    for folder in _script_folders():
        installed = shutil.which("httperf", path=folder)
        if installed is not None:
            return Path(installed)
    found = shutil.which("httperf")
    if found is None:
        raise ProgramNotFoundError(
            "no program httperf: neither beside this package nor on the search path (PATH), and HTTPERF is not set"
        )
    return Path(found)


def _script_folders() -> list[str]:
    """Folders into which pip puts programs: of this environment, of the user, and with ``--target``."""
    user = sysconfig.get_path("scripts", f"{os.name}_user")
    target = Path(__file__).parent.parent / "bin"
    return [sysconfig.get_path("scripts"), user, os.fspath(target)]


def _with_output(words: Sequence[str], file: Path) -> list[str]:
    # A word behind the `--` that ends the options would be no option.
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], "--output", os.fspath(file), *words[at:]]


def _wait_for(command: Sequence[str]) -> tuple[int, str]:
    """Exit status and messages of a program. A keyboard interrupt reaches it once, and is not raised."""
    # Messages go to a file, since what is read from a pipe is lost at an interrupt. In a session of its own, Ctrl-C in
    # a terminal does not reach the program a second time: that would kill it.
    with tempfile.TemporaryFile("w+", errors="replace") as messages:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,
        )
        try:
            try:
                process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        messages.seek(0)
        return process.returncode, messages.read().strip()
