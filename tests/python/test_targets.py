"""The same digest on a 32-bit target: every bundled scenario, built for WebAssembly and run by Node's WASI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import narrows as nw
from narrows.base import bundled
from narrows.runs.simulated import run

ROOT = Path(__file__).parents[2]
TARGET = "wasm32-wasip1"

HOST = """
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";
const [program, folder, ...files] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: ["digest", ...files], env: {}, preopens: { "/scenarios": folder } });
const module = await WebAssembly.compile(await readFile(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
"""
"""Runs a WASI program that sees only the files of one folder."""


@pytest.fixture(scope="module")
def program() -> Path:
    """Return the example ``digest``, built for the 32-bit target."""
    for tool in ("cargo", "node"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    if subprocess.run(["node", "-e", "require('node:wasi')"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this node has no node:wasi")
    shown = subprocess.run(["rustc", "--print", "target-libdir", "--target", TARGET], capture_output=True, check=False)
    if shown.returncode != 0 or not Path(shown.stdout.decode().strip()).is_dir():
        pytest.skip(f"Rust cannot build for {TARGET}; to mend: rustup target add {TARGET}")
    # Build quickly without optimisation, which changes no result.
    settings = {"LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "0"}
    environment = os.environ | {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in settings.items()}
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "narrows-sim", "--example", "digest"]
    subprocess.run([*command, "--target", TARGET], cwd=ROOT, env=environment, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / TARGET / "release" / "examples" / "digest.wasm"


@pytest.mark.slow
def test_every_bundled_scenario_has_its_digest_on_a_32_bit_target(program: Path, tmp_path: Path) -> None:
    """An index that wraps at 2^32, or a 64-bit count truncated to pointer width, would change the delivered data."""
    host = tmp_path / "host.mjs"
    host.write_text(HOST)
    expected = []
    for name in bundled.scenarios():
        # The resolved scenario carries its traces.
        (tmp_path / f"{name}.toml").write_text(nw.Scenario.from_file(name).to_toml())
        made = run(name)
        assert isinstance(made, nw.Run)
        delivered = ",".join(str(flow.delivered_bytes) for flow in made.flows)
        expected.append(f"/scenarios/{name}.toml {made.digest} {delivered}")
    files = [line.split()[0] for line in expected]
    command = ["node", "--no-warnings", str(host), str(program), str(tmp_path), *files]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == expected
