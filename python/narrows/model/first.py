"""A first scenario as a commented file: a dumbbell and some flows, from a few answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from narrows.base.errors import InputError, ScenarioError
from narrows.model.catalogue import catalogue
from narrows.model.scenario import SCHEMA_ID, Scenario

MOST_FLOWS: Final = 100
"""Most flows that a first scenario lists one by one; ``copies`` makes more."""

_FIELDS: Final = {
    "name": "name",
    "rate": "topology.bottleneck.rate",
    "rtt": "topology.bottleneck.delay",
    "buffer": "topology.bottleneck.queue.limit",
    "queue": "topology.bottleneck.queue.kind",
    "cc": "flows[0].cc",
    "duration": "duration",
}
"""The field of a scenario that each answer becomes."""

_PROBE: Final = """
[topology]
kind = "dumbbell"
bottleneck = { rate = "1 Gb/s", delay = "1 ms", queue = { limit = "100 packets" } }
access = { rate = "10 Gb/s", delay = "0 s" }
[[flows]]
from = "s1"
to = "d1"
"""
"""A scenario to which single answers are given, to see whether they are allowed."""

_TIMES: Final = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
_RATES: Final = (("Gb/s", 10**9), ("Mb/s", 10**6), ("kb/s", 10**3), ("b/s", 1))
_MOST_RATE: Final = 10**13
_BDP: Final = "bdp"


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """Answers about a first scenario, as text.

    Attributes
    ----------
    name : str
        Of the scenario.
    rate, rtt : str
        Of the bottleneck; round-trip time without queueing.
    buffer : str
        Limit of the bottleneck's queue: packets, bytes, a time at its rate, or bandwidth-delay products (``2 bdp``).
    queue : str
        Queue discipline.
    cc : str
        Congestion controls, separated by commas.
    flows : int, optional
        Number of flows, which take the controls in turn; by default one for each control.
    duration : str
        Of a run.
    """

    name: str = "first"
    rate: str = "10 Mb/s"
    rtt: str = "40 ms"
    buffer: str = "1 bdp"
    queue: str = "droptail"
    cc: str = "cubic,cubic"
    flows: int | None = None
    duration: str = "30 s"

    def controls(self) -> list[str]:
        """Return the congestion control of each flow.

        Returns
        -------
        list of str

        Raises
        ------
        InputError
            If there is no control, or the number of flows is out of range.
        """
        named = [name.strip() for name in self.cc.split(",") if name.strip()]
        if not named:
            message = f"--cc {self.cc}: names no congestion control; allowed: names from `narrows list cc`"
            raise InputError(message)
        count = len(named) if self.flows is None else self.flows
        if not 1 <= count <= MOST_FLOWS:
            message = f"--flows {count}: allowed: 1 to {MOST_FLOWS}; `copies` of a [[flows]] table makes more"
            raise InputError(message)
        return [named[index % len(named)] for index in range(count)]


def check(option: str, value: str) -> None:
    """Check one answer.

    Parameters
    ----------
    option : str
        Name of the attribute of `First`.
    value : str

    Raises
    ------
    InputError
        With what is allowed.
    """
    if option == "cc":
        for name in First(cc=value).controls():
            _probe("cc", name)
    elif option == "buffer":
        _limit(value, 1)
    elif option == "rtt" and _ns(value) == 0:
        message = f"--rtt {value}: is zero; allowed: a time above zero"
        raise InputError(message)
    elif option != "rtt":
        _probe(option, value)


def written(answers: First) -> str:
    """Write a first scenario.

    Parameters
    ----------
    answers : First

    Returns
    -------
    str
        TOML that `Scenario.from_text` takes.

    Raises
    ------
    InputError
        If an answer is not allowed, or the answers do not fit together.

    Examples
    --------
    >>> text = written(First(cc="cubic,bbr"))
    >>> text.split(maxsplit=1)[0], [flow.name for flow in Scenario.from_text(text).resolved.flows]
    ('#:schema', ['cubic1', 'bbr2'])
    """
    for option in _FIELDS:
        check(option, getattr(answers, option))
    text = _text(answers)
    try:
        Scenario.from_text(text, f"{answers.name}.toml")
    except ScenarioError as error:
        told = "; ".join(problem.message for problem in error.problems)
        message = f"these settings do not fit together: {told}"
        raise InputError(message) from None
    return text


def _probe(option: str, value: str) -> Scenario:
    """Try one answer alone; a refusal names the option in place of the field."""
    field = _FIELDS[option]
    more = {"tcp.ecn": "true"} if option == "cc" and _needs_ecn(value) else {}
    try:
        return Scenario.from_text(_PROBE, overrides={field: value, **more})
    except ScenarioError as error:
        problem = error.problems[0]
        told = problem.message.removeprefix(f"{problem.field}: ").removeprefix(f"{problem.value} ")
        message = f"--{option} {value}: {told}"
        raise InputError(message) from None


def _needs_ecn(cc: str) -> bool:
    return any(row["name"] == cc and row["needs_ecn"] for row in catalogue()["cc"])


def _ns(rtt: str) -> int:
    return _probe("rtt", rtt).resolved.links[_bottleneck()].forward.delay_ns


def _bottleneck() -> int:
    """Return the index of the probe's bottleneck among its links."""
    resolved = Scenario.from_text(_PROBE).resolved
    return next(index for index, link in enumerate(resolved.links) if link.forward.rate_bps == 10**9)


