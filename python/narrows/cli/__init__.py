"""The command line: one thin file per verb; heavy imports only when a verb needs them."""

from __future__ import annotations

from typing import Annotated

import typer

from narrows.cli import (
    aqm,
    attach,
    audit,
    catalogue,
    contest,
    doctor,
    explain,
    kernels,
    live,
    packetdrill,
    report,
    reproduce,
    run,
    schema,
    show,
    sweep,
    trace,
    validate,
    verify,
)

app = typer.Typer(
    name="narrows",
    help="Narrows, a congestion-control laboratory. Write one scenario; run it in simulation or on real Linux TCP.",
    epilog="Start with: narrows run dumbbell-cubic",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from narrows import _core
        from narrows.base import engine

        typer.echo(f"narrows {engine.told(_core.version())}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


app.command("run", epilog=run.EXAMPLE)(run.run)
app.command("live", epilog=live.EXAMPLE, cls=live.ExecCommand)(live.live)
app.command("shell", epilog=live.SHELL_EXAMPLE)(live.shell)
app.command("reproduce", epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command("sweep", epilog=sweep.EXAMPLE)(sweep.sweep)
app.command("contest", epilog=contest.EXAMPLE)(contest.contest)
app.command("aqm", epilog=aqm.EXAMPLE)(aqm.aqm)
app.command("trace", epilog=trace.EXAMPLE)(trace.trace)
app.command("packetdrill", epilog=packetdrill.EXAMPLE)(packetdrill.packetdrill)
app.command("audit", epilog=audit.EXAMPLE)(audit.audit)
app.command("validate", epilog=validate.EXAMPLE)(validate.validate)
app.command("verify", epilog=verify.EXAMPLE)(verify.verify)
app.command("report", epilog=report.EXAMPLE)(report.report)
app.command("list", epilog=catalogue.EXAMPLE)(catalogue.catalogue)
app.command("explain", epilog=explain.EXAMPLE)(explain.explain)
app.command("show", epilog=show.EXAMPLE)(show.show)
app.command("schema", epilog=schema.EXAMPLE)(schema.schema)
app.command("kernels", epilog=kernels.EXAMPLE)(kernels.kernels)
app.command("attach", epilog=attach.EXAMPLE)(attach.attach)
app.command("detach", epilog=attach.DETACH_EXAMPLE)(attach.detach)
app.command("doctor", epilog=doctor.EXAMPLE)(doctor.doctor)


def main() -> None:
    """Run the command line; entry point of the console script ``narrows``."""
    app()
