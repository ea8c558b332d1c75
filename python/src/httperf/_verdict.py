"""Reasons of a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ._read import read

__all__ = ["Level", "Reason"]

Level: TypeAlias = Literal["VALID", "SUSPECT", "INVALID"]


@dataclass(frozen=True)
class Reason:
    """A finding about a run, and its severity."""

    level: Level
    """Severity. Mere notes are ``VALID``."""
    code: str
    """What was found, such as ``schedule_lag`` (docs/guide/verdict.md)."""
    details: dict[str, Any] = field(default_factory=dict)
    """The measured values that led to it, with the names that they have in the document."""

    @classmethod
    def from_json(cls, value: Any, path: str) -> Reason:
        """Reads the form in documents, where details stand beside the code."""
        saved = dict(read(dict[str, Any], value, path))
        level: Level = read(Level, saved.pop("level", None), f"{path}.level")
        return cls(level, read(str, saved.pop("code", None), f"{path}.code"), saved)
