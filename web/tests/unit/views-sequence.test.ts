import { beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import { figures, type Side } from "../../src/views/figures";
import { figureGrid } from "../../src/views/grid";
import { type Sequence, sequence, sequenceFlows } from "../../src/views/sequence";
import { loaded, scenario } from "../engine";
import { CHOICE, sideOf } from "./views-side";

// Runs take seconds where other tests run beside them.
vi.setConfig({ testTimeout: 30_000 });

let side: Side;
let found: Sequence;
let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
  let text = engine.set(scenario("dumbbell-cubic"), "duration", '"5 s"');
  text = engine.set(text, "flows[1].start", '"1 s"');
  side = sideOf(engine, text, true);
  const read = sequence(side, 0);
  if (!read) throw new Error("the flow has no packets");
  found = read;
});

const count = (flags: Uint8Array): number => flags.reduce((sum, flag) => sum + flag, 0);

// narrows run dumbbell-cubic --set 'duration=5 s' --set 'flows[1].start=1 s' --pcap -o DIR
// narrows.packets.of_flow(Links(narrows.load("DIR").runs[0]), "first")
test("segments, retransmissions, losses, ACKs and SACK blocks are those of the captures", () => {
  expect(found.time.length).toBe(3448);
  expect(count(found.again)).toBe(115);
  expect(count(found.lost)).toBe(115);
  expect(found.ack.length).toBe(1938);
  expect(found.sackOf.length).toBe(1362);
});

test("times and relative numbers are those of the captures", () => {
  const again = found.again.indexOf(1);
  expect([found.time[again], found.from[again]]).toEqual([0.402433221, 243265]);
  const lost = found.lost.indexOf(1);
  expect([found.time[lost], found.from[lost]]).toEqual([0.293454021, 243265]);
  expect(found.ackTime[0]).toBeCloseTo(0.095544261, 9);
  expect([found.ack[0], found.ack.at(-1)]).toEqual([1, 4740753]);
  expect([found.sackFrom[0], found.sackTo[0]]).toEqual([246161, 247609]);
  expect([found.sackFrom.at(-1), found.sackTo.at(-1)]).toEqual([3236281, 3304337]);
});

test("a sender on an 802.11 channel has no first link to draw", () => {
  const cell = sideOf(engine, engine.set(scenario("wifi-cell"), "duration", '"500 ms"'), true);
  expect(sequenceFlows(cell)).toEqual(["down-1", "down-2", "down-3"]);
});

test("the graph is offered for flows whose sender is at a link, and its table has every packet", () => {
  expect(sequenceFlows(side)).toEqual(["first", "second"]);
  const graph = figures([side], { ...CHOICE, flow: "first" }).find(({ id }) => id === "sequence");
  if (!graph) throw new Error("there is no graph");
  const grid = figureGrid(graph, []);
  expect(grid.rows).toBe(3448 + 1938 + 1362);
  expect(grid.cell(found.lost.indexOf(1), 1)).toBe("segment, lost");
});
