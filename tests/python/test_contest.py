"""Contests: the plan, no repeated or lost runs, and results that do not depend on the number of jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.python import held
from tests.python.plainly import as_json

from narrows import contest
from narrows.base.errors import InputError, RunError, ScenarioError
from narrows.model import own
from narrows.model.scenario import Scenario
from narrows.runs import simulated as runs
from narrows.store.journal import RUNS, Journal
from narrows.studies.contest.plan import engine
from narrows.studies.contest.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from narrows import _core
    from narrows.contest import Plan
    from narrows.outcome import Run

PAIR = """
duration = "12 s"
start_jitter = "500 ms"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "2 Mb/s", delay = "10 ms", queue = { limit = "20 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms" }
[[flows]]
name = "a"
from = "s1"
to = "d1"
[[flows]]
name = "b"
from = "s2"
to = "d2"
start = "2 s"
"""


def plan(*cc: str, count: int = 2, solo: bool = False, text: str = PAIR, seed: int | None = None) -> Plan:
    scenario = Scenario.from_text(text, "pair.toml")
    return contest.make(scenario, cc or ("reno", "vegas"), runs=count, solo=solo, seed=seed)


@pytest.fixture
def executions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record the runs that the engine executes."""
    made: list[tuple[str, int]] = []
    real = runs.make

    def counted(task: runs.Task, gauge: _core.Progress) -> Run:
        made.append((str(task.scenario.congestion_controls()), task.index))
        return real(task, gauge)

    monkeypatch.setattr(runs, "make", counted)
    return made


def test_every_ordered_pair_meets_once_in_the_order_of_rows() -> None:
    made = plan("reno", "vegas", "cubic")
    assert [(one.first, one.second) for one in made.matches] == [
        (a, b) for a in ("reno", "vegas", "cubic") for b in ("reno", "vegas", "cubic")
    ]
    controls = [one.scenario.congestion_controls() for one in made.matches]
    assert controls[1] == {"a": "reno", "b": "vegas"}
    assert controls[3] == {"a": "vegas", "b": "reno"}
    assert made.total == 18


def test_solo_runs_have_the_other_slot_silent_and_the_same_start() -> None:
    made = plan("reno", solo=True, count=1)
    assert [(one.first, one.second) for one in made.matches] == [("reno", "reno"), ("reno", None), (None, "reno")]
    pair, alone, _ = contest.execute(made, jobs=1).records
    assert alone.flows[1] is None
    assert alone.jain is None
    assert alone.flows[0] is not None
    assert pair.flows[0] is not None
    assert alone.flows[0].throughput_mbps == pytest.approx(2.0, rel=0.01)
    assert alone.flows[0].share is None
    # The first flow has the link alone until the second starts; with the same jitter the first second is the same.
    assert alone.series.first[:2] == pair.series.first[:2]
    assert set(alone.series.second) == {0.0}


def test_swapped_starts_exchange_the_slots_times() -> None:
    made = contest.make(Scenario.from_text(PAIR), ["reno", "vegas"], runs=1, solo=False, orders=("as_is", "swapped"))
    swapped = as_json(made.matches[-1].scenario)["flows"]
    assert [flow["start_ns"] for flow in swapped] == [2_000_000_000, 0]
    assert len(made.matches) == 8
    records = contest.execute(made, jobs=1).records
    # Vegas is in the first slot but starts later, and the later flow decides the behaviour.
    late_vegas = next(one for one in records if (one.first, one.second, one.order) == ("vegas", "reno", "swapped"))
    assert late_vegas.behaviour == "kept"


def test_default_window_is_the_common_time_without_its_first_tenth() -> None:
    # The second flow starts at 2.5 s at the latest, so both are active for 9.5 s.
    assert plan().window == contest.Window(3.5, 12.0)


