/** Makes the figures of one run or two from their tables. */

import type { Resolved, RunData } from "../engine/types";
import type { Arm } from "../model/state";
import { type Figure, figure, type Line, line, type Series } from "./figure";
import { binWidth, groupLines, MANY } from "./groups";
import { phases, sampled } from "./phases";
import { queueFigures } from "./queues";
import { routerFigures } from "./routers";
import { rowsBy, seriesOf, some } from "./rows";
import { sequenceFigure } from "./sequence";

/** A run with the scenario that it is of. */
export interface Side {
  arm: Arm;
  run: RunData;
  resolved: Resolved;
  /** Nodes that the packets of each flow pass. */
  paths: number[][];
  /** Simulated time, s. */
  duration: number;
}

/** What the user chose to see. */
export interface Choice {
  /** Queues to show; null for the fullest. */
  queues: ReadonlySet<string> | null;
  /** Flows that are drawn beside their groups. */
  picked: ReadonlySet<string>;
  /** The flow of the time-sequence graph; null for the first one with packets. */
  flow: string | null;
  unit: "packets" | "bytes";
}

/** Most strips of states in a plot. */
const MOST_LANES = 6;

/** Congestion control of each flow of a run; undefined for UDP. */
export function controls({ run, resolved }: Side): (string | undefined)[] {
  const found = new Map<string, string>();
  for (const flow of resolved.flows ?? []) {
    const tcp = flow.tcp === null || flow.tcp === undefined ? undefined : resolved.tcps?.[flow.tcp];
    if (tcp) found.set(flow.name, String(tcp.cc));
  }
  return run.names.flows.map((name) => found.get(name));
}

/** Places of the flows of all runs: those of A, then those that only B has. Plots and legend take their colours by them. */
export function flowPlaces(sides: Side[]): Map<string, number> {
  const names = new Set(sides.flatMap(({ run }) => run.names.flows));
  return new Map([...names].map((name, place) => [name, place]));
}

/** Congestion controls of the flows of all runs, and "UDP", in the order of their colours. */
export function groupNames(sides: Side[]): string[] {
  const names = new Set(sides.flatMap((side) => controls(side).map((one) => one ?? "UDP")));
  return [...names].sort((a, b) => a.localeCompare(b));
}

/** All figures for which the runs have samples. */
export function figures(sides: Side[], choice: Choice): Figure[] {
  return [
    ...flowFigures(sides, choice),
    ...queueFigures(sides, choice),
    ...lossFigures(sides, choice),
    ...routerFigures(sides),
    ...sequenceFigure(sides, choice),
  ];
}

/** Whether flows are drawn as groups. */
export function many(sides: Side[]): boolean {
  return sides.some(({ run }) => run.names.flows.length >= MANY);
}

interface Measure {
  id: string;
  title: string;
  unit: string;
  note: string;
  column: string;
  kind: "gauge" | "rate";
  scale: number;
  fromZero: boolean;
}

const MEASURES: Measure[] = [
  {
    id: "throughput",
    title: "Throughput",
    unit: "Mb/s",
    note: "Payload delivered in order to the receiving application, mean of each sampling interval.",
    column: "delivered_bytes",
    kind: "rate",
    scale: 8e-6,
    fromZero: true,
  },
  {
    id: "cwnd",
    title: "Congestion window",
    unit: "kB",
    note: "cwnd; thin and dashed: ssthresh.",
    column: "cwnd_bytes",
    kind: "gauge",
    scale: 1e-3,
    fromZero: true,
  },
  {
    id: "rtt",
    title: "Round-trip time",
    unit: "ms",
    note: "srtt (RFC 6298); thin: the latest sample.",
    column: "srtt_ns",
    kind: "gauge",
    scale: 1e-6,
    fromZero: false,
  },
];

function flowFigures(sides: Side[], choice: Choice): Figure[] {
  const grouped = many(sides);
  const order = groupNames(sides);
  const colours = flowColours(sides, grouped ? choice.picked : null);
  return MEASURES.flatMap((measure) => {
    const made = figure({ ...measure });
    // With many lines the readout has no room for ssthresh and latest samples; the note says what they look like.
    const listed = sides.length === 1 && !grouped && (sides[0]?.run.names.flows.length ?? 0) <= MOST_LANES;
    for (const side of sides) {
      if (grouped) made.lines.push(...groups(side, measure, order));
      made.lines.push(...flowLines(side, measure, colours, listed));
    }
    if (!made.lines.length) return [];
    if (grouped) {
      made.note = `${measure.note.split(";")[0]?.replace(/\.$/, "")}. Lines: median of the flows of each congestion control; bands: the middle 80 % of them.`;
    }
    if (measure.id === "cwnd") states(made, sides, choice, grouped);
    return [made];
  });
}

