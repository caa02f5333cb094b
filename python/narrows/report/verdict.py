"""The verdict at the top of a run's page: who got what, how soon it was fair, how full the queue was, what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import numpy as np

from narrows.metrics import rate_over_time
from narrows.metrics.aggregate import aggregate_mbps
from narrows.report import style
from narrows.stats import fair_convergence_time
from narrows.stats.convergence import BIN_S, DELTA, HOLD_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.metrics.flows import FlowMetrics
    from narrows.metrics.queues import QueueMetrics
    from narrows.outcome import Batch, Run

FEW: Final = 4
"""Flows up to which each one is named."""

LONG: Final = 0.5
"""Share of the run that a flow must be able to send for, to take part in fairness over time."""


@dataclass(frozen=True)
class Card:
    """A number with its name and a remark."""

    what: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of a run or a batch in a few sentences and numbers."""

    sentences: tuple[str, ...]
    cards: tuple[Card, ...]


def of(result: Run | Batch) -> Verdict:
    """Return the verdict on a run, or on the means of a batch.

    Parameters
    ----------
    result : Run or Batch
        With at least one run.

    Returns
    -------
    Verdict
        Sentences and cards for what the run has: a run without flows, queues or losses has fewer.
    """
    parts = [part(result.runs) for part in (_shares, _fairness, _queue, _losses)]
    return Verdict(
        sentences=tuple(sentence for sentence, _ in parts if sentence),
        cards=tuple(card for _, card in parts if card is not None),
    )


def _mean(runs: Sequence[Run], value: Callable[[Run], float | None]) -> float | None:
    known = [number for run in runs if (number := value(run)) is not None]
    return fmean(known) if known else None


