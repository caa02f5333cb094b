"""Scenarios as validated values: from a file, a text, or the name of a bundled scenario."""

from __future__ import annotations

import difflib
import json
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.base import bundled, inputs
from narrows.base.errors import InputError, Problem, ScenarioError
from narrows.model import own
from narrows.model.reading import parse
from narrows.model.schemes import control_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from narrows.model.resolved import Channel, Resolved

SCHEMA_ID: Final = "https://raw.githubusercontent.com/narrows/narrows/main/docs/scenario.schema.json"
"""Address of the JSON Schema: its ``$id``, and what the first line of a scenario file names."""

Override = str | int | float | bool | dict[str, Any]
"""A replacement for a value of the file: text as the file would write it, a dictionary for a table."""


class Scenario:
    """A validated scenario.

    Make one with `load` or `from_text`.

    Parameters
    ----------
    core : narrows._core.Scenario
        The extension's scenario.
    text : str
        The text that it was parsed from.
    path : str
        The file as it was named.
    overrides : mapping
        Overridden values, by path of the field.

    Examples
    --------
    >>> scenario = Scenario.load("dumbbell-cubic", {"duration": "12 s"})
    >>> scenario.name, scenario.duration_s
    ('dumbbell-cubic', 12.0)
    """

    def __init__(self, core: _core.Scenario, text: str, path: str, overrides: Mapping[str, str]) -> None:
        self._core = core
        self._text = text
        self._path = path
        self._overrides = dict(overrides)

    @classmethod
    def from_text(cls, text: str, path: str = "<text>", overrides: Mapping[str, Override] | None = None) -> Scenario:
        """Parse and validate a scenario.

        Parameters
        ----------
        text : str
            TOML.
        path : str
            Name of the text in messages. Traces are relative to its directory, which for the name of a bundled
            scenario is that of the bundled scenarios.
        overrides : mapping, optional
            Values by path of the field, such as ``{"flows[0].start": "2 s"}``.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            With every problem found.
        """
        written = {field: _written(value) for field, value in (overrides or {}).items()}
        try:
            core = _core.parse(text, path, list(written.items()), own.rows(), str(_folder(path)))
        except _core.ScenarioError as error:
            raise _refusal(error) from None
        return cls(core, text, path, written)

    @classmethod
    def from_text_each(
        cls, text: str, path: str, overrides: Sequence[Mapping[str, Override]]
    ) -> Iterator[tuple[Scenario, str] | ScenarioError]:
        """Parse and validate a scenario once for each set of overrides, faster than one by one.

        Parameters
        ----------
        text, path : str
            As for `from_text`.
        overrides : sequence of mapping
            As for `from_text`, for each scenario.

        Yields
        ------
        tuple or ScenarioError
            The scenario with its `to_nameless_toml`, or every problem found.
        """
        written = [{field: _written(value) for field, value in each.items()} for each in overrides]
        listed = [list(each.items()) for each in written]
        made = _core.parse_each(text, path, listed, own.rows(), str(_folder(path)))
        for each, one in zip(written, made, strict=True):
            yield _refusal(one) if isinstance(one, _core.ScenarioError) else (cls(one[0], text, path, each), one[1])

    @classmethod
    def from_file(cls, path: str | PathLike[str], overrides: Mapping[str, Override] | None = None) -> Scenario:
        """Read a scenario from a file, or a bundled scenario by its name.

        Parameters
        ----------
        path : path or str
            A file, or the name of a bundled scenario (``narrows list scenarios``); ``-`` is standard input.
        overrides : mapping, optional
            As for `from_text`.

        Returns
        -------
        Scenario

        Raises
        ------
        InputError
            If there is no such file and no such name, or the file cannot be read.
        ScenarioError
            With every problem found.
        """
        found = path if str(path) == inputs.STANDARD_INPUT else _find(path)
        text = inputs.text(found, "a scenario file (TOML) or a name from `narrows list scenarios`")
        return cls.from_text(text, str(path), overrides)

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Mapping[str, Override] | None = None) -> Scenario:
        """Read a scenario as `from_file` does; what `narrows.load` is for results.

        Parameters
        ----------
        path, overrides
            As for `from_file`.

        Returns
        -------
        Scenario

        Raises
        ------
        InputError, ScenarioError
            As for `from_file`.
        """
        return cls.from_file(path, overrides)

    def with_overrides(self, overrides: Mapping[str, Override]) -> Scenario:
        """Return a scenario from the same text with further values replaced.

        Parameters
        ----------
        overrides : mapping
            As for `from_text`; they take precedence over earlier ones.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            With every problem found.
        """
        return Scenario.from_text(self._text, self._path, {**self._overrides, **overrides})

    def with_queue(self, text: str) -> Scenario:
        """Return a scenario with another queue discipline at its bottleneck, see `narrows.model.queues.with_queue`.

        Parameters
        ----------
        text : str
            A discipline, with parameters after colons: ``fq_codel:target=10 ms``.

        Returns
        -------
        Scenario
        """
        from narrows.model.queues import with_queue

        return with_queue(self, text)

    @property
    def name(self) -> str:
        """Short name."""
        return self._core.name

    @property
    def path(self) -> str:
        """The file as it was named."""
        return self._path

    @property
    def text(self) -> str:
        """The text that it was parsed from, before overrides."""
        return self._text

    @property
    def overrides(self) -> dict[str, str]:
        """Overridden values, as written."""
        return dict(self._overrides)

    @property
    def duration_s(self) -> float:
        """Simulated time, s."""
        return self._core.duration_ns / 1e9

    @property
    def seed(self) -> int:
        """The seed used if no other is given."""
        return self._core.seed

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is legal but probably not meant, in the order of the file; most scenarios have none."""
        return tuple(Problem.from_core(warning) for warning in self._core.warnings)

    @property
    def core(self) -> _core.Scenario:
        """The extension's scenario."""
        return self._core

    @cached_property
    def resolved(self) -> Resolved:
        """Nodes, links and flows with shorthands expanded, as the engine gets them."""
        return parse(self._core.to_json())

    def paths(self) -> list[list[int]]:
        """Return the nodes that each flow's packets pass, according to the engine's routes.

        Returns
        -------
        list of list of int
            By flow: indices into ``resolved.nodes``, from the flow's source to its sink, both included.
        """
        return self._core.paths()

    @property
    def title(self) -> str:
        """Title for people; the name if there is no title."""
        return self.resolved.title or self.name

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[str, str, dict[str, str], dict[str, Any]]]:
        """Return how a copy is made in another process: it is parsed again, with the controls that it uses.

        Controls of a file that ``--load`` has run are not of a module, so the other process has to load that file.
        """
        used = {name: control for name, control in self.own_controls().items() if _of_a_module(control)}
        return _restored, (self._text, self._path, self._overrides, used)

    def to_file(self) -> str:
        """Return `to_toml` below a line that names the JSON Schema, for editors that complete and check TOML.

        Returns
        -------
        str

        Examples
        --------
        >>> Scenario.load("dumbbell-cubic").to_file().split(maxsplit=1)[0]
        '#:schema'
        """
        return f"#:schema {SCHEMA_ID}\n{self.to_toml()}"

    def to_toml(self) -> str:
        """Return the scenario as TOML with every default shown.

        Returns
        -------
        str
        """
        return self._core.to_toml()

    def to_nameless_toml(self) -> str:
        """Return `to_toml` without the settings that affect no run: name, title, description, and the seed.

        Scenarios with the same text have the same runs: a run replaces the seed.

        Returns
        -------
        str
        """
        return self._core.to_nameless_toml()

    def congestion_controls(self) -> dict[str, str | None]:
        """Return congestion controls by flow; ``none`` where NGWA disables the congestion window, ``None`` for UDP.

        Returns
        -------
        dict
        """
        told = self._core.flow_controls()
        if any(scheme == "ngwa" for _, _, scheme in told):
            return {flow.name: control_of(flow, self.resolved) for flow in self.resolved.flows}
        return {name: cc for name, cc, _ in told}

    def own_controls(self) -> dict[str, Callable[..., object]]:
        """Return the congestion controls written in Python that the flows use.

        Returns
        -------
        dict
            Factories by name.
        """
        known = own.controls()
        used = set(self.congestion_controls().values()) if known else set()
        return {name: factory for name, factory in known.items() if name in used}

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The 802.11 channels with all defaults filled in, as in `resolved`; empty if there are none."""
        return self.resolved.wifi if self._core.has_channels else ()

    def interface_queues(self) -> dict[str, str]:
        """Return 802.11 channels by the name of the interface queue that feeds them; empty without channels.

        Returns
        -------
        dict
            A base station's queue is ``ap->wlan``, or ``ap->w1`` where each station has its own; a station's is
            ``w1->ap``.
        """
        queues: dict[str, str] = {}
        for channel in self.channels:
            name, base = channel.name, channel.base.node
            stations = [station.node for station in channel.stations]
            targets = stations if channel.queues == "per_station" else [name]
            queues |= dict.fromkeys((f"{base}->{target}" for target in targets), name)
            queues |= dict.fromkeys((f"{station}->{base}" for station in stations), name)
        return queues

    def __repr__(self) -> str:
        """Return name, size and duration."""
        nodes, flows = len(self.resolved.nodes), len(self.resolved.flows)
        return f"<Scenario {self.name}: {nodes} nodes, {flows} flows, {self.duration_s:g} s>"

    def _repr_html_(self) -> str:
        from narrows.report import notebook

        return notebook.scenario(self)


def _refusal(error: _core.ScenarioError) -> ScenarioError:
    return ScenarioError(Problem.from_core(problem) for problem in error.problems)


def _of_a_module(control: Any) -> bool:
    """Return whether a class or function can be found by its name, as pickle does; other objects have none."""
    if not hasattr(control, "__qualname__"):
        return True
    found: Any = sys.modules.get(control.__module__)
    for name in control.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is control


def _restored(
    text: str, path: str, overrides: dict[str, str], controls: Mapping[str, Callable[..., object]]
) -> Scenario:
    """Parse a scenario that came from another process; controls that this one knows stay as they are."""
    known = own.controls()
    for name, factory in controls.items():
        if name not in known:
            own.register(name, factory)
    return Scenario.from_text(text, path, overrides)


def _written(value: Override) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        # Text inside a table needs quotes; JSON's quoting is valid TOML.
        fields = (
            f"{json.dumps(str(key))} = {json.dumps(item) if isinstance(item, str) else _written(item)}"
            for key, item in value.items()
        )
        return f"{{ {', '.join(fields)} }}"
    return str(value)


def _folder(path: str) -> Path:
    """Find the directory relative to which a scenario names traces."""
    given = Path(path)
    if given.parent != Path() or given.exists():
        return given.parent
    known = bundled.scenarios().get(path.removesuffix(".toml"))
    return given.parent if known is None else known.parent


def _find(path: str | PathLike[str]) -> Path:
    given = Path(path)
    if given.exists():
        return given
    known = bundled.scenarios()
    name = str(path).removesuffix(".toml")
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "see `narrows list scenarios`"
    message = f"{path}: no such file, and no bundled scenario has that name; {hint}"
    raise InputError(message)
