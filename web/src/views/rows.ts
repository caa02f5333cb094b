/** The rows of each flow, queue, router or state series in a table whose rows are in order of time. */

import type { RunData, Table } from "../engine/types";
import type { Series } from "./figure";

const EMPTY = new Float64Array();
const known = new WeakMap<Table, Map<string, Uint32Array[]>>();

/** A column's values; empty if there is none. */
export function column(table: Table | undefined, name: string): Float64Array {
  return table?.columns[name]?.values ?? EMPTY;
}

/** A table of a run. */
export function table(run: RunData, name: string): Table | undefined {
  return run.tables[name];
}

/** For each index in a column, the rows that have it. Computed once per table. */
export function rowsBy(of: Table, name: string): Uint32Array[] {
  const columns = known.get(of) ?? new Map<string, Uint32Array[]>();
  known.set(of, columns);
  const found = columns.get(name);
  if (found) return found;
  const keys = column(of, name);
  const counts: number[] = [];
  for (let row = 0; row < of.rows; row++) {
    const key = keys[row] ?? 0;
    while (counts.length <= key) counts.push(0);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  const made = counts.map((count) => new Uint32Array(count));
  const filled = new Uint32Array(counts.length);
  for (let row = 0; row < of.rows; row++) {
    const key = keys[row] ?? 0;
    const place = filled[key] ?? 0;
    const mine = made[key];
    if (mine) mine[place] = row;
    filled[key] = place + 1;
  }
  columns.set(name, made);
  return made;
}

/** Values of one index over time. */
export function seriesOf(
  of: Table,
  by: string,
  index: number,
  name: string,
  kind: Series["kind"] = "gauge",
  scale = 1,
): Series {
  const rows = rowsBy(of, by)[index] ?? new Uint32Array();
  return {
    time: column(of, "time_ns"),
    value: column(of, name),
    rows,
    scale,
    kind,
    before: kind === "count" ? 0 : null,
  };
}

/** Whether any value of the rows satisfies a condition. */
export function some(series: Series, holds: (value: number) => boolean): boolean {
  const { rows, value } = series;
  const count = rows ? rows.length : value.length;
  for (let i = 0; i < count; i++) if (holds(value[rows ? (rows[i] ?? 0) : i] ?? Number.NaN)) return true;
  return false;
}

/** The largest value of the rows; 0 without values. */
export function peak(series: Series): number {
  const { rows, value } = series;
  const count = rows ? rows.length : value.length;
  let most = 0;
  for (let i = 0; i < count; i++) most = Math.max(most, value[rows ? (rows[i] ?? 0) : i] || 0);
  return most;
}

/** The value of a double that `value_bits` has as an integer; rounded in its last bits as the engine's conversion is. */
export function fromBits(bits: number): number {
  if (Number.isNaN(bits)) return Number.NaN;
  const high = Math.floor(bits / 2 ** 32);
  words[LITTLE ? 1 : 0] = high;
  words[LITTLE ? 0 : 1] = bits - high * 2 ** 32;
  return double[0] ?? Number.NaN;
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
const LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The first place in sorted numbers whose value is not below the wanted one. */
export function lower(numbers: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
