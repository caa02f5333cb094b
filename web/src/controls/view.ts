/** What controls show: the edited text as a tree, the scenario that it resolves to, and changes of the text. */

import { computed, signal } from "@preact/signals";
import type { Engine } from "../engine/engine";
import type { Parsed } from "../engine/types";
import { type Arm, edited, engine, scenarios, texts } from "../model/state";
import { type FlowRow, rows, tables } from "./flows";
import { choices, type LinkChoice } from "./links";
import { get, isTable, read, type Tree } from "./toml";

/** The edited arm; A while there is no B. */
export const arm = computed<Arm>(() => (edited.value === "b" && texts.b.value !== null ? "b" : "a"));

/** What controls show of a text. */
export interface View {
  tree: Tree;
  /** The scenario; while the text has problems, the last one without. */
  parsed: Parsed;
  links: LinkChoice[];
  flows: FlowRow[];
}

/** What controls show, or why they show nothing that could be changed. */
export type Shown = { view: View; reason: null } | { view: View | null; reason: string };

/** The last valid scenario of each arm, with the shape of its text. */
const valid: Record<Arm, { parsed: Parsed; shape: string } | null> = { a: null, b: null };

/** The parts of a text on which the order of links and flows depends. */
function shape(tree: Tree): string {
  const length = (value: unknown): number | null => (Array.isArray(value) ? value.length : null);
  const topology = isTable(tree.topology) ? tree.topology : {};
  const counts = ["kind", "pairs", "hops", "routers", "leaves"].map((key) => topology[key] ?? null);
  const lists = ["bottleneck", "access", "link"].map((key) => length(topology[key]));
  const flows = tables(tree).map(({ kind, copies, from, to }) => [kind ?? null, copies ?? 1, from ?? "", to ?? ""]);
  return JSON.stringify([counts, lists, length(tree.links), length(tree.wifi), length(tree.workloads), flows]);
}

/** The controls' view of the edited text. */
export const shown = computed<Shown>(() => {
  const at = arm.value;
  const result = scenarios[at].value;
  let tree: Tree;
  try {
    tree = read(texts[at].value ?? "");
  } catch {
    return { view: null, reason: "The text is not TOML: correct it below." };
  }
  if (result?.ok) valid[at] = { parsed: result.scenario, shape: shape(tree) };
  const last = valid[at];
  if (!last || last.shape !== shape(tree)) return { view: null, reason: "The text has problems: correct them below." };
  const { parsed } = last;
  return { view: { tree, parsed, links: choices(tree, parsed), flows: rows(tree, parsed) }, reason: null };
});

/** Why the last change was refused; null if it was not. */
export const refusal = signal<string | null>(null);

/** Changes the edited text. */
export function change(edit: (engine: Engine, text: string) => string): void {
  const loaded = engine.peek();
  if (!loaded) return;
  const at = arm.peek();
  try {
    texts[at].value = edit(loaded, texts[at].peek() ?? "");
    refusal.value = null;
  } catch (error) {
    refusal.value = `This change is not possible: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Links that were chosen, by arm. */
const chosen = signal<Record<Arm, string | null>>({ a: null, b: null });

/** Chooses a link of the edited arm. */
export function choose(id: string): void {
  chosen.value = { ...chosen.peek(), [arm.peek()]: id };
}

/** The chosen link; the narrowest one that carries data if none is chosen. */
export const link = computed<LinkChoice | null>(() => {
  const links = shown.value.view?.links ?? [];
  // Once there, a link stays chosen while its rate is dragged past that of another one.
  const id = chosen.value[arm.value];
  return links.find((one) => one.id === id) ?? links[0] ?? null;
});

/** A quantity as the text has it; undefined if it is not text there. */
export function textAt(tree: Tree, path: (string | number)[]): string | undefined {
  const value = get(tree, path);
  return typeof value === "string" ? value : undefined;
}
