import { beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import { type Figure, figure, length, line, shownAt, valueAt } from "../../src/views/figure";
import { figures, groupNames, type Side } from "../../src/views/figures";
import { csv, figureGrid, tableGrid } from "../../src/views/grid";
import { binnedRate, binWidth, groupLines, quantile } from "../../src/views/groups";
import { phases } from "../../src/views/phases";
import { fromBits } from "../../src/views/rows";
import { figureSvg } from "../../src/views/svg";
import { loaded, scenario } from "../engine";
import { CHOICE, sideOf } from "./views-side";

// Runs take seconds where other tests run beside them.
vi.setConfig({ testTimeout: 30_000 });

let engine: Engine;
let dumbbell: Side;
beforeAll(async () => {
  engine = await loaded();
  dumbbell = sideOf(engine, engine.set(scenario("dumbbell-cubic"), "sampling.state", "true"));
});

function named(side: Side[], id: string): Figure {
  const found = figures(side, CHOICE).find((one) => one.id === id);
  if (!found) throw new Error(`there is no figure ${id}`);
  return found;
}

const ids = (side: Side): string[] => figures([side], CHOICE).map(({ id }) => id);

test("throughput adds up to what was delivered", () => {
  const [first] = named([dumbbell], "throughput").lines;
  if (!first) throw new Error("there is no line");
  let bits = 0;
  for (let i = 1; i < length(first.series); i++) bits += valueAt(first.series, i) * 0.1;
  const flows = dumbbell.run.tables.flows;
  const rows = first.series.rows ?? new Uint32Array();
  const delivered = flows?.columns.delivered_bytes?.values ?? new Float64Array();
  const grown = (delivered[rows.at(-1) ?? 0] ?? 0) - (delivered[rows[0] ?? 0] ?? 0);
  expect(bits).toBeCloseTo(grown * 8e-6, 6);
});

test("queueing delay is waiting bytes at the link's rate", () => {
  const figure = named([dumbbell], "delay");
  const queue = named([dumbbell], "queue");
  // 50 packets of 1,500 bytes take 60 ms at 10 Mb/s.
  const at = 7;
  expect(shownAt(figure.lines[0] ?? never(), at)).toBeCloseTo(
    (shownAt(queue.lines[0] ?? never(), at) * 12_000) / 1e4,
    1,
  );
  expect(queue.levels.map(({ name, value }) => [name, value])).toEqual([["limit of r1 → r2", 50]]);
});

function never(): never {
  throw new Error("there is no line");
}

test("states begin in slow start and reach recovery, and cover the run without gaps", () => {
  const { lanes, words } = named([dumbbell], "cwnd");
  expect(lanes).toHaveLength(2);
  const [first] = lanes;
  expect(words[first?.stretches[0]?.word ?? -1]).toBe("slow start");
  expect(words).toContain("recovery");
  expect(words).toContain("congestion avoidance");
  first?.stretches.forEach((stretch, i) => {
    expect(stretch.to).toBe(first.stretches[i + 1]?.from ?? 60);
  });
});

test("a state without a value interrupts the strip", () => {
  const columns = { time_ns: [0, 1e9, 2e9, 3e9], series: [0, 0, 0, 0], value_bits: [0, Number.NaN, 0, 0] };
  const of = (name: string, values: number[]) => ({ name, unit: "", doc: "", values: Float64Array.from(values) });
  const state = {
    name: "state",
    rows: 4,
    columns: Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, of(name, values)])),
  };
  const one = { owner: "flow", index: 0, algorithm: "bbr", variable: "phase", unit: "", doc: "", words: ["STARTUP"] };
  const run = { ...dumbbell.run, tables: { state }, series: [one] };
  expect(phases(run, [0], 4).lanes[0]?.stretches).toEqual([
    { from: 0, to: 1, word: 0 },
    { from: 2, to: 4, word: 0 },
  ]);
});

test("a flow and a group have the colour of the legend in B too", () => {
  const b = sideOf(engine, engine.remove(scenario("dumbbell-cubic"), "flows[0]"), false, "b");
  const colours = named([dumbbell, b], "throughput").lines.map(({ key, arm, colour }) => [key, arm, colour]);
  const [first, second] = dumbbell.run.names.flows;
  expect(colours).toEqual([
    [first, "a", "--flow-0"],
    [second, "a", "--flow-1"],
    [second, "b", "--flow-1"],
  ]);
  const other = { ...dumbbell, resolved: { ...dumbbell.resolved, tcps: [{ cc: "reno" }, { cc: "reno" }] } };
  expect(groupNames([dumbbell, other])).toEqual(["cubic", "reno"]);
  const { names, order } = { names: ["reno", "reno"], order: ["cubic", "reno"] };
  const measure = { column: "cwnd_bytes", scale: 1, kind: "gauge" as const };
  const lines = groupLines(dumbbell.run, "b", { names, order }, measure, Float64Array.from([0, 30, 60]));
  expect(lines.map(({ colour }) => colour)).toEqual(["--flow-1"]);
});

