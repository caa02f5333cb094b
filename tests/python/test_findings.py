"""The page of findings: its commands parse, its links resolve, and its figures are those of the recorded tables."""

from __future__ import annotations

import csv
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from narrows.cli import app
from narrows.cli.options import overrides
from narrows.model.scenario import Scenario
from narrows_papers import PAPERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "findings.md"
TEXT = PAGE.read_text(encoding="utf-8")
FLAT = " ".join(TEXT.split())
"""The page's text on one line, so that figures are found across line breaks."""


def commands(text: str) -> list[str]:
    """Return the commands of console blocks and of inline code, without prompts and continuations."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            assert line[:2] in ("$ ", "# "), line
            found.append(line[2:])
    found += re.findall(r"`((?:narrows|python|cargo|ns) [^`\n]+)`", text)
    return list(dict.fromkeys(found))


COMMANDS = commands(TEXT)


def parsed(words: list[str]) -> dict[str, Any]:
    """Return the parameters of a `narrows` command line, as the command line itself reads them."""
    verbs: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009 - typer's own copy of click
    assert words[0] in verbs, f"no verb {words[0]}"
    params: dict[str, Any] = verbs[words[0]].make_context(words[0], words[1:]).params
    return params


def check_narrows(words: list[str]) -> None:
    """Reject a command line whose verb, options, scenario, settings, paper or variants do not exist."""
    params = parsed(words)
    match words[0]:
        case "run" | "live":
            Scenario.from_file(_file(params["file"]), overrides(params["set_"]))
        case "reproduce":
            paper = PAPERS[params["paper"]]
            assert not params["live"] or paper.live, words
            assert not params["pair"] or paper.pair, words
        case "validate":
            pairs = tomllib.loads((ROOT / "validation" / "pairs.toml").read_text(encoding="utf-8"))
            for option, rows in (("cc", "variants"), ("network", "networks")):
                asked = set(filter(None, (params[option] or "").split(",")))
                assert asked <= {row["name"] for row in pairs[rows]}, words
        case "packetdrill":
            assert all(str(one).startswith("gtests/") for one in params["scripts"]), "suites are elsewhere"
        case other:
            pytest.fail(f"no rule for {other}: name what makes its arguments exist")


def _file(name: str) -> str:
    """Return the path of a scenario of the repository, or the name of a bundled one."""
    return str(ROOT / name) if "/" in name else name


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_what_exists(command: str) -> None:
    words = shlex.split(command)
    match words:
        case ["narrows", *rest]:
            check_narrows(rest)
        case ["python", script]:
            assert (ROOT / script).is_file()
        case ["ns", script, *settings]:
            options = (ROOT / script).read_text(encoding="utf-8").partition("array set opt {")[2].partition("\n}")[0]
            assert all(f" {one.partition('=')[0]} " in options for one in settings)
        case ["cargo", "test", *rest]:
            package = rest[rest.index("-p") + 1].removeprefix("narrows-")
            assert (ROOT / "crates" / package / "tests" / f"{rest[rest.index('--test') + 1]}.rs").is_file()
        case _:
            pytest.fail(f"no rule for {command}")


def test_wrong_commands_are_found() -> None:
    assert len(COMMANDS) > 25
    wrong = (
        "run nowhere.toml",
        "run reordering --set tcp.recovery=hope",
        "run reordering --fast",
        "fly reordering",
        "validate --against ns2 --cc nobody",
        "reproduce nothing",
    )
    for line in wrong:
        with pytest.raises((Exception, AssertionError)):
            check_narrows(shlex.split(line))


# ------------------------------------------------------------------------------------------------------------- links


def slugs(text: str) -> set[str]:
    """Return the anchors that a renderer of Markdown gives to the headings of a page."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "").lower()).strip().replace(" ", "-") for head in heads}


def test_every_link_resolves() -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    assert len(targets) > 25
    for target in targets:
        name, _, anchor = target.partition("#")
        page = (PAGE.parent / name).resolve() if name else PAGE
        assert page.is_file(), target
        if anchor:
            assert anchor in slugs(page.read_text(encoding="utf-8")), target


# ----------------------------------------------------------------------------------------------------------- figures


def rows(path: str) -> list[dict[str, str]]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def signed(value: float | str, digits: int = 1) -> str:
    return f"{float(value):+.{digits}f}".replace("-", "−")


