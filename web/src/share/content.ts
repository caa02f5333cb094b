/** What a link holds: the texts of both arms, controls of the user's, and settings of the view. */

import { batch, type Signal, signal } from "@preact/signals";
import type { Own, OwnParam } from "../engine/types";
import { forget } from "../model/runner";
import { edited, hidden, own, range, texts } from "../model/state";
import { LinkFailure } from "./codec";

/** Content of a link. */
export interface Content {
  a: string;
  b: string | null;
  own: Own[];
  /** Settings of the view, by name. */
  view: Record<string, unknown>;
}

/** Most controls in a link. */
const MOST_OWN = 20;

/** Controls of an opened link. They are shown, and take part in no run until the user allows them. */
export const offered = signal<Own[]>([]);

/** A setting of the view that links hold. */
interface Setting {
  /** The value as JSON; undefined if it is the default, which links leave out. */
  get: () => unknown;
  /** Takes a value of a link; the default of what a link leaves out. Other values of the wrong kind are ignored. */
  put: (value: unknown) => void;
}

const settings = new Map<string, Setting>();

/** Lets links hold a setting of the view. */
export function remember(name: string, setting: Setting): void {
  settings.set(name, setting);
}

/** Lets links hold a switch. */
export function rememberSwitch(name: string, value: Signal<boolean>): void {
  const initial = value.peek();
  remember(name, {
    get: () => (value.value === initial ? undefined : value.value),
    put: (given = initial) => {
      if (typeof given === "boolean") value.value = given;
    },
  });
}

const finite = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

remember("edited", {
  get: () => (edited.value === "a" ? undefined : "b"),
  put: (given) => {
    edited.value = given === "b" && texts.b.peek() !== null ? "b" : "a";
  },
});
remember("hidden", {
  get: () => (hidden.value.size ? [...hidden.value] : undefined),
  put: (given = []) => {
    if (Array.isArray(given)) hidden.value = new Set(given.filter((one) => typeof one === "string"));
  },
});
remember("range", {
  get: () => range.value ?? undefined,
  put: (given) => {
    if (given === undefined) range.value = null;
    const [from, to] = Array.isArray(given) ? given : [];
    if (finite(from) && finite(to) && from < to) range.value = [from, to];
  },
});

/** The present content of the page. Reading it subscribes to all of it. */
export function present(): Content {
  const view: Record<string, unknown> = {};
  for (const [name, { get }] of settings) {
    const value = get();
    if (value !== undefined) view[name] = value;
  }
  return { a: texts.a.value, b: texts.b.value, own: [...own.value, ...offered.value], view };
}

/** Content as text. */
export function written({ a, b, own: controls, view }: Content): string {
  return JSON.stringify({
    a,
    ...(b === null ? {} : { b }),
    ...(controls.length ? { own: controls } : {}),
    ...(Object.keys(view).length ? { view } : {}),
  });
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function param(value: unknown): OwnParam | null {
  if (!isRecord(value) || typeof value.name !== "string") return null;
  const doc = typeof value.doc === "string" ? value.doc : "";
  return finite(value.value) || typeof value.value === "boolean" ? { name: value.name, doc, value: value.value } : null;
}

function control(value: unknown): Own | null {
  if (!isRecord(value) || typeof value.name !== "string" || typeof value.source !== "string") return null;
  if (!/^[A-Za-z_][\w-]{0,63}$/.test(value.name)) return null;
  const params = Array.isArray(value.params) ? value.params.map(param).filter((one) => one !== null) : [];
  return {
    name: value.name,
    title: typeof value.title === "string" ? value.title : value.name,
    params,
    source: value.source,
  };
}

/**
 * Reads content, and takes from it only what it should have.
 * @throws LinkFailure if it has no scenario.
 */
export function read(text: string): Content {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (!isRecord(value) || typeof value.a !== "string") throw new LinkFailure("The link holds no scenario.");
  const controls = Array.isArray(value.own) ? value.own.slice(0, MOST_OWN).map(control) : [];
  // Runs know a control by its name: of several, the last one is meant.
  const named = new Map(controls.flatMap((one) => (one ? [[one.name, one]] : [])));
  return {
    a: value.a,
    b: typeof value.b === "string" ? value.b : null,
    own: [...named.values()],
    view: isRecord(value.view) ? value.view : {},
  };
}

/** Shows content in the page. Its controls wait for the user, but for those that the page runs already. */
export function show(content: Content): void {
  forget();
  batch(() => {
    const known = new Set(own.peek().map(({ name, source }) => JSON.stringify([name, source])));
    offered.value = content.own.filter(({ name, source }) => !known.has(JSON.stringify([name, source])));
    texts.a.value = content.a;
    texts.b.value = content.b;
    for (const [name, { put }] of settings) put(Object.hasOwn(content.view, name) ? content.view[name] : undefined);
  });
}
