"""The program: where it is, and what it measures for us."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar, overload

from ._errors import DocumentError, ProgramNotFoundError, RunError
from ._load import AnyDocument, Capacity, Comparison, Document, Result, Source, Sweep, TlsLab, load

__all__ = ["find_program", "merge", "run"]

D = TypeVar("D", bound=Document)


@overload
def run(arguments: str | Sequence[str | os.PathLike[str]]) -> AnyDocument: ...
@overload
def run(arguments: str | Sequence[str | os.PathLike[str]], kind: type[D]) -> D: ...
def run(arguments: str | Sequence[str | os.PathLike[str]], kind: type[Document] = Document) -> Document:
    """Runs ``httperf`` with these arguments, and returns what it measured.

    A string is split as a shell would split it; the name of the program may come first. Nothing in it is expanded.

    Takes the arguments of a run, and those of commands that write a document with ``--output``: ``sweep``,
    ``capacity``, ``ab``, ``compare``, ``tls-lab``, ``run``, ``replay``, ``rerun``, ``merge``. With a `kind`, such as
    `httperf.Sweep`, the document must be of it.

    The document's `exit_status` and `messages` are those of the program. Status 2, 3 and 4 (the verdict with
    ``--strict``, objectives that were not met) come with a document, which is returned; so does status 1 of a
    comparison in which a figure is worse. Any other failure raises `RunError`.

    A document of another kind than `kind` raises `ValueError` before the run if the command says what it makes, else
    `RunError`, which has the document. One that cannot be read raises `RunError`, which names the file that has it.

    The first `KeyboardInterrupt` ends the run early, as Ctrl-C in a terminal: what was measured is returned, and its
    `ended_early` is ``"asked"``. The second one kills the program and is raised.

    SIGTERM and SIGHUP end the program before they end Python, if they have no handler and this is the main thread. If
    Python is killed otherwise (SIGKILL), the program carries out its run to the end.
    """
    words = _words(arguments)
    _check_options(words)
    made = _made_by(words)
    if made is not None and not issubclass(made, kind):
        raise ValueError(f"expected arguments that make a {kind.kind}, got those of a {made.kind}")
    with _ending_if_asked():
        return _measured(words, kind)


def _words(arguments: str | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The words of a command line, without the name of the program."""
    if not isinstance(arguments, str):
        return [os.fspath(argument) for argument in arguments]
    words = shlex.split(arguments)
    return words[1:] if words[:1] == ["httperf"] else words


def _measured(words: Sequence[str], kind: type[Document]) -> Document:
    """What the program has measured with these words."""
    program = find_program()
    folder = Path(tempfile.mkdtemp(prefix="httperf-"))
    file, is_kept = folder / "document.json", False
    try:
        status, messages = _wait_for([str(program), *_with_output(words, file)])
        is_measured = status in _MEASURED
        if not file.exists() or file.stat().st_size == 0:
            raise RunError(status, messages, problem="there is no document" if is_measured else "")
        # Until it has been read: it may have taken hours to make.
        is_kept = True
        try:
            document = load(file)
        except DocumentError as error:
            reason = str(error).removeprefix(f"{file}: ")
            raise RunError(status, messages, problem=f"the document cannot be read ({reason})", file=file) from error
        is_kept = False
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
    document = document._after_run(status, messages)
    if not (is_measured or (status == 1 and isinstance(document, Comparison))):
        raise RunError(status, messages, document)
    if not isinstance(document, kind):
        raise RunError(status, messages, document, problem=f"expected a {kind.kind}, got a {document.kind}")
    return document


_MADE: dict[str, type[Document]] = {
    "ab": Comparison,
    "capacity": Capacity,
    "compare": Comparison,
    "merge": Result,
    "replay": Result,
    "rerun": Result,
    "run": Result,
    "sweep": Sweep,
    "tls-lab": TlsLab,
}
"""Documents that commands make."""


def _made_by(words: Sequence[str]) -> type[Document] | None:
    """Kind of document that a command line makes; ``None`` if its first word may be a command of a newer program."""
    command = _command(words)
    return _MADE.get(command) if command else Result


def _command(words: Sequence[str]) -> str:
    """The first word if it may be the name of a command: not an option and no URL. Otherwise nothing."""
    return words[0] if words and re.fullmatch("[a-z][a-z-]*", words[0]) else ""


def _with_output(words: Sequence[str], file: Path) -> list[str]:
    """The words with the document's file, in front of all words that may end the options (POSIXLY_CORRECT, ``--``)."""
    at = 1 if _command(words) else 0
    return [*words[:at], "--output", os.fspath(file), *words[at:]]


def _check_options(words: Sequence[str]) -> None:
    """Refuses the options that say where the document goes, also if they are abbreviated."""
    options = words[: words.index("--")] if "--" in words else words
    for word in options:
        name = word.partition("=")[0]
        for option in ("--output", "--json"):
            if len(name) > 2 and option.startswith(name):
                problem = f"expected arguments without {option}, got {word}"
                raise ValueError(f"{problem}: the document is returned, and has a method `save`")


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
    with _ending_if_asked(), tempfile.TemporaryDirectory(prefix="httperf-") as folder:
        names = []
        for index, result in enumerate(results):
            if isinstance(result, Result):
                name = Path(folder) / f"{index}.json"
                result.save(name)
                names.append(os.fspath(name))
            else:
                names.append(os.fspath(result))
        whole = _measured(["merge", *names], Result)
    assert isinstance(whole, Result)
    return whole


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


def _wait_for(command: Sequence[str]) -> tuple[int, str]:
    """Exit status and messages of a program. A keyboard interrupt ends it early, and is not raised."""
    # Messages go to a file, since what is read from a pipe is lost at an interrupt.
    with tempfile.TemporaryFile("w+", errors="replace") as messages:
        # The program stays in Python's process group, so that Ctrl-C, Ctrl-Z, a closed terminal and `timeout` reach
        # both. What comes twice, from there and from here, counts once: the program takes all signals within half a
        # second for the same request.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        try:
            with _passing_on_ends(process):
                try:
                    # Not `process.wait`, which holds back the first interrupt for a quarter of a second.
                    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                except KeyboardInterrupt:
                    process.send_signal(signal.SIGINT)
                except ChildProcessError:
                    pass  # Where SIGCHLD is ignored, nothing is left to wait for.
                process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        messages.seek(0)
        return process.returncode, messages.read().strip()


class _EndedError(BaseException):
    """A signal that is to end Python, once all is cleared away."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def _passing_on_ends(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Passes on the signals that end Python: the program would go on loading a server with nobody listening.

    Raises `_EndedError` afterwards if one came. Signals that somebody handles or ignores stay as they are. Python lets
    only its main thread do this.
    """
    received: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        process.send_signal(number)

    is_main = threading.current_thread() is threading.main_thread()
    watched = [number for number in _ENDS if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in watched:
        signal.signal(number, pass_on)
    try:
        yield
    finally:
        for number in watched:
            signal.signal(number, signal.SIG_DFL)
    if received:
        raise _EndedError(received[0])


_ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals of `kill` and of a closed terminal. Windows lacks SIGHUP."""


@contextmanager
def _ending_if_asked() -> Iterator[None]:
    """Ends Python by the signal that came while the program ran."""
    try:
        yield
    except _EndedError as ended:
        signal.raise_signal(ended.number)
