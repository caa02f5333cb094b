"""``narrows trace``: a trace of deliveries from a capture or a run, summed up, drawn and written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.base.errors import InputError
from narrows.cli.guard import guarded, hint
from narrows.cli.options import Json  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable
    from ipaddress import IPv4Address, IPv6Address

    from narrows.studies.trace import Deliveries

EXAMPLE = (
    "A run with captures: narrows run cellular --pcap -o results/cellular\n\n"
    "Example: narrows trace results/cellular/pcap/r1-r2.pcapng --src 10.0.0.1 -o downlink.trace --plot downlink.svg\n\n"
    "From the samples: narrows trace results/cellular --link 'r1->r2' -o rates.csv"
)

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}


@guarded
def trace(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A capture (pcap, pcapng), a run's directory, or a trace (mahimahi's format, CSV of rates).",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the trace: rates if FILE ends in .csv, else mahimahi."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the rate over time: .svg, .png or .pdf.")
    ] = None,
    src: Annotated[
        str | None, typer.Option("--src", metavar="ADDRESS", help="Of a capture: only packets from this address.")
    ] = None,
    dst: Annotated[
        str | None, typer.Option("--dst", metavar="ADDRESS", help="Of a capture: only packets to this address.")
    ] = None,
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="NAME", help="Of a run: a link such as 'r1->r2'; by default the busiest."),
    ] = None,
    bin_: Annotated[
        str, typer.Option("--bin", metavar="TIME", help="Interval of the mean rates in CSV, plots and figures.")
    ] = "100 ms",
    json: Json = False,
) -> None:
    """Make a trace of deliveries from a capture or a run, draw it, or show what a trace holds.

    A link follows the trace with `rate = { trace = "FILE" }`. Without -o and --plot, nothing is written. FILE must not
    exist.
    """
    for file, allowed in ((output, None), (plot, (".svg", ".png", ".pdf"))):
        if file is not None:
            _check_new(file, allowed)
    bin_s = _seconds(bin_)
    made, title = _made(source, _address(src, "--src"), _address(dst, "--dst"), link)
    if made.duration_s <= 0:
        message = f"{source}: no time passes between its first and its last delivery"
        raise InputError(message)
    if made.duration_s / bin_s > 1e6:
        message = f"--bin {bin_}: gives {made.duration_s / bin_s:.0f} intervals; allowed: at most 1000000"
        raise InputError(message)
    if output is not None:
        text = made.to_csv(bin_s) if output.suffix == ".csv" else made.to_mahimahi()
        _write_new(output, lambda file: _put(file, text))
        hint(f"wrote {output}")
    if plot is not None:
        from narrows.studies.trace import figure

        _write_new(plot, lambda file: figure.write(made, file, bin_s=bin_s, title=title))
        hint(f"wrote {plot}")
    _print(made, title, bin_s, json=json)


def _made(
    source: Path, src: IPv4Address | IPv6Address | None, dst: IPv4Address | IPv6Address | None, link: str | None
) -> tuple[Deliveries, str]:
    """Return the deliveries and what they are of."""
    from narrows.studies.trace import of_capture, of_run, read
    from narrows.studies.trace.sources import busiest, is_capture

    def refuse(option: str, value: object, kind: str) -> None:
        if value is not None:
            message = f"{option} {value}: {source} is not {kind}; allowed: only with {kind}"
            raise InputError(message)

    if source.is_dir():
        refuse("--src", src, "a capture")
        refuse("--dst", dst, "a capture")
        from narrows.outcome.run import Run
        from narrows.store.results import load

        run = load(source)
        if not isinstance(run, Run):
            message = f"{source}: holds several runs; allowed: the directory of one run"
            raise InputError(message)
        chosen = link or busiest(run)
        return of_run(run, chosen), f"{chosen} in {source.name}"
    refuse("--link", link, "a run's directory")
    if is_capture(source):
        return of_capture(source, src=src, dst=dst), source.name
    refuse("--src", src, "a capture")
    refuse("--dst", dst, "a capture")
    return read(source), source.name


def _address(text: str | None, option: str) -> IPv4Address | IPv6Address | None:
    if text is None:
        return None
    from ipaddress import ip_address

    try:
        return ip_address(text)
    except ValueError:
        message = f"{option} {text}: is no IP address; allowed: one such as 192.0.2.7 or 2001:db8::7"
        raise InputError(message) from None


def _seconds(text: str) -> float:
    """Return a time in s.

    >>> _seconds("100 ms"), _seconds("2s")
    (0.1, 2.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|ms|us|min)\s*", text)
    if match is None or float(match[1]) == 0:
        message = f"--bin {text}: is no time; allowed: a number above 0 with s, ms, us or min"
        raise InputError(message)
    return float(match[1]) * _UNITS[match[2]]


def _check_new(file: Path, suffixes: tuple[str, ...] | None) -> None:
    if suffixes is not None and file.suffix not in suffixes:
        message = f"{file}: ends in {file.suffix!r}; allowed: {', '.join(suffixes)}"
        raise InputError(message)
    if file.exists() or file.is_symlink():
        message = f"{file}: exists; allowed: a new file"
        raise InputError(message)
    if not file.parent.is_dir():
        message = f"{file}: {file.parent} is not a directory"
        raise InputError(message)


def _put(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _write_new(file: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside its place, and move it there whole if nothing has taken the name meanwhile."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix=".narrows.", dir=file.parent) as folder:
        made = Path(folder) / f"made{file.suffix}"
        write(made)
        try:
            file.hardlink_to(made)
        except FileExistsError:
            message = f"{file}: exists; allowed: a new file"
            raise InputError(message) from None


def _print(made: Deliveries, title: str, bin_s: float, *, json: bool) -> None:
    _, rates = made.rates(bin_s)
    values = {
        "duration_s": made.duration_s,
        "delivered_bytes": round(float(made.delivered[-1])),
        "mean_bps": round(made.mean_bps, 3),
        "bin_s": bin_s,
        "min_bps": round(float(rates.min()), 3),
        "max_bps": round(float(rates.max()), 3),
        "longest_gap_s": round(made.longest_gap_s, 9),
    }
    if json:
        from json import dumps

        typer.echo(dumps({"source": title, **values}, indent=2))
        return
    from rich.console import Console

    from narrows.cli.curves import print_curve
    from narrows.report.style import duration, rate
    from narrows.studies.reproduction.result import Curve

    edges, _ = made.rates(bin_s)
    out = Console(highlight=False)
    print_curve(
        Curve(title, "Mb/s", ((f"mean of {duration(bin_s)}", (edges[:-1] + edges[1:]) / 2 - edges[0], rates / 1e6),)),
        out,
    )
    out.print(
        f"{duration(made.duration_s)}, {values['delivered_bytes']:,} bytes, mean {rate(made.mean_bps)}, "
        f"{rate(float(rates.min()))} to {rate(float(rates.max()))} over {duration(bin_s)}, "
        f"longest gap {duration(made.longest_gap_s)}"
    )
