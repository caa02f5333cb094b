"""Users' input files: regular files, pipes and standard input of limited length; anything else is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from narrows.base import inputs, memory
from narrows.base.errors import InputError
from narrows.model.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SCENARIO = """
duration = "1 s"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "10 Mb/s", delay = "5 ms" }]
flows = [{ name = "f", from = "a", to = "b", kind = "bulk" }]
"""


def narrows(*arguments: str, stdin: str | None = None, source: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [*NARROWS, *arguments]
    with open(source or os.devnull, "rb") as file:  # noqa: PTH123 - a device
        given: dict[str, object] = {"input": stdin} if stdin is not None else {"stdin": file}
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **given)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/random"])
def test_a_device_is_refused_before_anything_is_read_of_it(device: str) -> None:
    if not os.path.exists(device):  # noqa: PTH110
        pytest.skip(f"this system has no {device}")
    begin = time.monotonic()
    for verb in ("show", "run", "sweep"):
        told = narrows(verb, device)
        assert told.returncode == 2
        assert f"{device}: is neither a regular file nor a pipe" in told.stderr
    assert time.monotonic() - begin < 30


def test_standard_input_is_read_and_bounded() -> None:
    shown = narrows("show", "-", stdin=SCENARIO)
    assert shown.returncode == 0, shown.stderr
    assert 'from = "a"' in shown.stdout
    told = narrows("show", "/dev/stdin", source="/dev/zero")
    assert told.returncode == 2
    assert "is longer than 64 MB" in told.stderr


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_text, args=(SCENARIO,))
    thread.start()
    assert Scenario.from_file(pipe).core.size()["flows"] == 1
    thread.join()


def test_a_file_that_memory_does_not_hold_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / "long.toml"
    long.write_text("#" * 2_000_000)
    monkeypatch.setattr(memory, "free", lambda: 100_000_000)
    with pytest.raises(
        InputError, match=r"long\.toml: reading its 2\.0 MB: takes about 420 MB of memory, and 75 MB may"
    ):
        Scenario.from_file(long)


def test_a_long_line_does_not_take_the_square_of_its_length() -> None:
    begin = time.monotonic()
    with pytest.raises(InputError):
        Scenario.from_text("x = [" + "1," * 500_000 + "]\n")
    assert time.monotonic() - begin < 20, "it took minutes when each place was counted from the line's beginning"


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        inputs.text(tmp_path / "a.toml", "a scenario")
    with pytest.raises(InputError, match="is a directory; allowed: a scenario"):
        inputs.text(tmp_path, "a scenario")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        inputs.text(tmp_path / "b.toml", "a scenario")