def test_contestants_carry_more_than_a_name() -> None:
    made = plan("reno:recovery=newreno:sack=false", "cubic:cc_params.beta=0.8")
    first, second = as_json(made.matches[1].scenario)["flows"]
    assert (first["tcp"]["recovery"], first["tcp"]["sack"]) == ("newreno", False)
    assert second["tcp"]["cc_params"]["beta"] == 0.8
    labelled = contest.Contestant("Reno", {"cc": "reno", "max_cwnd": "20 kB"})
    alone = contest.make(Scenario.from_text(PAIR), [labelled], runs=1)
    assert alone.labels == ("Reno",)
    assert as_json(alone.matches[0].scenario)["flows"][0]["tcp"]["max_cwnd_bytes"] == 20_000


@pytest.mark.parametrize(
    "inside", ['cc = "bbr"', 'tcp = { cc = "bbr" }', 'tcp = { cc = "cubic", cc_params = { c = 1.0 } }']
)
def test_slots_own_congestion_control_is_replaced_wherever_it_stands(inside: str) -> None:
    made = plan("reno", "vegas", text=PAIR + inside + "\n")
    assert made.matches[1].scenario.congestion_controls() == {"a": "reno", "b": "vegas"}


def test_a_contestants_parameters_replace_those_of_the_slots_own_congestion_control() -> None:
    text = PAIR + 'cc = "bbr3"\ntcp = { cc_params = { profile = "draft-06", ecn = true } }\n'
    made = plan("reno", "bbr3:cc_params.profile=linux", text=text)
    assert as_json(made.matches[1].scenario)["flows"][1]["tcp"]["cc_params"] == {
        "profile": "linux",
        "ecn": False,
        "ecn_max_rtt": 5.0,
    }


def test_slots_are_the_only_two_tcp_flows_or_those_that_are_named() -> None:
    flows = (
        ('name = "c"', 'from = "s1"', 'to = "d2"'),
        ('from = "s1"', 'to = "d1"', 'kind = "udp"', 'rate = "1 kb/s"'),
    )
    third = PAIR + "".join("\n".join(("[[flows]]", *lines, "")) for lines in flows)
    with pytest.raises(InputError, match=r"has 3 TCP flows; needed: two slots; name two with --slots: a, b, c"):
        plan(text=third)
    scenario = Scenario.from_text(third)
    made = contest.make(scenario, ["reno", "vegas"], slots=["c", "a"], runs=1, solo=False)
    assert made.matches[1].scenario.congestion_controls() == {"a": "vegas", "b": "cubic", "c": "reno", "flow4": None}
    with pytest.raises(InputError, match=r"slot 'd': .* has no TCP flow of this name; allowed: a, b, c"):
        contest.make(scenario, ["reno"], slots=["c", "d"])
    with pytest.raises(InputError, match=r"slots are a,a; allowed: two different TCP flows"):
        contest.make(scenario, ["reno"], slots=["a", "a"])


@pytest.mark.parametrize("path", ["flows[0].copies", "flows.a.copies"])
def test_copies_that_an_override_makes_are_no_slots(path: str) -> None:
    scenario = Scenario.from_text(PAIR, "pair.toml", {path: 2})
    with pytest.raises(InputError, match=r"has 3 TCP flows; .*; copies \(a-1, a-2\) cannot be slots"):
        contest.make(scenario, ["reno"])
    with pytest.raises(InputError, match=r"slot 'a-2': is one of several copies; allowed: .*: b$"):
        contest.make(scenario, ["reno"], slots=["a-2", "b"])
    one = Scenario.from_text(PAIR, "pair.toml", {path: 1})
    assert [slot.place for slot in contest.make(one, ["reno"]).slots] == ["flows[0]", "flows[1]"]


