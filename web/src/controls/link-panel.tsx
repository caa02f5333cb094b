/** Controls of a link or a channel: the narrowest one first. */

import type { Resolved } from "../engine/types";
import { baseRtt } from "../model/paths";
import { catalogue } from "./catalogue";
import { bound, remove, set, setEcn, setLoss } from "./edits";
import { Choice, Quantity, Switch } from "./fields";
import { field, type LinkChoice } from "./links";
import { BYTES, parse, RATE, SHARE, scale, TIME, write } from "./quantity";
import { QueueFields } from "./queue-fields";
import { get, type Path, type Value } from "./toml";
import { change, choose, link, textAt, type View } from "./view";

const RATES = scale(1e5, 1e10);
const DELAYS = scale(1e-5, 1, true);
const LOSSES = scale(1e-5, 0.2, true);

/** Sets a value of the chosen link. It stays chosen, even if another one becomes narrower. */
function put(choice: LinkChoice, path: Path, value: Value): void {
  choose(choice.id);
  change((engine, text) => set(engine, text, path, value));
}

/** Base round-trip times, and the bandwidth-delay product of the flow with the longest one. */
function product(view: View, choice: LinkChoice): string | null {
  const times = choice.flows.map((flow) => baseRtt(view.parsed, flow));
  if (times.length === 0) return null;
  const [least, most] = [Math.min(...times), Math.max(...times)].map((time) =>
    write(Number(time.toPrecision(4)), TIME),
  );
  const range = least === most ? least : `${least} to ${most}`;
  const bytes = (choice.rate * Math.max(...times)) / 8;
  const packets = Math.round(bytes / 1500).toLocaleString("en");
  return `Base RTT of its flows: ${range}. Bandwidth-delay product: ${write(Number(bytes.toPrecision(3)), BYTES)}, ${packets} packets.`;
}

/** Why a link's rate cannot be changed here. */
function rateReason(way: Resolved): string | null {
  return way.trace ? `The rate follows the trace ${way.trace.file}.` : null;
}

/** Hints at changes of the rate or the delay over time. */
function changesHint(way: Resolved, key: "rate_bps" | "delay_ns"): string | null {
  const times = way.changes
    .filter((one: Resolved) => one[key] != null)
    .map((one: Resolved) => write(one.at_ns / 1e9, TIME));
  return times.length ? `It changes at ${times.join(", ")}: see the text.` : null;
}

function LossField({ view, choice }: { view: View; choice: LinkChoice }) {
  const { loss } = choice.resolved;
  const bursts = loss.kind === "gilbert_elliott";
  const bad = bursts ? loss.to_bad / (loss.to_bad + loss.to_good) : 0;
  const share = bursts ? bad * loss.per_bad + (1 - bad) * loss.per_good : (loss.per ?? 0);
  const path = field(view.tree, choice, "per");
  const written = textAt(view.tree, path) ?? textAt(view.tree, [...field(view.tree, choice, "loss"), "per"]);
  const change_ = (value: number): void => {
    choose(choice.id);
    change((engine, text) => setLoss(engine, text, choice, value));
  };
  return (
    <>
      <Quantity
        label="Random loss"
        doc="Each packet is lost with this probability, whatever the queue."
        value={bursts ? write(Number(share.toPrecision(3)), SHARE) : (written ?? write(share, SHARE))}
        kinds={[SHARE]}
        scale={LOSSES}
        reason={bursts ? "The text has losses in bursts (Gilbert-Elliott)." : null}
        onChange={(text) => change_(parse(text, SHARE) ?? 0)}
      />
      {bursts && (
        <button type="button" class="small" onClick={() => change_(Number(share.toPrecision(3)))}>
          Replace the bursts by independent losses
        </button>
      )}
    </>
  );
}

function Wire({ view, choice }: { view: View; choice: LinkChoice }) {
  const way = choice.resolved;
  const rate = field(view.tree, choice, "rate");
  const delay = field(view.tree, choice, "delay");
  const queue = field(view.tree, choice, "queue");
  return (
    <>
      <Quantity
        label="Rate"
        value={textAt(view.tree, rate) ?? write(way.rate_bps, RATE)}
        kinds={[RATE]}
        scale={RATES}
        reason={rateReason(way)}
        hint={changesHint(way, "rate_bps")}
        onChange={(text) => put(choice, rate, text)}
      />
      <Quantity
        label="Delay, one way"
        value={textAt(view.tree, delay) ?? write(way.delay_ns / 1e9, TIME)}
        kinds={[TIME]}
        scale={DELAYS}
        hint={[changesHint(way, "delay_ns"), product(view, choice)].filter(Boolean).join(" ")}
        onChange={(text) => put(choice, delay, text)}
      />
      <QueueFields
        tree={view.tree}
        path={queue}
        queue={way.queue}
        rate={way.trace ? null : way.rate_bps}
        touch={() => choose(choice.id)}
      />
      <LossField view={view} choice={choice} />
    </>
  );
}

