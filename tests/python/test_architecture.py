"""Imports go one way: a group of the package imports only groups above it in the table of ARCHITECTURE.md."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "python"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

CLIENTS = frozenset({"papers"})
"""Groups that may import public names, as a user does."""

SUMMED_UP = frozenset({"cli", "papers", "stats"})
"""Groups whose modules the table does not name one by one."""

NO_GROUP = frozenset({"data"})
"""Folders of the package without modules."""


class Import(NamedTuple):
    """An import of one of our modules; names are below `narrows`, whose own name is empty."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        """Return importer and imported, for a message."""
        return f"narrows.{self.importer}:{self.line} imports narrows.{self.imported}".rstrip(".")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table that begins with a heading."""
    lines = PAGE.partition(f"\n{heading}\n")[2].splitlines()
    assert lines, f"ARCHITECTURE.md has no table {heading}"
    cells = []
    for line in lines[1:]:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return cells


def groups() -> list[str]:
    """Return the groups, from the first one of the table to the last."""
    return [row[0].strip("`/") for row in rows("| group | its one job | its modules |")]


def exceptions() -> set[tuple[str, str]]:
    """Return the imports that may go upward."""
    return {(row[0].strip("`"), row[1].strip("`")) for row in rows("| from | to | why |")}


def modules() -> dict[str, Path]:
    """Return the modules by name below `narrows`; those of `narrows_papers` stand below `papers`."""
    found = {}
    for package, prefix in (("narrows", ()), ("narrows_papers", ("papers",))):
        for path in sorted((PACKAGES / package).rglob("*.py")):
            parts = path.relative_to(PACKAGES / package).with_suffix("").parts
            if parts[0] not in NO_GROUP:
                parts = (*prefix, *parts)
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def below(name: str) -> str | None:
    """Return a module's name below `narrows`; None of another package's."""
    if name == "narrows_papers" or name.startswith("narrows_papers."):
        return name.replace("narrows_papers", "papers", 1)
    return name.removeprefix("narrows").removeprefix(".") if name == "narrows" or name.startswith("narrows.") else None


def imports(module: str, path: Path, known: dict[str, Path]) -> Iterator[Import]:
    """Yield all imports of our own modules: at module level, in functions, for types, and by `import_module`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                names = [from_package(str(node.module), alias.name, known) for alias in node.names]
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
                names = [name]
            case _:
                continue
        for name in dict.fromkeys(names):
            imported = below(name)
            if imported is not None and imported != "_core":
                yield Import(module, imported, node.lineno)


def from_package(package: str, name: str, known: dict[str, Path]) -> str:
    """Return what `from package import name` imports: a module if there is one of that name, else the package."""
    whole = f"{package}.{name}"
    return whole if below(whole) in {*known, "_core"} else package


@cache
def all_imports() -> tuple[Import, ...]:
    known = modules()
    return tuple(one for module, path in known.items() for one in imports(module, path, known))


def group(module: str) -> str:
    return module.partition(".")[0]


def goes(one: Import, importer: str, imported: str) -> bool:
    """Return whether an import goes from one module to another one or into a package."""
    return one.importer == importer and (one.imported == imported or one.imported.startswith(f"{imported}."))


def test_every_group_is_in_the_table_and_every_row_is_a_group() -> None:
    folders = {path.parent.name for path in (PACKAGES / "narrows").glob("*/*.py")} - NO_GROUP
    if (PACKAGES / "narrows_papers").is_dir():
        folders.add("papers")
    assert set(groups()) == folders


def test_the_tables_name_every_module() -> None:
    told = {row[0].strip("`/"): row[2] for row in rows("| group | its one job | its modules |")}
    told |= {row[0].strip("`/").replace("/", "."): row[1] for row in rows("| study | its one job |")}
    missing = []
    for module in modules():
        package, _, name = module.rpartition(".")
        if package in told and package not in SUMMED_UP and module not in told and f"`{name}`" not in told[package]:
            missing.append(f"narrows.{module}")
    assert missing == []


def test_a_group_imports_only_groups_above_it() -> None:
    rank = {name: number for number, name in enumerate(groups())}
    upward = [
        str(one)
        for one in all_imports()
        if group(one.importer) in rank
        and group(one.imported) in rank
        and rank[group(one.imported)] > rank[group(one.importer)]
        and not any(goes(one, *excepted) for excepted in exceptions())
    ]
    assert upward == []


def test_no_group_imports_public_names() -> None:
    known = set(groups())
    wrong = [
        str(one) for one in all_imports() if group(one.importer) in known - CLIENTS and group(one.imported) not in known
    ]
    assert wrong == []


def test_every_exception_is_needed() -> None:
    found = all_imports()
    unused = [one for one in exceptions() if not any(goes(import_, *one) for import_ in found)]
    assert unused == []


@pytest.mark.parametrize(
    ("public", "home"),
    [
        ("comparison", "studies.comparison"),
        ("contest", "studies.contest"),
        ("own", "model.own"),
        ("sweep", "studies.sweep"),
    ],
)
def test_public_modules_hand_on_every_public_name(public: str, home: str) -> None:
    here, there = import_module(f"narrows.{public}"), import_module(f"narrows.{home}")
    assert set(here.__all__) == set(there.__all__)
    assert all(getattr(here, name) is getattr(there, name) for name in there.__all__)


def test_metrics_hands_on_every_formula() -> None:
    import narrows.metrics
    from narrows.metrics import formulas

    own = {name for name, value in vars(formulas).items() if getattr(value, "__module__", "") == formulas.__name__}
    assert {name for name in own if not name.startswith("_")} <= set(narrows.metrics.__all__)
