/** Controls of flows and workloads: name, congestion control, start, round-trip time; flows are added and removed. */

import type { Resolved } from "../engine/types";
import { control, controls } from "./catalogue";
import { addFlow, removeFlow, set, setControl, setRtt } from "./edits";
import { Choice, Quantity, Word } from "./fields";
import { type FlowRow, leastRtt } from "./flows";
import { parse, RATE, scale, TIME, write } from "./quantity";
import { get, isTable, type Path, type Value } from "./toml";
import { change, textAt, type View } from "./view";

/** Most flows that have controls; the text has all of them. */
const MOST = 30;
const RATES = scale(1e4, 1e9);
const LOADS = /^\d*\.?\d+$/;

/** What a flow is, in the words of the format. */
const KINDS: Record<string, string> = {
  rate: "TCP at the application's rate",
  on_off: "TCP with pauses",
  request_response: "requests and responses over TCP",
  video: "video in segments over TCP",
  udp: "UDP",
  frames: "frames of video over UDP",
  call: "a call: audio one way, video the other",
};

const put = (path: Path, value: Value): void => change((engine, text) => set(engine, text, path, value));

function FlowCard({ view, row, index, last }: { view: View; row: FlowRow; index: number; last: boolean }) {
  const least = leastRtt(row);
  const delays = scale(Math.max(least, 1e-4), Math.max(1, 10 * least));
  const start = [...row.path, "start"];
  const rate = [...row.path, "rate"];
  const names = new Set(view.flows.map(({ name }) => name));
  const checkName = (text: string): string | null => {
    if (!/^[\w-]{1,64}$/.test(text)) return "Allowed: 1 to 64 letters, digits, - and _.";
    return text !== row.name && names.has(text) ? "Another flow has this name." : null;
  };
  const about = [KINDS[row.kind], row.copies > 1 ? `${row.copies} copies` : null].filter(Boolean).join(", ");
  return (
    <li class="flow" style={{ "--swatch": `var(--flow-${(row.flows[0] ?? index) % 6})` }}>
      <div class="head">
        <Word
          label={`Name of flow ${index + 1}`}
          quiet
          value={row.name}
          check={checkName}
          onChange={(text) => put([...row.path, "name"], text)}
        />
        {row.tcp && (
          <Choice
            label={`Congestion control of ${row.name}`}
            quiet
            value={row.tcp.cc}
            groups={controls.value}
            onChange={(cc) => change((engine, text) => setControl(engine, text, row, control(cc)))}
          />
        )}
        <button
          type="button"
          class="small"
          aria-label={`Remove ${row.name}`}
          title={last ? "A scenario needs a flow or a workload." : `Remove ${row.name}`}
          disabled={last}
          onClick={() => change((engine, text) => removeFlow(engine, text, index))}
        >
          ×
        </button>
      </div>
      {about && <p class="notes">{about}</p>}
      <div class="pair">
        <Quantity
          label="Start"
          value={textAt(view.tree, start) ?? write(row.start, TIME)}
          kinds={[TIME]}
          scale={scale(0.1, Math.max(view.parsed.duration, 1), true)}
          hint={row.stop === null ? null : `It stops at ${write(row.stop, TIME)}.`}
          onChange={(text) => put(start, text)}
        />
        <Quantity
          label="Base RTT"
          doc="Round-trip time without queues. It changes the delay of links that no other flow uses."
          value={write(Number(row.rtt.toPrecision(6)), TIME)}
          kinds={[TIME]}
          scale={row.reach ? delays : undefined}
          reason={row.reach ? null : "All its links are shared."}
          onChange={(text) => change((engine, toml) => setRtt(engine, toml, row, parse(text, TIME) ?? row.rtt))}
        />
      </div>
      {row.rate !== null && (
        <Quantity
          label="Rate of the application"
          value={textAt(view.tree, rate) ?? write(row.rate, RATE)}
          kinds={[RATE]}
          scale={RATES}
          onChange={(text) => put(rate, text)}
        />
      )}
    </li>
  );
}

function WorkloadCard({ view, workload, index }: { view: View; workload: Resolved; index: number }) {
  const path: Path = ["workloads", index];
  const load = [...path, "load"];
  const interval = [...path, "interval"];
  const inner: Path = [...path, "tcp", "cc"];
  const cc = get(view.tree, inner) === undefined ? [...path, "cc"] : inner;
  const checkLoad = (text: string): string | null =>
    LOADS.test(text) && Number(text) > 0 ? null : "Allowed: a number above 0; 1 fills the narrowest link.";
  return (
    <li class="flow">
      <div class="head">
        <strong>{workload.name}</strong>
        <Choice
          label={`Congestion control of ${workload.name}`}
          quiet
          value={workload.tcp.cc}
          groups={controls.value}
          onChange={(name) => put(cc, name)}
        />
      </div>
      <p class="notes">{`Workload: ${workload.kind}, drawn for each seed`}</p>
      {workload.load !== null ? (
        <Word
          label="Load"
          doc="Mean payload as a share of the rate of the narrowest link."
          value={String(workload.load)}
          check={checkLoad}
          onChange={(text) => put(load, Number(text))}
        />
      ) : (
        workload.interval_ns !== null && (
          <Quantity
            label="Mean interval"
            value={textAt(view.tree, interval) ?? write(workload.interval_ns / 1e9, TIME)}
            kinds={[TIME]}
            scale={scale(0.01, 100)}
            onChange={(text) => put(interval, text)}
          />
        )
      )}
    </li>
  );
}

/** The flows and workloads of the text. */
export function FlowsPanel({ view }: { view: View }) {
  const workloads: Resolved[] = view.parsed.resolved.workloads;
  const written = Array.isArray(view.tree.workloads) ? view.tree.workloads.filter(isTable).length : 0;
  const alone = view.flows.length === 1 && workloads.length === 0;
  return (
    <section aria-label="Flows">
      <h3>Flows</h3>
      <ul class="flows">
        {view.flows.slice(0, MOST).map((row, index) => (
          <FlowCard key={row.name} view={view} row={row} index={index} last={alone} />
        ))}
        {workloads.slice(0, written).map((workload, index) => (
          <WorkloadCard key={workload.name} view={view} workload={workload} index={index} />
        ))}
      </ul>
      {view.flows.length > MOST && <p class="notes">{`${view.flows.length - MOST} more flows are in the text.`}</p>}
      {view.flows.length > 0 && (
        <button type="button" onClick={() => change(addFlow)}>
          Add a flow
        </button>
      )}
    </section>
  );
}
