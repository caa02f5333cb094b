"""Runs on the Linux of a virtual machine: repeatable to the bit, and clear about what fails."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import narrows as nw
from narrows.base.errors import LiveError
from narrows.kernels import Kernel
from narrows.model.scenario import Scenario
from narrows.outcome import Run
from narrows.runs import vm
from narrows.runs.vm import archive, guest, image, machine

if TYPE_CHECKING:
    from collections.abc import Callable

NARROWS = [sys.executable, "-c", "from narrows.cli import main; main()"]

SCENARIO = """
format = 1
name = "path"
duration = "2 s"
sampling = "100 ms"
start_jitter = "20 ms"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mb/s", delay = "10 ms", queue = { limit = "50 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }
[tcp]
stack = "linux"
cc = "cubic"
[[flows]]
name = "f"
from = "s1"
to = "d1"
"""


def scenario(text: str = SCENARIO) -> Scenario:
    return Scenario.from_text(text, "path.toml")


def made(place: Path, directory: str = "modules") -> Kernel:
    """A kernel that is none: its image is a text, and it has no modules."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "vmlinuz").write_text("no kernel")
    (place / "config").write_text("CONFIG_TUN=y\n")
    modules = place / directory
    modules.mkdir(exist_ok=True)
    (modules / "modules.builtin").write_text("kernel/drivers/net/tun.ko\n")
    return Kernel("made", "0.0-made", (0, 0), place / "vmlinuz", modules, place / "config", {})


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a shell script take QEMU's place; skips the test where what `make setup` builds is missing."""
    try:
        guest.program()
        guest.lockstep()
    except LiveError as error:
        pytest.skip(str(error))

    def put(script: str) -> None:
        path = tmp_path / "bin" / machine.QEMU
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'QEMU emulator version 0.0' && exit\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
        machine.version.cache_clear()

    return put


HOST_TIME = """
import ctypes
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("micros", ctypes.c_long)]
def now():
    time = Time()
    ctypes.CDLL(None).gettimeofday(ctypes.byref(time), None)
    return time.seconds * 1_000_000 + time.micros
first = now()
print(first // 1_000_000, now() - first)
"""


