"""What tests share: the program under test, and documents as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Union

from httperf._read import json_name

ROOT = Path(__file__).resolve().parents[2]


def program() -> str | None:
    """The program under test: that of ``HTTPERF``, else the one that `cargo build` has made."""
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "httperf"
    return os.environ.get("HTTPERF") or (os.fspath(built) if built.exists() else None)


def prints(*arguments: str | os.PathLike[str]) -> str:
    """What the program prints with these arguments, which must succeed."""
    command = [os.environ["HTTPERF"], *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def output_of(script: str, folder: Path, *arguments: str) -> str:
    """What a script prints that is run in this folder; it must not complain."""
    with started(script, folder, *arguments) as python:
        printed, complaints = python.communicate(timeout=80)
    assert complaints == ""
    return printed


@contextmanager
def started(script: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Python with a script, in this folder and in a process group of its own, which ends with the test."""
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT / "python" / "src")}
    python = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with python:
        try:
            yield python
        finally:
            with suppress(ProcessLookupError):
                os.killpg(python.pid, signal.SIGKILL)


def as_json(record: Any) -> Any:
    """A record as JSON, without what is null."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        if hasattr(record, "to_json"):
            return record.to_json()
        fields = {json_name(field): getattr(record, field.name) for field in dataclasses.fields(record)}
        return {name: as_json(value) for name, value in fields.items() if value is not None}
    if isinstance(record, (tuple, list)):
        return [as_json(item) for item in record]
    if isinstance(record, dict):
        return {key: as_json(value) for key, value in record.items() if value is not None}
    return record


def without_optional(kind: Any, value: Any) -> Any:
    """A value of JSON of this type, without the fields that older documents may lack."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return value if value is None else without_optional(arguments[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = [arguments[0]] * len(value) if Ellipsis in arguments else arguments
        return [without_optional(item_kind, item) for item_kind, item in zip(kinds, value, strict=True)]
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "from_json"):
        return value
    hints = typing.get_type_hints(kind)
    required = {
        json_name(field): hints[field.name]
        for field in dataclasses.fields(kind)
        if (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
        # Times that are not known have always been written, as null.
        or (field.name.endswith("_ns") and field.default is None and field.name != "receive_lag_ns")
    }
    return {key: without_optional(required[key], item) for key, item in value.items() if key in required}


def read_json(path: Path) -> Any:
    """The value in a file of JSON."""
    return json.loads(path.read_text())
