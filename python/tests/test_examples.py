"""Examples of the documentation run as they stand, against the server of the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from httperf import run
from support import ROOT


@pytest.mark.parametrize("page", ["python/README.md", "docs/reference/python.md"])
def test_examples_run(page: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("call the server's owner")
    for name, client in (("run", "0/1"), ("a", "0/2"), ("b", "1/2")):
        run([url, "--rate", "200", "--num-conns", "60", "--client", client]).save(f"{name}.json")
    examples = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert len(examples) >= 3
    names: dict[str, Any] = {}
    for number, example in enumerate(examples):
        code = example.replace("http://127.0.0.1:8080/", url)
        # Readers may wait between runs; tests need not.
        code = code.replace('"sweep", ', '"sweep", "--pause", "0", "--settle", "0", "--drain", "0.1", ')
        exec(compile(code, f"example {number} of {page}", "exec"), names)
    plt.close("all")