@pytest.mark.usefixtures("qemu")
def test_the_library_counts_calls_in_place_of_the_host_s_time() -> None:
    # QEMU sizes the emulated TLB by the host's time, and the guest's faults depend on it.
    preload = {**os.environ, "LD_PRELOAD": str(guest.lockstep())}
    shown = subprocess.run([sys.executable, "-c", HOST_TIME], env=preload, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["1704067200", "50"]


# The console is the file behind "-serial file:".
CONSOLE = 'for word in "$@"; do case $word in file:*) console=${word#file:};; esac; done\n'


def test_two_runs_are_equal_and_near_the_simulated_one(kernel: Kernel) -> None:
    # The second run has company: a process that keeps a processor busy.
    first = vm.run(scenario(), kernel)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as company:
        second = vm.run(scenario(), kernel)
        company.kill()
    simulated = nw.run(scenario())
    assert isinstance(first, Run)
    assert isinstance(second, Run)
    assert isinstance(simulated, Run)
    assert first.digest == second.digest
    assert first.conditions == second.conditions
    assert first.doubts == ()
    assert first.flow("f").goodput_mbps == pytest.approx(simulated.flow("f").goodput_mbps, rel=0.03)
    assert first.flow("f").rtt_mean_ms == pytest.approx(simulated.flow("f").rtt_mean_ms, rel=0.1)
    of_kernel, of_ours = first.flow("f"), simulated.flow("f")
    assert (of_kernel.timeouts, of_kernel.spurious) == (of_ours.timeouts, of_ours.spurious) == (0, 0)
    assert first.conditions is not None
    assert first.conditions["kernel"] == kernel.release
    told = first.conditions["virtual_machine"]
    assert told["emulator"].startswith("QEMU ")
    assert 1 < told["load_percent"] < 60


@pytest.mark.slow
def test_a_timeout_that_was_not_due_is_undone_in_both_worlds(kernel: Kernel) -> None:
    longer = 'delay = "20 ms", changes = [ { at = "1500 ms", delay = "600 ms" } ]'
    text = SCENARIO.replace('duration = "2 s"', 'duration = "6 s"').replace('delay = "10 ms"', longer)
    live, simulated = vm.run(scenario(text), kernel), nw.run(scenario(text))
    for run in (live, simulated):
        assert isinstance(run, Run)
        flow = run.flow("f")
        assert (flow.timeouts, flow.spurious) == (1, 1)


@pytest.mark.slow
def test_acns_runs_over_functions_of_the_kernel_s_own_control(kernel: Kernel) -> None:
    text = SCENARIO.replace('cc = "cubic"', 'cc = "cubic"\nassist = "acns"\n[acns]')
    text = text.replace('duration = "2 s"', 'duration = "4 s"').replace(
        'kind = "dumbbell"', 'kind = "dumbbell"\npairs = 2'
    )
    text = text.replace('name = "f"', 'name = "g"\nfrom = "s2"\nto = "d2"\n[[flows]]\nname = "f"')
    try:
        run = vm.run(scenario(text), kernel)
    except LiveError as error:
        if "tcx" in str(error) or "use Linux 6.4 or later" in str(error):
            pytest.skip(str(error))
        raise
    assert isinstance(run, Run)
    assert run.doubts == ()
    fallbacks = [flow.commands_fallback for flow in run.flows]
    assert min(value or 0 for value in fallbacks) > 0


def test_another_seed_is_another_run(kernel: Kernel) -> None:
    text = SCENARIO.replace('duration = "2 s"', 'duration = "500 ms"')
    batch = vm.run(scenario(text), kernel, runs=2)
    assert batch.runs[0].digest != batch.runs[1].digest


def test_what_linux_cannot_do_is_refused_by_the_guest(kernel: Kernel) -> None:
    text = SCENARIO.replace('cc = "cubic"', 'cc = "reno"\nmax_cwnd = "50 kB"')
    with pytest.raises(LiveError, match=r"flows\.f\.tcp\.max_cwnd") as refused:
        vm.run(scenario(text), kernel)
    assert refused.value.exit_code == 2


def test_the_addresses_of_machines_differ_by_kernel(kernel: Kernel, tmp_path: Path) -> None:
    assert vm.address(kernel) == vm.address(kernel)
    assert vm.address(kernel) != vm.address(made(tmp_path))


def test_a_guest_that_panics_shows_its_console(qemu: Callable[[str], None], tmp_path: Path) -> None:
    qemu(CONSOLE + 'echo "[ 0.1] Kernel panic - not syncing: no init" > $console')
    with pytest.raises(LiveError, match=r"ended early; the end of its console:\n  \[ 0\.1\] Kernel panic"):
        vm.run(scenario(), made(tmp_path / "k"))


def test_what_qemu_refuses_is_shown(qemu: Callable[[str], None], tmp_path: Path) -> None:
    qemu("echo 'could not load kernel' >&2; exit 1")
    with pytest.raises(LiveError, match="QEMU says: could not load kernel") as failed:
        vm.run(scenario(), made(tmp_path / "k"))
    assert failed.value.exit_code == 1


def test_a_guest_that_hangs_is_ended(
    qemu: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "STALL_S", 0.5)
    qemu(CONSOLE + f"echo waiting > $console; echo $$ > {tmp_path}/pid; exec sleep 600")
    with pytest.raises(LiveError, match=r"gave no sign of life for 0 s; the end of its console:\n  waiting"):
        vm.run(scenario(), made(tmp_path / "k"))
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_kernel_without_a_module_is_refused(tmp_path: Path) -> None:
    bare = made(tmp_path)
    (bare.directory / "modules.builtin").write_text("")
    with pytest.raises(LiveError, match="tun") as refused:
        guest.image(scenario(), bare, b"")
    assert refused.value.exit_code == 3


def test_killed_at_any_moment_nothing_is_left(qemu: Callable[[str], None], tmp_path: Path) -> None:
    qemu(f"echo $$ >> {tmp_path}/pids; exec sleep 600")
    (tmp_path / "path.toml").write_text(SCENARIO)
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, 'tests/python'); "
        "from test_vm import made, scenario; from narrows.runs import vm; "
        f"vm.run(scenario(), made(Path({str(tmp_path / 'k')!r})))"
    )
    before = set(tmp_path.iterdir())
    chance = random.Random(1)  # noqa: S311 - moments, no secrets
    for _ in range(20):
        with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) as process:
            time.sleep(chance.uniform(0.3, 1.5))
            process.send_signal(signal.SIGKILL)
    pids = tmp_path / "pids"
    begun = pids.read_text().split() if pids.exists() else []
    assert len(begun) > 3, "some were killed while the machine ran"
    deadline = time.monotonic() + 10
    left = begun
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if Path("/proc", pid).exists()]
        time.sleep(0.05)
    assert left == []
    assert set(tmp_path.iterdir()) - before <= {pids, tmp_path / "k"}


