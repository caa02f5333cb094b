"""What became of a case: its steps and expectations, as the engine judged them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Judged = Literal["met", "not met", "not judged", "nothing sampled", "does not apply"]
"""Verdict of one expectation. Only ``met`` and ``does not apply`` do not fail the case."""

FAILING: tuple[Judged, ...] = ("not met", "not judged", "nothing sampled")
"""Verdicts that fail a case."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the timeline.

    Attributes
    ----------
    name : str
        Its name: the file's, or ``step 1``, ``step 2`` ..
    line : int or None
        Its line in the file, from 1.
    what : str
        Its condition and action.
    values : tuple of Value
        The variables of its condition when it happened, or at the last look.
    armed_s, happened_s : float or None
        When it began to wait, and when it happened, s since the start of the run.
    reason : str or None
        Why it did not happen.
    """

    name: str
    line: int | None
    what: str
    values: tuple[Value, ...]
    armed_s: float | None
    happened_s: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Value:
    """A variable of an expectation at the look that decided it.

    Attributes
    ----------
    text : str
        The variable as the file writes it.
    value : float or None
        In `unit`; ``None`` if it had no value.
    unit : str
        Its unit; empty for counts.
    shown : str
        The value as people read it.
    """

    text: str
    value: float | None
    unit: str
    shown: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expectation, and its verdict.

    Attributes
    ----------
    name : str
        Its name: the file's, or its expression.
    line : int or None
        Its line in the file, from 1.
    kind : str
        ``always``, ``never``, ``eventually`` or ``then``.
    text : str
        Its expression.
    what : str
        The whole expectation in words.
    verdict : str
        See `Judged`.
    from_s, to_s : float or None
        The time in which it is judged, s since the start of the run.
    decided_s : float or None
        When its verdict was known.
    looks : int
        How often it was judged.
    values : tuple of Value
        Its variables when it was decided.
    reason : str or None
        A sentence with the value and what was expected.
    """

    name: str
    line: int | None
    kind: str
    text: str
    what: str
    verdict: Judged
    from_s: float | None
    to_s: float | None
    decided_s: float | None
    looks: int
    values: tuple[Value, ...]
    reason: str | None

    @property
    def failed(self) -> bool:
        """Whether it fails the case."""
        return self.verdict in FAILING


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one run of a case.

    Attributes
    ----------
    flow : str
        Name of the flow under test.
    ended_s : float
        When the run ended, s: as soon as all was decided.
    passed : bool
        Whether all steps happened and no expectation failed.
    steps : tuple of Step
    expectations : tuple of Expectation
        Both in the file's order.
    """

    flow: str
    ended_s: float
    passed: bool
    steps: tuple[Step, ...]
    expectations: tuple[Expectation, ...]

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Outcome:
        """Create an outcome from the engine's JSON.

        Parameters
        ----------
        given : mapping

        Returns
        -------
        Outcome
        """
        return cls(
            flow=given["flow"],
            ended_s=given["ended_s"],
            passed=given["passed"],
            steps=tuple(Step(**_of(Step, one)) for one in given["steps"]),
            expectations=tuple(Expectation(**_of(Expectation, one)) for one in given["expectations"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain values.

        Returns
        -------
        dict
        """
        return asdict(self)

    @property
    def missed(self) -> tuple[Step, ...]:
        """Steps that never came true."""
        return tuple(step for step in self.steps if step.happened_s is None)

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed, a sentence each: steps first."""
        return tuple(step_text(one) for one in self.missed) + tuple(
            expectation_text(one) for one in self.expectations if one.failed
        )

    @property
    def is_judged(self) -> bool:
        """Whether anything was judged: an expectation applied, or there are only steps."""
        return not self.expectations or any(one.verdict != "does not apply" for one in self.expectations)


def step_text(step: Step) -> str:
    """Describe a step: what, and when it happened or why it did not.

    Parameters
    ----------
    step : Step

    Returns
    -------
    str
    """
    what = f"step {step.name!r}{_line(step.line)}"
    if step.happened_s is None:
        return f"{what} never came true: {step.reason or step.what}"
    return f"{what} at {step.happened_s:.6g} s"


def expectation_text(one: Expectation) -> str:
    """Describe an expectation: its name, verdict and reason.

    Parameters
    ----------
    one : Expectation

    Returns
    -------
    str
    """
    return f"{one.name!r}{_line(one.line)} {one.verdict}: {one.reason or one.what}"


def _line(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


def _of(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a step or an expectation; the engine may tell more. An empty reason is none."""
    fields = {name: given[name] for name in kind.__slots__}
    values = tuple(Value(*(one[name] for name in Value.__slots__)) for one in fields["values"])
    return fields | {"values": values, "reason": fields["reason"] or None}
