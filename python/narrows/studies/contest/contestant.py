"""Contestants: a congestion control, and other settings of a flow's TCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from narrows.model.scenario import Override


@dataclass(frozen=True, slots=True)
class Contestant:
    """A variant: a label, and settings of a flow's ``tcp`` table.

    Attributes
    ----------
    label : str
        Shown in matrices; unique within a contest.
    tcp : mapping
        Values by field of ``tcp`` in scenario files, such as ``{"cc": "reno", "recovery": "newreno"}``; text is
        interpreted as in a scenario file.

    Examples
    --------
    >>> Contestant.parse("cubic:cc_params.beta=0.8:ecn=true").tcp
    {'cc': 'cubic', 'cc_params.beta': '0.8', 'ecn': 'true'}
    """

    label: str
    tcp: Mapping[str, Override]

    @classmethod
    def parse(cls, text: str) -> Contestant:
        """Parse the command-line form of a contestant: ``NAME`` or ``NAME:FIELD=VALUE:FIELD=VALUE``.

        Parameters
        ----------
        text : str
            A congestion control, and fields of ``tcp`` to set. The label is the whole text.

        Returns
        -------
        Contestant

        Raises
        ------
        InputError
            If the congestion control is unknown, or a field is not an assignment.
        """
        label = text.strip()
        name, *rest = label.split(":")
        _known(name)
        fields: dict[str, Override] = {"cc": name}
        for assignment in rest:
            key, equals, value = (part.strip() for part in assignment.partition("="))
            if not equals or not key or not value or key == "cc":
                message = (
                    f"cc {label!r}: {assignment!r} is not an assignment; allowed: NAME:FIELD=VALUE with a field of "
                    "`tcp`, such as cubic:stack=linux or cubic:cc_params.beta=0.8"
                )
                raise InputError(message)
            fields[key] = value
        return cls(label, fields)

    @property
    def spelled(self) -> str:
        """The text that `parse` reads this contestant from."""
        assignments = [f"{key}={value}" for key, value in self.tcp.items() if key != "cc"]
        return ":".join((str(self.tcp.get("cc", "")), *assignments))


def contestants(given: Iterable[str | Contestant]) -> tuple[Contestant, ...]:
    """Check a list of contestants, and parse those given as text.

    Parameters
    ----------
    given : iterable of str or Contestant
        Text is parsed by `Contestant.parse`.

    Returns
    -------
    tuple of Contestant

    Raises
    ------
    InputError
        If the list is empty, a contestant is unknown, or two have the same label.
    """
    chosen = tuple(one if isinstance(one, Contestant) else Contestant.parse(one) for one in given)
    if not chosen:
        message = "no contestants; allowed: one or more congestion controls, such as cubic,bbr"
        raise InputError(message)
    seen: set[str] = set()
    for one in chosen:
        if one.label in seen:
            message = f"cc {one.label!r}: is named twice; allowed: each contestant once"
            raise InputError(message)
        seen.add(one.label)
    return chosen


def headings(chosen: tuple[Contestant, ...]) -> tuple[str, ...]:
    """Shorten labels to the parts that distinguish the contestants, for rows and columns of matrices.

    Fields that all contestants share are left out, and so is a shared congestion control. The prefix ``cc_params.`` is
    left out if no other field has the same ending. Labels that are not `Contestant.spelled` are not changed.

    Parameters
    ----------
    chosen : tuple of Contestant

    Returns
    -------
    tuple of str
        One for each contestant, all different.

    Examples
    --------
    >>> given = ("cubic", "cubic:stack=linux", "cubic:cc_params.beta=0.8")
    >>> headings(tuple(map(Contestant.parse, given)))
    ('cubic', 'stack=linux', 'beta=0.8')
    >>> headings(tuple(map(Contestant.parse, ("cubic:ecn=true", "bbr:ecn=true", "bbr:ecn=true:stack=rfc"))))
    ('cubic', 'bbr', 'bbr:stack=rfc')
    """
    if len(chosen) < 2:
        return tuple(one.label for one in chosen)
    shared = set.intersection(*({(key, str(value)) for key, value in one.tcp.items()} for one in chosen))
    endings = [_ending(key) for key in {key for one in chosen for key in one.tcp}]

    def heading(one: Contestant) -> str:
        if one.label != one.spelled:
            return one.label
        fields = [(key, value) for key, value in one.tcp.items() if key != "cc" and (key, str(value)) not in shared]
        told = [f"{_ending(key) if endings.count(_ending(key)) == 1 else key}={value}" for key, value in fields]
        named = [] if told and ("cc", str(one.tcp["cc"])) in shared else [str(one.tcp["cc"])]
        return ":".join(named + told)

    made = tuple(map(heading, chosen))
    return made if len(set(made)) == len(made) else tuple(one.label for one in chosen)


def _ending(key: str) -> str:
    return key.removeprefix("cc_params.")


def _known(name: str) -> None:
    import difflib

    from narrows.model.catalogue import list_algorithms

    known = [str(entry["name"]) for entry in list_algorithms()]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows list cc`"
        message = f"cc {name!r}: no such congestion control; {hint}"
        raise InputError(message)
