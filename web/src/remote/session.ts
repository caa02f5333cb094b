/** Whether `narrows ui` serves this page, what it opened, and the results that it lists. */

import { batch, signal } from "@preact/signals";
import { keep } from "../controls/load";
import type { Engine } from "../engine/engine";
import type { Backend } from "../engine/types";
import * as estimate from "../model/estimate";
import { ask } from "../model/runner";
import { type Arm, edited, texts } from "../model/state";
import { Connection, type Socket } from "./connection";
import { ServerBackend } from "./server-backend";

/** A directory of results. */
export interface Entry {
  name: string;
  kind: "run" | "comparison" | "sweep" | "contest" | "page";
  /** Whether it has a page. */
  page: boolean;
  /** Its number in addresses. */
  number: number;
}

/** What the server was asked to open. */
type Opened = { kind: "scenario"; name: string; toml: string; files: string[] } | Entry;

/** The server behind the page. */
export interface Session {
  /** Address of the page's root; it has the token. */
  root: string;
  version: string;
  /** Name of the folder below which results are listed. */
  folder: string;
  opened: Opened | null;
  backend: ServerBackend;
}

/** The server; null for a page without one. */
export const session = signal<Session | null>(null);

/** The page of results that is shown in front of the laboratory; null if none is. */
export const shown = signal<Entry | null>(null);

/** The last thing that the server did, or why it could not; null before. */
export const told = signal<{ text: string; failed: boolean } | null>(null);

/** Packets that a log can hold; `MOST_ROWS` of crates/web/src/packets.rs. */
const MOST_LOGGED = 2_000_000;

const SERVER = 'meta[name="narrows-server"]';

/** Whether `narrows ui` serves this page. */
export function served(): boolean {
  return document.querySelector(SERVER) !== null;
}

/** What the server answers; an error has the server's words. */
async function answered(url: string): Promise<Response> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer;
}

async function json<T>(url: string): Promise<T> {
  return (await answered(url)).json();
}

/**
 * Connects to the server behind the page, and gives the engine the files that the opened scenario names.
 * @returns What runs scenarios; the given one if no server is there.
 */
export async function connected(engine: Engine, browser: Backend): Promise<Backend> {
  const root = document.querySelector<HTMLMetaElement>(SERVER)?.content;
  if (!root) return browser;
  const found = await json<Omit<Session, "root" | "backend">>(`${root}session.json`);
  if (found.opened?.kind === "scenario") {
    const all = found.opened.files.map(async (name, index) => {
      engine.files[name] = new Uint8Array(await (await answered(`${root}files/${index}`)).arrayBuffer());
    });
    await Promise.all(all);
  }
  const fits = (toml: string): boolean => {
    const parsed = engine.parse(toml, "scenario.toml");
    return parsed.ok && estimate.packets(parsed.scenario) <= MOST_LOGGED;
  };
  const address = new URL(`${root}socket`, location.href);
  address.protocol = "ws:";
  const connection = new Connection(() => new WebSocket(address) as unknown as Socket);
  session.value = { ...found, root, backend: new ServerBackend(connection, browser, fits) };
  return session.value.backend;
}

/** Results below the server's folder. */
export async function results(): Promise<{ results: Entry[]; complete: boolean }> {
  return json(`${session.peek()?.root}results.json`);
}

/** The text that the page begins with: of the opened scenario or results, or the given one. */
export async function first(otherwise: string): Promise<string> {
  const opened = session.peek()?.opened;
  if (!opened) return otherwise;
  if (opened.kind === "scenario") return opened.toml;
  return (await open(opened, "a")) ?? otherwise;
}

/**
 * Opens results: a run in an arm, both arms of a comparison, or a page.
 * @returns The text of the arm; null if there is none, or the results cannot be read.
 */
export async function open(entry: Entry, arm: Arm, run = 0): Promise<string | null> {
  const backend = session.peek()?.backend;
  if (!backend) return null;
  if (entry.kind !== "run" && entry.kind !== "comparison") {
    if (entry.page) shown.value = entry;
    else tell(`${entry.name}: has no page; \`narrows report ${entry.name}\` writes it`, true);
    return null;
  }
  try {
    const both = entry.kind === "comparison";
    const read = await backend.open(entry.name, run, 0);
    const live = both ? await backend.open(entry.name, run, 1) : null;
    const into = both ? "a" : arm;
    const unchanged = new Set<Arm>();
    if (texts[into].peek() === read.toml) unchanged.add(into);
    if (live && texts.b.peek() === live.toml) unchanged.add("b");
    batch(() => {
      if (texts.a.peek() !== "") keep();
      if (live) texts.b.value = live.toml;
      edited.value = into;
      texts[into].value = read.toml;
    });
    // The directory may have other results than when it was opened before, and the same text starts no run.
    for (const one of unchanged) ask(one);
    const which = read.runs > 1 ? `, run ${run + 1} of ${read.runs}` : "";
    const where = both ? "A is simulated, B is live" : `in ${arm.toUpperCase()}${read.live ? ", a live run" : ""}`;
    tell([`${entry.name}${which}: ${where}`, ...(live ?? read).doubts].join("; "), false);
    return read.toml;
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error), true);
    return null;
  }
}

/** Shows a message of the server. */
export function tell(text: string, failed: boolean): void {
  told.value = { text, failed };
}
