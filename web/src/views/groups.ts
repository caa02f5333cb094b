/** Many flows as groups: the median over the flows of each congestion control, and the middle 80 % as a band. */

import type { RunData } from "../engine/types";
import type { Arm } from "../model/state";
import { type Line, length, line, type Series, timeAt } from "./figure";
import { seriesOf } from "./rows";

/** Flows from which groups are drawn. */
export const MANY = 12;

/** Share of a group's flows below its band, and above it. */
const TAIL = 0.1;

/** Bins that a run is divided into. */
const BINS = 200;

/** Width of bins: about 200 a run, 1, 2 or 5 times a power of ten, and no shorter than twice the sampling interval. */
export function binWidth(duration: number, interval: number): number {
  const wanted = Math.max(duration / BINS, 2 * interval);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 5, 10].find((one) => one * power >= wanted * 0.999) ?? 10) * power;
}

/** The quantile of sorted numbers, between two of them in proportion. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Mean rate of a counter in each bin, per second. The counter grows linearly between samples. */
export function binnedRate(series: Series, edges: Float64Array): Float64Array {
  const out = new Float64Array(edges.length - 1).fill(Number.NaN);
  const count = length(series);
  if (count < 2) return out;
  const counter = (index: number): number =>
    (series.value[series.rows ? (series.rows[index] ?? 0) : index] ?? 0) * series.scale;
  let at = 0;
  const value = (time: number): number => {
    while (at + 1 < count && timeAt(series, at + 1) <= time) at += 1;
    const begin = timeAt(series, at);
    if (time <= begin || at + 1 === count) return counter(at);
    return counter(at) + ((counter(at + 1) - counter(at)) * (time - begin)) / (timeAt(series, at + 1) - begin);
  };
  let before = value(edges[0] ?? 0);
  for (let i = 0; i + 1 < edges.length; i++) {
    const [from, to] = [edges[i] ?? 0, edges[i + 1] ?? 0];
    const here = value(to);
    if (to > timeAt(series, 0) && from < timeAt(series, count - 1)) out[i] = (here - before) / (to - from);
    before = here;
  }
  return out;
}

/** Mean of the samples in each bin. */
export function binnedMean(series: Series, edges: Float64Array): Float64Array {
  const bins = edges.length - 1;
  const [sums, counts] = [new Float64Array(bins), new Float64Array(bins)];
  let bin = 0;
  for (let i = 0; i < length(series); i++) {
    const [time, value] = [timeAt(series, i), series.value[series.rows ? (series.rows[i] ?? 0) : i] ?? Number.NaN];
    while (bin < bins && time >= (edges[bin + 1] ?? 0)) bin += 1;
    if (bin === bins) break;
    if (Number.isNaN(value) || time < (edges[bin] ?? 0)) continue;
    sums[bin] = (sums[bin] ?? 0) + value * series.scale;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return sums.map((sum, i) => (counts[i] ? sum / (counts[i] ?? 1) : Number.NaN));
}

/**
 * A line for each congestion control.
 * @param groups - The group of each flow, and all groups in the order of their colours.
 */
export function groupLines(
  run: RunData,
  arm: Arm,
  groups: { names: string[]; order: string[] },
  measure: { column: string; scale: number; kind: "gauge" | "rate" },
  edges: Float64Array,
): Line[] {
  const flows = run.tables.flows;
  if (!flows) return [];
  const members = new Map<string, Float64Array[]>();
  for (const [index] of run.names.flows.entries()) {
    const series = seriesOf(flows, "flow", index, measure.column, measure.kind, measure.scale);
    const values = measure.kind === "rate" ? binnedRate(series, edges) : binnedMean(series, edges);
    if (values.every(Number.isNaN)) continue;
    const group = groups.names[index] ?? "UDP";
    members.set(group, [...(members.get(group) ?? []), values]);
  }
  const bins = edges.length - 1;
  const centres = Float64Array.from({ length: bins }, (_, i) => (((edges[i] ?? 0) + (edges[i + 1] ?? 0)) / 2) * 1e9);
  return [...members.entries()]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([group, rows]) => {
      const [low, middle, high] = [new Float64Array(bins), new Float64Array(bins), new Float64Array(bins)];
      for (let i = 0; i < bins; i++) {
        const sorted = Float64Array.from(rows, (row) => row[i] ?? Number.NaN)
          .filter((value) => !Number.isNaN(value))
          .sort();
        low[i] = quantile(sorted, TAIL);
        middle[i] = quantile(sorted, 0.5);
        high[i] = quantile(sorted, 1 - TAIL);
      }
      return line({
        name: `${group}, ${rows.length} ${rows.length === 1 ? "flow" : "flows"}`,
        key: groupKey(group),
        arm,
        colour: `--flow-${groups.order.indexOf(group) % 6}`,
        series: { time: centres, value: middle, rows: null, scale: 1, kind: "gauge", before: null },
        width: 2,
        band: rows.length > 1 ? { low, high } : null,
      });
    });
}

/** The name under which a group is hidden: no flow can have it, since names of flows have no spaces. */
export function groupKey(group: string): string {
  return `all ${group}`;
}
