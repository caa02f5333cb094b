"""The optimised engine gives the same digest as the engine's own tests in a debug build."""

from pathlib import Path

import narrows

REFERENCE = Path(__file__).resolve().parents[2] / "crates" / "sim" / "tests"


def test_release_and_debug_builds_give_the_same_digest() -> None:
    run = narrows.run(REFERENCE / "reference.toml", seed=1)
    assert run.digest == (REFERENCE / "digest.txt").read_text(encoding="utf-8").strip()
