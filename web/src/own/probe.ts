/**
 * Reads a text's class in a worker of its own, which is ended afterwards: the page never runs the user's code itself.
 */

import type { OwnRow } from "../engine/types";
import { HOOK_MS } from "../engine/worker-backend";
import type { FromProbe } from "./probe-worker";

/** A text that cannot be used, with the line if it has one. */
export interface Fault {
  message: string;
  line: number | null;
}

const NAME = /^[a-z][a-z0-9_]{0,31}$/;

/** What is wrong with a name; null if it can be used. `taken` are the names of the engine's controls. */
export function nameFault(name: string, taken: Iterable<string>): string | null {
  if (!NAME.test(name)) {
    return `congestion control "${name}": the name cannot be used; allowed: lower-case letters, digits and _, such as my_aimd`;
  }
  if ([...taken].includes(name)) {
    return `congestion control "${name}": the engine has one of this name; allowed: any other name, such as my_${name}`;
  }
  return null;
}

/** The line of the text that a message names, as `mine:12` in parentheses. */
export function lineIn(message: string, name: string): number | null {
  const found = new RegExp(`\\(${name}:(\\d+)\\)`).exec(message);
  return found ? Number(found[1]) : null;
}

/**
 * The text as a script that only its syntax is wanted of. Lines and columns stay: browsers give the place of a syntax
 * error in a script, but not in a module.
 */
export function asScript(source: string): string {
  return source.replace(/^([ \t]*)export default\b/m, (_, indent: string) => `${indent}void          `);
}

/** Waits for a worker's answer, and ends the worker. */
function answer<T>(worker: Worker, late: T, hear: (settle: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve) => {
    const settle = (value: T): void => {
      clearTimeout(timer);
      worker.terminate();
      resolve(value);
    };
    const timer = setTimeout(() => settle(late), HOOK_MS);
    hear(settle);
  });
}

/** The line of a syntax error; null if the browser does not say. */
function syntaxLine(source: string): Promise<number | null> {
  const url = URL.createObjectURL(new Blob([asScript(source)], { type: "text/javascript" }));
  const worker = new Worker(url);
  const line = answer<number | null>(worker, null, (settle) => {
    worker.onerror = (event) => {
      event.preventDefault();
      settle(event.lineno || null);
    };
  });
  return line.finally(() => URL.revokeObjectURL(url));
}

/** Reads what a text's class says of itself, or what is wrong with it. */
export async function probe(name: string, source: string): Promise<OwnRow | Fault> {
  const worker = new Worker(new URL("./probe-worker.ts", import.meta.url), { type: "module" });
  const late: FromProbe = {
    ok: false,
    message: `${name}: the text did not end within ${HOOK_MS / 1000} s, before any hook was called`,
    syntax: false,
  };
  const found = await answer<FromProbe>(worker, late, (settle) => {
    worker.onmessage = ({ data }: MessageEvent<FromProbe>) => settle(data);
    worker.onerror = (event) => settle({ ok: false, message: event.message || "the worker ended", syntax: false });
    worker.postMessage({ name, source });
  });
  if (found.ok) return found.row;
  const line = lineIn(found.message, name) ?? (found.syntax ? await syntaxLine(source) : null);
  return { message: found.message, line };
}
