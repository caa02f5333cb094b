/** The state of the page, as signals. Data flows one way: text, scenario, run, views. */

import { computed, signal } from "@preact/signals";
import type { Engine } from "../engine/engine";
import type { Backend, Own, Parsed, ParseResult, Problem, RunData } from "../engine/types";

/** The two scenarios that the page compares: A is edited first, B is there after "compare". */
export type Arm = "a" | "b";

/** The engine; null until it is loaded. */
export const engine = signal<Engine | null>(null);

/** What runs scenarios; null until the engine is loaded. */
export const backend = signal<Backend | null>(null);

/** Texts of the two arms; B is null unless two scenarios are compared. */
export const texts = { a: signal<string>(""), b: signal<string | null>(null) };

/** The arm that controls and editor show. */
export const edited = signal<Arm>("a");

/** Controls of the user's, shared by both arms. */
export const own = signal<Own[]>([]);

const parsed = (arm: Arm) =>
  computed<ParseResult | null>(() => {
    const text = texts[arm].value;
    if (!engine.value || text === null) return null;
    return engine.value.parse(text, "scenario.toml", own.value);
  });

/** What parsing each text gives. */
export const scenarios = { a: parsed("a"), b: parsed("b") };

/** The last complete run of each arm; it stays in view while the text has errors or a new run is under way. */
export const runs = { a: signal<RunData | null>(null), b: signal<RunData | null>(null) };

/** The scenario of each arm's last complete run; the text may have changed since. */
export const ran = { a: signal<Parsed | null>(null), b: signal<Parsed | null>(null) };

/** Why the last run of an arm failed; null if it did not. */
export const failures = { a: signal<string | null>(null), b: signal<string | null>(null) };

/** The arm whose run is under way; null if none is. */
export const running = signal<Arm | null>(null);

/** Whether the user stopped the last run of an arm. */
export const stopped = { a: signal(false), b: signal(false) };

/** What a run is estimated to need. */
export interface Estimate {
  /** s */
  seconds: number;
  /** Memory for samples, bytes. */
  bytes: number;
}

/** Estimates of runs that would take long, or much memory, and wait until the user allows them. */
export const gates = { a: signal<Estimate | null>(null), b: signal<Estimate | null>(null) };

/** Share of the run that has passed; null if none is under way. */
export const progress = signal<number | null>(null);

/** Problems of the edited text. */
export const problems = computed<Problem[]>(() => {
  const result = scenarios[edited.value].value;
  return result && !result.ok ? result.problems : [];
});

/** Whether runs keep the calls of the user's controls, for stepping through them. */
export const calls = signal(false);

/** Whether runs log packets, for the animation and the time-sequence graph. */
export const packets = signal(false);

let users = 0;
let before = false;

/** Asks for packet logs. When all who asked have called the returned function, runs log packets as they did before. */
export function wantPackets(): () => void {
  if (users++ === 0) before = packets.peek();
  packets.value = true;
  let wanted = true;
  return () => {
    if (!wanted) return;
    wanted = false;
    if (--users === 0) packets.value = before;
  };
}

/** Time under the pointer in all plots, s; null outside. */
export const cursor = signal<number | null>(null);

/** The stretch of time that all plots show, s; null for the whole run. */
export const range = signal<[number, number] | null>(null);

/** The time that the animation shows, s. */
export const playhead = signal(0);

/** Flows that are hidden in the plots, by name. */
export const hidden = signal<ReadonlySet<string>>(new Set());
