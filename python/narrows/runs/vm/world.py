"""From a scenario to an outcome, on the Linux of a virtual machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.base.errors import Interrupted, LiveError
from narrows.outcome import Batch, Run
from narrows.runs.simulated import in_range, taken
from narrows.runs.vm import guest, image, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.kernels import Kernel
    from narrows.model.scenario import Scenario
    from narrows.runs.kept import Kept
    from narrows.runs.live import Program


def address(kernel: Kernel) -> str:
    """Return what identifies the machine that runs on a kernel: results with the same address and scenario are equal.

    Parameters
    ----------
    kernel : narrows.kernels.Kernel

    Returns
    -------
    str
        SHA-256 over `machine_address` and the guest's program.

    Raises
    ------
    LiveError
        If QEMU or the guest's program is missing.
    """
    return hashlib.sha256(f"{machine_address(kernel)}\0{guest.program_hash()}".encode()).hexdigest()


def machine_address(kernel: Kernel) -> str:
    """Return what identifies the machine without the guest's program, which is of a version of Narrows.

    Parameters
    ----------
    kernel : narrows.kernels.Kernel

    Returns
    -------
    str
        SHA-256 over the kernel's packages, QEMU's version and arguments, and the kernel's command line.

    Raises
    ------
    LiveError
        If QEMU is missing.
    """
    parts = [
        kernel.release,
        image.file_hash(kernel.vmlinuz),
        machine.version(),
        *machine.settings(0),
        machine.COMMAND_LINE,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(kernel: Kernel) -> None:
    """Check that this machine can run virtual machines, without starting one.

    Parameters
    ----------
    kernel : narrows.kernels.Kernel

    Raises
    ------
    LiveError
        If QEMU, the guest's program or the kernel's image is missing.
    """
    machine.qemu()
    guest.program()
    guest.lockstep()
    if not kernel.vmlinuz.is_file():
        message = f"kernel {kernel.name}: its image {kernel.vmlinuz} is missing; add it again"
        raise LiveError(message, "unavailable", f"narrows kernels add {kernel.name}")


def run(
    scenario: Scenario,
    kernel: Kernel,
    seed: int | None = None,
    runs: int = 1,
    first: int = 0,
    programs: Sequence[Program] = (),
    progress: Callable[[float], None] | None = None,
    gauge: _core.Progress | None = None,
    *,
    kernel_qdisc: bool = False,
    kept: Kept | None = None,
) -> Run | Batch:
    """Run a scenario in a virtual machine.

    Parameters
    ----------
    scenario : Scenario
    kernel : narrows.kernels.Kernel
    seed : int, optional
        For start times, random losses, random queues and applications; the scenario's own by default.
    runs : int
        Number of runs, made one after another.
    first : int
        Index of the first run.
    programs : sequence of narrows.runs.live.Program
        Programs to run on hosts during the run. The guest has none but those of its own.
    progress : callable, optional
        Called with the completed share of the work, in [0, 1].
    gauge : narrows._core.Progress, optional
        Stops the machine from another thread.
    kernel_qdisc : bool
        Whether the kernel's own queue disciplines carry links whose discipline Linux has.
    kept : narrows.runs.kept.Kept, optional
        Where runs are kept as they end, and found again.

    Returns
    -------
    Run or Batch
        A batch if more than one run was requested. Runs have `conditions`.

    Raises
    ------
    InputError
        If an argument is out of range.
    LiveError
        If QEMU or something of the kernel is missing, the scenario cannot run on Linux, or the guest failed.
    Interrupted
        On Ctrl-C; holds the finished runs.
    """
    chosen = scenario.seed if seed is None else in_range("seed", seed, 0, 2**63 - 1)
    in_range("runs", runs, 1, 100_000)
    in_range("first", first, 0, 100_000)
    made: list[Run] = []
    for done in range(runs):

        def told(share: float, done: int = done) -> None:
            if progress is not None:
                progress((done + share) / runs)

        try:
            seeds = (chosen, first + done)
            found = None if kept is None else kept.get(scenario, first + done)
            made.append(found or _one(scenario, kernel, seeds, programs, told, gauge, kernel_qdisc=kernel_qdisc))
            if kept is not None and found is None:
                kept.put_whole(made[-1])
        except KeyboardInterrupt:
            raise Interrupted(Batch(scenario=scenario, seed=chosen, runs=tuple(made)), runs) from None
    return made[0] if runs == 1 else Batch(scenario=scenario, seed=chosen, runs=tuple(made))


def _one(
    scenario: Scenario,
    kernel: Kernel,
    seeds: tuple[int, int],
    programs: Sequence[Program],
    told: Callable[[float], None],
    gauge: _core.Progress | None,
    *,
    kernel_qdisc: bool,
) -> Run:
    """Make one run."""
    check(kernel)
    lines = [(program.host, program.command) for program in programs]
    request = _core.vm_request(scenario.core, *seeds, lines, kernel_qdisc)
    archive = guest.image(scenario, kernel, request, kernel_qdisc=kernel_qdisc)
    written = machine.boot(image.bootable(kernel), archive, scenario.core.duration_ns, told, gauge)
    try:
        result = _core.vm_result(scenario.core, written)
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None
    return taken(scenario, *seeds, result, conditions(kernel, result.conditions() or {}))


def conditions(kernel: Kernel, of_guest: dict[str, Any]) -> dict[str, Any]:
    """Add the machine to the conditions that the guest reports.

    Parameters
    ----------
    kernel : narrows.kernels.Kernel
    of_guest : dict
        As the guest reported them.

    Returns
    -------
    dict
    """
    told = dict(of_guest)
    load = told.pop("process_cpu_percent", None)
    machine_part = {
        "emulator": f"QEMU {machine.version()}, one processor of {1000 >> machine.SHIFT} million instructions a second",
        "kernel_from": kernel.name,
        "kernel_command_line": machine.COMMAND_LINE,
        "load_percent": load,
    }
    return {"virtual_machine": machine_part, **told}
