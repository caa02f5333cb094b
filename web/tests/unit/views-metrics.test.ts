import { beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import { differences, percent } from "../../src/views/differences";
import { jainsIndex } from "../../src/views/formulas";
import { metrics } from "../../src/views/totals";
import { verdict } from "../../src/views/verdict";
import { loaded, scenario } from "../engine";
import { sideOf } from "./views-side";

// Runs take seconds where other tests run beside them.
vi.setConfig({ testTimeout: 30_000 });

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

// narrows run dumbbell-cubic --json
const DUMBBELL = {
  jain: 0.94060373567437,
  flows: [
    {
      name: "first",
      cc: "cubic",
      start_s: 0.051429061,
      active_s: 59.948570939,
      throughput_mbps: 6.659716382668115,
      goodput_mbps: 6.428838485443784,
      sent_packets: 33460,
      delivered_bytes: 48174960,
      lost_packets: 150,
      retransmitted_packets: 149,
      timeouts: 0,
      rtt_mean_ms: 93.12058992118892,
      rtt_p95_ms: 105.381888,
    },
    {
      name: "second",
      cc: "cubic",
      start_s: 10.061609414,
      active_s: 49.938390586,
      throughput_mbps: 3.9848396727424324,
      goodput_mbps: 3.8466892854543384,
      sent_packets: 16674,
      delivered_bytes: 24012184,
      lost_packets: 60,
      retransmitted_packets: 60,
      timeouts: 1,
      rtt_mean_ms: 93.89339695652174,
      rtt_p95_ms: 105.381888,
    },
  ],
  queue: {
    name: "r1->r2",
    utilisation: 0.9974334,
    arrived_packets: 50134,
    forwarded_packets: 49874,
    dropped_packets: 211,
    dropped_overflow: 211,
    dropped_early: 0,
    dropped_forced: 0,
    corrupted_packets: 0,
    marked_packets: 0,
    delay_mean_ms: 47.51225813143121,
    delay_p95_ms: 59.99008,
    max_packets: 50,
  },
};

// narrows run wifi-cell --json
const WIFI = {
  jain: 0.9224127522289822,
  flow: { name: "down-1", throughput_mbps: 34.681900715116825, goodput_mbps: 33.47957160338541, lost_packets: 61 },
  queue: { name: "server->ap", utilisation: 0.1013416784, delay_mean_ms: 0.15338818944432236, delay_p95_ms: 0.4608 },
  station: {
    name: "ap",
    airtime_ratio: 0.5602370725,
    failure_ratio: 0.18604386862143427,
    retry_ratio: 0.19775673107151504,
    mpdus_per_frame: 31.45118763495852,
    given_up_packets: 0,
  },
};

/** Asserts that all numbers agree but for rounding. */
function close(found: object | undefined, wanted: Record<string, number | string>): void {
  for (const [name, value] of Object.entries(wanted)) {
    const got = (found as Record<string, unknown> | undefined)?.[name];
    if (typeof value === "string") expect(got, name).toBe(value);
    else expect(Math.abs(Number(got) - value), name).toBeLessThanOrEqual(1e-12 * Math.abs(value));
  }
}

test("metrics of a dumbbell are those of the command line", () => {
  const found = metrics(sideOf(engine, scenario("dumbbell-cubic")));
  expect(found.flows).toHaveLength(2);
  found.flows.forEach((flow, i) => {
    close(flow, DUMBBELL.flows[i] ?? {});
  });
  close(found.queues[0], DUMBBELL.queue);
  close(found, { jain: DUMBBELL.jain });
});

test("metrics of a wireless cell are those of the command line", () => {
  const found = metrics(sideOf(engine, scenario("wifi-cell")));
  close(found, { jain: WIFI.jain });
  close(found.flows[0], WIFI.flow);
  close(found.queues[0], WIFI.queue);
  close(found.stations[0], WIFI.station);
});

// narrows run web-search -o DIR
// frame = narrows.load("DIR").runs[0].transfers.frame(); frame["fct_s"].dropna().quantile([0.5, 0.99])
test("completion times are those of the command line", () => {
  const of = metrics(sideOf(engine, scenario("web-search")));
  const found = differences(of, null).filter((row) => row.of === "All transfers");
  expect(found.map(({ a }) => a)).toEqual([198, expect.closeTo(0.0668403015, 9), expect.closeTo(1.44191128214, 9)]);
});

test("Jain's index leaves out what has no value, and is none without shares", () => {
  expect(jainsIndex([1, 0, 0, 0])).toBe(0.25);
  expect(jainsIndex([5, Number.NaN, 5])).toBe(1);
  expect(jainsIndex([0, 0])).toBeNaN();
});

test("two runs are compared by name, with what only one of them has", () => {
  const text = scenario("dumbbell-cubic");
  const a = metrics(sideOf(engine, text));
  const b = metrics(sideOf(engine, engine.set(text, "flows[1].name", "third"), false, "b"));
  const rows = differences(a, b);
  const goodput = rows.filter(({ metric }) => metric === "Goodput (Mb/s)");
  expect(goodput.map(({ of }) => of)).toEqual(["first", "second", "third"]);
  expect(goodput[1]?.b).toBeNaN();
  expect(goodput[2]?.a).toBeNaN();
  expect(goodput[0]?.a).toBeCloseTo(6.428838485443784, 12);
  expect(percent({ of: "", metric: "", a: 4, b: 5 })).toBe(25);
});

test("the verdict says who got what, how full the queue was, and what was lost and why", () => {
  const told = verdict(metrics(sideOf(engine, scenario("dumbbell-cubic"))));
  expect(told).toEqual([
    "Of the flows, first (cubic) got 6.66 Mb/s, 63 % and second (cubic) got 3.985 Mb/s, 37 %. Jain's index of the throughput is 0.9406.",
    "The queue r1 → r2 delayed packets by 47.51 ms on average, 95 % of them by at most 59.99 ms, with up to 50 packets waiting; its link was 99.7 % used.",
    "211 packets were lost, all because the queue r1 → r2 was full. The senders had 1 retransmission timeout.",
  ]);
});
