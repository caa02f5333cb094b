/** Runs the scenarios whenever their texts change; the latest text wins. */

import { batch, effect, untracked } from "@preact/signals";
import { RunFailure, type RunRequest } from "../engine/types";
import { type Arm, backend, failures, own, packets, progress, ran, runs, scenarios, texts } from "./state";

/** Time that a run may take before a newer text stops it, ms. Short runs end and are shown: dragging then redraws. */
const PATIENCE_MS = 150;

/** Texts that were asked for and have not begun. */
const waiting = new Set<Arm>();
let running: Arm | null = null;
let since = 0;

function request(arm: Arm): RunRequest {
  return {
    toml: texts[arm].peek() ?? "",
    path: "scenario.toml",
    number: 0,
    packets: packets.peek(),
    own: own.peek(),
    calls: own.peek().length > 0,
  };
}

async function next(): Promise<void> {
  const runner = backend.peek();
  const [arm] = waiting;
  if (!runner || running || !arm) return;
  waiting.delete(arm);
  running = arm;
  since = performance.now();
  progress.value = 0;
  const parsed = scenarios[arm].peek();
  try {
    const data = await runner.run(request(arm), (fraction) => {
      progress.value = fraction;
    });
    batch(() => {
      runs[arm].value = data;
      ran[arm].value = parsed?.ok ? parsed.scenario : null;
      failures[arm].value = null;
    });
  } catch (error) {
    const stopped = error instanceof RunFailure && error.stopped;
    if (!stopped) failures[arm].value = error instanceof Error ? error.message : String(error);
  } finally {
    running = null;
    progress.value = null;
  }
  void next();
}

/** Asks for a run of an arm's present text. */
export function ask(arm: Arm): void {
  waiting.add(arm);
  if (running === arm && performance.now() - since > PATIENCE_MS) backend.peek()?.stop();
  void next();
}

/** Stops the run that is under way, and those that wait. */
export function stop(): void {
  waiting.clear();
  backend.peek()?.stop();
}

/** Runs each arm when its scenario becomes valid or changes. */
export function watch(): () => void {
  const ends = (["a", "b"] as const).map((arm) =>
    effect(() => {
      const result = scenarios[arm].value;
      const ready = backend.value !== null && packets.value !== undefined;
      if (ready && result?.ok) untracked(() => ask(arm));
      if (result === null && arm === "b")
        untracked(() => {
          runs.b.value = null;
          ran.b.value = null;
        });
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}
