/** The numbers of the present run that a lesson asks to watch. */

import { useComputed } from "@preact/signals";
import { runs, texts } from "../model/state";
import type { Watched } from "./lesson";
import { measured } from "./measure";

/** A number with three significant digits; a dash if the run does not have it. */
export function rounded(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 1000) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** A table of the numbers, renewed after each run, and the way back to the scenario of the lesson. */
export function WatchedNumbers({ watch, toml }: { watch: Watched[]; toml: string }) {
  const rows = useComputed(() => {
    const run = runs.a.value;
    return watch.map(({ label, measure, unit }) => {
      const text = run ? rounded(measured(measure, run)) : "-";
      return { label, text: text === "-" ? text : `${text} ${unit}`.trim() };
    });
  });
  return (
    <>
      <table class="watched">
        <caption>In the present run</caption>
        <tbody>
          {rows.value.map(({ label, text }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button
        type="button"
        disabled={texts.a.value === toml}
        onClick={() => {
          texts.a.value = toml;
        }}
      >
        Back to the scenario of the lesson
      </button>
    </>
  );
}
