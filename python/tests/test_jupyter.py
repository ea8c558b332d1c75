"""The notebook runs as Jupyter runs it. Only where nbclient and ipykernel are installed (conftest.py)."""

from __future__ import annotations

import importlib
import warnings

import pytest

from support import ROOT


def test_the_notebook_shows_its_pictures_in_jupyter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python" / "src"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client, nbformat = importlib.import_module("nbclient"), importlib.import_module("nbformat")
        notebook = nbformat.read(ROOT / "python" / "examples" / "figure2.ipynb", as_version=4)
        for cell in notebook.cells:
            cell.source = cell.source.replace("50..500/50", "100,200").replace("SECONDS = 3", "SECONDS = 0.3")
        client.NotebookClient(notebook, timeout=120).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 3
