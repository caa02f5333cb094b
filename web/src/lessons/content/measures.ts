/** Short forms of measures that lessons share. */

import type { Measure, Stretch } from "../lesson";

export const goodput = (flow: string, over: Stretch): Measure => ({ what: "goodput", flow, over });

export const ratio = (flow: string, to: string, over: Stretch): Measure => ({ what: "ratio", flow, to, over });

export const rtt = (flow: string, over: Stretch): Measure => ({ what: "rtt", flow, over });

/** Packets of a flow that were lost; of all flows without a name. */
export const lost = (flow?: string): Measure =>
  flow === undefined
    ? { what: "total", table: "flow_totals", column: "lost_packets" }
    : { what: "total", table: "flow_totals", column: "lost_packets", of: flow };

/** Queueing delay of a bottleneck's queue. */
export const delay = (share: "p50" | "p95"): Measure => ({
  what: "total",
  table: "queue_totals",
  column: `delay_${share}_ns`,
  of: "r1->r2",
});
