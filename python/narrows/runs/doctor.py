"""What this machine can do: backends, kernel features and helper programs, each with the reason if it is missing."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from narrows import _core, kernels
from narrows.base.errors import LiveError
from narrows.runs import vm

Status = Literal["ok", "partly", "missing", "unknown"]
"""Result of a check; "unknown" means that this process lacks the rights to find out."""

BACKENDS = frozenset({"simulator", "live runs", "eBPF algorithms"})
"""The extension's checks that belong to the group ``backends``."""

PATIENCE_S = 3.0
"""How long a program may take to print its version, s."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its result.

    Attributes
    ----------
    group : {"backends", "kernel", "programs"}
        Group that it belongs to.
    name : str
        What was checked.
    status : {"ok", "partly", "missing", "unknown"}
        The result.
    found : str
        What was found: a version, names, a file.
    purpose : str
        What Narrows uses it for.
    why : str
        Why the status is not "ok"; empty if it is.
    remedy : str
        What would fix it; empty if there is nothing to fix.
    """

    group: Literal["backends", "kernel", "programs"]
    name: str
    status: Status
    found: str
    purpose: str
    why: str = ""
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the check for JSON.

        Returns
        -------
        dict
            A value for each attribute.
        """
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Program:
    """An external program: the commands under which it may be found, and how to ask for its version."""

    name: str
    commands: tuple[str, ...]
    purpose: str
    package: str
    """The Debian package that provides it."""
    arguments: tuple[str, ...] = ("--version",)
    question: str | None = None
    """Text sent to its standard input, for a program without a version option."""


PROGRAMS = (
    Program(
        "clang",
        ("clang",),
        "rebuilding the eBPF programs (cargo xtask bpf); using the existing ones does not need it",
        "clang",
    ),
    Program(
        "qemu",
        ("qemu-system-x86_64",),
        "Linux in virtual time (narrows live --vm)",
        "qemu-system-x86",
    ),
    Program("tshark", ("tshark",), "checking captures", "tshark"),
    Program("iperf3", ("iperf3",), "traffic of a program of its own, in live runs and with what is attached", "iperf3"),
    Program(
        "ns-2", ("ns", "ns2"), "the same variants on ns-2 (narrows validate)", "ns2", (), "puts [ns-version]; exit"
    ),
)
"""The programs to look for, apart from ns-3."""


def doctor() -> list[Check]:
    """Check what this machine can do, by trying; this takes a moment and changes nothing.

    Returns
    -------
    list of Check
        Backends first, then the kernel features that they need, then programs.

    Examples
    --------
    >>> doctor()[0].name, doctor()[0].status
    ('simulator', 'ok')
    """
    with ThreadPoolExecutor(max_workers=len(PROGRAMS)) as pool:
        programs = pool.map(_look_for, PROGRAMS)
        kernel = [
            Check(
                "backends" if name in BACKENDS else "kernel", name, cast("Status", status), found, purpose, why, remedy
            )
            for name, status, found, purpose, why, remedy in _core.doctor()
        ]
        backends = [check for check in kernel if check.group == "backends"]
        return [*backends, _virtual_machines(), *kernel[len(backends) :], *programs, _ns3()]


def _virtual_machines() -> Check:
    """Look for what Linux in virtual time needs: QEMU, a kernel, and what is built for guests."""
    name, purpose = "virtual machines", "a scenario on any kernel, in virtual time, without root (narrows live --vm)"
    try:
        newest = kernels.find(None)
        vm.check(newest)
        found = ", ".join(one.release for one in kernels.at_hand())
    except LiveError as error:
        return Check("backends", name, "missing", "", purpose, str(error), error.remedy or "")
    return Check("backends", name, "ok", f"kernels: {found}", purpose)


def _look_for(program: Program) -> Check:
    path = next(filter(None, map(shutil.which, program.commands)), None)
    if path is None:
        tried = " or ".join(program.commands)
        why, remedy = f"no {tried} in the PATH", f"install it (Debian's package {program.package})"
        return Check("programs", program.name, "missing", "", program.purpose, why, remedy)
    try:
        done = subprocess.run(
            [path, *program.arguments],
            input=program.question or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        why = f"it ends with exit code {error.returncode} when it is asked for its version"
    except (OSError, subprocess.TimeoutExpired) as error:
        why = f"it does not say its version: {error}"
    else:
        return Check("programs", program.name, "ok", f"{_version(done.stdout)} ({path})", program.purpose)
    remedy = f"reinstall it (Debian's package {program.package})"
    return Check("programs", program.name, "partly", path, program.purpose, why, remedy)


def _version(text: str) -> str:
    """Find the first number with a dot in a program's output.

    >>> _version("Debian clang version 14.0.6")
    '14.0.6'
    """
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group() if found else "of unknown version"


def _ns3() -> Check:
    """Look for ns-3 in the places where the benchmark does: its Python package, or Debian's headers."""
    purpose = "the same scenarios on ns-3 (make bench)"
    spec = importlib.util.find_spec("ns3") or importlib.util.find_spec("ns")
    if spec is not None and spec.submodule_search_locations:
        return Check("programs", "ns-3", "ok", str(next(iter(spec.submodule_search_locations))), purpose)
    headers = sorted(Path("/usr/include").glob("ns3*/ns3/core-module.h"))
    if headers:
        return Check("programs", "ns-3", "ok", str(headers[0].parent), purpose)
    why = "neither the Python package ns3 nor headers in /usr/include"
    remedy = "install it (the Python package ns3, or Debian's libns3-dev)"
    return Check("programs", "ns-3", "missing", "", purpose, why, remedy)
