/** Changes of a scenario's text that controls ask for. Each takes a text and gives the changed one; comments stay. */

import type { Engine } from "../engine/engine";
import type { Resolved } from "../engine/types";
import { delayFor, type FlowRow, tables } from "./flows";
import { field, type LinkChoice, tableAt } from "./links";
import { TIME, write } from "./quantity";
import { get, isTable, type Path, read, type Tree, toml, type Value, written } from "./toml";

/** The engine's changes of texts. */
export type Writer = Pick<Engine, "set" | "remove" | "append">;

/** Sets a value. */
export function set(engine: Writer, text: string, path: Path, value: Value): string {
  const changed = engine.set(text, written(path), toml(value));
  // The engine adds a key to an inline table after the space that stands before the brace.
  const added = ` , ${path.at(-1)} = `;
  return text.includes(added) ? changed : changed.replace(added, added.slice(1));
}

/** Removes what is at a path, if something is there. */
export function remove(engine: Writer, text: string, path: Path): string {
  return get(read(text), path) === undefined ? text : engine.remove(text, written(path));
}

/** Sets the queue discipline of a link, and removes parameters that it does not have. */
export function setDiscipline(engine: Writer, text: string, queue: Path, kind: string, parameters: string[]): string {
  let changed = text;
  for (const key of Object.keys(tableAt(read(text), queue))) {
    if (key !== "kind" && !parameters.includes(key)) changed = remove(engine, changed, [...queue, key]);
  }
  return set(engine, changed, [...queue, "kind"], kind);
}

/** What a congestion control's row of the catalogue says of ECN. */
export interface Control {
  name: string;
  needs_ecn: boolean;
  l4s: boolean;
}

/** Sets a congestion control, with the ECN that it needs. Parameters of the former one are removed. */
export function setControl(engine: Writer, text: string, row: FlowRow, cc: Control): string {
  const tree = read(text);
  const told = [
    [...row.path, "tcp", "ecn"],
    ["tcp", "ecn"],
  ].some((path) => get(tree, path) !== undefined);
  let changed = remove(engine, text, [...row.path, "tcp", "cc_params"]);
  changed = set(engine, changed, row.ccPath, cc.name);
  const lacks = cc.needs_ecn ? !told || row.tcp?.ecn === "off" : cc.l4s && told && row.tcp?.ecn !== "accurate";
  return lacks ? set(engine, changed, [...row.path, "tcp", "ecn"], cc.l4s ? "accurate" : true) : changed;
}

/** The congestion controls of TCP flows and workloads that do not work without ECN, or with classic ECN alone. */
export function bound(resolved: Resolved, controls: Control[]): string[] {
  const tcps: Resolved[] = [...resolved.tcps, ...resolved.workloads.map((one: Resolved) => one.tcp)];
  const used = new Set(tcps.map((tcp) => tcp?.cc));
  return controls.filter((one) => (one.needs_ecn || one.l4s) && used.has(one.name)).map(({ name }) => name);
}

/** Switches ECN of all TCP flows. */
export function setEcn(engine: Writer, text: string, on: boolean): string {
  let changed = set(engine, text, ["tcp", "ecn"], on);
  const tree = read(text);
  for (const key of ["flows", "workloads"]) {
    const entries = get(tree, [key]);
    if (!Array.isArray(entries)) continue;
    for (const index of entries.keys()) {
      const path: Path = [key, index, "tcp", "ecn"];
      if (get(tree, path) !== undefined) changed = set(engine, changed, path, on);
    }
  }
  return changed;
}

/** Sets random loss of a link as a probability. A model of bursts is replaced. */
export function setLoss(engine: Writer, text: string, choice: LinkChoice, share: number): string {
  const loss = field(read(text), choice, "loss");
  const value = get(read(text), loss);
  if (value === undefined) return set(engine, text, field(read(text), choice, "per"), share);
  return set(engine, text, loss, share === 0 ? { kind: "none" } : { kind: "uniform", per: share });
}

