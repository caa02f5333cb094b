"""``narrows validate``: the same variants on ns-2, on Linux in virtual time, or on this machine's own stack."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.base.errors import InputError
from narrows.cli import completion
from narrows.cli.guard import guarded, hint, note
from narrows.cli.options import Dask, Estimate, Jobs, Json, MaxMemory, NoProgress  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows.studies.validation.description import Network

Chosen = tuple[list[str] | None, list[str] | None]
"""Names of variants and of networks; ``None`` for all."""

EXAMPLE = (
    "Example: narrows validate --against ns2 --cc reno,cubic --quick -o out/validation.md\n\n"
    "A network of your own: narrows validate --cc reno --scenario dumbbell-cubic --quick -o out/own.md\n\n"
    "Against Linux in virtual time: narrows validate --against linux --cc cubic --quick -o out/linux.md\n\n"
    "Against this machine's own stack: narrows validate --against live --cc cubic --quick -o out/live.md"
)

_PAGES = {
    "ns2": Path("docs/validation/ns2.md"),
    "linux": Path("docs/validation/linux.md"),
    "live": Path("docs/live.md"),
}
"""Backends to compare Narrows with, and the default output page of each."""

_OVERVIEW = Path("docs/validation.md")
"""The page that shows all of them, by variant."""


@guarded
def validate(
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="WHAT",
            help="ns2; linux: a kernel in virtual time (QEMU); live: this machine's own TCP (Linux, root).",
        ),
    ] = "ns2",
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc",
            metavar="NAMES",
            help="Only these variants, separated by commas; * stands for anything.",
            autocompletion=completion.controls,
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option("--network", metavar="NAMES", help="Only these networks, separated by commas; * likewise."),
    ] = None,
    networks: Annotated[
        Path | None,
        typer.Option("--networks", metavar="FILE", help="Your own networks: a file with [[networks]] (ns2 only)."),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            metavar="FILE|NAME",
            help="Your own network: a scenario; beside linux also a bundled one by name. Beside ns-2 it must be a"
            " dumbbell. Repeat it for more.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            metavar="NAMES",
            help="Beside linux: kernels, separated by commas or repeated, the earliest first; see `narrows kernels`.",
            autocompletion=completion.kernels,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="A first look in seconds: few pairs, few seeds.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-n",
            metavar="N",
            help="Live runs of each pair, 3 by default; beside linux, seeds of each scenario.",
        ),
    ] = None,
    earlier: Annotated[
        bool,
        typer.Option(
            "--earlier",
            metavar="",
            help="Beside linux: kept runs of earlier versions of Narrows count too; the page names the versions.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page (.md), or a directory for it; by default docs/validation/ns2.md or linux.md, docs/live.md.",
        ),
    ] = None,
    estimate: Estimate = False,
    dask: Dask = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    json: Json = False,
    no_progress: NoProgress = False,
) -> None:
    """Run variants of TCP on Narrows and on ns-2, on Linux in virtual time or on this machine's own TCP, and compare.

    Writes a page with tables, and except for live with the windows over time. Until the page is written, finished runs
    are kept next to it, and after Ctrl-C the same command continues from there. Runs on Linux in virtual time stay
    there, so that only what has changed runs again. Exits with 1 if a difference is beyond the target and was not
    recorded, or explained, before. Networks that are held out do not affect the exit code.
    """
    from narrows.base import memory

    memory.allow(max_memory)
    if against not in _PAGES:
        message = f"--against is {against!r}; allowed: {', '.join(_PAGES)}"
        raise InputError(message)
    if against != "linux" and (kernel or earlier):
        given = f"--kernel {','.join(kernel)}" if kernel else "--earlier"
        message = f"{given}: is for --against linux"
        raise InputError(message)
    own = networks is not None or bool(scenario)
    if against == "linux":
        from narrows.studies.linux import description

        own = networks is not None or not description.is_bundled(scenario or ())
    if own and output is None:
        message = (
            f"--networks, --scenario: need -o FILE, because {_PAGES[against]} is the page of Narrows' own networks"
        )
        raise InputError(message)
    page = _PAGES[against] if output is None else output
    page = page if page.suffix == ".md" else page / _PAGES[against].name
    chosen, bar = (_names(cc), _names(network)), not no_progress
    if against != "ns2":
        if estimate or dask is not None:
            message = f"{'--estimate' if estimate else '--dask'}: goes with --against ns2; Linux runs on this machine"
            raise InputError(message)
        if networks is not None:
            message = f"--networks: is for --against ns2; networks beside {against} are scenarios: --scenario FILE"
            raise InputError(message)
    if runs is not None and against == "ns2":
        message = f"--runs {runs}: is for --against linux and live; with ns-2 each network has its own number of seeds"
        raise InputError(message)
    with _shown_side_by_side(page):
        if against == "live":
            _live(chosen, page, own=scenario, runs=runs, quick=quick, jobs=jobs, json=json, bar=bar)
            return
        if against == "linux":
            from narrows.cli.validate_linux import against_linux

            named = [*(scenario or ()), *(chosen[1] or ())] or None
            kernels = None if kernel is None else _names(",".join(kernel))
            against_linux(
                chosen[0], named, kernels, page, runs=runs, quick=quick, earlier=earlier, jobs=jobs, json=json, bar=bar
            )
            return
        places = _own(networks, scenario) if own else None
        if estimate:
            from narrows.cli import estimates
            from narrows.studies.validation.validate import estimate as estimated

            estimates.show(
                "validation",
                lambda: estimated(*chosen, own=places, quick=quick, jobs=jobs, dask=dask),
                json=json,
            )
            return
        _ns2(chosen, page, places, quick=quick, jobs=jobs, dask=dask, json=json, bar=bar)


@contextmanager
def _shown_side_by_side(page: Path) -> Iterator[None]:
    """Write the overview again when a validation has written its default page."""
    written = False
    try:
        yield
        written = True
    except typer.Exit:  # it differs, and the page says so
        written = True
        raise
    finally:
        if written and page in _PAGES.values() and _OVERVIEW.exists():
            from narrows.studies.linux import overview

            overview.write(_OVERVIEW, _PAGES)


def _own(networks: Path | None, scenario: list[str] | None) -> list[Network]:
    from narrows.studies.validation import own

    found = own.from_file(networks) if networks is not None else []
    found += [own.from_scenario(one) for one in scenario or []]
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"--networks, --scenario: the name {twice[0]!r} is given twice; allowed: different names"
        raise InputError(message)
    return found


def _ns2(
    chosen: Chosen,
    page: Path,
    own: list[Network] | None,
    *,
    quick: bool,
    jobs: int | None,
    dask: str | None,
    json: bool,
    bar: bool,
) -> None:
    from narrows.cli.runs_progress import RunsDisplay
    from narrows.store import pending
    from narrows.studies.validation import validate as run_both
    from narrows.studies.validation.own import check_page
    from narrows.studies.validation.page import TITLE, check_figures
    from narrows.studies.validation.validate import write

    check_page(page, TITLE)
    check_figures(page)

    def watch(what: str) -> RunsDisplay:
        return RunsDisplay(what, wanted=bar)

    with pending.kept(page) as held:
        made = run_both("ns2", *chosen, own=own, quick=quick, jobs=jobs, dask=dask, keep=held, watch=watch)
        paths = write(made, page)
    if json:
        _echo(made.to_json())
    else:
        from narrows.cli.reference_tables import print_validation

        print_validation(made)
    hint(f"wrote {paths[0]}")
    if made.unexplained:
        note(f"{made.unexplained} flows or medians differ from ns-2 by more than allowed, and lie in no recorded range")
        raise typer.Exit(1)


def _live(
    chosen: Chosen,
    page: Path,
    *,
    own: list[str] | None,
    runs: int | None,
    quick: bool,
    jobs: int | None,
    json: bool,
    bar: bool,
) -> None:
    from narrows.cli.progress import Bar
    from narrows.store import pending
    from narrows.studies.comparison import page as pages
    from narrows.studies.comparison.survey import survey

    pages.check(page)
    with pending.kept(page) as held:
        with Bar("validating against this machine's own stack", wanted=bar) as shown:
            made = survey(*chosen, own=own, runs=runs, quick=quick, jobs=jobs, progress=shown, keep=held)
        pages.write(made, page)
    if json:
        _echo(made.to_json())
    else:
        from narrows.cli.comparison_tables import print_survey

        print_survey(made)
    hint(f"wrote {page}")
    told = [f"{cell.cc} on {cell.network} could not be run: {cell.failure}" for cell in made.failed]
    told += [
        f"{cell.cc} on {cell.network} differs from live by more than the yardstick allows"
        for cell in made.missed
        if cell.failure is None
    ]
    told += [f"the live network misses its target on {one.network}" for one in made.off]
    for one in told:
        note(one)
    if told:
        raise typer.Exit(1)


def _echo(content: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]
