/** Fields of a queue: discipline, buffer, and the discipline's parameters. */

import type { Resolved } from "../engine/types";
import { catalogue, type Discipline, MAIN, type Parameter } from "./catalogue";
import { set, setDiscipline } from "./edits";
import { Choice, Quantity, Switch, Word } from "./fields";
import { BYTES, type Kind, kindOf, PACKETS, RATE, scale, TIME, write } from "./quantity";
import type { Path, Tree, Value } from "./toml";
import { change, textAt } from "./view";

/** Scales of buffers, by the unit of the text. */
const LIMITS = new Map<Kind, number[]>([
  [PACKETS, scale(1, 20_000, false, true)],
  [BYTES, scale(1500, 50e6)],
  [TIME, scale(0.001, 10)],
]);

/** Kinds of parameters by the catalogue's units, with the ending of their name in the resolved scenario and a scale. */
const UNITS: Record<string, { kind: Kind; ending: string; factor: number; scale: number[] }> = {
  s: { kind: TIME, ending: "_ns", factor: 1e-9, scale: scale(1e-4, 10) },
  bytes: { kind: BYTES, ending: "_bytes", factor: 1, scale: scale(100, 50e6) },
  "b/s": { kind: RATE, ending: "_bps", factor: 1, scale: scale(1e5, 1e10) },
};

/** A parameter's name as a label: `max_p` stays, `min_threshold` is "Min threshold". */
function labelled(name: string): string {
  if (name === "ecn") return "Marks ECN-capable packets";
  if (name.length <= 5) return name;
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface FieldProps {
  tree: Tree;
  path: Path;
  parameter: Parameter;
  queue: Resolved;
  touch: () => void;
}

function ParameterField({ tree, path, parameter, queue, touch }: FieldProps) {
  const { name, doc, kind } = parameter;
  const at = [...path, name];
  const put = (value: Value): void => {
    touch();
    change((engine, text) => set(engine, text, at, value));
  };
  const label = labelled(name);
  if (kind === "switch") return <Switch label={label} doc={doc} value={Boolean(queue[name])} onChange={put} />;
  if (kind === "choice") {
    const options = (parameter.allowed ?? []).map((one): [string, string] => [one, one]);
    return (
      <Choice label={label} doc={doc} value={String(queue[name])} groups={[{ name: null, options }]} onChange={put} />
    );
  }
  const unit = UNITS[parameter.unit ?? ""];
  if (unit) {
    const value = write((queue[name + unit.ending] ?? parameter.default ?? 0) * unit.factor, unit.kind);
    return (
      <Quantity
        label={label}
        doc={doc}
        value={textAt(tree, at) ?? value}
        kinds={[unit.kind]}
        scale={unit.scale}
        onChange={put}
      />
    );
  }
  const check = (text: string): string | null => {
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = parameter;
    const number = Number(text);
    return text !== "" && number >= min && number <= max ? null : `Allowed: a number from ${min} to ${max}.`;
  };
  const words = parameter.unit?.startsWith("packets") ? `${label}, packets` : label;
  return (
    <Word label={words} doc={doc} value={String(queue[name])} check={check} onChange={(text) => put(Number(text))} />
  );
}

interface Props {
  tree: Tree;
  /** Where the queue's table is, or belongs. */
  path: Path;
  /** The queue of the resolved scenario. */
  queue: Resolved;
  /** Rate of the link, b/s, for the buffer in time; null if it has no single one. */
  rate: number | null;
  /** Called before each change. */
  touch: () => void;
}

/** Discipline, buffer and parameters of a queue. */
export function QueueFields({ tree, path, queue, rate, touch }: Props) {
  const { queues } = catalogue.value;
  const discipline: Discipline | undefined = queues.find(({ name }) => name === queue.kind);
  const limit = textAt(tree, [...path, "limit"]) ?? queue.limit;
  const bytes = queue.limit_bytes ?? queue.limit_packets * 1500;
  const options = queues.map(({ name, title }): [string, string] => [name, title]);
  const rest = discipline?.parameters.filter(({ kind }) => kind !== "limit") ?? [];
  const main = MAIN[queue.kind] ?? [];
  const shownFirst = main.flatMap((name) => rest.filter((one) => one.name === name));
  const behind = rest.filter(({ name }) => !main.includes(name));
  const field = (parameter: Parameter) => (
    <ParameterField key={parameter.name} {...{ tree, path, parameter, queue, touch }} />
  );
  return (
    <>
      <Quantity
        label="Buffer"
        doc="Largest backlog of the queue, in packets, bytes or time at the link's rate."
        value={limit}
        kinds={rate === null ? [PACKETS, BYTES] : [PACKETS, BYTES, TIME]}
        scale={LIMITS.get(kindOf(limit))}
        hint={rate ? `A full queue delays by ${write(Number(((8 * bytes) / rate).toPrecision(2)), TIME)}.` : null}
        onChange={(text) => {
          touch();
          change((engine, toml) => set(engine, toml, [...path, "limit"], text));
        }}
      />
      <Choice
        label="Queue discipline"
        value={queue.kind}
        groups={[{ name: null, options }]}
        onChange={(kind) => {
          const parameters = queues.find(({ name }) => name === kind)?.parameters.map(({ name }) => name) ?? [];
          touch();
          change((engine, text) => setDiscipline(engine, text, path, kind, parameters));
        }}
      />
      {shownFirst.length > 0 && <div class="inset">{shownFirst.map(field)}</div>}
      {behind.length > 0 && (
        <details class="inset">
          <summary>{shownFirst.length ? "More parameters" : "Parameters"}</summary>
          {behind.map(field)}
        </details>
      )}
    </>
  );
}
