"""The virtual machine: a QEMU process in which nothing depends on the host's clock, and what it says.

Everything that passes between host and guest is memory without a name (memfd), so nothing is left behind, however this
process ends.
"""

from __future__ import annotations

import functools
import mmap
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.base import interruption
from narrows.base.errors import LiveError
from narrows.runs.vm import guest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

QEMU: Final = "qemu-system-x86_64"
"""QEMU's program for the processor of the guests."""

SHARED_MB: Final = 128
"""Size of the memory that the guest writes its results into; only what is written takes memory."""

MEMORY_MB: Final = 512
"""The guest's memory."""

SHIFT: Final = 0
"""An instruction takes 2^SHIFT ns of the guest's time: its processor has 10^9 instructions a second."""

MACHINE: Final = "q35,hpet=off"
"""QEMU's machine: a PC, without the timer whose every reading leaves the emulated code."""

COMMAND_LINE: Final = (
    "console=ttyS0 quiet panic=-1 reboot=t nokaslr mitigations=off cryptomgr.notests "
    "tsc_early_khz=1000000 lpj=4000000 tsc=reliable no_timer_check"
)
"""The kernel's command line: no random addresses, no self-tests, and no measurement of a clock whose rate is known."""

STALL_S: Final = 180.0
"""Time on the host's clock without a sign of life from the guest after which it counts as hanging."""

SET_UP_S: Final = 120.0
"""The guest's own time beyond the scenario's duration after which it counts as hanging."""

_POLL_S: Final = 0.05
_LINES: Final = 12
"""Lines of the console to show after a failure."""

_STARTING, _RUNNING, _DONE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Head:
    """How far a guest is.

    Attributes
    ----------
    state : int
        0 while it starts, 1 while the scenario runs, 2 when the result is complete.
    now_ns, uptime_ns : int
        The scenario's time and the guest's own.
    begin, end : int
        Where the result lies in the shared memory.
    """

    state: int
    now_ns: int
    uptime_ns: int
    begin: int
    end: int


def qemu() -> str:
    """Return the path of QEMU's program.

    Returns
    -------
    str

    Raises
    ------
    LiveError
        If there is none.
    """
    found = shutil.which(QEMU)
    if found is None:
        remedy = "apt-get install qemu-system-x86"
        message = f"Linux in a virtual machine: not available here: there is no {QEMU}; install it ({remedy})"
        raise LiveError(message, "unavailable", remedy)
    return found


@functools.cache
def version() -> str:
    """Return QEMU's version: ``7.2.22``.

    Returns
    -------
    str
        Empty if QEMU does not say.

    Raises
    ------
    LiveError
        If there is no QEMU.
    """
    said = subprocess.run([qemu(), "--version"], capture_output=True, text=True, check=False).stdout
    words = said.partition("version ")[2].split()
    return words[0] if words else ""


def settings(shared: int) -> list[str]:
    """Return QEMU's arguments, but for the files.

    Parameters
    ----------
    shared : int
        Descriptor of the shared memory.

    Returns
    -------
    list of str
    """
    return [
        *("-accel", "tcg", "-icount", f"shift={SHIFT},sleep=off"),
        *("-rtc", "base=2024-01-01,clock=vm", "-seed", "1"),
        *("-machine", MACHINE, "-cpu", "qemu64", "-smp", "1", "-m", str(MEMORY_MB)),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        "-object",
        f"memory-backend-file,id=shared,share=on,mem-path=/proc/self/fd/{shared},size={SHARED_MB}M",
        *("-device", "ivshmem-plain,memdev=shared"),
    ]


