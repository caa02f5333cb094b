"""One point of a sweep: its values, its scenario, and what identifies what is run there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from narrows.base.errors import ScenarioError
from narrows.model.scenario import Override, Scenario
from narrows.studies.sweep import address as addresses
from narrows.studies.sweep.quantity import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.sweep.axis import Label
    from narrows.studies.sweep.base import Base
    from narrows.studies.sweep.plan import Sweep


@dataclass(frozen=True)
class Point:
    """One point of a sweep: a value on each axis.

    Attributes
    ----------
    index : int
        Position in the order of the file: the last axis changes fastest.
    labels : dict
        Labels in the rows of the point, by column.
    overrides : dict
        Overrides of the point, including those of ``[set]``, by path of the scenario.
    base : Base
        The scenario file.
    steps : tuple of int
        Index of the point's value on each axis.
    """

    index: int
    labels: Mapping[str, Label]
    overrides: Mapping[str, Override]
    base: Base
    steps: tuple[int, ...]
    sweep: Sweep = field(repr=False, compare=False)

    @property
    def scenario(self) -> Scenario:
        """The validated scenario of this point; kept while there is room (`narrows.studies.sweep.memory`).

        Raises
        ------
        ScenarioError
            With all problems; those caused by an override name the line of the sweep file.
        """
        found = self.__dict__.get("_scenario")
        if isinstance(found, Scenario):
            return found
        try:
            made = Scenario.from_text(self.base.text, self.base.path, self.overrides)
        except ScenarioError as error:
            raise self._told(error) from None
        self._keep(made)
        return made

    def _keep(self, scenario: Scenario) -> None:
        if self.sweep.memory.takes(scenario):
            self.__dict__["_scenario"] = scenario

    @cached_property
    def refusal(self) -> ScenarioError | None:
        """Why the scenario of this point is refused, or ``None``."""
        return self._resolved[1]

    @cached_property
    def _resolved(self) -> tuple[str, ScenarioError | None]:
        """SHA-256 of the resolved scenario and the Python code that takes part, and the refusal, if any."""
        try:
            scenario = self.scenario
        except ScenarioError as error:
            return self._refused(error)
        return self._accepted(scenario, scenario.to_nameless_toml())

    def take(self, parsed: tuple[Scenario, str] | ScenarioError) -> None:
        """Take what `Scenario.from_text_each` yields for this point, so that it is not parsed again.

        Parameters
        ----------
        parsed : tuple or ScenarioError
        """
        if isinstance(parsed, ScenarioError):
            self.__dict__["_resolved"] = self._refused(self._told(parsed))
            return
        self.__dict__["_resolved"] = self._accepted(*parsed)
        self._keep(parsed[0])

    def _told(self, error: ScenarioError) -> ScenarioError:
        return ScenarioError(self.sweep.told(problem, self) for problem in error.problems)

    def _refused(self, error: ScenarioError) -> tuple[str, ScenarioError | None]:
        written = sorted((path, str(value)) for path, value in self.overrides.items())
        return addresses.content(f"{self.base.text}\n{written}", ["refused"]), error

    def _accepted(self, scenario: Scenario, text: str) -> tuple[str, ScenarioError | None]:
        measure = self.sweep.measure
        parts = [] if measure is None else [f"measure {addresses.fingerprint(measure)}"]
        parts += [
            f"cc {name} {addresses.fingerprint(factory)}"
            for name, factory in sorted(addresses.own_controls(scenario).items())
        ]
        return addresses.content(text, parts), None

    def __str__(self) -> str:
        """Return columns and values, axis by axis."""
        units = self.sweep.units
        told = [f"{column} = {shown(label, units.get(column))}" for column, label in self.labels.items()]
        return ", ".join(told) or "the only point"
