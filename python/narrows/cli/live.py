"""``narrows live`` and ``narrows shell``: a scenario on this machine's own TCP stack."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from narrows.base.errors import InputError
from narrows.cli import completion, continuing, ending
from narrows.cli.guard import guarded, hint, warn
from narrows.cli.options import File, Force, Json, MaxMemory, NoProgress, Output, Set, claimed, overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.kernels import Kernel
    from narrows.model.scenario import Scenario
    from narrows.runs import captures
    from narrows.runs.live import Program
    from narrows.runs.simulated import Batch, Run

EXAMPLE = (
    "Example: narrows live dumbbell-cubic --set 'duration=12 s' -o out\n\n"
    "With a program on a host: narrows live dumbbell-cubic --set 'duration=12 s' --exec s1 'sleep 2; ss -tin'\n\n"
    "On a kernel of `narrows kernels`, without root: narrows live dumbbell-cubic --vm --set 'duration=12 s'\n\n"
    "Traffic of other programs: narrows live dumbbell-cubic --set 'duration=15 s' --exec d1 'iperf3 -s -1' "
    "--exec s1 'sleep 1; iperf3 -c d1'"
)
SHELL_EXAMPLE = "Example: narrows shell dumbbell-cubic s1"

_BETWEEN = "\x1f"
"""Joins the two values of ``--exec``: Typer has no repeatable option with two values."""

_EXEC = "--exec"

_SHOWN = 3
"""Most differences from the scenario's stack to list; the conditions contain all of them."""

_WELL = (": exit code 0", ": ran until the end")
"""Endings of the reports on programs that succeeded."""


class ExecCommand(TyperCommand):
    """A command whose ``--exec`` takes two values, a host and a command line, and may be given several times."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two values of each ``--exec``, then parse as usual.

        Parameters
        ----------
        ctx : Context
            Typer's context.
        args : list of str
            As the shell gave them.

        Returns
        -------
        list of str
            The remaining arguments.
        """
        joined: list[str] = []
        rest = iter(args)
        for argument in rest:
            joined.append(argument)
            if argument == _EXEC:
                joined.append(
                    _BETWEEN.join(value for value in (next(rest, None), next(rest, None)) if value is not None)
                )
        return super().parse_args(ctx, joined)


def programs(given: list[str] | None) -> list[Program]:
    """Read the values of ``--exec``.

    Parameters
    ----------
    given : list of str, optional
        Host and command line, joined by `ExecCommand`.

    Returns
    -------
    list of narrows.runs.live.Program

    Raises
    ------
    InputError
        If a value has no command.
    """
    from narrows.runs.live import Program

    made = []
    for pair in given or []:
        host, between, command = pair.partition(_BETWEEN)
        if not between or not command.strip():
            message = f"--exec {host}: has no command; allowed: a host and a command line, such as s1 'ping -c 3 d1'"
            raise InputError(message)
        made.append(Program(host, command))
    return made


Exec = Annotated[
    list[str] | None,
    typer.Option(
        _EXEC,
        metavar="HOST COMMAND",
        help="Run a command on a host during the run (sh -c; host names resolve). Its output goes to standard "
        "error. Can be repeated.",
    ),
]


@guarded
def live(
    file: File,
    output: Output = None,
    force: Force = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Seed of losses and applications; by default the scenario's own."),
    ] = None,
    set_: Set = None,
    runs: Annotated[
        int, typer.Option("--runs", "-n", metavar="N", help="Number of runs, one after another: 1 by default.")
    ] = 1,
    exec_: Exec = None,
    vm: Annotated[
        bool,
        typer.Option(
            "--vm", metavar="", help="Run on the Linux of a virtual machine, in virtual time: repeatable, without root."
        ),
    ] = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="NAME|FILE",
            help="Kernel of the virtual machine: the newest at hand by default.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    kernel_qdisc: Annotated[
        bool,
        typer.Option(
            "--kernel-qdisc",
            metavar="",
            help="With --vm: the kernel's own queue disciplines carry the links whose discipline Linux has.",
        ),
    ] = False,
    pcap: Annotated[
        bool, typer.Option("--pcap", metavar="", help="Capture packets into DIR/pcap (pcapng, a file per link).")
    ] = False,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Print nothing but errors.")] = False,
) -> None:
    """Run a scenario on this machine's own TCP stack, in real time, through Narrows' own bottleneck.

    Hosts are unnamed network namespaces. Nothing outside them changes, and nothing is left behind. Needs Linux and
    root; `narrows doctor` shows what is missing. The exit code is 3 if this machine cannot run it. With -o, the same
    command continues several runs that were interrupted.

    With --vm the same runs in a virtual machine, on a kernel of `narrows kernels`: two runs are equal bit for bit, on
    any machine and under any load. Needs QEMU, but no root.
    """
    from narrows.base import memory

    memory.allow(max_memory)
    if pcap and output is None:
        message = "--pcap needs a directory to put the packets; add -o DIR"
        raise InputError(message)
    from narrows import ownership
    from narrows.cli.progress import Bar
    from narrows.model.scenario import Scenario
    from narrows.runs import captures, estimate
    from narrows.runs import live as world
    from narrows.store import results

    if kernel_qdisc and not vm:
        message = "--kernel-qdisc: is for virtual machines; add --vm"
        raise InputError(message)
    machine = _machine(vm, kernel, pcap, exec_)
    scenario = Scenario.from_file(file, overrides(set_))
    warn(scenario)
    wanted = programs(exec_)
    held = claimed(output, force, [file])
    estimate.check_one(scenario)
    if machine is None:
        world.check(scenario)
    begin = time.monotonic()
    with continuing.store(output, wanted=runs > 1 and not pcap) as opened:
        kept = continuing.live(opened, scenario, seed, runs, (machine, kernel_qdisc, wanted), quiet=quiet)
        with ExitStack() as stack:
            directory = stack.enter_context(ownership.staged(held)) if held is not None else None
            where = "live" if machine is None else f"Linux {machine.release}"
            bar = stack.enter_context(Bar(f"{scenario.name}: {where}", wanted=not (no_progress or quiet or wanted)))
            captured = captures.Staged(directory / results.PCAP) if directory is not None and pcap else None
            options: dict[str, Any] = {"seed": seed, "runs": runs, "programs": wanted, "progress": bar, "kept": kept}
            result, interruption = ending.finished(
                lambda: _made(scenario, machine, captured, kernel_qdisc, **options), opened, directory, "--runs {runs}"
            )
        if not quiet:
            ending.show(result, time.monotonic() - begin, output, json=json)
        _warn(result, quiet)
        if interruption is not None:
            raise interruption