def boot(
    kernel: Path, archive: bytes, duration_ns: int, told: Callable[[float], None], gauge: _core.Progress | None
) -> bytes:
    """Start a machine, wait for its result, and end it.

    Parameters
    ----------
    kernel : pathlib.Path
        The kernel's image.
    archive : bytes
        The guest's file system.
    duration_ns : int
        Duration of the scenario.
    told : callable
        Called with the share of the scenario that is over, in [0, 1].
    gauge : narrows._core.Progress, optional
        Stops the machine.

    Returns
    -------
    bytes
        What the guest handed over.

    Raises
    ------
    LiveError
        If there is no QEMU, or the guest ends or hangs without a result.
    """
    with _memory(b"archive", archive) as disk, _memory(b"console") as console, _memory(b"shared") as shared:
        os.ftruncate(shared, SHARED_MB << 20)
        command = [
            *_dying_with_us(),
            qemu(),
            *settings(shared),
            *("-kernel", str(kernel), "-initrd", f"/proc/self/fd/{disk}", "-append", COMMAND_LINE),
            *("-serial", f"file:/proc/self/fd/{console}"),
        ]
        with (
            mmap.mmap(shared, SHARED_MB << 20, prot=mmap.PROT_READ) as memory,
            subprocess.Popen(
                command,
                env={**os.environ, "LD_PRELOAD": str(guest.lockstep())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(disk, console, shared),
                start_new_session=True,
            ) as process,
        ):
            try:
                head = _watch(process, memory, console, duration_ns, told, gauge)
            finally:
                process.kill()
            if head.state != _DONE:
                raise _died(process, console)
            return memory[head.begin : head.end]


def _watch(
    process: subprocess.Popen[bytes],
    memory: mmap.mmap,
    console: int,
    duration_ns: int,
    told: Callable[[float], None],
    gauge: _core.Progress | None,
) -> Head:
    """Return the head once the result is there or the process has ended."""
    last, since = (Head(0, 0, 0, 0, 0), 0), time.monotonic()
    while True:
        # The process first: what it wrote before its end is then in the memory.
        ended = process.poll() is not None
        head = Head(*_core.vm_header(memory[:4096]))
        if ended or head.state == _DONE:
            return head
        if gauge is not None:
            gauge.check()
        interruption.check()
        told(min(1.0, head.now_ns / duration_ns))
        seen = (head, os.fstat(console).st_size)
        if seen != last:
            last, since = seen, time.monotonic()
        if time.monotonic() - since > STALL_S:
            raise _hangs(f"gave no sign of life for {STALL_S:.0f} s", console)
        if head.uptime_ns > duration_ns + SET_UP_S * 1e9:
            raise _hangs(f"had not ended after {head.uptime_ns / 1e9:.0f} s of its own time", console)
        time.sleep(_POLL_S)


@contextmanager
def _memory(name: bytes, content: bytes = b"") -> Iterator[int]:
    """A file without a name in memory."""
    descriptor = os.memfd_create(f"narrows-{name.decode()}")
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        yield descriptor
    finally:
        os.close(descriptor)


def _dying_with_us() -> Sequence[str]:
    """Words before a command that end it when the thread that started it ends, even by SIGKILL."""
    tool = shutil.which("setpriv")
    return () if tool is None else (tool, "--pdeathsig", "KILL", "--")


def _last_lines(console: int) -> str:
    """The end of the console, indented."""
    size = os.fstat(console).st_size
    text = os.pread(console, 8192, max(0, size - 8192)).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = "".join(f"\n  {line[:200]}" for line in lines[-_LINES:])
    return f"; the end of its console:{shown}" if shown else "; its console is empty"


def _hangs(how: str, console: int) -> LiveError:
    return LiveError(f"cannot run the scenario in a virtual machine: the guest {how}{_last_lines(console)}")


def _died(process: subprocess.Popen[bytes], console: int) -> LiveError:
    said = b"" if process.stderr is None else process.stderr.read()
    text = said.decode(errors="replace").strip()
    if text:
        return LiveError(f"cannot run the scenario in a virtual machine: QEMU says: {text[:1000]}")
    return LiveError(f"cannot run the scenario in a virtual machine: the guest ended early{_last_lines(console)}")