/**
 * Colours of the flows that are drawn, by name: all of them, or those picked beside groups, whose colours come after those
 * of the groups in the order of choice.
 */
export function flowColours(sides: Side[], picked: ReadonlySet<string> | null): Map<string, string> {
  const places = flowPlaces(sides);
  if (!picked) return new Map([...places].map(([name, place]) => [name, `--flow-${place % 6}`]));
  const first = groupNames(sides).length;
  return new Map([...picked].map((name, place) => [name, `--flow-${(first + place) % 6}`]));
}

/** Groups of runs, by arm, measure and order of colours: other choices do not change them. */
const grouped = new WeakMap<RunData, Map<string, Line[]>>();

function groups(side: Side, measure: Measure, order: string[]): Line[] {
  const known = grouped.get(side.run) ?? new Map<string, Line[]>();
  grouped.set(side.run, known);
  const key = [side.arm, measure.id, ...order].join(" ");
  const made = known.get(key) ?? grouping(side, measure, order);
  known.set(key, made);
  return made;
}

function grouping(side: Side, measure: Measure, order: string[]): Line[] {
  const { arm, run, resolved, duration } = side;
  const interval = (resolved.sampling?.interval_ns ?? 0) / 1e9;
  const width = binWidth(duration, interval);
  const edges = Float64Array.from({ length: Math.floor(duration / width + 1e-9) + 1 }, (_, i) => i * width);
  const names = controls(side).map((one) => one ?? "UDP");
  return groupLines(run, arm, { names, order }, measure, edges);
}

/** Lines of the flows that have a colour. */
function flowLines(side: Side, measure: Measure, colours: Map<string, string>, listed: boolean): Line[] {
  const { arm, run } = side;
  const flows = run.tables.flows;
  if (!flows) return [];
  return run.names.flows.flatMap((name, index): Line[] => {
    const colour = colours.get(name);
    if (colour === undefined || !rowsBy(flows, "flow")[index]?.length) return [];
    const common = { name, key: name, arm, colour };
    const of = (column: string): Series => seriesOf(flows, "flow", index, column, measure.kind, measure.scale);
    const main = of(measure.column);
    if (measure.id === "throughput") return [line({ ...common, series: main, shape: "interval" })];
    if (!some(main, (value) => !Number.isNaN(value))) return [];
    if (measure.id === "cwnd") {
      const dashed = arm === "b" ? [1, 3] : [4, 3];
      const ssthresh = line({
        ...common,
        name: `${name} ssthresh`,
        series: of("ssthresh_bytes"),
        shape: "hold",
        dash: dashed,
        width: 1,
        opacity: 0.75,
        listed,
      });
      return [ssthresh, line({ ...common, series: main, shape: "hold" })];
    }
    const latest = { ...common, name: `${name} latest`, series: of("rtt_ns"), width: 0.75, opacity: 0.55, listed };
    return [line(latest), line({ ...common, series: main, width: 1.75 })];
  });
}

/** Adds strips of states to the plot of cwnd: of A, which is there always. */
function states(made: Figure, sides: Side[], choice: Choice, grouped: boolean): void {
  const [side] = sides;
  if (!side || !sampled(side.run)) return;
  const indices = side.run.names.flows
    .map((name, index) => ({ name, index }))
    .filter(({ name }) => !grouped || choice.picked.has(name))
    .map(({ index }) => index)
    .slice(0, MOST_LANES);
  Object.assign(made, phases(side.run, indices, side.duration));
  if (made.lanes.length)
    made.note = `${made.note.replace(/\.$/, "")}; strips: the state of each sender${sides.length > 1 ? " of A" : ""}.`;
}

/** Losses of flows and marks of queues, counted in each sampling interval. */
function lossFigures(sides: Side[], choice: Choice): Figure[] {
  const colours = flowColours(sides, many(sides) ? choice.picked : null);
  const lines = sides.flatMap((side): Line[] => {
    const { arm, run } = side;
    const flows = run.tables.flows;
    if (!flows) return [];
    return run.names.flows.flatMap((name, index): Line[] => {
      const colour = colours.get(name);
      if (colour === undefined) return [];
      const lost = seriesOf(flows, "flow", index, "lost_packets", "count");
      if (!some(lost, (value) => value > 0)) return [];
      return [line({ name, key: name, arm, colour, series: lost, shape: "stick" })];
    });
  });
  if (!lines.length) return [];
  const note = "Packets of each flow that were dropped or corrupted, per sampling interval.";
  return [figure({ id: "losses", title: "Losses", unit: "packets", note, lines })];
}