def test_copies_are_no_slots() -> None:
    both = PAIR.partition("[[flows]]")[0] + '[[flows]]\nname = "x"\ncopies = 2\nfrom = "s*"\nto = "d*"\n'
    with pytest.raises(InputError, match=r"slot 'x-1': is one of several copies; allowed: .*: none here"):
        plan(text=both)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "runs is 0; allowed: 1 or more"),
        ({"window": (5.0, 13.0)}, "window is 5:13; allowed: within the run, 0:12"),
        ({"window": (5.0, 5.0)}, "window is 5:5"),
        ({"window": (-1.0, 5.0)}, "window is -1:5"),
        ({"seed": -1}, "seed is -1"),
        ({"sampling": "off"}, "sampling is not an interval"),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        contest.make(Scenario.from_text(PAIR), ["reno"], **arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("cc", "message"),
    [
        (["cubik"], "cc 'cubik': no such congestion control; did you mean cubic"),
        (["reno", "reno"], "cc 'reno': is named twice"),
        ([], "no contestants"),
        (["reno:sack"], "'sack' is not an assignment"),
        (["reno:cc=bbr"], "is not an assignment"),
    ],
)
def test_contestants_that_make_no_sense_are_refused(cc: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        contest.make(Scenario.from_text(PAIR), cc)
    assert message in str(caught.value)


def test_a_field_that_the_scenario_refuses_is_told_with_its_contestant() -> None:
    with pytest.raises(ScenarioError, match=r"reno:mss=3 against reno:mss=3: flows\[0\]"):
        plan("reno:mss=3")


def test_flows_that_never_meet_are_refused() -> None:
    early = PAIR.replace('name = "a"', 'name = "a"\nstop = "1 s"')
    with pytest.raises(InputError, match="a and b are never active together"):
        plan(text=early)


def test_records_do_not_depend_on_jobs_and_common_random_numbers_are_common() -> None:
    made = plan(solo=True)
    one, two = contest.execute(made, jobs=1), contest.execute(made, jobs=2)
    assert one.records == two.records
    assert len({record.key for record in one.records}) == made.total
    digests = {record.digest for record in one.records}
    assert len(digests) == made.total  # every run has different random starts
    other = contest.execute(plan(seed=9), jobs=2)
    assert not {record.key for record in other.records} & {record.key for record in one.records}


def test_what_finished_is_not_run_again(tmp_path: Path, executions: list[tuple[str, int]]) -> None:
    made = plan()
    first = contest.execute(made, tmp_path / "c", jobs=2)
    assert (len(executions), first.kept) == (8, 0)
    assert len(set(executions)) == 8
    again = contest.execute(made, tmp_path / "c", jobs=2)
    assert (len(executions), again.kept) == (8, 8)
    assert again.records == first.records
    # A third contestant adds its pairs, a third run adds one run of each pair; nothing else is executed.
    contest.execute(plan("reno", "vegas", "cubic", count=3), tmp_path / "c", jobs=2)
    assert len(executions) == 8 + 27 - 8
    assert len(set(executions)) == len(executions)


def test_contestants_that_set_the_same_have_records_of_their_own(tmp_path: Path) -> None:
    twins = [contest.Contestant(label, {"cc": "reno"}) for label in ("one", "other")]
    scenario = Scenario.from_text(PAIR.replace('start = "2 s"', ""))
    made = contest.make(scenario, twins, runs=1, orders=("as_is", "swapped"))
    records = contest.execute(made, tmp_path, jobs=2).records
    assert [(one.first, one.second, one.order) for one in records] == [
        (match.first, match.second, match.order) for match in made.matches
    ]
    assert len({one.digest for one in records}) == 3  # both together, the first alone, the second alone


def test_a_torn_last_line_is_cut_and_only_that_run_is_made_again(
    tmp_path: Path, executions: list[tuple[str, int]]
) -> None:
    made = plan()
    whole = contest.execute(made, tmp_path, jobs=1)
    file = tmp_path / RUNS
    text = file.read_bytes()
    file.write_bytes(text[: -len(text.splitlines()[-1]) // 2])
    executions.clear()
    again = contest.execute(made, tmp_path, jobs=1)
    assert (len(executions), again.kept) == (1, 7)
    assert again.records == whole.records
    assert file.read_bytes() == text
    assert all(json.loads(line)["key"] for line in file.read_text().splitlines())


def test_records_of_another_engine_or_plan_are_left_alone_and_told(
    tmp_path: Path, executions: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    contest.execute(plan(), tmp_path, jobs=1)
    monkeypatch.setattr("narrows.studies.contest.plan.engine", lambda: "0.0.0+another")
    other = contest.execute(plan(), tmp_path, jobs=1)
    assert (len(executions), other.kept, other.foreign) == (16, 0, 8)
    monkeypatch.undo()
    assert engine() != "0.0.0+another"
    back = contest.execute(plan(), tmp_path, jobs=1)
    assert (back.kept, back.foreign) == (8, 8)


def test_a_foreign_directory_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="holds something other than a contest"):
        contest.execute(plan(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_contests_do_not_write_into_one_directory(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        Journal(tmp_path / "c", Record, "contest"),
        pytest.raises(InputError, match="another contest is writing there"),
    ):
        Journal(tmp_path / "c", Record, "contest")
    Journal(tmp_path / "c", Record, "contest").close()


def test_a_full_disk_keeps_what_was_whole(tmp_path: Path) -> None:
    made = plan(count=1)
    records = contest.execute(made, jobs=1).records
    wanted = {record.key for record in records}
    with Journal(tmp_path, Record, "contest") as store:
        store.append([records[0]])
        whole = (tmp_path / RUNS).read_bytes()

        class Full:
            """A file that writes half a line and then has no space left."""

            def __init__(self, file: object) -> None:
                self.file = file

            def __getattr__(self, name: str) -> object:
                return getattr(self.file, name)

            def write(self, line: bytes) -> int:
                self.file.write(line[: len(line) // 2])  # type: ignore[attr-defined]
                raise OSError(28, "No space left on device")

        store._file = Full(store._file)  # type: ignore[assignment]
        with pytest.raises(RunError, match="No space left on device; what had finished is kept"):
            store.append([records[1]])
        assert (tmp_path / RUNS).read_bytes() == whole
    with Journal(tmp_path, Record, "contest") as store:
        assert list(store.read(wanted)) == [records[0].key]


def test_a_changed_control_written_in_python_is_run_anew(tmp_path: Path) -> None:
    file = tmp_path / "fixed.py"
    text = (
        "import narrows\n@narrows.congestion_control('contest_fixed')\nclass Fixed:\n    '''A fixed window.'''\n"
        "    def on_ack(self, ack, path, window):\n        window.cwnd = 5 * path.smss\n"
        "    def on_congestion(self, event, path, window):\n        window.ssthresh = window.cwnd\n"
    )
    keys = []
    try:
        for written in (text, text, text.replace("5 *", "6 *")):
            file.write_text(written)
            own.load(file)
            made = plan("contest_fixed", count=1)
            keys.append(made.key(made.matches[0], 0))
    finally:
        own.unregister("contest_fixed")
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_ended_in_the_middle_goes_on_and_runs_nothing_twice(tmp_path: Path, how: signal.Signals, code: int) -> None:
    scenario = tmp_path / "pair.toml"
    scenario.write_text(PAIR)
    verb = [
        "contest",
        "--cc",
        "reno,cubic",
        "--on",
        str(scenario),
        "--runs",
        "6",
        "--no-solo",
        "-o",
        str(tmp_path / "c"),
    ]
    file = tmp_path / "c" / RUNS
    with held.started([*held.narrows(3, tmp_path / "never"), *verb, "--jobs", "1"]) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (file.exists() and file.read_bytes().count(b"\n") >= 3):
            time.sleep(0.02)
        process.send_signal(how)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert ("runs had finished; the same command continues from there" in said) == (how == signal.SIGINT)
    survived = [json.loads(line)["key"] for line in file.read_text().splitlines()]
    assert len(survived) == 3
    command = [sys.executable, "-c", "from narrows.cli import main; main()", *verb]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(survived)} of 24 runs were there already" in done.stderr
    keys = [json.loads(line)["key"] for line in file.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 24
    assert keys[: len(survived)] == survived
