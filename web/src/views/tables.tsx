/** Every table of a run: in pages, and as CSV. */

import { useState } from "preact/hooks";
import type { Arm } from "../model/state";
import { DataTable } from "./data-table";
import { tableGrid } from "./grid";
import { saveCsv } from "./save";
import { sides } from "./shown";

/** A table that is chosen by name. */
export function Tables() {
  const [name, choose] = useState("flow_totals");
  const [arm, pick] = useState<Arm>("a");
  const [open, unfold] = useState(false);
  const side = sides.value.find((one) => one.arm === arm) ?? sides.value[0];
  if (!side) return null;
  const filled = Object.values(side.run.tables).filter(({ rows }) => rows > 0);
  const table = filled.find((one) => one.name === name) ?? filled[0];
  if (!table) return null;
  const grid = tableGrid(table, side.run);
  return (
    <details class="tables" onToggle={(event) => unfold(event.currentTarget.open)}>
      <summary>All tables of the run</summary>
      {open && (
        <>
          <div class="head">
            <label>
              Table{" "}
              <select value={table.name} onChange={(event) => choose(event.currentTarget.value)}>
                {filled.map((one) => (
                  <option key={one.name} value={one.name}>
                    {one.name} ({one.rows.toLocaleString("en")} rows)
                  </option>
                ))}
              </select>
            </label>
            {sides.value.length > 1 && (
              <label>
                of{" "}
                <select value={side.arm} onChange={(event) => pick(event.currentTarget.value as Arm)}>
                  <option value="a">A</option>
                  <option value="b">B</option>
                </select>
              </label>
            )}
            <button type="button" onClick={() => saveCsv(table.name, grid)}>
              CSV<span class="visually-hidden"> of {table.name}</span>
            </button>
          </div>
          <DataTable key={table.name} grid={grid} caption={table.name} />
          <dl class="columns">
            {Object.values(table.columns).map(({ name: column, unit, doc }) => (
              <div key={column}>
                <dt>{column}</dt>
                <dd>
                  {doc} {unit && `(${unit})`}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </details>
  );
}
