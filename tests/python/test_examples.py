"""The examples run as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_two_arms_are_compared_flow_by_flow() -> None:
    command = [sys.executable, str(EXAMPLES / "compare_two_arms.py"), "2"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = shown.stdout.splitlines()
    assert "over 2 pairs of runs" in lines[0]
    assert len(lines) == 1 + 2 * 3
    assert all("[" in line and "nan" not in line for line in lines[1:])


def test_the_notebooks_cells_run_in_order() -> None:
    notebook = json.loads((EXAMPLES / "first_look.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = "\n".join(cells).replace("runs=20", "runs=2") + "\nassert run.flows and len(batch.runs) == 2\n"
    environment: dict[str, Any] = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=environment)