def run_command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NARROWS, "live", "dumbbell-cubic", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_commands_say_what_is_missing(tmp_path: Path) -> None:
    said = run_command("--vm", NARROWS_CACHE=str(tmp_path))
    assert (said.returncode, said.stdout) == (3, "")
    assert "narrows kernels add" in said.stderr
    said = run_command("--vm", "--kernel", str(tmp_path / "none.deb"))
    assert said.returncode in (2, 3)
    assert "none.deb" in said.stderr
    for words, why in (
        (["--kernel", "sid"], "--kernel sid: is for virtual machines; add --vm"),
        (["--vm", "--pcap", "-o", str(tmp_path / "out")], "--pcap: virtual machines hand over no captures yet"),
        (["--vm", "--exec", "s1", "true"], "--exec: the guest has no programs but its own"),
    ):
        said = run_command(*words)
        assert (said.returncode, said.stdout) == (2, "")
        assert why in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_qemu_the_exit_code_is_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LiveError, match="there is no qemu-system-x86_64; install it") as missing:
        vm.check(made(tmp_path / "k"))
    assert (missing.value.exit_code, missing.value.remedy) == (3, "apt-get install qemu-system-x86")


def test_the_command_gives_the_same_json_as_other_runs(kernel: Kernel, tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(SCENARIO.replace('duration = "2 s"', 'duration = "500 ms"'))
    words = [*NARROWS, "live", str(file), "--vm", "--kernel", kernel.release, "--json", "-o", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["flows"][0]["cc"] == "cubic"
    assert told["conditions"]["virtual_machine"]["kernel_from"] == kernel.name
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"samples.parquet", "summary.json", "scenario.toml"}


def test_an_archive_holds_its_files_in_order() -> None:
    entries = [
        archive.Entry("d", archive.DIRECTORY),
        archive.Entry("d/one", archive.FILE, b"12345"),
        archive.Entry("init", archive.PROGRAM, b"x" * 9),
    ]
    packed, found, at = archive.pack(entries), [], 0
    while True:
        assert packed[at : at + 6] == b"070701"
        mode, size, length = (int(packed[at + begin : at + begin + 8], 16) for begin in (14, 54, 94))
        name = packed[at + 110 : at + 110 + length - 1].decode()
        data = -(-(at + 110 + length) // 4) * 4
        at = -(-(data + size) // 4) * 4
        if name == "TRAILER!!!":
            break
        found.append(archive.Entry(name, mode, packed[data : data + size]))
    assert found == entries
    assert at == len(packed)


@pytest.mark.parametrize("data", [b"", b"MZ", bytes(600), b"\xff" * 2000])
def test_an_image_of_another_form_is_not_unpacked(data: bytes) -> None:
    assert image.unpack(data) is None


def test_an_image_is_unpacked_once(kernel: Kernel) -> None:
    first = image.bootable(kernel)
    changed = first.stat().st_mtime_ns
    assert image.bootable(kernel) == first
    assert first.stat().st_mtime_ns == changed
    with first.open("rb") as file:
        assert first == kernel.vmlinuz or file.read(4) == b"\x7fELF"
