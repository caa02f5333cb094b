/** The user's texts of congestion controls. A text that was changed, or came by a link, is not run until asked. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import type { Own } from "../engine/types";
import { engine, own } from "../model/state";
import { offered } from "../share/content";
import { examples } from "./examples";
import { type Draft, keep, kept } from "./kept";
import { type Fault, nameFault, probe } from "./probe";

const [first] = examples;

/** The texts; one at least. Those of an earlier visit are shown again, and run when the user asks. */
export const drafts = signal<Draft[]>(kept() ?? [{ name: first.name, source: first.source }]);

effect(() => keep(drafts.value));

/** Index of the text that the editor shows. */
export const shown = signal(0);

/** The text that the editor shows. */
export const draft = computed<Draft>(() => drafts.value[shown.value] ?? { name: first.name, source: "" });

/** What is wrong with the text that was last asked to run; null if nothing is. */
export const fault = signal<(Fault & { name: string }) | null>(null);

/** Whether texts came by a link and wait until the user runs them. */
export const foreign = computed(() => offered.value.length > 0);

/** Whether a text is being read. */
export const reading = signal(false);

/** Whether a draft is what runs use. */
export function isRun(one: Draft): boolean {
  return own.value.some((used) => used.name === one.name && used.source === one.source);
}

/** Changes the text that the editor shows. */
export function edit(change: Partial<Draft>): void {
  drafts.value = drafts.value.map((one, index) => (index === shown.peek() ? { ...one, ...change } : one));
}

/** A name that no text has: the given one with a number. */
function other(name: string): string {
  const names = new Set(drafts.peek().map((one) => one.name));
  let number = 2;
  while (names.has(`${name}_${number}`)) number++;
  return `${name}_${number}`;
}

/** Adds a text and shows it; a name that is there already gets a number. */
export function add(one: Draft): void {
  const there = drafts.peek().some(({ name }) => name === one.name);
  drafts.value = [...drafts.peek(), { name: there ? other(one.name) : one.name, source: one.source }];
  shown.value = drafts.value.length - 1;
}

/** Removes the text that the editor shows, unless it is the last one. Runs no longer know its name. */
export function remove(): void {
  if (drafts.peek().length === 1) return;
  const { name } = draft.peek();
  drafts.value = drafts.peek().filter((_, index) => index !== shown.peek());
  shown.value = Math.max(0, shown.peek() - 1);
  own.value = own.peek().filter((one) => one.name !== name);
  offered.value = offered.peek().filter((one) => one.name !== name);
}

/** Controls that were given last, so that texts that the user changes afterwards are left alone. */
let taken = new Set<string>();

const keyOf = ({ name, source }: Draft): string => JSON.stringify([name, source]);

/** Shows a control that the page was given. A text of the user's of the same name stays, under another name. */
function takeIn({ name, source }: Draft): void {
  const list = drafts.peek();
  const at = list.findIndex((one) => one.name === name);
  if (list[at]?.source === source) return;
  const before = list[at];
  const mine =
    before && !examples.some((one) => one.source === before.source) ? [{ ...before, name: other(name) }] : [];
  drafts.value = [...list.filter((one) => one.name !== name), ...mine, { name, source }];
  shown.value = drafts.value.length - 1;
}

// Links bring controls: those that wait for the user, and those that runs use already.
effect(() => {
  const given = [...own.value, ...offered.value];
  const before = taken;
  // A control that comes again after another one of its name is taken in again: what a notice shows is what runs.
  taken = new Set(given.map(keyOf));
  for (const one of given) if (!before.has(keyOf(one))) untracked(() => takeIn(one));
});

/** Reads the shown text (all texts, if they came by a link) and lets runs use it. Resolves to whether that succeeded. */
export async function use(): Promise<boolean> {
  const asked = offered.peek();
  const waiting = new Set(asked.map((one) => one.name));
  const wanted = drafts.peek().filter((one) => one === draft.peek() || waiting.has(one.name));
  // biome-ignore lint/suspicious/noExplicitAny: the format is the engine's
  const reserved: string[] = (engine.peek()?.catalogue().cc ?? []).map((row: any) => String(row.name));
  reading.value = true;
  try {
    const read: Own[] = [];
    for (const { name, source } of wanted) {
      const refused = nameFault(name, reserved);
      const row = refused === null ? await probe(name, source) : { message: refused, line: null };
      if ("message" in row) {
        fault.value = { ...row, name };
        return false;
      }
      read.push({ ...row, source });
    }
    const names = new Set(read.map((one) => one.name));
    batch(() => {
      fault.value = null;
      // A link that was opened meanwhile waits for a question of its own.
      offered.value = offered.peek().filter((one) => !asked.includes(one));
      own.value = [...own.peek().filter((one) => !names.has(one.name)), ...read];
    });
    return true;
  } finally {
    reading.value = false;
  }
}