def acns() -> list[str]:
    by_name = {row["name"]: row for row in rows("experiments/acns/search-variations.csv")}
    sack, thesis = by_name["SACK recovery (RFC 6675)"], 'formula of the thesis (formula = "thesis2013")'
    free = by_name["no bound on cwnd"]
    without, with_ = (sum(float(sack[f"sent_{arm}_{flow}"]) for flow in (1, 2, 3)) for arm in ("without", "acns"))
    return [
        f"with SACK {signed(sack['data_percent'])} %",
        f"With SACK in both arms they send {without:.1f} and {with_:.1f} MB",
        f"unbounded {signed(free['lost_percent'])} %",
        f"unbounded {signed(free['rtt_percent'])} %",
        f"losses {signed(by_name[thesis]['lost_percent'])} %",
    ]


def ngwa() -> list[str]:
    points = rows("experiments/ngwa/search.csv")
    quiet = sum(all(float(row[f"lost_mode{mode}"]) == 0 for mode in (5, 6, 7, 8)) for row in points)
    published = {(row["quantity"], row["arm"]): float(row["value"]) for row in rows("experiments/ngwa/published.csv")}
    triples, lost = published["triples", "mode3"], published["lost", "mode3"]
    assert round(triples / lost) == 5
    return [
        f"under {quiet} of {len(points)} choices",
        f"{triples:,.0f} triple duplicate ACKs for {lost:,.0f} lost packets are five each",
        f"(published: {published['lost', 'rfc793']:,.0f})",
    ]


def agile_sd() -> list[str]:
    by_name = {row["name"]: row for row in rows("experiments/agile-sd/search.csv")}
    own, linux = by_name["one-flow.toml"], by_name["cubic, profile linux"]
    lead = float(own["utilisation_agile_sd"]) - float(own["utilisation_compound"])
    conditions = rows("experiments/agile-sd/pairs-search.csv")
    ns2 = {(row["receiver"], row["buffer"], row["agent"]): row for row in rows("experiments/agile-sd/ns2.csv")}
    cubic = "TCP/Linux, cubic"
    pairs = {
        row["overhead_us"]: float(row["index"])
        for row in rows("experiments/agile-sd/ns2-pairs.csv")
        if (row["receiver"], row["pair"]) == ("with SACK", "cubic reno")
    }
    return [
        f"{own['reached_s_agile_sd']} and {own['reached_s_cubic']} s; Linux's CUBIC {linux['reached_s_cubic']} s",
        f"{lead:.0f} points over Compound",
        f"at most {max(int(row['within']) for row in conditions)} of 6 within 0.05",
        f"{ns2['without SACK', '5', cubic]['timeouts']} timeouts and stays at "
        f"{ns2['without SACK', '5', cubic]['peak_packets']} packets",
        f"after {ns2['with SACK', '5', cubic]['reached_s']} s, as printed",
        f"have Jain's index {pairs['0']:.2f}",
        f"makes it {pairs['8']:.2f}",
    ]


def contest() -> list[str]:
    by_name = {row["name"]: row for row in rows("experiments/contest/search.csv")}
    (chosen, *_), bound = by_name.values(), by_name["window limit binds Hybla, too"]
    printed = rows("experiments/contest/published.csv")
    slips = [row["slip"] for row in printed]
    seeds = [
        float(row["tpp_second"])
        for row in rows("experiments/contest/ns2-seeds.csv")
        if row["second"] == "Vegas" and row["first"] == "Cubic"
    ]
    return [
        f"{chosen['near']} of {chosen['cells']} cells within 6 %",
        f"by the captions {chosen['near_captions']} of {chosen['cells_captions']}",
        f"{chosen['claims']} claims of {chosen['of_claims']}; bound {bound['claims']}",
        f"ns-2's default, {by_name['no RTS and CTS']['near']} of {chosen['cells']} cells are",
        f"an ACK for every second segment {by_name['an ACK for every second segment']['near']}",
        f"table 3: {slips.count('by_row')} cells are read by row",
        f"the {slips.count('repeated') // 2} cells of Hybla's row",
        f"ns-2 gives Vegas {min(seeds):.2f} to {max(seeds):.2f} as second starter over {len(seeds)} seeds",
    ]


