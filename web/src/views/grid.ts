/** The numbers behind a figure or of a whole table, as rows and columns: shown in pages, and saved as CSV. */

import type { Table } from "../engine/types";
import { type Figure, type Line, length, timeAt, valueAt } from "./figure";

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
  let [low, high] = [0, length(series)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeAt(series, middle) < time) low = middle + 1;
    else high = middle;
  }
  return low < length(series) && timeAt(series, low) === time ? low : -1;
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

/** A whole table of a run. */
export function tableGrid(table: Table): Grid {
  const columns = Object.values(table.columns);
  return {
    heads: columns.map(({ name }) => name),
    rows: table.rows,
    cell: (row, column) => columns[column]?.values[row] ?? Number.NaN,
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
