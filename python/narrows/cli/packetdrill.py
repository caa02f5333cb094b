"""``narrows packetdrill``: packetdrill scripts on Narrows' TCP in virtual time, and on this machine's kernel."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli.guard import guarded, hint
from narrows.cli.options import Force, Jobs, Json, NoProgress, claimed

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.studies.packetdrill import Outcome, Report, Result
    from narrows.studies.packetdrill.outcome import World
    from narrows.studies.packetdrill.scripts import IpVersion

EXAMPLE = (
    "A first script: printf '%s\\n' '0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3' '+0 bind(3, ..., ...) = 0' "
    "'+0 listen(3, 1) = 0' '+0 < S 0:0(0) win 65535 <mss 1460>' '+0 > S. 0:0(0) ack 1 <mss 1460>' > first.pkt\n\n"
    "Example: narrows packetdrill first.pkt\n\n"
    "On this machine's kernel (root): narrows packetdrill --live first.pkt\n\n"
    "Both side by side, with a page: narrows packetdrill --both first.pkt -o first.md"
)


@guarded
def packetdrill(
    scripts: Annotated[
        list[Path], typer.Argument(metavar="SCRIPT|DIR..", help="Scripts, and directories with files named *.pkt.")
    ],
    live: Annotated[
        bool, typer.Option("--live", metavar="", help="On this machine's kernel, in real time (Linux, root).")
    ] = False,
    both: Annotated[
        bool, typer.Option("--both", metavar="", help="Simulated and live: script, simulated and live side by side.")
    ] = False,
    stack: Annotated[
        str, typer.Option("--stack", metavar="NAME", help="The simulated end's stack; linux is the only one so far.")
    ] = "linux",
    ip_version: Annotated[
        str,
        typer.Option(
            "--ip-version", metavar="NAMES", help="ipv4, ipv6, ipv4-mapped-ipv6, separated by commas, or all."
        ),
    ] = "ipv4",
    define: Annotated[
        list[str] | None,
        typer.Option("--define", "-D", metavar="NAME=VALUE", help="Replace a word of the scripts. Can be repeated."),
    ] = None,
    tolerance_usecs: Annotated[
        int | None,
        typer.Option(
            "--tolerance-usecs",
            metavar="N",
            help="How far an event may be from its time; by default as the script says.",
        ),
    ] = None,
    pcap: Annotated[
        bool, typer.Option("--pcap", metavar="", help="Keep each run's packets for Wireshark, in DIR/pcap.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR|FILE.md", help="Directory for results, or the page alone."),
    ] = None,
    force: Force = False,
    jobs: Jobs = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run packetdrill scripts: system calls and packets against Narrows' TCP in virtual time, or against the kernel.

    A mismatch shows expected and actual packet side by side, the events before it, and the connection's state. Exits
    with 1 if a script does not match, with 2 if one cannot be read.
    """
    from narrows.studies.packetdrill import VERSIONS, find, page, run
    from narrows.studies.validation.own import check_page

    worlds: tuple[World, ...] = ("simulated", "live") if both else ("live",) if live else ("simulated",)
    versions: tuple[IpVersion, ...] = VERSIONS if ip_version == "all" else _versions(ip_version)
    is_page = output is not None and output.suffix == ".md"
    if pcap and (output is None or is_page):
        message = "--pcap: needs -o DIR, a directory for the captures"
        raise InputError(message)
    suites = find(scripts)
    claim = None
    if output is not None and is_page:
        check_page(output, page.TITLE, "packetdrill")
    else:
        claim = claimed(output, force, scripts, "report on packetdrill scripts")
    shown = not json
    total = sum(len(suite.scripts) for suite in suites)
    with _Line(total, wanted=not no_progress and total > 1) as line:
        report = run(
            suites,
            worlds,
            versions=versions,
            stack=stack,
            defines=_defines(define or []),
            tolerance_usecs=tolerance_usecs,
            jobs=jobs or (1 if live or both else 2),
            done=line.done,
        )
    command = _command(scripts, live=live, both=both, ip_version=ip_version)
    if output is not None and is_page:
        hint(f"wrote {page.write(report, output, command)}")
    elif claim is not None:
        from narrows.studies.packetdrill import directory

        directory.write(report, claim, command, pcap=pcap)
        hint(f"wrote {output}")
    if json:
        from json import dumps

        typer.echo(dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    if shown:
        _print(report)
    if not report.valid:
        raise typer.Exit(2)
    if not report.passed:
        raise typer.Exit(1)


def _versions(names: str) -> tuple[IpVersion, ...]:
    from narrows.studies.packetdrill import VERSIONS

    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in VERSIONS:
            message = f"--ip-version is {name!r}; allowed: {', '.join(VERSIONS)}, all"
            raise InputError(message)
    return tuple(one for one in VERSIONS if one in chosen)


def _defines(given: list[str]) -> dict[str, str]:
    made = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            message = f"--define {one}: has no value; allowed: NAME=VALUE"
            raise InputError(message)
        made[name] = value
    return made


def _command(scripts: list[Path], *, live: bool, both: bool, ip_version: str) -> str:
    """Return the command as a page shows it: paths by their last two names alone."""
    words = ["narrows packetdrill"]
    if both or live:
        words.append("--both" if both else "--live")
    if ip_version != "ipv4":
        words.append(f"--ip-version {ip_version}")
    return " ".join([*words, *("/".join(path.resolve().parts[-2:]) for path in scripts), "-o FILE.md"])


class _Line:
    """A line on stderr that says how many scripts have run, if that takes long.

    Parameters
    ----------
    total : int
    wanted : bool
    """

    def __init__(self, total: int, *, wanted: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("scripts"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not wanted or not console.is_terminal,
        )
        self._task = self._bar.add_task("scripts", total=total)

    def __enter__(self) -> _Line:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def done(self, _outcome: Outcome) -> None:
        """Count a script."""
        self._bar.advance(self._task)


def _print(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape

    from narrows.cli.plain import new_table

    out = Console(highlight=False)
    outcomes = list(report)
    both = len(report.worlds) > 1
    for one in outcomes:
        for world in report.worlds:
            first = one.first(world)
            if first is not None:
                _print_result(out, one.script.name, first, named=both)
        if both and (len(outcomes) == 1 or any(one.ended(world) != "match" for world in report.worlds)):
            _print_columns(out, one)
    if len(outcomes) > 1 or len(report.worlds) > 1:
        table = new_table()
        table.add_column("script")
        for world in report.worlds:
            table.add_column(world)
        for one in outcomes:
            ends = [one.ended(world) or "" for world in report.worlds]
            if len(outcomes) <= 50 or any(end != "match" for end in ends):
                table.add_row(escape(one.script.name), *(f"[red]{end}[/]" if end != "match" else end for end in ends))
        if table.row_count:
            out.print(table)
    for world in report.worlds:
        match, run = report.counts(world)
        out.print(f"{world}: {match} of {run} scripts match")


def _print_columns(out: Console, one: Outcome) -> None:
    """Print the script, the simulated host and the kernel side by side, an event a row."""
    from rich.text import Text

    from narrows.cli.plain import new_table

    lines = one.script.text.splitlines()
    columns = [one.first("simulated") or one.of("simulated")[0], one.first("live") or one.of("live")[0]]
    made: list[dict[int, list[str]]] = []
    for result in columns:
        events: dict[int, list[str]] = {}
        for step in result.steps:
            events.setdefault(step.line, []).append(f"{step.time_ns / 1e9:.6f} {step.text}")
        if result.difference is not None and result.difference.what != "assertion":
            events.setdefault(result.difference.line, []).append(f"!= {result.difference.actual}")
        made.append(events)
    table = new_table()
    table.add_column("script", ratio=1)
    table.add_column("simulated", ratio=1)
    table.add_column("live", ratio=1)
    for line in sorted({line for events in made for line in events if line > 0}):
        script = " ".join(lines[line - 1].split()) if line <= len(lines) else ""
        cells = ["\n".join(events.get(line, [])) for events in made]
        table.add_row(Text(f"{line:4} {script}"), *(Text(cell, style="red" if "!= " in cell else "") for cell in cells))
    out.print(table)


def _print_result(out: Console, name: str, one: Result, *, named: bool) -> None:
    from rich.text import Text

    place = name if one.line is None else f"{name}:{one.line}"
    head = f"{place}: {one.why}" + (f" ({one.world}, {one.version})" if named or one.version != "ipv4" else "")
    out.print(Text(head, style="bold"))
    if one.difference is not None and one.difference.what != "assertion":
        out.print(Text(f"  script  {one.difference.expected}"))
        out.print(Text(f"  actual  {one.difference.actual}"))
    if one.steps:
        out.print(Text("  before:", style="dim"))
        for step in one.steps[-_LAST:]:
            out.print(Text(f"    {step.line:4}  {step.time_ns / 1e9:.6f} {step.text}", style="dim"))
    if one.state:
        shown = ", ".join(f"{key.removeprefix('tcpi_')} {value}" for key, value in one.state.items() if key in _SHOWN)
        out.print(Text(f"  connection: {shown}", style="dim"))


_LAST = 8
"""Events before a mismatch that are shown; ``--json`` has all."""

_FIELDS = "state ca_state snd_cwnd snd_ssthresh unacked sacked lost retrans rto rtt snd_mss"
_SHOWN = {f"tcpi_{name}" for name in _FIELDS.split()}
"""Fields of ``tcp_info`` that a mismatch shows; ``--json`` has all."""
