"""Documents that are broken raise `DocumentError`, whatever is wrong in them."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import httperf
from httperf import DocumentError, Result, Sweep
from support import ROOT, read_json
from test_frames_and_plots import COMPARISON

MUTATIONS = 60
"""Number of mutations of each document: for all of them together, about a second."""

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1 << 63,
    1 << 64,
    10**400,
    1e308,
    -0.5,
    float("inf"),
    float("nan"),
    "",
    "x",
    "\ud800",
    "9" * 5000,
    [],
    [[]],
    [None],
    [0, -1, 1],
    {},
    {"a": None},
]
"""Values in the place of others."""


def mutate(document: Any, chance: random.Random) -> None:
    """Changes one place of a document; outer ones are as likely as inner ones."""
    steps: list[tuple[Any, Any]] = []
    value = document
    while isinstance(value, (dict, list)) and value:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        steps.append((value, key))
        value = value[key]
    place, key = chance.choice(steps)
    how = chance.randrange(4)
    if how == 0:
        del place[key]
    elif how == 1 and isinstance(place[key], str):
        place[key] = place[key][: chance.randrange(len(place[key]) + 1)]
    elif how == 1 and isinstance(place[key], list):
        place[key] = place[key] * 2
    else:
        place[key] = copy.deepcopy(chance.choice(ODD))


def check_mutations(document: Any, chance: random.Random, count: int = MUTATIONS) -> None:
    text = json.dumps(document)
    for _ in range(count):
        changed = json.loads(text)
        for _ in range(chance.choice((1, 1, 2))):
            mutate(changed, chance)
        check_text(json.dumps(changed))
    for _ in range(count // 4):
        at = chance.randrange(len(text))
        check_text(text[:at] + chance.choice(["", "9", "0", "-", "e9", '"', "}", "\0", "é"]) + text[at + 1 :])
        check_text(text[:at])


def check_text(text: str) -> None:
    """Reads a document and what is worked out of it later."""
    with suppress(DocumentError):
        document = httperf.loads(text)
        if isinstance(document, Sweep):
            assert document.unit
        if isinstance(document, Result):
            document.all_calls_quantile(0.5)
            assert document.latency.stddev_ms is None or document.latency.stddev_ms >= 0


@pytest.mark.parametrize("name", ["timeouts", "pending", "sessions"])
def test_any_change_of_a_result_is_read_or_refused(documents: dict[str, Path], name: str) -> None:
    check_mutations(read_json(documents[name]), random.Random(name))


def test_any_change_of_other_documents_is_read_or_refused(sweep_file: Path) -> None:
    check_mutations(read_json(sweep_file), random.Random(1))
    check_mutations(read_json(COMPARISON), random.Random(2))
    check_mutations(read_json(ROOT / "crates/httperf/tests/it/results/versions/version-1.json"), random.Random(3))