def _limit(buffer: str, rtt_ns: int) -> str:
    """Return the limit of the queue; bandwidth-delay products become a time at the link's rate."""
    number = buffer.strip()
    if not number.lower().endswith(_BDP):
        _probe("buffer", buffer)
        return number
    try:
        times = float(number[: -len(_BDP)])
    except ValueError:
        times = 0.0
    if not 0 < times <= 1_000:
        message = f"--buffer {buffer}: allowed before bdp: a number above 0 and at most 1000"
        raise InputError(message)
    return _shown(round(times * rtt_ns), _TIMES)


def _shown(base: int, units: tuple[tuple[str, int], ...]) -> str:
    """Show a whole number of base units in the largest unit in which it needs at most three decimals.

    >>> _shown(18_500_000, _TIMES), _shown(10**8, _RATES)
    ('18.5 ms', '100 Mb/s')
    """
    for name, size in units:
        if base >= size and base * 1000 % size == 0:
            return f"{base / size:.3f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{base} {units[-1][0]}"


def _text(answers: First) -> str:
    controls = answers.controls()
    rtt = _ns(answers.rtt)
    rate = _probe("rate", answers.rate).resolved.links[_bottleneck()].forward.rate_bps
    duration = round(_probe("duration", answers.duration).duration_s * 1e9)
    access = min(10**6, rtt // 20)
    limit = _limit(answers.buffer, rtt)
    commands = [(command.format(name=answers.name), meaning) for command, meaning in _COMMANDS]
    width = max(len(command) for command, _ in commands)
    head = _HEAD.format(
        commands="\n".join(f"#   {command.ljust(width)}  {meaning}" for command, meaning in commands),
        schema=SCHEMA_ID,
        name=answers.name,
        controls=" and ".join(dict.fromkeys(controls)),
        rate=answers.rate.strip(),
        rtt=answers.rtt.strip(),
        duration=answers.duration.strip(),
        pairs=len(controls),
        delay=_shown(rtt // 2 - 2 * access, _TIMES),
        access=_shown(access, _TIMES) if access else "0 s",
        fast=_shown(min(10 * rate, _MOST_RATE), _RATES),
        queue=answers.queue,
        limit=limit,
    )
    return head + "".join(_flow(index, cc, duration, len(controls)) for index, cc in enumerate(controls, start=1))


def _flow(index: int, cc: str, duration: int, count: int) -> str:
    # Later flows join one after the other within the first third, so that the file shows how flows share.
    start = duration // 3 // count * (index - 1) // 10**6 * 10**6
    marks = "tcp = { ecn = true }  # this control reacts to marks\n" if _needs_ecn(cc) else ""
    shown = _shown(start, _TIMES) if start else "0 s"
    ends = f'name = "{cc}{index}"\nfrom = "s{index}"\nto = "d{index}"\n'
    return f'\n[[flows]]\n{ends}cc = "{cc}"\nstart = "{shown}"\n{marks}'


_COMMANDS: Final = (
    ("narrows run {name}.toml", "a summary"),
    ("narrows run {name}.toml -o out/{name}", "everything in a directory"),
    ("narrows report out/{name}", "a page of it"),
    ("narrows run {name}.toml --set 'tcp.stack=linux'", "with one value replaced"),
    ("narrows show {name}.toml", "every key with its default"),
)
"""What a reader does next."""

_HEAD: Final = """\
#:schema {schema}
# A first scenario: {controls} over one bottleneck.
#
{commands}

name = "{name}"
duration = "{duration}"
seed = 1             # another seed gives other random numbers; the same one the same digest
sampling = "100 ms"  # how often flows and queues are sampled, for figures; "off" for none

[tcp]
stack = "rfc"  # "linux" and "ns2" make all flows behave like that system's TCP

[topology]
kind = "dumbbell"  # s1 .. - r1 - bottleneck - r2 - d1 ..
pairs = {pairs}

# The round-trip time without queueing is twice the delays of the bottleneck and of two access links: {rtt}.
[topology.bottleneck]
rate = "{rate}"
delay = "{delay}"

[topology.bottleneck.queue]
kind = "{queue}"  # `narrows list queues` shows the others
limit = "{limit}"  # packets, bytes, or a time at the link's rate: a round-trip time is one bandwidth-delay product

[topology.access]
rate = "{fast}"  # faster than the bottleneck, so that queues build there alone
delay = "{access}"

# `narrows list cc` shows the congestion controls.
"""
