/** The user's texts of congestion controls. A text that was changed, or came by a link, is not run until asked. */

import { computed, signal } from "@preact/signals";
import type { Own } from "../engine/types";
import { engine, own } from "../model/state";
import { examples } from "./examples";
import { type Fault, nameFault, probe } from "./probe";

/** A text with its name. */
export interface Draft {
  name: string;
  source: string;
}

const [first] = examples;

/** The texts; one at least. */
export const drafts = signal<Draft[]>([{ name: first.name, source: first.source }]);

/** Index of the text that the editor shows. */
export const shown = signal(0);

/** The text that the editor shows. */
export const draft = computed<Draft>(() => drafts.value[shown.value] ?? { name: first.name, source: "" });

/** What is wrong with the text that was last asked to run; null if nothing is. */
export const fault = signal<(Fault & { name: string }) | null>(null);

/** Whether texts came by a link and none of them was run since. */
export const foreign = signal(false);

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

/** Adds a text and shows it; a name that is there already gets a number. */
export function add(one: Draft): void {
  const names = new Set(drafts.peek().map((other) => other.name));
  let { name } = one;
  for (let number = 2; names.has(name); number++) name = `${one.name}_${number}`;
  drafts.value = [...drafts.peek(), { name, source: one.source }];
  shown.value = drafts.value.length - 1;
}

/** Removes the text that the editor shows, unless it is the last one. Runs no longer know its name. */
export function remove(): void {
  if (drafts.peek().length === 1) return;
  const { name } = draft.peek();
  drafts.value = drafts.peek().filter((_, index) => index !== shown.peek());
  shown.value = Math.max(0, shown.peek() - 1);
  own.value = own.peek().filter((one) => one.name !== name);
}

/** Takes texts that came by a link: they are shown, and not run until the user asks. */
export function offer(texts: Draft[]): void {
  if (texts.length === 0) return;
  drafts.value = texts.map(({ name, source }) => ({ name, source }));
  shown.value = 0;
  foreign.value = true;
}

/** Reads the shown text (all texts, if they came by a link) and lets runs use it. Resolves to whether that succeeded. */
export async function use(): Promise<boolean> {
  const wanted = foreign.peek() ? drafts.peek() : [draft.peek()];
  // biome-ignore lint/suspicious/noExplicitAny: the format is the engine's
  const taken: string[] = (engine.peek()?.catalogue().cc ?? []).map((row: any) => String(row.name));
  reading.value = true;
  try {
    const read: Own[] = [];
    for (const { name, source } of wanted) {
      const refused = nameFault(name, taken);
      const row = refused === null ? await probe(name, source) : { message: refused, line: null };
      if ("message" in row) {
        fault.value = { ...row, name };
        return false;
      }
      read.push({ ...row, source });
    }
    fault.value = null;
    foreign.value = false;
    const names = new Set(read.map((one) => one.name));
    own.value = [...own.peek().filter((one) => !names.has(one.name)), ...read];
    return true;
  } finally {
    reading.value = false;
  }
}
