import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import type { PacketLog, Parsed, RunData } from "../../src/engine/types";
import {
  count,
  countUntil,
  DEPARTED,
  eachOnWire,
  eachWaiting,
  indexed,
  type PacketIndex,
} from "../../src/net/packet-index";
import { loaded, scenario } from "../engine";
import { ran } from "../run";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let engine: Engine;
interface Indexed {
  scenario: Parsed;
  data: RunData;
  index: PacketIndex;
}

const runs = new Map<string, Indexed>();

function run(name: string): Indexed {
  let found = runs.get(name);
  if (!found) {
    const parsed = engine.parse(scenario(name), name);
    if (!parsed.ok) throw new Error(parsed.problems[0]?.message);
    const data = ran(engine, scenario(name), [], null, true);
    found = { scenario: parsed.scenario, data, index: indexed(data.log as PacketLog, parsed.scenario) };
    runs.set(name, found);
  }
  return found;
}

beforeAll(async () => {
  engine = await loaded();
});

/** A column of the table `queues` at the sample of a time: its value for each queue. */
function sampled(data: RunData, column: string, at: number): number[] {
  const { time_ns, queue, [column]: wanted } = data.tables.queues?.columns ?? {};
  const values: number[] = [];
  time_ns?.values.forEach((time, row) => {
    if (time === at) values[queue?.values[row] as number] = wanted?.values[row] as number;
  });
  return values;
}

const waiting = (index: PacketIndex, edge: number, at: number): number =>
  count((visit) => eachWaiting(index, edge, at, visit));
const onWire = (index: PacketIndex, edge: number, at: number): number =>
  count((visit) => eachOnWire(index, edge, at, visit));

const TIMES = [0.4, 1.2, 5, 10.5, 17.3, 30, 44.4, 59.9].map((seconds) => Math.round(seconds * 1e9));

describe("the index of dumbbell-cubic", () => {
  test("as many packets wait as the table queues says", () => {
    const { data, index } = run("dumbbell-cubic");
    for (const at of TIMES) {
      const expected = sampled(data, "packets", at);
      expect(expected).toHaveLength(10);
      index.edges.forEach((edge, number) => {
        if (!edge.source) expect([at, number, waiting(index, number, at)]).toEqual([at, number, expected[number]]);
      });
    }
    expect(Math.max(...TIMES.map((at) => waiting(index, 0, at)))).toBeGreaterThan(30);
  });

  test("packets on the bottleneck are those that left its queue and have not reached the next ones", () => {
    const { data, index } = run("dumbbell-cubic");
    const names = data.names.queues;
    const next = ["r2->d1", "r2->d2"].map((name) => names.indexOf(name));
    for (const at of TIMES) {
      const forwarded = sampled(data, "forwarded_packets", at);
      const held = sampled(data, "packets", at);
      const reached = next.reduce((sum, queue) => sum + (forwarded[queue] as number) + (held[queue] as number), 0);
      expect(onWire(index, 0, at)).toBe((forwarded[0] as number) - reached);
      expect(countUntil(index, index.edges[0]?.sent ?? new Uint32Array(), at)).toBe(forwarded[0]);
    }
    // 10 Mb/s for 21.2 ms are 17.7 packets of 1500 bytes.
    expect(onWire(index, 0, 30e9)).toBe(18);
  });

  test("a packet's directions follow each other in place and time, up to its end or a drop", () => {
    const { scenario: parsed, index } = run("dumbbell-cubic");
    const { log, next, arrive, wires } = index;
    let whole = 0;
    let ended = 0;
    const faults: string[] = [];
    const reached = new Uint8Array(next.length);
    for (const after of next) if (after >= 0) reached[after] = 1;
    const follow = (row: number, nodes: number[]): void => {
      for (let at = row; log.what[at] === DEPARTED; at = next[at] as number) {
        nodes.push(wires[log.edge[at] as number]?.to as number);
        const after = next[at] as number;
        if (after < 0) return;
        if ((log.time_ns[after] as number) < (arrive[at] as number)) faults.push(`row ${after} leaves too early`);
        if (log.identity[after] !== log.identity[at]) faults.push(`row ${after} is another packet than ${at}`);
      }
      ended++;
    };
    for (let row = 0; row < next.length; row++) {
      if (reached[row]) continue;
      const path = parsed.paths[log.flow[row] as number] as number[];
      const way = log.along[row] ? path : [...path].reverse();
      const nodes = [wires[log.edge[row] as number]?.from as number];
      follow(row, nodes);
      // No packet begins in the middle of its path, or leaves it.
      if (nodes.some((node, i) => node !== way[i])) faults.push(`row ${row} passes ${nodes}`);
      if (nodes.length === way.length) whole++;
    }
    expect(faults).toEqual([]);
    expect(ended).toBe(211);
    expect(whole).toBeGreaterThan(49_000);
  });

  test("data sent again is counted as often as the senders count it", () => {
    const { data, index } = run("dumbbell-cubic");
    const { log, again } = index;
    const sent = [0, 0];
    for (const edge of index.edges.filter((one) => one.source))
      for (const row of edge.sent) if (again[row]) (sent[log.flow[row] as number] as number)++;
    const expected = data.tables.flow_totals?.columns.retransmitted_packets?.values;
    expect(sent).toEqual(Array.from(expected ?? []));
    expect(sent[0]).toBeGreaterThan(0);
  });
});

test.each(["dumbbell-cubic", "red-ecn", "call", "policer", "ngwa", "web-search", "lossy-link", "reordering"])(
  "drops, losses and departures of %s are those of queue_totals",
  (name) => {
    const { data, index } = run(name);
    const totals = data.tables.queue_totals?.columns ?? {};
    const total = (column: string, queue: number): number => totals[column]?.values[queue] as number;
    index.edges.forEach((edge, queue) => {
      const drops = ["overflow", "early", "forced"].reduce((sum, why) => sum + total(`dropped_${why}`, queue), 0);
      expect([queue, edge.dropped.length]).toEqual([queue, drops]);
      expect([queue, edge.corrupted.length]).toEqual([queue, total("corrupted", queue)]);
      expect([queue, edge.sent.length]).toEqual([queue, total("forwarded_packets", queue)]);
    });
  },
);

test.each(["red-ecn", "call", "policer", "ngwa", "web-search", "changing-rate", "lossy-link", "parking-lot"])(
  "packets wait in the queues of %s as the table queues says",
  (name) => {
    const { data, index, scenario: parsed } = run(name);
    const time = data.tables.queues?.columns.time_ns?.values ?? new Float64Array();
    for (const share of [0.1, 0.25, 0.5, 0.77, 0.9]) {
      const at = time[Math.floor(time.length * share)] as number;
      const expected = sampled(data, "packets", at);
      index.edges.forEach((edge, number) => {
        const sends = edge.source || parsed.resolved.nodes[index.wires[number]?.from as number].kind === "host";
        if (!sends) expect([at, number, waiting(index, number, at)]).toEqual([at, number, expected[number]]);
      });
    }
  },
);

test("packets that wait when the run ends are those of queue_totals", () => {
  const { data, index } = run("dumbbell-cubic");
  const expected = data.tables.queue_totals?.columns.waiting_packets?.values[0];
  expect(expected).toBe(49);
  expect(waiting(index, 0, 60e9)).toBe(expected);
});
