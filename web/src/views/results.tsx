/** The numbers of the runs: in sentences, and as a table with the differences of A and B. */

import { computed, effect, signal } from "@preact/signals";
import { DataTable } from "./data-table";
import { differences, differencesGrid, exactGrid } from "./differences";
import type { Side } from "./figures";
import { whenIdle } from "./idle";
import { saveCsv } from "./save";
import { sides } from "./shown";
import { metrics } from "./totals";
import { verdict } from "./verdict";

/** When the numbers follow the plots at the latest, ms. */
const LATEST_MS = 250;

/** The runs whose numbers are shown: while a slider is dragged, the plots come first. */
const told = signal<Side[]>([]);

let waiting = false;

effect(() => {
  const next = sides.value;
  if (told.peek().length !== next.length) told.value = next;
  else if (!waiting) {
    waiting = true;
    whenIdle(() => {
      waiting = false;
      told.value = sides.peek();
    }, LATEST_MS);
  }
});

const all = computed(() => told.value.map((side) => ({ arm: side.arm.toUpperCase(), of: metrics(side) })));

/** Who got what, how full the queue was, what was lost and why. */
export function Verdict() {
  return (
    <section class="verdict" aria-label="Verdict" aria-live="off">
      {all.value.map(({ arm, of }) => (
        <p key={arm}>
          {all.value.length > 1 && <b>{arm}: </b>}
          {verdict(of).join(" ")}
        </p>
      ))}
    </section>
  );
}

/** The table of results. */
export function Results() {
  const [a, b] = all.value;
  if (!a) return null;
  const rows = differences(a.of, b?.of ?? null);
  const both = b !== undefined;
  return (
    <section class="results" aria-labelledby="views-results">
      <div class="head">
        <h2 id="views-results">{both ? "Results of A and B" : "Results"}</h2>
        <button type="button" onClick={() => saveCsv("results", exactGrid(rows, both))}>
          CSV<span class="visually-hidden"> of the results</span>
        </button>
      </div>
      <DataTable grid={differencesGrid(rows, both)} caption="Over the whole run" />
    </section>
  );
}
