/** What the views show, as signals that follow the runs. */

import { computed, effect, signal } from "@preact/signals";
import { type Arm, hidden, ran, range, runs, wantPackets } from "../model/state";
import type { Figure, Line } from "./figure";
import { type Choice, figures as makeFigures, type Side } from "./figures";

/** Queues that the user chose; null for the fullest. */
export const queues = signal<ReadonlySet<string> | null>(null);

/** Flows that are drawn beside their groups. */
export const picked = signal<ReadonlySet<string>>(new Set());

/** The flow of the time-sequence graph. */
export const sequenceOf = signal<string | null>(null);

/** What queue lengths count. */
export const unit = signal<Choice["unit"]>("packets");

/** A run with the scenario that it is of: the text may have changed since. */
function side(arm: Arm): Side | null {
  const [run, scenario] = [runs[arm].value, ran[arm].value];
  if (!run || !scenario) return null;
  return { arm, run, resolved: scenario.resolved, paths: scenario.paths, duration: scenario.duration };
}

/** Whether the views ask for packet logs. */
export const logging = signal(false);

effect(() => (logging.value ? wantPackets() : undefined));

/** The runs that are shown, A first. */
export const sides = computed<Side[]>(() => [side("a"), side("b")].filter((one) => one !== null));

/** The figures of these runs. */
export const figures = computed<Figure[]>(() =>
  makeFigures(sides.value, {
    queues: queues.value,
    picked: picked.value,
    flow: sequenceOf.value,
    unit: unit.value,
  }),
);

/** Identifiers of the figures, in order; as text, so that it changes only when they do. */
export const order = computed(() => figures.value.map(({ id }) => id).join("\n"));

/** Longest simulated time, s. */
export const duration = computed(() => Math.max(0, ...sides.value.map((one) => one.duration)) || 1);

/** The stretch of time that is shown, within the run. */
export const stretch = computed<[number, number]>(() => {
  const end = duration.value;
  const chosen = range.value;
  if (!chosen) return [0, end];
  const [from, to] = [Math.max(0, chosen[0]), Math.min(end, chosen[1])];
  return to > from ? [from, to] : [0, end];
});

/** Shows a stretch of time in all plots; the whole run if it is longer than that. */
export function show(from: number, to: number): void {
  const end = duration.peek();
  const [low, high] = [Math.max(0, Math.min(from, to)), Math.min(end, Math.max(from, to))];
  range.value = high - low <= 1e-9 || (low <= 0 && high >= end) ? null : [low, high];
}

/** Whether a line is switched off. */
export function off(line: Line): boolean {
  return hidden.value.has(line.key);
}

/** Switches lines on or off by their keys. */
export function toggle(keys: Iterable<string>, on: boolean): void {
  const next = new Set(hidden.peek());
  for (const key of keys) on ? next.delete(key) : next.add(key);
  hidden.value = next;
}

/** Forgets choices that name nothing in a new scenario. */
effect(() => {
  const names = new Set(sides.value.flatMap(({ run }) => run.names.queues));
  const chosen = queues.peek();
  if (chosen && names.size && ![...chosen].some((name) => names.has(name))) queues.value = null;
});