test("BBR has the phases of its own", () => {
  const side = sideOf(engine, engine.set(scenario("bbr-vs-cubic"), "sampling.state", "true"));
  const { lanes, words } = named([side], "cwnd");
  expect(words[lanes[0]?.stretches[0]?.word ?? -1]).toBe("STARTUP");
  expect(words).toContain("PROBE_BW");
});

test("bits of a double are its value, but for the last bits of the mantissa", () => {
  const bits = (value: number): number => Number(new BigUint64Array(Float64Array.of(value).buffer)[0]);
  for (const value of [0, 1, 3, 0.3, -17.25, 1e9]) expect(fromBits(bits(value))).toBeCloseTo(value, 3);
  expect(fromBits(bits(2))).toBe(2);
  expect(fromBits(Number.NaN)).toBeNaN();
});

test("routers, sub-queues and marks have figures where they exist", () => {
  expect(ids(sideOf(engine, scenario("ngwa")))).toContain("windows");
  expect(ids(sideOf(engine, scenario("acns"))).filter((id) => id.startsWith("commands-"))).not.toEqual([]);
  const l4s = ids(sideOf(engine, scenario("l4s")));
  expect(l4s).toContain("subqueues-r1->r2");
  expect(l4s).toContain("marks");
});

test("many flows are drawn as groups, and those that are picked", () => {
  let text = engine.set(scenario("dumbbell-cubic"), "duration", `"12 s"`);
  text = engine.set(text, "flows[0].copies", "30");
  const side = sideOf(engine, text);
  const found = figures([side], { ...CHOICE, picked: new Set(["first-3"]) }).find(({ id }) => id === "throughput");
  expect(found?.lines.map(({ name }) => name)).toEqual(["cubic, 31 flows", "first-3"]);
  expect(found?.lines[0]?.band).not.toBeNull();
});

test("bins and quantiles", () => {
  expect(binWidth(60, 0.1)).toBe(0.5);
  expect(binWidth(1, 0.1)).toBe(0.2);
  expect(quantile([1, 2, 3, 4, 5], 0.1)).toBeCloseTo(1.4, 12);
  const series = {
    time: Float64Array.of(0, 1e9, 2e9),
    value: Float64Array.of(0, 125_000, 375_000),
    rows: null,
    scale: 8e-6,
    kind: "rate" as const,
    before: null,
  };
  expect([...binnedRate(series, Float64Array.of(0, 1, 2, 3))]).toEqual([1, 2, Number.NaN]);
});

test("the CSV of a figure has a row per time, and exact numbers", () => {
  const text = csv(figureGrid(named([dumbbell], "cwnd"), named([dumbbell], "cwnd").lines)).join("");
  const [head, first] = text.split("\n");
  expect(head).toBe("Time (s),first ssthresh (kB),first (kB),second ssthresh (kB),second (kB)");
  expect(first).toMatch(/^0\.1,,\d+(\.\d+)?,,$/);
  const table = dumbbell.run.tables.queues;
  if (!table) throw new Error("there is no table");
  const whole = csv(tableGrid(table, dumbbell.run)).join("").trimEnd().split("\n");
  expect(whole).toHaveLength(table.rows + 1);
  expect(whole[0]?.split(",").slice(0, 3)).toEqual(["time_ns", "queue", "bytes"]);
  expect(whole[2]?.split(",").at(-1)).toBe("r2->r1");
});

test("the table of states has names and numbers instead of indices and bits", () => {
  const table = dumbbell.run.tables.state;
  if (!table) throw new Error("there is no table");
  const grid = tableGrid(table, dumbbell.run);
  const found = new Map<string, number[]>();
  for (let row = 0; row < grid.rows; row++) {
    const key = [1, 2, 3, 4].map((column) => grid.cell(row, column)).join(" ");
    found.set(key, [...(found.get(key) ?? []), Number(grid.cell(row, 5))]);
  }
  const least = found.get("first tcp min_rtt s")?.at(-1);
  // narrows run dumbbell-cubic --json: rtt_min_ms of first
  expect(least).toBeCloseTo(44.1152e-3, 9);
});

test("an SVG has text as text, and names of a scenario do no harm", () => {
  const name = '<script>"&';
  const series = { time: Float64Array.of(0, 1e9), value: Float64Array.of(1, 2), rows: null, scale: 1 };
  const one = line({
    name,
    key: name,
    arm: "a",
    colour: "--flow-0",
    series: { ...series, kind: "gauge", before: null },
  });
  const svg = figureSvg(
    figure({ id: "x", title: name, unit: "kB", note: "", lines: [one] }),
    () => false,
    [0, 1],
    () => "#123456",
  );
  expect(svg).not.toContain("<script>");
  expect(svg).toContain("&#60;script&#62;&#34;&#38;</text>");
  expect(svg).toContain('stroke="#123456"');
  expect(svg).toContain(">Time (s)</text>");
});
