"""The notebook runs from top to bottom, and is kept without what it printed."""

from __future__ import annotations

import json
from typing import Any

import matplotlib.pyplot as plt

import httperf
from support import ROOT

NOTEBOOK = ROOT / "python" / "examples" / "figure2.ipynb"


def cells(kind: str) -> list[Any]:
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == kind]


def test_cells_run_in_order_and_draw_the_figure() -> None:
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells("code")):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        if "parameters" in cell["metadata"].get("tags", []):
            names.update(RATES="100,200", SECONDS=0.3)
    sweep = names["sweep"]
    assert isinstance(sweep, httperf.Sweep)
    assert [run.rate for run in sweep.runs] == [100.0, 200.0]
    labels = {ax.get_ylabel() for number in plt.get_fignums() for ax in plt.figure(number).axes}
    assert labels == {"replies per second", "errors (% of calls)", "mean response time (ms)", "time (ms)"}
    assert names["server"].returncode is not None
    plt.close("all")


def test_outputs_are_stripped() -> None:
    for cell in cells("code"):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
