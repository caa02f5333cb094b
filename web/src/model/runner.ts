/** Runs the scenarios whenever their texts change; the latest text wins. */

import { batch, effect, untracked } from "@preact/signals";
import { type Parsed, RunFailure, type RunRequest } from "../engine/types";
import * as estimate from "./estimate";
import {
  type Arm,
  backend,
  calls,
  type Estimate,
  failures,
  gates,
  own,
  packets,
  progress,
  ran,
  running,
  runs,
  scenarios,
  stopped,
  texts,
} from "./state";

/**
 * Time that a run may have taken, and still take, before a newer text stops it, ms. Short runs end and are shown: dragging
 * then redraws.
 */
const PATIENCE_MS = 150;

/** Longest run that starts without a question, s by the estimate. */
export const LONG_S = 10;

/** Most memory for samples of a run that starts without a question, bytes. */
export const LARGE_BYTES = 1e9;

/** A run may take this many times what the user allowed before there is another question: settings change a little. */
const MARGIN = 1.5;

/** Texts that were asked for and have not begun. */
const waiting = new Set<Arm>();
/** The largest estimates that the user allowed, or that need no permission. */
const free: Estimate = { seconds: LONG_S / MARGIN, bytes: LARGE_BYTES / MARGIN };
const allowed: Record<Arm, Estimate> = { a: free, b: free };
const speed = new estimate.Speed();
let since = 0;

/** The kind of the next runs, as far as their speed goes. */
const kind = (): string => [packets.peek() ? "packets" : "", ...own.peek().map((one) => one.name)].join(" ");

function request(arm: Arm): RunRequest {
  return {
    toml: texts[arm].peek() ?? "",
    path: "scenario.toml",
    number: 0,
    packets: packets.peek(),
    own: own.peek(),
    calls: calls.peek() && own.peek().length > 0,
  };
}

/** Takes the next arm that may run: its text is valid, and short enough or allowed. */
function take(): { arm: Arm; parsed: Parsed } | null {
  for (const arm of waiting) {
    waiting.delete(arm);
    const result = scenarios[arm].peek();
    if (!result?.ok) continue;
    const known = backend.peek()?.has?.(request(arm)) ?? false;
    const seconds = known ? 0 : estimate.packets(result.scenario) / speed.of(kind());
    const bytes = known ? 0 : estimate.memory(result.scenario);
    const most = allowed[arm];
    gates[arm].value = seconds > most.seconds * MARGIN || bytes > most.bytes * MARGIN ? { seconds, bytes } : null;
    if (gates[arm].peek() === null) return { arm, parsed: result.scenario };
  }
  return null;
}

async function next(): Promise<void> {
  const runner = backend.peek();
  if (!runner || running.peek()) return;
  const taken = take();
  if (!taken) return;
  const { arm, parsed } = taken;
  since = performance.now();
  batch(() => {
    running.value = arm;
    progress.value = 0;
    stopped[arm].value = false;
  });
  try {
    const asked = kind();
    const data = await runner.run(request(arm), (fraction) => {
      progress.value = fraction;
    });
    speed.learn(asked, data);
    batch(() => {
      // The arm may have gone while it ran.
      if (texts[arm].peek() === null) return;
      runs[arm].value = data;
      ran[arm].value = parsed;
      failures[arm].value = null;
    });
  } catch (error) {
    const ended = error instanceof RunFailure && error.stopped;
    if (!ended && texts[arm].peek() !== null)
      failures[arm].value = error instanceof Error ? error.message : String(error);
  } finally {
    batch(() => {
      running.value = null;
      progress.value = null;
    });
  }
  void next();
}

/** Whether the run under way is far from its end. */
function long(): boolean {
  const passed = performance.now() - since;
  const share = progress.peek() ?? 0;
  return passed > PATIENCE_MS && passed * (1 - share) > PATIENCE_MS * share;
}

/** Asks for a run of an arm's present text. A long one waits in `gates` for `allow`. */
export function ask(arm: Arm): void {
  waiting.add(arm);
  if (running.peek() === arm && long()) backend.peek()?.stop();
  void next();
}

/** Allows the run that waits in `gates`, and begins it. */
export function allow(arm: Arm): void {
  const { seconds, bytes } = gates[arm].peek() ?? free;
  const before = allowed[arm];
  allowed[arm] = { seconds: Math.max(before.seconds, seconds), bytes: Math.max(before.bytes, bytes) };
  ask(arm);
}

/** Forgets what the user allowed: another scenario is shown, and its long runs need a permission of their own. */
export function forget(): void {
  allowed.a = free;
  allowed.b = free;
}

/** Declines the run that waits in `gates`; the next change of the text asks again. */
export function decline(arm: Arm): void {
  gates[arm].value = null;
  stopped[arm].value = true;
}

/** Stops the run that is under way, and those that wait. */
export function stop(): void {
  const arm = running.peek();
  for (const one of waiting) stopped[one].value = true;
  waiting.clear();
  if (arm) stopped[arm].value = true;
  backend.peek()?.stop();
}

/** Runs each arm when its scenario becomes valid or changes. */
export function watch(): () => void {
  const ends = (["a", "b"] as const).map((arm) =>
    effect(() => {
      const result = scenarios[arm].value;
      const ready = backend.value !== null && packets.value !== undefined && calls.value !== undefined;
      if (ready && result?.ok) untracked(() => ask(arm));
      // A question about a text that has problems since could not be answered.
      if (result?.ok === false)
        untracked(() => {
          waiting.delete(arm);
          gates[arm].value = null;
        });
      if (result === null && arm === "b")
        untracked(() => {
          waiting.delete("b");
          // Nobody waits for this run, and A may wait for its end.
          if (running.peek() === "b") backend.peek()?.stop();
          runs.b.value = null;
          ran.b.value = null;
          failures.b.value = null;
          gates.b.value = null;
          stopped.b.value = false;
        });
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}
