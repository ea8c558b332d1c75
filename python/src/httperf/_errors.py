"""What can go wrong: a document that cannot be read, a program that is not there, a run without a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ._load import Document

__all__ = ["DocumentError", "Error", "ProgramNotFoundError", "RunError"]


class Error(Exception):
    """Any error of this package."""


class DocumentError(Error, ValueError):
    """A file is not a document of httperf, is newer than this package, or is broken. The message says which."""


class ProgramNotFoundError(Error, FileNotFoundError):
    """The program ``httperf`` is not there. The message says where it was looked for."""


class RunError(Error):
    """The program failed, or did not write the document that was asked for."""

    def __init__(
        self,
        status: int,
        messages: str,
        document: Document | None = None,
        *,
        problem: str = "",
        file: Path | None = None,
    ) -> None:
        """Error with this exit status and these messages."""
        self.status = status
        """Exit status; negative if a signal ended the program."""
        self.messages = messages
        """What the program wrote on standard error."""
        self.document = document
        """What was measured, if it was written and can be read."""
        self.problem = problem
        """What is wrong with the document; empty if the program failed and that is all."""
        self.file = file
        """The document that cannot be read. It stays there until it is deleted."""
        super().__init__(status, messages)

    def __str__(self) -> str:
        how = f"exited with status {self.status}" if self.status >= 0 else f"was ended by signal {-self.status}"
        parts = [f"httperf {how}", self.problem, f"the document is in {self.file}" if self.file else ""]
        said = "; ".join(part for part in parts if part)
        return f"{said}: {self.messages}" if self.messages else said
