/** A grid in pages: the table behind a plot, for screen readers and for everyone. */

import { useState } from "preact/hooks";
import type { Grid } from "./grid";
import { seconds, written } from "./words";

/** Rows of a page. */
const PAGE = 25;

/** Columns of a page: more are shown by the CSV only. */
const MOST_COLUMNS = 40;

const shown = (cell: string | number, head: string): string => {
  if (typeof cell === "string") return cell;
  if (Number.isNaN(cell)) return "–";
  if (head.startsWith("Time")) return seconds(cell);
  return Number.isInteger(cell) ? cell.toLocaleString("en") : written(cell);
};

/** A page of a grid, with what leads to the others. */
export function DataTable({ grid, caption }: { grid: Grid; caption: string }) {
  const [chosen, choose] = useState(0);
  const pages = Math.max(1, Math.ceil(grid.rows / PAGE));
  const page = Math.min(chosen, pages - 1);
  const first = page * PAGE;
  const rows = Array.from({ length: Math.min(PAGE, grid.rows - first) }, (_, i) => first + i);
  const heads = grid.heads.slice(0, MOST_COLUMNS);
  const left = grid.heads.length - heads.length;
  return (
    <div class="data-table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus */}
      <section class="scroll" tabIndex={0} aria-label={caption}>
        <table>
          <caption>
            {caption}: {grid.rows.toLocaleString("en")} rows{left > 0 && `; ${left} more columns are in the CSV`}
          </caption>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row}>
                {heads.map((head, column) => (
                  <td key={head}>{shown(grid.cell(row, column), head)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {pages > 1 && (
        <div class="pages">
          <button type="button" disabled={page === 0} onClick={() => choose(0)}>
            First
          </button>
          <button type="button" disabled={page === 0} onClick={() => choose(page - 1)}>
            Previous
          </button>
          <label>
            Page{" "}
            <input
              type="number"
              min={1}
              max={pages}
              value={page + 1}
              onChange={(event) => choose(Math.max(0, Math.min(pages, Number(event.currentTarget.value)) - 1))}
            />{" "}
            of {pages.toLocaleString("en")}
          </label>
          <button type="button" disabled={page === pages - 1} onClick={() => choose(page + 1)}>
            Next
          </button>
          <button type="button" disabled={page === pages - 1} onClick={() => choose(pages - 1)}>
            Last
          </button>
        </div>
      )}
    </div>
  );
}
