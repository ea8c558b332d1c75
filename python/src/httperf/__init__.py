"""Measurements of httperf, the open-loop HTTP load generator: loaded, made, added up and drawn.

    import httperf

    result = httperf.load("run.json")
    result.figures.latency_ms.p99        # as in every report
    result.latency.quantile_ms(0.999)    # any other quantile
    result.series.to_pandas()            # second by second

`httperf.run` starts the program and returns the same. Records have the names that they have in the document, with
units at their ends; the modules of `httperf.documents` describe each of them.
"""

from __future__ import annotations

from . import documents
from ._errors import DocumentError, Error, ProgramNotFoundError, RunError
from ._histogram import Histogram, Point
from ._load import AnyDocument, Capacity, Comparison, Document, Result, Run, Sweep, TlsLab, load, loads
from ._plots import plot_comparison, plot_latency, plot_percentiles, plot_series, plot_sweep
from ._run import find_program, merge, run
from ._timing import Classes, DurationMoments, Timing, samples_needed

__version__ = "1.0.0"

__all__ = [
    "AnyDocument",
    "Capacity",
    "Classes",
    "Comparison",
    "Document",
    "DocumentError",
    "DurationMoments",
    "Error",
    "Histogram",
    "Point",
    "ProgramNotFoundError",
    "Result",
    "Run",
    "RunError",
    "Sweep",
    "Timing",
    "TlsLab",
    "documents",
    "find_program",
    "load",
    "loads",
    "merge",
    "plot_comparison",
    "plot_latency",
    "plot_percentiles",
    "plot_series",
    "plot_sweep",
    "run",
    "samples_needed",
]
