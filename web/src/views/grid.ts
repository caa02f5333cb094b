/** The numbers behind a figure or of a whole table, as rows and columns: shown in pages, and saved as CSV. */

import type { RunData, Table } from "../engine/types";
import { type Figure, firstFrom, type Line, length, timeAt, valueAt } from "./figure";
import { fromBits } from "./rows";

/** A table that is not made before it is read. */
export interface Grid {
  heads: string[];
  rows: number;
  /** Text or number of a cell; NaN is "no value". */
  cell(row: number, column: number): string | number;
}

/** Whether two lines have the same times: then they share a block of columns. */
function alike(a: Line, b: Line): boolean {
  if (a.series.time === b.series.time && a.series.rows === b.series.rows) return true;
  const count = length(a.series);
  if (count !== length(b.series)) return false;
  for (let i = 0; i < count; i++) if (timeAt(a.series, i) !== timeAt(b.series, i)) return false;
  return true;
}

/** All times of the lines in order, each once. */
function times(lines: Line[]): Float64Array {
  const first = lines[0];
  if (!first) return new Float64Array();
  if (lines.every((one) => alike(first, one))) {
    return Float64Array.from({ length: length(first.series) }, (_, i) => timeAt(first.series, i));
  }
  const every = new Float64Array(lines.reduce((sum, one) => sum + length(one.series), 0));
  let at = 0;
  for (const { series } of lines) for (let i = 0; i < length(series); i++) every[at++] = timeAt(series, i);
  every.sort();
  let kept = 0;
  for (let i = 0; i < every.length; i++) {
    if (i === 0 || every[i] !== every[kept - 1]) every[kept++] = every[i] ?? 0;
  }
  return every.slice(0, kept);
}

/** Place of a time among a line's points; -1 if it has none there. */
function placeOf({ series }: Line, time: number): number {
  const place = firstFrom(series, time);
  return place < length(series) && timeAt(series, place) === time ? place : -1;
}

/** The points of a figure: a row per time, and a column per line. */
export function figureGrid(figure: Figure, lines: Line[]): Grid {
  if (figure.custom) return figure.custom.grid();
  const x = times(lines);
  const columns = lines.flatMap((one) => {
    const name = lines.some((other) => other.arm !== one.arm) ? `${one.name} (${one.arm.toUpperCase()})` : one.name;
    const main = { head: name, value: (at: number): number => valueAt(one.series, at), line: one };
    if (!one.band) return [main];
    const { low, high } = one.band;
    return [
      main,
      { head: `${name}, 10 %`, value: (at: number): number => low[at] ?? Number.NaN, line: one },
      { head: `${name}, 90 %`, value: (at: number): number => high[at] ?? Number.NaN, line: one },
    ];
  });
  return {
    heads: ["Time (s)", ...columns.map(({ head }) => (figure.unit ? `${head} (${figure.unit})` : head))],
    rows: x.length,
    cell(row, column) {
      const time = x[row] ?? Number.NaN;
      if (column === 0) return time;
      const found = columns[column - 1];
      const at = found ? placeOf(found.line, time) : -1;
      return found && at >= 0 ? found.value(at) : Number.NaN;
    },
  };
}

/** Tables by what their rows are of: an index in a column, or the number of the row. */
const NAMED: Record<string, { column: string | null; names: "flows" | "queues" | "routers" | "stations" }> = {
  flows: { column: "flow", names: "flows" },
  queues: { column: "queue", names: "queues" },
  subqueues: { column: "queue", names: "queues" },
  routers: { column: "router", names: "routers" },
  flow_totals: { column: null, names: "flows" },
  queue_totals: { column: null, names: "queues" },
  router_totals: { column: null, names: "routers" },
  station_totals: { column: null, names: "stations" },
  subqueue_totals: { column: "queue", names: "queues" },
  datagram_totals: { column: "flow", names: "flows" },
  playback_totals: { column: "flow", names: "flows" },
  impairment_totals: { column: "queue", names: "queues" },
};

/** A whole table of a run: its columns, and the name of what each row is of. */
export function tableGrid(table: Table, run: RunData): Grid {
  if (table.name === "state") return stateGrid(table, run);
  const columns = Object.values(table.columns);
  const named = NAMED[table.name];
  const keys = named?.column ? table.columns[named.column]?.values : undefined;
  return {
    heads: [...columns.map(({ name }) => name), ...(named ? ["name"] : [])],
    rows: table.rows,
    cell(row, column) {
      if (column < columns.length) return columns[column]?.values[row] ?? Number.NaN;
      return (named && run.names[named.names][keys ? (keys[row] ?? -1) : row]) ?? "";
    },
  };
}

/** The table `state`, with its series and the numbers that its bits are. */
function stateGrid(table: Table, run: RunData): Grid {
  const [time, series, bits] = ["time_ns", "series", "value_bits"].map((name) => table.columns[name]?.values);
  return {
    heads: ["time_ns", "name", "algorithm", "variable", "unit", "value"],
    rows: table.rows,
    cell(row, column) {
      const of = run.series[series?.[row] ?? -1];
      if (column === 0) return time?.[row] ?? Number.NaN;
      if (column === 5) return fromBits(bits?.[row] ?? Number.NaN);
      if (!of) return "";
      const names = of.owner === "flow" ? run.names.flows : run.names.queues;
      return [names[of.index], of.algorithm, of.variable, of.unit][column - 1] ?? "";
    },
  };
}

const quoted = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** Rows of a part of the file: one string for each. */
const PART = 5_000;

/** A grid as CSV (RFC 4180), in parts. Numbers are written exactly; a missing value is empty. */
export function csv(grid: Grid): string[] {
  const parts = [`${grid.heads.map(quoted).join(",")}\n`];
  for (let begin = 0; begin < grid.rows; begin += PART) {
    const lines: string[] = [];
    for (let row = begin; row < Math.min(grid.rows, begin + PART); row++) {
      const cells = grid.heads.map((_, column) => {
        const cell = grid.cell(row, column);
        return typeof cell === "number" ? (Number.isNaN(cell) ? "" : String(cell)) : quoted(cell);
      });
      lines.push(cells.join(","));
    }
    parts.push(`${lines.join("\n")}\n`);
  }
  return parts;
}