def _listed(words: Sequence[str]) -> str:
    """Join words: one; one and two; one, two and three."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _flows(runs: Sequence[Run]) -> list[tuple[FlowMetrics, float]]:
    """Return the flows that carried data, each with its mean throughput in Mb/s."""
    found = []
    for index, flow in enumerate(runs[0].flows):
        mean = _mean(runs, lambda run, index=index: run.flows[index].throughput_mbps)  # type: ignore[misc]
        if mean is not None:
            found.append((flow, mean))
    return found


def _shares(runs: Sequence[Run]) -> tuple[str, Card | None]:
    """Say who got what."""
    flows = _flows(runs)
    if not flows:
        return _completions(runs)
    total = sum(rate for _, rate in flows)
    card = _together(runs, len(flows))
    if len(flows) > FEW:
        rates = sorted(rate for _, rate in flows)
        least, most = (min(flows, key=lambda one: one[1])[0].name, max(flows, key=lambda one: one[1])[0].name)
        return (
            f"{len(flows)} flows got between {style.number(rates[0])} ({least}) and {style.number(rates[-1])} Mb/s "
            f"({most}), {style.number(median(rates))} in the median.",
            card,
        )
    if len(flows) == 1:
        flow, rate = flows[0]
        control = f", with {flow.cc}," if flow.cc else ""
        return f"The flow {flow.name}{control} got {style.number(rate)} Mb/s.", card
    words = [
        f"{flow.name}{f' ({flow.cc})' if flow.cc else ''} got {style.number(rate)} Mb/s, {100 * rate / total:.0f} %"
        for flow, rate in flows
    ]
    return f"Of the flows, {_listed(words)}.", card


def _together(runs: Sequence[Run], flows: int) -> Card:
    """Return the throughput of all flows, from the first one's start to the last one's end."""
    together = _mean(runs, lambda run: aggregate_mbps(run.flows, "arrived_bytes"))
    return Card(
        "Throughput", f"{style.number(together)} Mb/s", "of one flow" if flows == 1 else f"of {flows} flows together"
    )


def _completions(runs: Sequence[Run]) -> tuple[str, Card | None]:
    """Say how long transfers took, where there are no flows of their own."""
    times = [
        time for run in runs for time in run.transfers.frame()["fct_s"].dropna().to_numpy(dtype=np.float64).tolist()
    ]
    if not times:
        return "", None
    middle, tail = (float(np.percentile(times, share)) for share in (50, 99))
    return (
        f"{style.count(len(times))} transfers finished, half of them within {style.duration(middle)} and 99 % within "
        f"{style.duration(tail)}.",
        Card("Completion time", style.duration(middle), "median"),
    )


def _fairness(runs: Sequence[Run]) -> tuple[str, Card | None]:
    """Say from when on the flows that last shared fairly."""
    jain = _mean(runs, lambda run: run.jain)
    flows = _flows(runs)
    lasting = [
        flow.name for flow, _ in flows if flow.cc is not None and flow.active_s >= LONG * runs[0].scenario.duration_s
    ]
    if len(lasting) < 2:
        return "", None
    last = max(flow.start_s for flow in runs[0].flows if flow.name in lasting)
    known = [time for run in runs if (time := _fair(run, lasting)) is not False]
    card = (
        Card("Jain's index", style.number(jain), "of the throughput, over the whole run") if jain is not None else None
    )
    if not known:
        return "", card
    fair = [time for time in known if time is not None]
    what = (
        "they"
        if len(lasting) == len(_flows(runs))
        else f"{_listed(lasting) if len(lasting) <= FEW else f'{len(lasting)} long flows'}"
    )
    long = f"for {HOLD_S:g} s within {100 * DELTA:g} % of equal"
    if not fair:
        return f"{what[0].upper()}{what[1:]} never shared fairly ({long}).", card
    often = "" if len(fair) == len(known) else f" in {len(fair)} of {len(known)} runs,"
    mean = fmean(fair)
    when = "at once" if mean < BIN_S else f"{style.number(mean)} s after the last of them had started"
    text = (
        f"{what[0].upper()}{what[1:]} shared fairly ({long}){often} from {when}"
        if mean >= BIN_S
        else (f"{what[0].upper()}{what[1:]} shared fairly ({long}){often} {when}")
    )
    share = "" if len(fair) == len(known) else f" in {len(fair)} of {len(known)} runs"
    after = f"fair {style.number(mean)} s after the start at {style.number(last)} s{share}" if card else ""
    return f"{text}.", Card(card.what, card.value, after) if card else None


def _fair(run: Run, names: Sequence[str]) -> float | bool | None:
    """Return when the flows were fair, s after the last start; `None`: never; `False`: there are no samples."""
    sampled = {str(name): rows for name, rows in run.samples.frame("flow").groupby("name", observed=True, sort=False)}
    curves = []
    for name in names:
        rows = sampled.get(name)
        if rows is None or len(rows) < 2 or rows["arrived_bytes"].isna().all():
            return False
        curves.append(rate_over_time(rows["time_s"], rows["arrived_bytes"], BIN_S))
    bins = min(begin.size for begin, _ in curves)
    if bins < HOLD_S / BIN_S:
        return False
    start = max(flow.start_s for flow in run.flows if flow.name in names)
    return fair_convergence_time(curves[0][0][:bins], [rate[:bins] for _, rate in curves], start_s=start)


def _queue(runs: Sequence[Run]) -> tuple[str, Card | None]:
    """Say how full the queue was that delayed packets most."""
    queues = [
        (delay, index)
        for index in range(len(runs[0].queues))
        if (delay := _mean(runs, lambda run, index=index: _weight(run.queues[index]))) is not None  # type: ignore[misc]
    ]
    if not queues or max(queues)[0] <= 0:
        return "", None
    index = max(queues)[1]

    def mean(value: Callable[[QueueMetrics], float | None]) -> float | None:
        return _mean(runs, lambda run: value(run.queues[index]))

    name = runs[0].queues[index].name.replace("->", " → ")
    delay, tail = mean(lambda queue: queue.delay_mean_ms), mean(lambda queue: queue.delay_p95_ms)
    used, longest = mean(lambda queue: queue.utilisation), mean(lambda queue: queue.max_packets)
    link = (
        f"; its link was {100 * used:.1f} % used" if used is not None and runs[0].queues[index].channel is None else ""
    )
    return (
        f"The queue {name} delayed packets by {style.number(delay)} ms on average, 95 % of them by at "
        f"most {style.number(tail)} ms, with up to {_number(longest or 0)} packets waiting{link}.",
        Card("Queueing delay", f"{style.number(delay)} ms", f"mean at {name}; 95 %: {style.number(tail)} ms"),
    )


def _weight(queue: QueueMetrics) -> float | None:
    """Return the time that all packets of a queue waited together, ms: which queue matters most."""
    return None if queue.delay_mean_ms is None else queue.delay_mean_ms * queue.forwarded_packets


def _losses(runs: Sequence[Run]) -> tuple[str, Card | None]:
    """Say how many packets were lost, where and why, and how many were marked."""
    reasons: list[tuple[float, str]] = []
    for index, queue in enumerate(runs[0].queues):
        name = queue.name.replace("->", " → ")
        for field, words in (
            ("dropped_overflow", f"the queue {name} was full"),
            ("dropped_early", f"{name} dropped early"),
            ("dropped_forced", f"{name} dropped by rule"),
            ("corrupted_packets", f"{name} corrupted them"),
        ):
            count = fmean(getattr(run.queues[index], field) for run in runs)
            if count > 0:
                reasons.append((count, words))
    marked = sum(fmean(run.queues[index].marked_packets for run in runs) for index in range(len(runs[0].queues)))
    marks = f" {_number(marked)} packets were marked CE." if marked else ""
    lost = sum(count for count, _ in reasons)
    if not lost:
        return f"No packet was lost.{marks}", Card("Lost", "0 packets", _marks(marked))
    reasons.sort(reverse=True)
    told = [f"{_number(count)} because {words}" for count, words in reasons[:FEW]]
    rest = sum(count for count, _ in reasons[FEW:])
    if rest:
        told.append(f"{_number(rest)} elsewhere")
    text = f"all because {reasons[0][1]}" if len(reasons) == 1 else _listed(told)
    timeouts = sum(
        fmean(flow.timeouts or 0 for run in runs for flow in (run.flows[i],)) for i in range(len(runs[0].flows))
    )
    waited = f" The senders had {_number(timeouts)} retransmission timeouts." if timeouts else ""
    return f"{_number(lost)} packets were lost, {text}.{marks}{waited}", Card(
        "Lost", f"{_number(lost)} packets", _marks(marked)
    )


def _number(count: float) -> str:
    """Write a mean count: whole where it is."""
    return style.count(round(count)) if count == round(count) or count >= 100 else f"{count:.3g}"


def _marks(marked: float) -> str:
    return f"{_number(marked)} marked CE" if marked else ""
