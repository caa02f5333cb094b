/** Converts the engine's `Run` into plain values that can be sent between threads. */

import type { wasm } from "./module";
import type { Call, Column, RunData, Table } from "./types";

/** Reads all columns, and frees the run's own memory. */
export function read(run: wasm.Run, calls: Call[], took_ms: number): RunData {
  const described = run.tables() as { name: string; rows: number; columns: Omit<Column, "values">[] }[];
  const tables: Record<string, Table> = {};
  for (const { name, rows, columns } of described) {
    const filled = columns.map((column): [string, Column] => [
      column.name,
      { ...column, values: rows ? run.column(name, column.name) : new Float64Array() },
    ]);
    tables[name] = { name, rows, columns: Object.fromEntries(filled) };
  }
  return {
    events: run.events,
    packets: run.packets,
    names: run.names(),
    tables,
    series: run.series(),
    log: run.log(),
    calls,
    took_ms,
  };
}

/** The buffers of a run's typed arrays, to be moved to another thread. */
export function buffers(data: RunData): ArrayBuffer[] {
  const columns = Object.values(data.tables).flatMap((table) => Object.values(table.columns).map((one) => one.values));
  const log = Object.values(data.log ?? {}).filter((value) => ArrayBuffer.isView(value));
  return [...new Set([...columns, ...log].map((array) => array.buffer as ArrayBuffer))].filter((one) => one.byteLength);
}
