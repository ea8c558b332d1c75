"""Values of JSON as values of Python's types, with errors that name the field."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Literal, Union

from ._errors import DocumentError

__all__ = ["MisshapenError", "default", "json_name", "read"]

Reader = Callable[[Any, str], Any]


class MisshapenError(DocumentError):
    """A field with an unexpected value."""

    def __init__(self, path: str, wrong: str) -> None:
        self.path = path
        super().__init__(f"{path}: {wrong}" if path else wrong)


def read(kind: Any, value: Any, path: str) -> Any:
    """Reads a value of this type. `path` is the name of its field.

    Types are those that documents consist of: dataclasses, whose fields have the names of JSON's; classes with a
    ``from_json`` of their own; numbers, strings, lists, objects, literals and unions of them. Fields that a
    dataclass does not have are ignored: a newer program of the same version may have added them.
    """
    return _reader_of(kind)(value, path)


def default(kind: Any, value: Any) -> Callable[[], Any]:
    """A factory of the value that a field has in documents that lack it."""
    return lambda: read(kind, value, "")


def json_name(field: dataclasses.Field[Any]) -> str:
    """Name of the field in documents, if it is no name in Python."""
    name: str = field.metadata.get("json", field.name)
    return name


@cache
def _reader_of(kind: Any) -> Reader:
    if kind is Any:
        return lambda value, path: value
    if hasattr(kind, "from_json"):
        reader: Reader = kind.from_json
        return reader
    if dataclasses.is_dataclass(kind):
        return _reader_of_dataclass(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _reader_of_union(arguments)
    if origin is Literal:
        return _reader_of_literal(arguments)
    if origin is tuple:
        return _reader_of_tuple(arguments)
    if origin is dict:
        return _reader_of_dict(*arguments)
    return _reader_of_scalar(kind)


def _reader_of_dataclass(kind: Any) -> Reader:
    hints = typing.get_type_hints(kind)
    fields = [
        (field.name, json_name(field), _reader_of(hints[field.name]), _is_optional(field))
        for field in dataclasses.fields(kind)
        if field.init
    ]

    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _unexpected("an object", value, path)
        arguments = {}
        for name, key, reader_of_field, is_optional in fields:
            if key in value:
                arguments[name] = reader_of_field(value[key], f"{path}.{key}" if path else key)
            elif not is_optional:
                raise MisshapenError(path, f"missing field `{key}`")
        return kind(**arguments)

    return reader


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _reader_of_union(kinds: tuple[Any, ...]) -> Reader:
    readers = [_reader_of(kind) for kind in kinds if kind is not type(None)]
    is_optional = len(readers) < len(kinds)

    def reader(value: Any, path: str) -> Any:
        if value is None and is_optional:
            return None
        for read_first in readers[:-1]:
            with suppress(MisshapenError):
                return read_first(value, path)
        return readers[-1](value, path)

    return reader


def _reader_of_literal(words: tuple[str, ...]) -> Reader:
    def reader(value: Any, path: str) -> Any:
        if value not in words:
            raise _unexpected(f"one of {', '.join(words)}", value, path)
        return value

    return reader


def _reader_of_tuple(kinds: tuple[Any, ...]) -> Reader:
    is_list = len(kinds) == 2 and kinds[1] is Ellipsis
    readers = [_reader_of(kind) for kind in kinds if kind is not Ellipsis]

    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _unexpected("a list", value, path)
        if not is_list and len(value) != len(readers):
            raise MisshapenError(path, f"expected {len(readers)} items, got {len(value)}")
        each = readers * len(value) if is_list else readers
        return tuple(
            read_item(item, f"{path}[{i}]") for i, (read_item, item) in enumerate(zip(each, value, strict=True))
        )

    return reader


def _reader_of_dict(_key: Any, kind: Any) -> Reader:
    inner = _reader_of(kind)

    def reader(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _unexpected("an object", value, path)
        return {key: inner(item, f"{path}.{key}") for key, item in value.items()}

    return reader


_SCALARS: dict[Any, tuple[str, tuple[Any, ...]]] = {
    bool: ("true or false", (bool,)),
    # Whole numbers may stand for others, as 1 for 1.0.
    float: ("a number", (int, float)),
    int: ("a whole number", (int,)),
    str: ("a string", (str,)),
}


def _reader_of_scalar(kind: Any) -> Reader:
    name, types_of_json = _SCALARS[kind]

    def reader(value: Any, path: str) -> Any:
        # In Python, booleans are whole numbers.
        if not isinstance(value, types_of_json) or isinstance(value, bool) != (kind is bool):
            raise _unexpected(name, value, path)
        # In Python, whole numbers have no bounds.
        if type(value) is int and not _LEAST <= value <= _MOST:
            raise MisshapenError(path, "expected a number of 64 bits")
        if type(value) is float and not math.isfinite(value):
            raise _unexpected(name, value, path)
        return kind(value)

    return reader


_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""Bounds of whole numbers in documents."""


def _unexpected(expected: str, value: Any, path: str) -> MisshapenError:
    shown = repr(value)
    shown = f"{shown[:60]}…" if len(shown) > 60 else shown
    return MisshapenError(path, f"expected {expected}, got {shown}")