/** Gives each pair of hosts access links of its own, equal to those that all had. */
export function splitAccess(engine: Writer, text: string): string {
  const tree = read(text);
  const access = get(tree, ["topology", "access"]);
  if (!isTable(access)) return text;
  const pairs = get(tree, ["topology", "kind"]) === "parking_lot" ? hopsOf(tree) + 1 : pairsOf(tree);
  const list = `[\n${Array.from({ length: pairs }, () => `  ${toml(access)},\n`).join("")}]`;
  return engine.set(text, "topology.access", list);
}

/** Sets the base round-trip time of a flow by the delay of links that are its own. */
export function setRtt(engine: Writer, text: string, row: FlowRow, rtt: number): string {
  if (!row.reach) return text;
  const changed = row.reach.split ? splitAccess(engine, text) : text;
  return set(engine, changed, [...row.reach.path, "delay"], write(delayFor(row, rtt), TIME));
}

const pairsOf = (tree: Tree): number => Number(get(tree, ["topology", "pairs"]) ?? 1);
const hopsOf = (tree: Tree): number => Number(get(tree, ["topology", "hops"]) ?? 2);

/** The numbers of the pairs of a dumbbell that an entry of flows or workloads uses. */
function pairs(table: Tree): number[] {
  const many = Math.max(Number(table.copies ?? 1), Number(table.pairs ?? 1));
  return ["from", "to"].flatMap((key) => {
    const name = String(table[key] ?? "");
    if (name.includes("*")) return Array.from({ length: many }, (_, index) => index + 1);
    return [Number(/^[sd](\d+)$/.exec(name)?.[1] ?? 0)];
  });
}

/** The largest number of a dumbbell's pair in use. */
function lastPair(tree: Tree): number {
  const workloads = Array.isArray(tree.workloads) ? tree.workloads.filter(isTable) : [];
  return Math.max(0, ...[...tables(tree), ...workloads].flatMap(pairs));
}

/** A name that no flow has yet. */
function freeName(tree: Tree): string {
  const used = new Set(tables(tree).map((table) => table.name));
  let number = used.size + 1;
  while (used.has(`flow${number}`)) number++;
  return `flow${number}`;
}

/** Sets the number of a dumbbell's pairs, and the length of a list of access links with it. */
function setPairs(engine: Writer, text: string, pairs: number): string {
  const access = get(read(text), ["topology", "access"]);
  let changed = text;
  if (Array.isArray(access) && access.length > 1) {
    const last = access.at(-1);
    const list = access.slice(0, pairs);
    while (list.length < pairs && last !== undefined) list.push(last);
    changed = engine.set(text, "topology.access", `[\n${list.map((one) => `  ${toml(one)},\n`).join("")}]`);
  }
  return set(engine, changed, ["topology", "pairs"], pairs);
}

/** Adds a bulk flow: on a pair of hosts of its own in a dumbbell, elsewhere between the hosts of the first flow. */
export function addFlow(engine: Writer, text: string): string {
  const tree = read(text);
  let changed = text;
  const model = tables(tree).find((table) => table.kind === undefined || table.kind === "bulk") ?? tables(tree)[0];
  const star = (key: string): string => String(model?.[key] ?? "").replace("*", "1");
  let ends = [star("from"), star("to")];
  if (get(tree, ["topology", "kind"]) === "dumbbell") {
    const number = lastPair(tree) + 1;
    if (number > pairsOf(tree)) changed = setPairs(engine, changed, number);
    const back = /^d/.test(ends[0] ?? "");
    ends = back ? [`d${number}`, `s${number}`] : [`s${number}`, `d${number}`];
  }
  const entry = `name = ${toml(freeName(tree))}\nfrom = ${toml(ends[0] ?? "")}\nto = ${toml(ends[1] ?? "")}`;
  return engine.append(changed, "flows", entry);
}

/** Removes an entry of flows. Pairs at the end of a dumbbell that no flow uses any more go with it. */
export function removeFlow(engine: Writer, text: string, index: number): string {
  const before = read(text);
  const changed = engine.remove(text, `flows[${index}]`);
  if (get(before, ["topology", "kind"]) !== "dumbbell") return changed;
  const last = Math.max(1, lastPair(read(changed)));
  return last < pairsOf(before) && lastPair(before) === pairsOf(before) ? setPairs(engine, changed, last) : changed;
}
