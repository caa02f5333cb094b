"""The examples run unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_two_arms_are_compared_flow_by_flow() -> None:
    command = [sys.executable, str(EXAMPLES / "compare_two_arms.py"), "2"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = shown.stdout.splitlines()
    assert "over 2 pairs of runs" in lines[0]
    assert len(lines) == 1 + 2 * 3
    assert all("[" in line and "nan" not in line for line in lines[1:])


def test_a_crowd_costs_basic_access_more_than_rts_and_cts() -> None:
    command = [sys.executable, str(EXAMPLES / "crowded_channel.py"), "1"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    rows = [[float(word.rstrip("%")) for word in line.split()] for line in shown.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == [1, 2, 5, 10, 20, 50]
    alone, crowd = rows[0], rows[-1]
    assert alone[2] == alone[4] == 0  # no other station to collide with
    assert alone[1] - crowd[1] > 4 * (alone[3] - crowd[3]) > 0
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


ASSERTED = {
    "bufferbloat": "buffers['queueing delay, ms'].is_monotonic_increasing and len(runs) == 5",
    "first_look": "run.flows and len(batch.runs) == 2",
    "own_control": "runs[0.3].flow('first').throughput_mbps < runs[0.85].flow('first').throughput_mbps",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.ipynb")))
def test_a_notebooks_cells_run_in_order(name: str) -> None:
    notebook = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"]), "outputs are made by the site"
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = "\n".join(cells).replace("runs=20", "runs=2") + f"\nassert {ASSERTED[name]}\n"
    environment: dict[str, Any] = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=environment)