def _warn(result: Run | Batch, quiet: bool) -> None:
    """Print why a result is not to be trusted, what the kernel has its own of, and which programs failed."""
    for doubt in dict.fromkeys(doubt for run in result.runs for doubt in run.doubts):
        hint(f"warning: not to be trusted: {doubt}")
    others = _kernels_own(result.runs[0].conditions or {})
    if others and not quiet:
        hint(others)
    for end in (end for run in result.runs for end in (run.conditions or {}).get("programs", ())):
        if not end.endswith(_WELL):
            hint(f"warning: {_EXEC} {end}")


def _machine(vm: bool, kernel: str | None, pcap: bool, exec_: list[str] | None) -> Kernel | None:
    """Find the kernel of a virtual machine, if one is wanted; refuse what a virtual machine does not have."""
    if not vm:
        if kernel is not None:
            message = f"--kernel {kernel}: is for virtual machines; add --vm"
            raise InputError(message)
        return None
    from narrows import kernels
    from narrows.runs import vm as virtual

    for option, given, why in (
        ("--pcap", pcap, "virtual machines hand over no captures yet"),
        (_EXEC, bool(exec_), "the guest has no programs but its own"),
    ):
        if given:
            message = f"{option}: {why}; allowed: a run without --vm"
            raise InputError(message)
    found = kernels.find(kernel)
    virtual.check(found)
    return found


def _made(
    scenario: Scenario, machine: Kernel | None, pcap: captures.Staged | None, kernel_qdisc: bool, **options: Any
) -> Run | Batch:
    """Make the runs, on this machine or in a virtual one."""
    if machine is None:
        from narrows.runs import live as world

        return world.run(scenario, pcap=pcap, **options)
    from narrows.runs import vm as virtual

    return virtual.run(scenario, machine, kernel_qdisc=kernel_qdisc, **options)


def _kernels_own(conditions: Mapping[str, Any]) -> str:
    """Describe in one line which of the scenario's settings the kernel replaces by its own; empty if none.

    >>> _kernels_own({"left_to_the_kernel": ["stack: ns2 there, linux here", "undo: false there, true here"]})
    "note: Linux's own in place of the scenario's: stack: ns2 there, linux here; undo: false there, true here"
    """
    told = list(conditions.get("left_to_the_kernel", ()))
    if not told:
        return ""
    shown = told if len(told) <= _SHOWN else [*told[:_SHOWN], f"and {len(told) - _SHOWN} more (left_to_the_kernel)"]
    return f"note: Linux's own in place of the scenario's: {'; '.join(shown)}"


@guarded
def shell(
    file: File,
    host: Annotated[
        str | None, typer.Argument(metavar="[HOST]", help="Host to open the shell on; by default the first.")
    ] = None,
    set_: Set = None,
    traffic: Annotated[
        bool, typer.Option("--traffic", metavar="", help="Run the scenario's flows too, for its duration.")
    ] = False,
) -> None:
    """Open a shell on a host of the emulated network. The network ends with the shell.

    The other hosts' names resolve there. Needs Linux and root.
    """
    from narrows.model.scenario import Scenario
    from narrows.runs import live as world

    scenario = Scenario.from_file(file, overrides(set_))
    warn(scenario)
    world.check(scenario)
    code = world.shell(scenario, host, traffic=traffic)
    if code:
        raise typer.Exit(code)
