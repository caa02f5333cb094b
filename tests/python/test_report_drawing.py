"""Drawings of topologies, and figures: their contents and omissions."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from narrows.report import charts, layout, series, style, topology, values
from narrows.report.layout import Direction, Edge, FlowPath, Network, arrange, bottlenecks

if TYPE_CHECKING:
    from pathlib import Path

FAST = Direction(1e8, 0.001, "100 packets")
SLOW = Direction(3e6, 0.05, "20 packets")
SVG = "{http://www.w3.org/2000/svg}"


def shortest(neighbours: list[list[int]], start: int, stop: int, routers: frozenset[int]) -> tuple[int, ...]:
    """Nodes of the only shortest path through routers."""
    paths: list[tuple[int, ...]] = [(start,)]
    while stop not in {path[-1] for path in paths}:
        inner = (path for path in paths if path[-1] == start or path[-1] in routers)
        paths = [(*path, node) for path in inner for node in neighbours[path[-1]] if node not in path]
    return next(path for path in paths if path[-1] == stop)


def network(
    names: str,
    routers: str,
    links: list[tuple[str, str, Direction]],
    flows: list[tuple[str, str, str]],
    agents: str = "",
) -> Network:
    order = names.split()
    index = {name: i for i, name in enumerate(order)}
    edges = tuple(Edge(index[a], index[b], d, d) for a, b, d in links)
    forwarding = frozenset(index[name] for name in routers.split())
    bare = Network(tuple(order), forwarding, edges, ())
    neighbours = bare.neighbours()
    paths = tuple(
        FlowPath(name, i, shortest(neighbours, index[a], index[b], forwarding)) for i, (name, a, b) in enumerate(flows)
    )
    return Network(bare.names, forwarding, edges, paths, frozenset(index[name] for name in agents.split()))


def two_sites() -> Network:
    links = [(f"N{i}", "A", FAST) for i in range(3)] + [("A", "P", SLOW), ("P", "B", SLOW)]
    links += [("B", f"N{i}", FAST) for i in range(3, 6)]
    flows = [("tcp1", "N0", "N5"), ("tcp2", "N0", "N4"), ("tcp3", "N1", "N3")]
    return network("N0 N1 N2 N3 N4 N5 A P B", "A P B", links, flows, "A B")


def dumbbell() -> Network:
    links = [("s1", "r1", FAST), ("s2", "r1", FAST), ("r1", "r2", SLOW), ("r2", "d1", FAST), ("r2", "d2", FAST)]
    return network("s1 s2 d1 d2 r1 r2", "r1 r2", links, [("a", "s1", "d1"), ("b", "s2", "d2")])


def parking_lot() -> Network:
    links = [("s0", "r1", FAST), ("r1", "r2", SLOW), ("r2", "r3", SLOW), ("r3", "d0", FAST)]
    links += [("s1", "r1", FAST), ("d1", "r2", FAST), ("s2", "r2", FAST), ("d2", "r3", FAST)]
    flows = [("long", "s0", "d0"), ("one", "s1", "d1"), ("two", "s2", "d2")]
    return network("s0 s1 s2 d0 d1 d2 r1 r2 r3", "r1 r2 r3", links, flows)


def star() -> Network:
    links = [("h1", "hub", FAST), ("h2", "hub", FAST), ("h3", "hub", SLOW)]
    return network("h1 h2 h3 hub", "hub", links, [("a", "h1", "h3"), ("b", "h2", "h3")])


def alone() -> Network:
    return network("a b", "", [("a", "b", SLOW)], [("f", "a", "b")])


ALL = [two_sites, dumbbell, parking_lot, star, alone]


@pytest.mark.parametrize("make", ALL)
def test_no_two_nodes_overlap(make: object) -> None:
    layout = arrange(make())  # type: ignore[operator]
    for one, other in combinations(layout.places, 2):
        assert abs(one.x - other.x) >= 44 or abs(one.y - other.y) >= 34


@pytest.mark.parametrize("make", ALL)
def test_nodes_stand_inside_the_drawing(make: object) -> None:
    layout = arrange(make())  # type: ignore[operator]
    assert all(0 < place.x < layout.width and 0 < place.y < layout.height for place in layout.places)


@pytest.mark.parametrize("make", [two_sites, dumbbell, star, alone])
def test_data_flows_from_left_to_right(make: object) -> None:
    net: Network = make()  # type: ignore[operator]
    places = arrange(net).places
    for flow in net.flows:
        xs = [places[node].x for node in flow.path]
        assert xs == sorted(xs)
        assert xs[0] < xs[-1]


def test_the_slowest_links_of_paths_are_the_bottlenecks() -> None:
    net = two_sites()
    named = {(net.names[a], net.names[b]) for a, b in bottlenecks(net)}
    assert named == {("A", "P"), ("P", "B")}


def test_equal_links_are_bottlenecks_only_where_flows_meet() -> None:
    links = [("s1", "r1", SLOW), ("s2", "r1", SLOW), ("r1", "d1", SLOW)]
    net = network("s1 s2 d1 r1", "r1", links, [("a", "s1", "d1"), ("b", "s2", "d1")])
    assert {(net.names[a], net.names[b]) for a, b in bottlenecks(net)} == {("r1", "d1")}
    assert bottlenecks(alone()) == frozenset()


@pytest.mark.parametrize("make", ALL)
def test_svg_is_well_formed_and_names_every_node(make: object) -> None:
    net: Network = make()  # type: ignore[operator]
    root = ET.fromstring(topology.to_svg(net))  # noqa: S314 - our own
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert set(net.names) <= texts
    circles = [element for element in root.iter(f"{SVG}circle") if "router" in "".join(element.itertext())]
    assert len(circles) == len(net.routers)


def test_svg_escapes_names() -> None:
    net = network("a b", "", [("a", "b", Direction(1e6, 0.001, "<script>"))], [("f", "a", "b")])
    assert "<script>" not in topology.to_svg(net)


def test_flows_have_their_colour_in_the_drawing() -> None:
    svg = topology.to_svg(dumbbell())
    assert svg.count(style.colour(0)) == svg.count(style.colour(1)) == 3


def figure(points: int = 50) -> charts.Figure:
    x = np.linspace(0, 10, points)
    lines = (
        charts.Line("one", x, np.sin(x) + 2, style.colour(0), low=np.sin(x) + 1, high=np.sin(x) + 3),
        charts.Line("two", x, np.cos(x) + 2, style.colour(1)),
    )
    return charts.Figure("f", "Title", "Caption.", "Time (s)", (charts.Panel("Value (kB)", lines, title="upper"),))


def test_png_has_300_dpi_and_the_width_of_a_column(tmp_path: Path) -> None:
    (drawn,) = charts.draw([figure()], tmp_path)
    data = drawn.files[0].read_bytes()
    width = struct.unpack(">I", data[16:20])[0]
    assert width == round(style.COLUMN_IN * style.PNG_DPI)
    at = data.index(b"pHYs") + 4
    assert struct.unpack(">I", data[at : at + 4])[0] == round(style.PNG_DPI / 0.0254)


def test_svg_keeps_text_as_text_and_is_the_same_each_time(tmp_path: Path) -> None:
    first = charts.draw([figure()], tmp_path / "a")[0].files[1].read_bytes()
    second = charts.draw([figure()], tmp_path / "b")[0].files[1].read_bytes()
    assert first == second
    texts = {"".join(element.itertext()) for element in ET.fromstring(first).iter(f"{SVG}text")}  # noqa: S314 - our own
    assert {"Time (s)", "Value (kB)", "one", "two"} <= texts


def test_page_and_paper_have_the_same_colours() -> None:
    (panel,) = charts.described(figure())["panels"]
    named = {line["name"]: line["colour"] for line in panel["lines"]}
    assert named == {"one": style.colour(0), "two": style.colour(1)}


def test_no_value_is_null_in_the_interactive_chart() -> None:
    x = np.array([0.0, 1.0, 2.0])
    line = charts.Line("one", x, np.array([1.0, np.nan, 3.0]), style.colour(0))
    made = charts.Figure("f", "t", "c", "x", (charts.Panel("y", (line,)),))
    assert charts.described(made)["panels"][0]["lines"][0]["y"] == [1, None, 3]


def test_thinning_keeps_the_peaks() -> None:
    x = np.arange(100_000, dtype=float)
    y = np.zeros_like(x)
    y[54_321] = 7.0
    y[12_345] = -3.0
    thinned = values.thin(charts.Line("one", x, y, style.colour(0)))
    assert thinned.x.size <= values.MAX_POINTS + 2
    assert thinned.y.max() == 7.0
    assert thinned.y.min() == -3.0


@pytest.mark.parametrize("step_ns", [10_000_000, 50_000_000, 100_000_000, 700_000_000])
def test_samples_at_the_ends_of_bins_leave_no_bin_empty(step_ns: int) -> None:
    edges = series.bins(100 * step_ns / 1e9, step_ns / 1e9)
    at = np.arange(100) * step_ns / 1e9
    means = series.bin_means(at, np.arange(100, dtype=np.float64), edges)
    assert means.tolist() == list(range(100))


def test_bins_of_a_counter_add_up_to_it() -> None:
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0, 10, 400))
    total = np.cumsum(rng.integers(0, 3000, 400)).astype(float)
    edges = series.bins(10.0, 0.5)
    rate = series.counter_rate(time, total, edges)
    moved = np.nansum(rate * 0.5 / 8e-6)
    assert moved == pytest.approx(total[-1] - total[0], rel=1e-9)


def test_a_band_holds_the_runs_and_a_single_run_has_none() -> None:
    x = np.arange(3, dtype=float)
    rows = [np.full(3, float(value)) for value in range(41)]
    made = series.over_runs(rows, x)
    assert made.low is not None
    assert made.high is not None
    assert made.y.tolist() == [20.0] * 3
    assert made.low == pytest.approx([1.0] * 3)
    assert made.high == pytest.approx([39.0] * 3)
    assert series.over_runs(rows[:1], x).low is None


def test_many_like_hosts_are_one_box_and_the_bottleneck_stays() -> None:
    there = layout.Direction(1e9, 0.001, "")
    slow = layout.Direction(1e7, 0.01, "")
    pairs = 60
    names = ("r1", "r2", *(f"s{i}" for i in range(pairs)), *(f"d{i}" for i in range(pairs)))
    edges = (
        layout.Edge(0, 1, slow, slow),
        *(layout.Edge(2 + i, 0, there, there) for i in range(pairs)),
        *(layout.Edge(1, 2 + pairs + i, there, there) for i in range(pairs)),
    )
    flows = tuple(layout.FlowPath(f"f{i}", i, (2 + i, 0, 1, 2 + pairs + i)) for i in range(pairs))
    drawn = layout.condensed(layout.Network(names, frozenset({0, 1}), edges, flows))
    assert drawn.names == ("r1", "r2", "s0 .. s59", "d0 .. d59")
    assert [(edge.a, edge.b) for edge in drawn.edges] == [(0, 1), (2, 0), (1, 3)]
    assert layout.bottlenecks(drawn) == frozenset({(0, 1)})
    few = layout.Network(names[:4], frozenset({0, 1}), (edges[0],), ())
    assert layout.condensed(few) is few
