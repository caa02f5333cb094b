"""Writing exports: all files of a command appear together, and replace nothing but earlier exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from narrows import ownership
from narrows.base.errors import InputError
from narrows.export import directory, latex, tables, tex
from narrows.export.options import Options, options
from narrows.export.values import FIGURES, FORMATS, PACKETS, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    import pyarrow as pa

    from narrows.export.directory import Result
    from narrows.export.values import Contents, Drawing, Table


def write(
    source: str | PathLike[str] | Result,
    out: str | PathLike[str],
    to: str | Sequence[str] = "csv",
    *,
    tables: str | Sequence[str] = (),
    figures: str | Sequence[str] = (),
    width: str | float = "column",
    dpi: int = 300,
    flow: str = "",
) -> list[Path]:
    """Export a result: a file for each table and figure, in each format.

    Parameters
    ----------
    source
        As for `contents`.
    out : path
        A directory. It may exist and hold other files: only earlier exports are replaced.
    to : str or sequence of str
        Formats of `FORMATS`; a text is a list with commas.
    tables, figures : str or sequence of str
        Names; ``*`` stands for any letters. By default all.
    width : str or float
        Width of figures and LaTeX tables: ``column`` (3.5 in), ``page`` (7.16 in), or millimetres.
    dpi : int
        Resolution of PNG, dots per inch.
    flow : str
        Only the packets of this flow, in formats with a file for each flow.

    Returns
    -------
    list of pathlib.Path
        The files.

    Raises
    ------
    InputError
        If an argument is not allowed, there is nothing to export, or a file that is not an export has the name of one.
    RunError
        If writing failed; nothing is left behind.

    Examples
    --------
    >>> import tempfile
    >>> import narrows as nw
    >>> run = nw.run("dumbbell-cubic", seed=1, overrides={"duration": "12 s"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in nw.export.write(run, folder, tables="flows")]
    ['columns.csv', 'flows.csv']
    """
    return put(
        directory.contents(source), out, options(to, tables=tables, figures=figures, width=width, dpi=dpi, flow=flow)
    )


def put(contents: Contents, out: str | PathLike[str], wanted: Options) -> list[Path]:
    """Write what is wanted of a result.

    Parameters
    ----------
    contents : Contents
    out : path
    wanted : Options

    Returns
    -------
    list of pathlib.Path

    Raises
    ------
    InputError, RunError
        As for `write`.
    """
    target = Path(out)
    # Commands that export other parts of the same result add to each other.
    part = f"{_of(contents)}{' '.join((*wanted.to, *wanted.tables, *wanted.figures, wanted.flow)).strip()}"
    adding = (
        ownership.adding(target, part)
        if target.is_dir()
        else ownership.staged(ownership.claim(target, kind=ownership.PAGES), part=part, alone=False)
    )
    with adding as folder:
        fill(contents, folder, wanted)
        written = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        if not written:
            message = f"{contents.name}: has no {_what(wanted)}; allowed: {_allowed(contents)}"
            raise InputError(message)
        _check_replaced(target, _of(contents), written)
    return [target / path for path in written]


def fill(contents: Contents, folder: Path, wanted: Options) -> None:
    """Write what is wanted into an existing folder.

    Parameters
    ----------
    contents : Contents
    folder : pathlib.Path
        As `narrows.ownership.staged` provides it.
    wanted : Options

    Raises
    ------
    InputError
        If a table or figure is not there.
    OSError
        If writing fails.
    """
    chosen = contents.chosen_tables(wanted.tables)
    if "csv" in wanted.to:
        _csv(chosen, folder)
    if "latex" in wanted.to:
        for table in chosen:
            if table.printed is not None:
                label = tex.label("tab", contents.name, table.name)
                text = latex.table(table.printed(), table.title, label, wanted.width_mm)
                _place(folder, f"{table.name}{TABLES['latex']}").write_text(text, encoding="utf-8")
    traced = [kind for kind in wanted.to if kind in PACKETS]
    if traced:
        from narrows.export import traces

        traces.write(contents, folder, traced, wanted.flow)
    kinds = [kind for kind in wanted.to if kind in FIGURES]
    if kinds:
        from narrows.export import drawings

        for drawing in contents.chosen_figures(wanted.figures):
            # A pattern takes the formats that there are; a name asks for each.
            for kind in kinds if drawing.name in wanted.figures else (one for one in kinds if one in drawing.formats):
                path = _place(folder, f"{drawing.name}{FIGURES[kind]}")
                drawings.save(drawing, path, kind, wanted.width_in, wanted.dpi)


def _csv(chosen: Iterable[Table], folder: Path) -> None:
    schemas: list[tuple[str, pa.Schema]] = []
    for table in chosen:
        if table.rows is not None:
            rows = table.rows()
            schemas.append((table.name, rows.schema))
            tables.write_csv(_place(folder, f"{table.name}{TABLES['csv']}"), rows)
    if schemas:
        tables.write_csv(folder / f"{tables.COLUMNS}.csv", tables.listed(schemas))


def _place(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _of(contents: Contents) -> str:
    """Return the beginning of the name of every step that exports a result."""
    return f"export of {contents.source or contents.name}: "


def _check_replaced(target: Path, prefix: str, written: Sequence[Path]) -> None:
    """Refuse to replace what another result's export, or another command, wrote."""
    known = ownership.parts(target)
    for path in written:
        part = known.get(path.as_posix())
        if part is not None and not part.startswith(prefix):
            message = (
                f"{target / path}: was written by another step ({part}) and is left unchanged; "
                "allowed: another directory"
            )
            raise InputError(message)


def _what(wanted: Options) -> str:
    kinds = dict.fromkeys("figures" if one in FIGURES else "tables" for one in wanted.to if one not in PACKETS)
    return f"{' or '.join(kinds)} in the formats {', '.join(wanted.to)}"


def _allowed(contents: Contents) -> str:
    items: tuple[Table | Drawing, ...] = (*contents.tables, *contents.figures)
    there = {one for item in items for one in item.formats}
    return ", ".join(one for one in FORMATS if one in there)