def papers_own_sums() -> list[str]:
    """Return what follows from ACNS's printed tables, where the papers print something else."""
    printed = {
        (row["arm"], row["quantity"], row["flow"]): float(row["value"])
        for row in rows("experiments/acns/published.csv")
    }

    def change(quantity: str) -> float:
        before, after = (sum(printed[arm, quantity, flow] for flow in "123") for arm in ("without", "acns"))
        return 100 * (after / before - 1)

    return [
        f"{signed(printed['change', 'throughput_mean', 'total'])} % throughput and "
        f"{signed(printed['change', 'rtt_mean', 'total'])} % RTT are printed; the printed tables give "
        f"{signed(change('throughput_mean'))} % and {signed(change('rtt_mean'))} %",
        f"carries {3e6 * 118 / 8e6:.2f} MB in 118 s; {printed['acns', 'sent', 'total']:.2f} MB of TCP",
    ]


@pytest.mark.parametrize("figures", [acns, ngwa, agile_sd, contest, papers_own_sums], ids=lambda one: one.__name__)
def test_figures_are_those_of_the_recorded_tables(figures: Any) -> None:
    for figure in figures():
        assert figure in FLAT, figure


NS2, KERNELS, LIVE = "docs/validation/ns2.md", "docs/validation/kernels.md", "docs/live.md"

SHARED: tuple[tuple[str, str, str], ...] = (
    ("docs/acns.md", "277 ± 32 | 614 ± 47 | 277 ± 32", "614 ± 47 and 277 ± 32"),
    (
        NS2,
        "| 10m-200ms | 9.471 | 8.418 | +12.5 % | 5.043 |",
        "8.418 Mb/s if fresh memory is 0, and 5.043",
    ),
    (NS2, "| 100m-100ms | 94.57 | 94.45 | +0.1 % | 12.18 |", "94.45 and 12.18"),
    (
        NS2,
        "9.324 ± 0.18 / 4.515 ± 0.78 | +106.5 % | 4.209",
        "4.515 Mb/s, Narrows 9.324. With the fault (`leaves_beta = true`) Narrows has 4.209",
    ),
    (
        NS2,
        "35.33 / 94.43 | −62.6 % | 94.53",
        "ns-2 94.43; with ns-2's rule Narrows has 94.53",
    ),
    (
        KERNELS,
        "| hybla | 10m-40ms-fq-codel, first | 6.1 to 6.12 | RTT | −12.1 %",
        "changes by −12.1 %",
    ),
    (
        KERNELS,
        "| scalable | 10m-40ms-fq-codel, first | 6.12 to 7.2 | RTT | −8.8 %",
        "Scalable by 8.8 %",
    ),
    (KERNELS, "| yeah | 10m-40ms-fq-codel, first | 6.12 to 7.2 | RTT | −7.1 %", "YeAH by 7.1 %"),
    (KERNELS, "**unexplained** (−3.4 %", "cwnd of Vegas, −3.4 %"),
    (
        "docs/packetdrill.md",
        "| net/tcp | 162 | 146 | 146 of 157 (93.0 %) | 145 |",
        "Of the 162 scripts",
    ),
    ("docs/packetdrill.md", "that need them: AccECN (55)", "| 55 of AccECN"),
    (LIVE, "| live | 2.62 |", "live 2.62 and 2.01"),
    (LIVE, "| live, bursts of one segment at BBR's host | 2.01 |", "live 2.62 and 2.01"),
    (LIVE, "| simulated, single segments from BBR | 1.89 |", "1.89 ± 0.09"),
    (LIVE, "| reno | 75.8 | 63.7 |", "63.7 Mb/s live and 75.8 simulated"),
    (LIVE, "| 75.8 | 73.7 |", "carries 73.7"),
    ("docs/kernel-qdiscs.md", "differ by -4.7 % in `steady` and -5.6 % in `steps`", "by −4.7 % and −5.6 %"),
    ("experiments/agile-sd/README.md", "CUBIC 0.91 and 0.84 (buffers of 0.1 and 1 BDP)", "0.91 of the goodput"),
    (
        "docs/algorithms/compound.md",
        "it delivers 109 MB in 60 s, and ns-2's `reno` 189 MB",
        "109 MB in 60 s, and ns-2's reno 189 MB",
    ),
    ("experiments/contest/README.md", "| without Vegas and Hybla, 338 | 338 (100 %)", "338 of 338 cells"),
)
"""Figures that other pages have too: the page, its words, and those of the page of findings."""


@pytest.mark.parametrize(("page", "there", "here"), SHARED)
def test_figures_are_those_of_the_pages_that_it_links(page: str, there: str, here: str) -> None:
    assert there in " ".join((ROOT / page).read_text(encoding="utf-8").split()), f"{page} has changed; see {here}"
    assert here in FLAT
