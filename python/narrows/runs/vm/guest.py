"""The content of a guest: its program, the kernel's modules that a scenario needs, and what it is asked to run."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows import _core
from narrows.base.errors import LiveError
from narrows.runs.vm.archive import CONSOLE, DIRECTORY, FILE, PROGRAM, Entry, pack

if TYPE_CHECKING:
    from narrows.kernels import Kernel
    from narrows.model.scenario import Scenario

_BUILT: Final = Path(__file__).resolve().parents[2] / "guest"
"""Where `make setup` puts what it builds for virtual machines."""

_LINUX: Final = {"newreno": "reno", "sack": "reno"}
"""Linux's name of congestion controls that have another one: these differ in loss recovery alone."""

_OWN_NAMES: Final = ("proc", "sys", "dev", "tmp", "narrows", "narrows/modules")


def program() -> Path:
    """Return the guest's program.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    LiveError
        If it was not built.
    """
    return _built("narrows-guest")


def lockstep() -> Path:
    """Return the library that lets one of QEMU's threads run at a time (tools/lockstep).

    Returns
    -------
    pathlib.Path

    Raises
    ------
    LiveError
        If it was not built.
    """
    return _built("lockstep.so")


def _built(name: str) -> Path:
    path = _BUILT / name
    if not path.is_file():
        message = (
            f"Linux in a virtual machine: not available here: {path} is missing; build it: `make setup` in a checkout "
            "of the project"
        )
        raise LiveError(message, "unavailable", "make setup")
    return path


@cache
def program_hash() -> str:
    """Return SHA-256 of the guest's program and of the library for QEMU, for addresses of runs.

    Returns
    -------
    str
        In hexadecimal digits.
    """
    return hashlib.sha256(program().read_bytes() + lockstep().read_bytes()).hexdigest()


def module_names(scenario: Scenario, kernel: Kernel, *, kernel_qdisc: bool = False) -> list[str]:
    """Return the modules that a scenario needs of a kernel.

    Parameters
    ----------
    scenario : Scenario
    kernel : narrows.kernels.Kernel
    kernel_qdisc : bool
        Whether the kernel's own queue disciplines carry links.

    Returns
    -------
    list of str
        Devices first, then congestion controls, then what attaches eBPF programs to devices, then queue disciplines.
    """
    resolved = scenario.resolved
    names = ["tun"]
    controls = [flow.tcp.cc for flow in resolved.flows if flow.tcp is not None]
    linux = dict.fromkeys(_LINUX.get(control, control) for control in controls)
    # Reno is a part of TCP itself.
    names += [f"tcp_{control}" for control in linux if control in kernel.congestion_controls and control != "reno"]
    if resolved.schemes and not kernel.has("tcx"):
        names += ["sch_ingress", "cls_bpf"]
    if kernel_qdisc:
        names += ["af_packet", *_core.vm_qdisc_modules(scenario.core)]
    return names


def image(scenario: Scenario, kernel: Kernel, request: bytes, *, kernel_qdisc: bool = False) -> bytes:
    """Return the archive from which the guest starts.

    Parameters
    ----------
    scenario : Scenario
    kernel : narrows.kernels.Kernel
    request : bytes
        What the guest is asked to run.
    kernel_qdisc : bool
        Whether the kernel's own queue disciplines carry links.

    Returns
    -------
    bytes

    Raises
    ------
    LiveError
        If the guest's program was not built, or the kernel lacks a module.
    """
    modules = kernel.modules(module_names(scenario, kernel, kernel_qdisc=kernel_qdisc))
    entries = [Entry(name, DIRECTORY) for name in _OWN_NAMES]
    entries.append(Entry("dev/console", CONSOLE, device=(5, 1)))
    entries += [
        Entry(f"narrows/modules/{place:03}-{name}", FILE, module) for place, (name, module) in enumerate(modules)
    ]
    entries.append(Entry("narrows/request", FILE, request))
    entries.append(Entry("init", PROGRAM, program().read_bytes()))
    return pack(entries)
