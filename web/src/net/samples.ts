/** Values of the tables `queues` and `flows` at a time: the latest sample that is not after it. */

import type { Table } from "../engine/types";
import { bisect } from "./packet-index";

const NONE = new Uint32Array();

/** Rows of a table by the object that they describe, each in the order of time. */
export class Samples {
  private readonly rows = new Map<number, Uint32Array>();
  private readonly time: Float64Array;

  /** `key` is the column that names the object, such as `queue`. */
  constructor(
    private readonly table: Table | undefined,
    key: string,
  ) {
    this.time = table?.columns.time_ns?.values ?? new Float64Array();
    const objects = table?.columns[key]?.values ?? new Float64Array();
    const sizes = new Map<number, number>();
    for (const object of objects) sizes.set(object, (sizes.get(object) ?? 0) + 1);
    for (const [object, size] of sizes) this.rows.set(object, new Uint32Array(size));
    sizes.clear();
    objects.forEach((object, row) => {
      const filled = sizes.get(object) ?? 0;
      const list = this.rows.get(object);
      if (list) list[filled] = row;
      sizes.set(object, filled + 1);
    });
  }

  /** A value of the latest sample; NaN before the first. */
  at(object: number, column: string, time: number): number {
    const list = this.rows.get(object) ?? NONE;
    const after = bisect(list.length, (i) => (this.time[list[i] as number] as number) > time);
    const row = list[after - 1];
    return row === undefined ? Number.NaN : (this.table?.columns[column]?.values[row] ?? Number.NaN);
  }
}
