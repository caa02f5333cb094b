"""The stored evaluations: the runs of CUBIC, the baseline of every control that ships, and the league table.

    python tools/evaluations.py -o results/baselines

It may be stopped, and the same command continues: finished runs are kept in the directory, by control. It writes
``python/narrows/studies/evaluate/reference.jsonl.gz``, ``baselines/NAME.json.gz`` beside it, and ``docs/league.md``.
Run it when the engine's behaviour, a measure or the catalogue has changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.cli.evaluate_progress import EvaluationDisplay
from narrows.ownership import EVALUATION, claim
from narrows.report import render
from narrows.store.journal import RUNS, records
from narrows.studies import evaluate
from narrows.studies.evaluate import export, league, page, reference, saved
from narrows.studies.evaluate.plan import REFERENCE
from narrows.studies.evaluate.record import Record

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

ROOT: Final = Path(__file__).resolve().parents[1]
LEAGUE: Final = ROOT / "docs" / "league.md"


def watch(what: str) -> AbstractContextManager[Any]:
    """Show the progress of an evaluation."""
    return EvaluationDisplay(what)


def stored_runs(directory: Path, jobs: int | None) -> None:
    """Make all runs of CUBIC that a quick evaluation may need, and store them."""
    plan = evaluate.make(REFERENCE, quick=True)
    # A single look makes the runs of all seeds, which other controls may need where CUBIC itself is soon decided.
    whole = replace(plan, looks=plan.looks[-1:])
    held = claim(directory / REFERENCE, kind=EVALUATION)
    evaluate.execute(whole, held, jobs=jobs, watch=watch, stored=False)
    kept = records((directory / REFERENCE / RUNS).read_bytes(), Record)
    reference.FILE.unlink(missing_ok=True)
    sys.stdout.write(
        f"{reference.FILE.name}: {reference.write(plan, kept)} runs, {reference.FILE.stat().st_size:,} bytes\n"
    )


def baseline(name: str, directory: Path, jobs: int | None) -> dict[str, Any]:
    """Evaluate a control, write its directory, and store its baseline."""
    begin = time.monotonic()
    plan = evaluate.make(name, quick=True)
    held = claim(directory / name, kind=EVALUATION)
    made = evaluate.execute(plan, held, jobs=jobs, watch=watch)
    page.write(made, held)
    content = export.to_json(made)
    saved.BASELINES.mkdir(exist_ok=True)
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    (saved.BASELINES / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    told = ", ".join(f"{count} {verdict}" for verdict, count in made.counts.items())
    sys.stdout.write(f"{name}: {told}; {made.made} runs made in {time.monotonic() - begin:.0f} s\n")
    sys.stdout.flush()
    return content


def main() -> int:
    """Make all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="directory of the evaluations")
    parser.add_argument("-j", "--jobs", type=int, help="parallel runs")
    given = parser.parse_args()
    try:
        stored_runs(given.output, given.jobs)
        contents = [baseline(name, given.output, given.jobs) for name in evaluate.shipped()]
    except KeyboardInterrupt as interruption:
        sys.stderr.write(f"{interruption}\n" if str(interruption) else "interrupted\n")
        return 130
    there = {f"{content['control']}.json.gz" for content in contents}
    for file in saved.BASELINES.glob("*.json.gz"):
        if file.name not in there:
            file.unlink()
    render.write_text(LEAGUE, league.markdown(contents, "python tools/evaluations.py -o results/baselines"))
    sys.stdout.write(f"{LEAGUE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
