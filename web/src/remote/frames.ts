/** The binary form of a run's results; `python/narrows/ui/frames.py` is the server's side and has the layout. */

import type { Column, RunData, Table } from "../engine/types";

/** What the server tells of results that were read from a directory. */
export interface Recorded {
  /** The scenario as run, below a line that names the results. */
  toml: string;
  /** Runs in the directory. */
  runs: number;
  /** Whether this machine's own TCP made them. */
  live: boolean;
  /** Reasons not to trust the run. */
  doubts: string[];
  /** The arm of a comparison; empty for other results. */
  label: string;
}

/** A run of the server. */
export interface Frame {
  /** The request that it answers. */
  id: number;
  data: RunData;
  /** Every so many samples were kept; 1 if all were. */
  step: number;
  recorded: Recorded | null;
}

interface Header {
  id: number;
  data: Omit<RunData, "tables" | "log" | "calls"> & {
    step: number;
    recorded?: Recorded;
    tables: { name: string; rows: number; columns: Omit<Column, "values">[] }[];
  };
}

const VALUE = Float64Array.BYTES_PER_ELEMENT;

/**
 * Reads a frame. The columns are views of its memory, not copies.
 * @throws RangeError if it ends too soon.
 */
export function decode(frame: ArrayBuffer): Frame {
  const length = new DataView(frame).getUint32(0, true);
  const start = Uint32Array.BYTES_PER_ELEMENT;
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(frame, start, length)));
  let place = start + length;
  const column = (one: Omit<Column, "values">, rows: number): [string, Column] => {
    const values = new Float64Array(frame, place, rows);
    place += rows * VALUE;
    return [one.name, { ...one, values }];
  };
  const tables = header.data.tables.map(({ name, rows, columns }): [string, Table] => [
    name,
    { name, rows, columns: Object.fromEntries(columns.map((one) => column(one, rows))) },
  ]);
  const { events, packets, names, series, took_ms, step, recorded } = header.data;
  return {
    id: header.id,
    data: { events, packets, names, tables: Object.fromEntries(tables), series, log: null, calls: [], took_ms },
    step,
    recorded: recorded ?? null,
  };
}