function Channel({ view, choice }: { view: View; choice: LinkChoice }) {
  const channel = choice.resolved;
  const phy = catalogue.value.phys.find(({ name }) => name === channel.phy);
  const at = (key: string): Path => [...choice.path, key];
  const coded = channel.mode.kind === "mcs";
  const options = coded
    ? Array.from({ length: (phy?.max_mcs ?? 7) + 1 }, (_, mcs): [string, string] => [String(mcs), `MCS ${mcs}`])
    : (phy?.rates_bps ?? []).map((rate): [string, string] => [write(rate, RATE), write(rate, RATE)]);
  const value = coded ? String(channel.mode.mcs) : (textAt(view.tree, at("rate")) ?? write(choice.rate, RATE));
  return (
    <>
      <Choice
        label={coded ? "Modulation and coding" : "Rate of data frames"}
        value={value}
        groups={[{ name: null, options }]}
        hint={`Data frames are sent at ${write(Number(choice.rate.toPrecision(4)), RATE)}.`}
        onChange={(one) => put(choice, at(coded ? "mcs" : "rate"), coded ? Number(one) : one)}
      />
      {coded && (
        <Switch
          label="Aggregation (A-MPDU)"
          value={channel.aggregation !== null}
          onChange={(on) => {
            if (!on) put(choice, at("aggregation"), false);
            else change((engine, text) => remove(engine, text, at("aggregation")));
          }}
        />
      )}
      <Switch
        label="RTS and CTS before each data frame"
        value={channel.rts_threshold_bytes === 0}
        onChange={(on) => put(choice, at("rts_threshold"), on ? "0 B" : "never")}
      />
      <p class="group">Queue of the base station</p>
      <QueueFields
        tree={view.tree}
        path={at("queue")}
        queue={channel.base.queue}
        rate={null}
        touch={() => choose(choice.id)}
      />
    </>
  );
}

/** ECN of all TCP flows. */
function EcnField({ view, choice }: { view: View; choice: LinkChoice }) {
  const { resolved } = view.parsed;
  const tcps: Resolved[] = [...resolved.tcps, ...resolved.workloads.map((one: Resolved) => one.tcp)];
  const on = tcps.filter((tcp) => tcp && tcp.ecn !== "off").length;
  const needing = bound(resolved, catalogue.value.cc);
  const queue: Resolved = choice.kind === "link" ? choice.resolved.queue : choice.resolved.base.queue;
  const marks = queue.ecn === true || ["dualpi2", "cake"].includes(queue.kind) || queue.exceed === "mark";
  const reason =
    tcps.length === 0
      ? "There are no TCP flows."
      : resolved.acns
        ? "ACNS uses the bits of ECN."
        : needing.length > 0
          ? `It is on where ${needing.join(", ")} needs it.`
          : null;
  const some = on > 0 && on < tcps.length && !reason ? "Some flows use it, and others do not." : null;
  return (
    <Switch
      label="ECN in all TCP flows"
      value={on === tcps.length && on > 0}
      reason={reason}
      hint={some ?? (on > 0 && !marks ? "The queue of this link does not mark: it drops." : null)}
      onChange={(wanted) => change((engine, text) => setEcn(engine, text, wanted))}
    />
  );
}

/** The link that is chosen, with its queue. */
export function LinkPanel({ view }: { view: View }) {
  const choice = link.value;
  if (!choice) return null;
  const options = view.links.map(({ id, label }): [string, string] => [id, label]);
  return (
    <section aria-label="Link">
      <h3>Link</h3>
      <Choice label="Link" quiet value={choice.id} groups={[{ name: null, options }]} onChange={choose} />
      {choice.kind === "link" ? (
        <Wire key={choice.id} view={view} choice={choice} />
      ) : (
        <Channel key={choice.id} view={view} choice={choice} />
      )}
      <EcnField view={view} choice={choice} />
      {(["acns", "ngwa"] as const).map((name) => {
        if (get(view.tree, [name]) === undefined) return null;
        return (
          <Switch
            key={name}
            label={`${name.toUpperCase()} in routers and at end points`}
            value={view.parsed.resolved[name] !== null}
            onChange={(on) => change((engine, text) => set(engine, text, [name, "enabled"], on))}
          />
        );
      })}
    </section>
  );
}
