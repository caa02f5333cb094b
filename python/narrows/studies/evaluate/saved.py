"""Reading evaluations without running anything: from a directory, or the stored baseline of a shipped control."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.store.saved import described, refusing_damage
from narrows.studies.evaluate.export import FORMAT, KIND, SUMMARY

if TYPE_CHECKING:
    from os import PathLike

BASELINES: Final = Path(__file__).resolve().parent / "baselines"
"""Folder of the stored evaluations of shipped controls, made by ``--quick``."""


def load(source: str | PathLike[str]) -> dict[str, Any]:
    """Read an evaluation.

    Parameters
    ----------
    source : path or str
        A directory that ``narrows evaluate -o`` wrote, or the name of a control with a stored baseline.

    Returns
    -------
    dict
        As `narrows.studies.evaluate.export.to_json` returns it.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    directory = Path(source)
    file = directory / SUMMARY
    if not file.is_file():
        stored = BASELINES / f"{source}.json.gz"
        if directory.name == str(source) and stored.is_file():
            return _checked(json.loads(gzip.decompress(stored.read_bytes())))
        message = (
            f"{source}: holds no evaluation; allowed: a directory of `narrows evaluate -o`"
            f"{', or ' + ', '.join(names) if (names := baselines()) else ''}"
        )
        raise InputError(message)
    with refusing_damage(directory):
        return _checked(described(file, format=FORMAT, kind=KIND))


def baselines() -> list[str]:
    """Return the names of the controls with a stored baseline.

    Returns
    -------
    list of str
    """
    return sorted(path.name.removesuffix(".json.gz") for path in BASELINES.glob("*.json.gz"))


def below(directory: str | PathLike[str]) -> list[dict[str, Any]]:
    """Read all evaluations in the folders of a directory.

    Parameters
    ----------
    directory : path

    Returns
    -------
    list of dict
        By name of the folder.

    Raises
    ------
    InputError
        If there is none, or one is damaged.
    """
    found = [load(path.parent) for path in sorted(Path(directory).glob(f"*/{SUMMARY}"))]
    if not found:
        message = (
            f"{directory}: no folder in it holds an evaluation; allowed: what `narrows evaluate --all -o DIR` wrote"
        )
        raise InputError(message)
    return found


def _checked(content: dict[str, Any]) -> dict[str, Any]:
    for row in content["rows"]:
        _ = row["row"], row["verdict"], row["measure"], row["value"]["mean"], row["seeds"], row["values"], row["class"]
    _ = content["control"], content["verdicts"]["met"], content["digest"]
    return content
