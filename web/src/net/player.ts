/** Time of the animation: play, speed, and steps. The page's `playhead` is the time; nothing else keeps it. */

import { signal } from "@preact/signals";
import { playhead } from "../model/state";
import { bisect } from "./packet-index";
import { rttAt, type Scene } from "./scene";

/** Whether the animation runs. */
export const playing = signal(false);

/** Simulated seconds per second. */
export const speed = signal(0.02);

/** Slowest and fastest speed, as powers of ten. */
export const SLOWEST = -3;
export const FASTEST = 1;

/** A speed within the bounds. */
export function bounded(value: number): number {
  return Math.min(10 ** FASTEST, Math.max(10 ** SLOWEST, value));
}

/** A speed at which a round trip takes about two seconds. */
export function readable(scene: Scene): number {
  return bounded(Number((scene.baseRtt / 2e9).toPrecision(1)));
}

/** The present time, ns. The playhead is in seconds, and times of the log are whole nanoseconds. */
export function nowNs(): number {
  return Math.round(playhead.peek() * 1e9);
}

/** Sets the time, within the run. */
export function moveTo(scene: Scene, ns: number): void {
  playhead.value = Math.min(Math.max(0, ns), scene.index.until) / 1e9;
}

/** Plays, from the start again if the end is reached; or pauses. */
export function toggle(scene: Scene): void {
  if (!playing.peek() && nowNs() >= scene.index.until) moveTo(scene, 0);
  playing.value = !playing.peek();
}

/** Lengths of a step: to the next row of the log, or by a round-trip time. */
export type Step = "event" | "rtt";

/** The time after a step forwards (1) or backwards (-1), ns. */
export function stepped(scene: Scene, at: number, step: Step, way: 1 | -1): number {
  if (step === "rtt") return at + way * rttAt(scene, at);
  const time = scene.index.log.time_ns;
  const position = bisect(time.length, (i) => (way > 0 ? (time[i] as number) > at : (time[i] as number) >= at));
  return time[way > 0 ? position : position - 1] ?? (way > 0 ? scene.index.until : 0);
}

/** Steps, and pauses. */
export function step(scene: Scene, by: Step, way: 1 | -1): void {
  playing.value = false;
  moveTo(scene, stepped(scene, nowNs(), by, way));
}

/** Longest time between two frames that counts, ms: after a pause of the browser the animation does not leap. */
const LONGEST_FRAME_MS = 100;

/** Moves the playhead until the returned function is called, or the end is reached. */
export function run(scene: Scene): () => void {
  let handle = 0;
  let before = performance.now();
  const frame = (now: number): void => {
    const passed = Math.min(LONGEST_FRAME_MS, Math.max(0, now - before));
    before = now;
    moveTo(scene, playhead.peek() * 1e9 + passed * 1e6 * speed.peek());
    if (nowNs() >= scene.index.until) playing.value = false;
    else handle = requestAnimationFrame(frame);
  };
  handle = requestAnimationFrame(frame);
  return () => cancelAnimationFrame(handle);
}
