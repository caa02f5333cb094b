"""``narrows attach`` and ``narrows detach``: congestion controls for every program on this host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.runs.host import Attaching, Deployed

SYSCTL = "net.ipv4.tcp_congestion_control"

EXAMPLE = (
    "Example: narrows attach agile_sd --param lambda_max=3\n\n"
    "List what is attached: narrows attach --list\n\n"
    "To undo it: narrows detach agile_sd"
)
DETACH_EXAMPLE = "To have one: narrows attach agile_sd\n\nExample: narrows detach agile_sd"


@guarded
def attach(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The congestion control to attach.", autocompletion=completion.controls),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="Set a parameter. Can be repeated."),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", metavar="", help="Also make it the default for new connections.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", metavar="", help="List what is attached instead.")] = False,
    json: Json = False,
) -> None:
    """Register a congestion control on this host as an eBPF program; any program can then select it by name.

    It stays registered until `narrows detach` or the next boot. Needs root.
    """
    from narrows.runs import host

    if listing:
        if name is not None or param or default:
            message = "--list: takes no other argument than --json; allowed: narrows attach --list"
            raise InputError(message)
        _list(host.attached(), json)
        return
    if name is None:
        message = f"NAME: is missing; allowed: {', '.join(host.attachable())}, or --list"
        raise InputError(message)
    done = host.attach(name, _parameters(param or []), default=default)
    if json:
        _print_json({"format": 1, "is_new": done.is_new, "mounted": done.mounted, **_entry(done.deployed)})
    else:
        typer.echo(told(done))


@guarded
def detach(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="One of `narrows attach --list`.", autocompletion=completion.controls),
    ],
) -> None:
    """Remove a congestion control that `narrows attach` registered. Its connections keep it until they close."""
    from narrows.runs import host

    default = host.detach(name)
    typer.echo(f"{name} is no longer registered; connections that use it keep it until they close")
    if default is not None:
        typer.echo(f"{SYSCTL} is {default} again")


def told(done: Attaching) -> str:
    """Describe what attaching changed, how to use it, and how to undo it.

    Parameters
    ----------
    done : Attaching

    Returns
    -------
    str
        Several lines.

    Examples
    --------
    >>> from narrows.runs.host import Attaching, Deployed
    >>> print(told(Attaching(Deployed("agile_sd", {"beta1": "0.9"}, False, None, "/x"), False, False)).splitlines()[0])
    agile_sd was attached already, with beta1=0.9: nothing is changed
    """
    deployed = done.deployed
    name, params = deployed.name, _words(deployed)
    if not done.is_new:
        now = "; it is the default" if deployed.is_default else ": nothing is changed"
        lines = [f"{name} was attached already, with {params}{now}"]
    else:
        lines = [
            f"{name} is attached to this host, with {params}",
            "",
            "What has changed:",
            f"  {name} is one of the kernel's congestion controls now; programs that do not select it are not affected",
            f"  {deployed.pin} keeps it registered until `narrows detach {name}` or the next boot",
        ]
        if done.mounted:
            lines.append("  the BPF file system is mounted at /sys/fs/bpf; the last detach unmounts it")
    if deployed.is_default:
        lines.append(
            f"  {SYSCTL} is {name} instead of {deployed.replaced or 'another'}: new connections of this network"
            " namespace use it"
        )
    every = "" if deployed.is_default else f"\n  every program   narrows attach {name} --default   (sets {SYSCTL})"
    return "\n".join(lines) + (
        f"\n\nHow to use it:"
        f'\n  in C            setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "{name}", {len(name)})'
        f'\n  in Python       s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"{name}")'
        f"\n  iperf3          iperf3 -c HOST -C {name}"
        f"{every}"
        "\nSelect it before connecting: settings of the default stay, such as BBR's pacing (iperf3 selects it after)."
        f"\n\nHow to remove it: narrows detach {name}"
    )


def _words(deployed: Deployed) -> str:
    return " ".join(f"{key}={value}" for key, value in deployed.params.items()) or "no parameters"


def _parameters(assignments: Sequence[str]) -> dict[str, str]:
    split: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            message = f"--param {assignment}: is not an assignment; allowed: name=value, such as lambda_max=3"
            raise InputError(message)
        split[key.strip()] = value.strip()
    return split


def _entry(deployed: Deployed) -> dict[str, object]:
    return {
        "name": deployed.name,
        "parameters": deployed.params,
        "is_default": deployed.is_default,
        "replaced": deployed.replaced,
        "pin": deployed.pin,
    }


def _print_json(content: dict[str, object]) -> None:
    import json as codec

    typer.echo(codec.dumps(content, indent=2, ensure_ascii=False))


def _list(attached: Sequence[Deployed], json: bool) -> None:
    if json:
        _print_json({"format": 1, "attached": [_entry(deployed) for deployed in attached]})
        return
    if not attached:
        typer.echo("nothing is attached")
    for deployed in attached:
        default = f"  (the default, instead of {deployed.replaced})" if deployed.is_default else ""
        typer.echo(f"{deployed.name}  {_words(deployed)}{default}")
