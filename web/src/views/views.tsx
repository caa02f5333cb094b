/** Plots of both arms on linked axes, with their tables. */

import { useEffect, useState } from "preact/hooks";
import { HEIGHT, TALL } from "./canvas";
import { DataTable } from "./data-table";
import type { Figure } from "./figure";
import { figureGrid } from "./grid";
import { Legend } from "./legend";
import { followTheme } from "./palette";
import { sampled } from "./phases";
import { Plot } from "./plot";
import { arrow, shownQueues } from "./queues";
import { Readout } from "./readout";
import { Results, Verdict } from "./results";
import { sampleStates, sampleTime } from "./sampling";
import { saveCsv, savePng, saveSvg } from "./save";
import { sequenceFlows } from "./sequence";
import { figures, logging, off, order, picked, queues, sequenceOf, sides, unit } from "./shown";
import { Tables } from "./tables";
import { Toolbar } from "./toolbar";
import "uplot/dist/uPlot.min.css";
import "./views.css";

/** What belongs to one figure beside its plot. */
function Extra({ id }: { id: string }) {
  if (id === "cwnd") return <States />;
  if (id === "queue") return <Queues />;
  if (id === "sequence") return <SequenceFlow />;
  return null;
}

function States() {
  const [side] = sides.value;
  if (!side || sampled(side.run)) return null;
  return (
    <p class="hint">
      States are not sampled. In the scenario: <code>[sampling] state = true</code>.{" "}
      <button type="button" onClick={sampleStates}>
        Sample states
      </button>
    </p>
  );
}

function Queues() {
  const choice = { queues: queues.value, picked: picked.value, flow: null, unit: unit.value };
  const shown = new Set(shownQueues(sides.value, choice));
  const names = sides.value[0]?.run.names.queues ?? [];
  const set = (name: string, on: boolean): void => {
    const next = new Set(shown);
    if (on) next.add(name);
    else next.delete(name);
    queues.value = next;
  };
  return (
    <div class="choices">
      <label>
        Count{" "}
        <select
          value={unit.value}
          onChange={(event) => {
            unit.value = event.currentTarget.value === "bytes" ? "bytes" : "packets";
          }}
        >
          <option value="packets">packets</option>
          <option value="bytes">bytes</option>
        </select>
      </label>
      <details>
        <summary>
          Queues: {shown.size} of {names.length}
        </summary>
        <fieldset class="queues">
          <legend class="visually-hidden">Queues that are shown</legend>
          {names.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={shown.has(name)}
                onChange={(event) => set(name, event.currentTarget.checked)}
              />{" "}
              {arrow(name)}
            </label>
          ))}
          <button
            type="button"
            disabled={queues.value === null}
            onClick={() => {
              queues.value = null;
            }}
          >
            The fullest
          </button>
        </fieldset>
      </details>
    </div>
  );
}

function SequenceFlow() {
  const [side] = sides.value;
  if (!side) return null;
  const names = sequenceFlows(side);
  const chosen = sequenceOf.value !== null && names.includes(sequenceOf.value) ? sequenceOf.value : names[0];
  return (
    <div class="choices">
      <label>
        Flow{" "}
        <select
          value={chosen}
          onChange={(event) => {
            sequenceOf.value = event.currentTarget.value;
          }}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function View({ id }: { id: string }) {
  const figure = figures.value.find((one) => one.id === id);
  const [open, unfold] = useState(false);
  const [fault, tell] = useState<string | null>(null);
  if (!figure) return null;
  const label = figure.unit ? `${figure.title} (${figure.unit})` : figure.title;
  const heading = `view-${id}`;
  return (
    <figure class="view" aria-labelledby={heading} data-view={id}>
      <div class="head">
        <h3 id={heading}>{label}</h3>
        <Buttons figure={figure} open={open} unfold={() => unfold(!open)} tell={tell} />
      </div>
      <Readout figure={figure} />
      <Plot id={id} label={label} height={figure.custom ? TALL : HEIGHT} />
      <figcaption>{figure.note}</figcaption>
      <Extra id={id} />
      {fault && <p role="alert">{fault}</p>}
      {open && <DataTable grid={gridOf(figure)} caption={label} />}
    </figure>
  );
}

const gridOf = (figure: Figure) =>
  figureGrid(
    figure,
    figure.lines.filter((one) => !off(one)),
  );

function Buttons(props: { figure: Figure; open: boolean; unfold: () => void; tell: (fault: string | null) => void }) {
  const { figure, open, unfold, tell } = props;
  const png = (): void => {
    savePng(figure).then(
      () => tell(null),
      (error: unknown) => tell(`The PNG cannot be made: ${error instanceof Error ? error.message : String(error)}`),
    );
  };
  const of = <span class="visually-hidden"> of {figure.title}</span>;
  return (
    <div class="buttons">
      <button type="button" aria-expanded={open} onClick={unfold}>
        Data{of}
      </button>
      <button type="button" onClick={() => saveCsv(figure.id, gridOf(figure))}>
        CSV{of}
      </button>
      <button type="button" onClick={png}>
        PNG{of}
      </button>
      <button type="button" onClick={() => saveSvg(figure)}>
        SVG{of}
      </button>
    </div>
  );
}

function Plots() {
  const ids = order.value.split("\n").filter((id) => id !== "");
  const sampling = sides.value[0]?.resolved.sampling;
  return (
    <>
      {ids.map((id) => (
        <View key={id} id={id} />
      ))}
      {sampling?.kind === "off" && (
        <p class="hint">
          The scenario samples nothing over time.{" "}
          <button type="button" onClick={sampleTime}>
            Sample every 100 ms
          </button>
        </p>
      )}
      {sides.value[0]?.run.log && !ids.includes("sequence") && (
        <p class="hint">
          The time-sequence graph shows TCP flows whose sender is at a wired link; this scenario has none.
        </p>
      )}
      {sides.value[0]?.run.log === null && (
        <p class="hint">
          The time-sequence graph needs every packet.{" "}
          <button
            type="button"
            onClick={() => {
              logging.value = true;
            }}
          >
            Log packets
          </button>
        </p>
      )}
    </>
  );
}

/** The views of the runs. */
export function Views() {
  useEffect(followTheme, []);
  if (!sides.value.length) return <section class="views" aria-label="Views" aria-busy="true" />;
  return (
    <section class="views" aria-label="Views">
      <Verdict />
      <div class="bar">
        <Toolbar />
        <Legend />
      </div>
      <Plots />
      <Results />
      <Tables />
    </section>
  );
}
