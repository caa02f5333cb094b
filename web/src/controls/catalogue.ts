/** Rows of the engine's catalogue, as controls use them. */

import { computed } from "@preact/signals";
import { engine, own } from "../model/state";
import type { Control } from "./edits";

/** A parameter of a queue discipline. */
export interface Parameter {
  name: string;
  doc: string;
  kind: "limit" | "number" | "switch" | "choice";
  unit?: string;
  default: number | boolean | string | null;
  allowed?: string[];
  min?: number;
  max?: number;
}

/** A queue discipline. */
export interface Discipline {
  name: string;
  title: string;
  parameters: Parameter[];
}

/** A physical layer of 802.11. */
export interface Phy {
  name: string;
  rates_bps: number[];
  max_mcs: number | null;
}

/** The catalogue, read once. */
export const catalogue = computed(() => {
  const rows = engine.value?.catalogue() ?? { cc: [], queues: [], phys: [] };
  return rows as { cc: (Control & { title: string })[]; queues: Discipline[]; phys: Phy[] };
});

/** Options of a congestion control: the user's own, and those of the catalogue. */
export const controls = computed<{ name: string | null; options: [string, string][] }[]>(() => {
  const mine = own.value.map(({ name, title }): [string, string] => [name, title || name]);
  const all = catalogue.value.cc.map(({ name, title }): [string, string] => [name, title]);
  return mine.length
    ? [
        { name: "Your own", options: mine },
        { name: "Narrows", options: all },
      ]
    : [{ name: null, options: all }];
});

/** The catalogue's row of a congestion control; one of the user's needs nothing. */
export function control(name: string): Control {
  return catalogue.peek().cc.find((one) => one.name === name) ?? { name, needs_ecn: false, l4s: false };
}

/** Parameters that are shown first, by discipline; the others are behind a switch. */
export const MAIN: Record<string, string[]> = {
  red: ["min_threshold", "max_threshold", "max_p", "ecn"],
  codel: ["target", "interval", "ecn"],
  fq_codel: ["target", "interval", "ecn"],
  pie: ["target", "ecn"],
  fq_pie: ["target", "ecn"],
  cobalt: ["target", "interval", "ecn"],
  cake: ["bandwidth", "rtt", "flowmode"],
  dualpi2: ["target", "step_thresh", "coupling"],
  prio: ["bands", "map"],
  drr: ["quantum", "overflow"],
  sfq: ["flows", "quantum"],
  fq: ["quantum", "flow_limit", "maxrate"],
  tbf: ["rate", "burst"],
  policer: ["rate", "burst", "exceed"],
};
