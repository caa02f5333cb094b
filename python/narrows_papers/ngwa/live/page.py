"""The page of the live reproduction: published, live and simulated results, the conditions, and our additions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows.outcome import conditions
from narrows.report import style
from narrows_papers.frame.numbers import spread
from narrows_papers.ngwa import linux, text
from narrows_papers.ngwa.live import check, plan, published
from narrows_papers.ngwa.live.execute import minutes
from narrows_papers.ngwa.live.result import LIVE, SIMULATED, differences, signed, verdicts
from narrows_papers.ngwa.page import DIGITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows_papers.ngwa.linux import Setting, Transfer
    from narrows_papers.ngwa.live.execute import Made
    from narrows_papers.ngwa.live.plan import Job
    from narrows_papers.ngwa.live.record import Record
    from narrows_papers.ngwa.live.result import World

CHOICES: tuple[tuple[str, str], ...] = (
    (
        "The network",
        "Narrows itself, between network namespaces of this machine: links, queues, RED and NGWA's routers are the "
        "simulator's code on the bytes of real packets. The paper has PCs, cables and a kernel module.",
    ),
    (
        "The hosts",
        "This kernel's TCP. “NewReno” is its Reno, with SACK and timestamps, and whatever came since 2.6.34: an "
        "initial window of ten segments, proportional rate reduction, RACK. NGWA's receiver is an eBPF program that "
        "lowers the windows of outgoing ACKs; the sender's TCP is untouched.",
    ),
    *(choice for choice in text.LINUX_CHOICES if choice[0] in ("Queue in bytes", "RED")),
    (
        "Window",
        "64 KB taken literally, live and simulated: the live receiver's window is bounded to it (TCP_WINDOW_CLAMP). "
        "What Linux 2.6.34 made of iperf's 64 KB is not known; narrows reproduce ngwa simulates 96 KB, too.",
    ),
    (
        "Simulated",
        'The same scenarios with stack = "linux", the simulator\'s model of Linux 6.1. '
        "narrows reproduce ngwa has the paper's Linux 2.6.34 in simulation.",
    ),
    (
        "The check",
        "Not of the paper: with its window of 64 KB NGWA has little to do. One flow of CUBIC without that limit, "
        "10 Mb/s, 12 ms, 50 packets. The router tells the free bytes of its queue, W = Q − q; in balance W = P + q, "
        "with P what the path holds: W = (Q + P) / 2 = 45 kB, which makes 36 ms.",
    ),
)
"""Settings and runs that are ours, not the paper's."""

LIMITS: tuple[str, ...] = (
    "Each live run was made once: its interval gives the uncertainty of the mean of this run. It does not cover "
    "another machine, or the same machine at another time.",
    "A run is doubted if the bottleneck was late, if samples are more than 0.5 s apart, or if no receiver of NGWA took "
    "part. Hosts that are short of time for less than that go unnoticed, and a flow may be slower by it.",
    "Live runs differ each time; simulated ones come out the same, bit for bit.",
    "The paper's rates are in figures that are lost: only what it says in words can be compared.",
)
"""Limits of validity."""


@dataclass(frozen=True)
class Shown:
    """What the page is made of."""

    both: Mapping[str, World]
    made: Made
    jobs: Sequence[Job]
    lengths: plan.Lengths
    quick: bool


def context(shown: Shown) -> dict[str, Any]:
    """Return what the page shows besides what all pages do."""
    return {
        "quick": shown.quick,
        "steady": f"{shown.lengths.table_s - shown.lengths.table_warmup_s:g} s",
        "verdicts": verdicts(shown.both)[: -check.CLAIMS],
        "check_verdicts": verdicts(shown.both)[-check.CLAIMS :],
        "one": _rows(shown, linux.ONE),
        "two": _rows(shown, linux.TWO),
        "check": _check_rows(shown),
        "published": [_published(line) for line in published.read()],
        "conditions": conditions.table(record.conditions for record in shown.made.live.values()),
        "choices": CHOICES,
        "limits": LIMITS,
        "sources": text.SOURCES,
        "kept": shown.made.kept,
        "total": len(shown.jobs),
        "took": minutes(plan.seconds(shown.jobs)),
        "scenario_files": ("linux.toml", "check.toml"),
    }


def _rows(shown: Shown, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Rows of a table; the first row of each setting has the setting's title."""
    apart = differences(shown.both)
    made = []
    for setting in settings:
        for number, method in enumerate(linux.METHODS):
            name = plan.name(setting, method)
            key = (plan.WINDOW, setting.name, method.name)
            made.append(
                {
                    "setting": setting.title if number == 0 else "",
                    "method": method.title,
                    "worlds": [_values(one.transfers[key], one.records[name]) for one in shown.both.values()],
                    "difference": f"{signed(apart[name])} %",
                    "doubted": bool(shown.made.live[name].doubts),
                }
            )
    return made


def _values(transfer: Transfer, record: Record) -> dict[str, Any]:
    return {
        "rates": [spread(one.estimate, DIGITS, 1e-6) for one in transfer.rates],
        "jain": f"{transfer.jain:.4f}",
        "rtt": " / ".join(style.number(one) for one in record.rtt_ms),
        "lost": style.count(record.lost),
        "filled": style.number(record.filled / 1000),
    }


def _check_rows(shown: Shown) -> list[dict[str, Any]]:
    made = []
    for arm in plan.CHECK:
        name = plan.check_name(arm)
        records = [shown.both[world].records[name] for world in (LIVE, SIMULATED)]
        rates = [one.transfer(shown.lengths.check_warmup_s).total for one in records]
        made.append(
            {
                "title": arm.title,
                "rates": [style.number(rate * 8e-6, 4) for rate in rates],
                "shares": [f"{100 * rate / check.ceiling(arm.name):.2f}" for rate in rates],
                "rtt": [style.number(one.rtt_ms[0]) for one in records],
                "dropped": [style.count(one.dropped) for one in records],
                "filled": [style.number(one.filled / 1000) for one in records],
                "options": [style.count(one.options) for one in records],
                "doubted": bool(records[0].doubts),
            }
        )
    return made


def _published(line: published.Line) -> dict[str, str]:
    """Format a published line."""
    if line.value is not None:
        return {"words": line.words, "value": f"{line.value:g} {line.unit}".rstrip(), "kind": "printed"}
    return {"words": line.words, "value": "–", "kind": "figure lost" if line.given_as == "lost" else "in words only"}
