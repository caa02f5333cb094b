import { beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import type { PacketLog } from "../../src/engine/types";
import { playhead } from "../../src/model/state";
import { channelsOf, eachFrame, radioQueues } from "../../src/net/air";
import { geometryOf } from "../../src/net/geometry";
import { notes } from "../../src/net/legend";
import { eachOnWire, eachWaiting } from "../../src/net/packet-index";
import { picked, shareOf } from "../../src/net/pick";
import { moveTo, playing, readable, step, stepped } from "../../src/net/player";
import { countsAt, inView, rttAt, type Scene, sceneOf } from "../../src/net/scene";
import { arrival, wires } from "../../src/net/wires";
import { eventsAt, inWords, packetWords } from "../../src/net/words";
import { loaded, scenario } from "../engine";
import { ran } from "../run";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let engine: Engine;
const scenes = new Map<string, Scene>();

function scene(name: string, text = scenario(name)): Scene {
  const known = scenes.get(name);
  if (known) return known;
  const parsed = engine.parse(text, name);
  if (!parsed.ok) throw new Error(parsed.problems[0]?.message);
  const made = sceneOf(parsed.scenario, ran(engine, text, [], null, true));
  if (!made) throw new Error("the run has no log");
  scenes.set(name, made);
  return made;
}

beforeAll(async () => {
  engine = await loaded();
});

/** Two stations that do not hear each other, and send to a server. */
const HIDDEN = `duration = "2 s"
[[nodes]]
name = "ap"
kind = "router"
[[nodes]]
name = "left"
[[nodes]]
name = "right"
[[nodes]]
name = "server"
[[links]]
between = ["ap", "server"]
rate = "100 Mb/s"
delay = "5 ms"
queue = { limit = "100 packets" }
[wifi]
base = "ap"
stations = ["left", "right"]
phy = "802.11b"
rate = "11 Mb/s"
queue = { limit = "60 packets" }
[[flows]]
from = "left"
to = "server"
[[flows]]
from = "right"
to = "server"
`;

/** The share of frames that overlap. */
function overlapping({ channels, data }: Scene): number {
  const [channel] = channels;
  const log = data.log as PacketLog;
  if (!channel) throw new Error("there is no channel");
  let marked = 0;
  channel.rows.forEach((row, position) => {
    const [start, end] = [log.time_ns[row] as number, (log.time_ns[row] as number) + (log.airtime_ns[row] as number)];
    let others = 0;
    eachFrame(log, channel, start, end - 1, (other) => {
      if (log.sender[channel.rows[other] as number] !== log.sender[row]) others++;
    });
    expect([position, channel.overlaps[position]]).toEqual([position, others > 0 ? 1 : 0]);
    marked += channel.overlaps[position] as number;
  });
  return marked / channel.rows.length;
}

test("frames of hidden stations overlap far more often than those of stations that hear each other", () => {
  const near = overlapping(scene("near", HIDDEN));
  const hidden = `${HIDDEN.replace('queue = { limit = "60 packets" }', 'queue = { limit = "60 packets" }\nhidden = [{ between = ["left", "right"] }]')}`;
  const far = overlapping(scene("hidden", hidden));
  expect(near).toBeGreaterThan(0);
  expect(near).toBeLessThan(0.2);
  expect(far).toBeGreaterThan(2 * near);
});

test("queues of channels are numbered as in the table queues", () => {
  const { scenario: parsed, data } = scene("wifi-cell");
  const names = parsed.resolved.nodes.map((node: { name: string }) => node.name);
  const named = radioQueues(parsed.resolved).map((one) => [one.queue, `${names[one.from]}->${names[one.to ?? -1]}`]);
  expect(named).toEqual(data.names.queues.map((name, queue) => [queue, name]).slice(2));
  const [channel] = channelsOf(data.log as PacketLog, parsed.resolved);
  expect(channel?.nodes.map((node) => names[node])).toEqual(data.names.stations);
});

test("a packet that is sent after a change has the new rate and delay", () => {
  const result = engine.parse(scenario("changing-rate"), "changing-rate.toml");
  if (!result.ok) throw new Error("refused");
  const [bottleneck] = wires(result.scenario.resolved);
  if (!bottleneck) throw new Error("there is no link");
  const taken = (start: number): number => (arrival(bottleneck, start * 1e9, 1500) - start * 1e9) / 1e6;
  // 12 000 bits at 20 and 4 Mb/s, and 18 and then 38 ms.
  expect([taken(1), taken(20), taken(40), taken(60)]).toEqual([18.6, 21, 18.6, 38.6]);
});

test("an event is the next row of the log, and a round-trip time is the flow's", () => {
  const shown = scene("dumbbell-cubic");
  const time = (shown.data.log as PacketLog).time_ns;
  const at = 20e9;
  const next = stepped(shown, at, "event", 1);
  expect(next).toBe(time.find((one) => one > at));
  expect(stepped(shown, next, "event", -1)).toBe(time.filter((one) => one < next).at(-1));
  const rtt = rttAt(shown, at);
  expect(rtt).toBeGreaterThan(44e6);
  expect(rtt).toBeLessThan(106e6);
  expect(stepped(shown, at, "rtt", 1)).toBe(at + rtt);
  expect(shown.baseRtt).toBe(44e6);
  expect(readable(shown)).toBe(0.02);
});

test("steps stay within the run, pause, and set the page's playhead", () => {
  const shown = scene("dumbbell-cubic");
  playing.value = true;
  moveTo(shown, 60e9 - 1);
  step(shown, "rtt", 1);
  expect([playhead.value, playing.value]).toEqual([60, false]);
  moveTo(shown, 0);
  step(shown, "rtt", -1);
  expect(playhead.value).toBe(0);
});

test("the words name the fullest directions, and count drops", () => {
  const shown = scene("dumbbell-cubic");
  const counts = countsAt(shown, 17.5e9);
  expect(inWords(counts, 17.5)).toMatch(
    /^At 17\.500000 s: r1 to r2: 17 on the link, 39 waiting; .*\. Dropped so far: 148\.$/,
  );
  expect(inView(counts)).toBe(67);
  expect(inWords(countsAt(shown, 0), 0)).toBe("At 0.000000 s: no packets in the network. Dropped so far: 0.");
});

test("events of an instant are told with their packets", () => {
  const shown = scene("dumbbell-cubic");
  const { log, edges, again, next } = shown.index;
  const drop = edges[0]?.dropped[0] as number;
  // The SYN is the first packet of the flow, and takes a sequence number.
  const number = (((log.seq[drop] as number) - (log.seq[0] as number)) >>> 0).toLocaleString("en");
  expect(((log.seq[drop] as number) - (log.seq[0] as number) - 1) % 1448).toBe(0);
  expect(eventsAt(shown, log.time_ns[drop] as number)).toContain(
    `Queue r1 to r2 drops data of first, sequence number ${number}, 1,500 bytes.`,
  );
  // The sender repeats what was dropped, and the repetition is told as one on every link.
  const repeated = log.what.findIndex((what, row) => what === 0 && again[row] === 1 && log.seq[row] === log.seq[drop]);
  expect(log.time_ns[repeated]).toBeGreaterThan(log.time_ns[drop] as number);
  expect(eventsAt(shown, log.time_ns[repeated] as number)).toContain(
    `Link s1 to r1 starts to send retransmission of first, sequence number ${number}, 1,500 bytes.`,
  );
  expect(packetWords(shown, next[repeated] as number)).toBe(
    `retransmission of first, sequence number ${number}, 1,500 bytes`,
  );
  expect(packetWords(shown, 0)).toBe("SYN of first, 60 bytes");
  expect(eventsAt(shown, 1)).toBe("");
});

test("frames are told with stations, kinds and airtimes", () => {
  const shown = scene("wifi-cell");
  const log = shown.data.log as PacketLog;
  const frame = (kind: number): number => log.what.findIndex((what, row) => what === 3 && log.kind[row] === kind);
  expect(eventsAt(shown, log.time_ns[frame(2)] as number)).toMatch(
    /(ap|w4) sends a data frame to (w\d|ap) for [\d.]+ (ms|µs) with SYN of (down-\d|up), \d+ bytes\./,
  );
  expect(eventsAt(shown, log.time_ns[frame(3)] as number)).toMatch(/(ap|w\d) sends ACK to (w\d|ap) for [\d.]+ µs\./);
});

test.each([
  ["dumbbell-cubic", 20],
  ["parking-lot", 40],
  ["wifi-cell", 5],
])("the drawing of %s fits its canvas, and its packets are found where they are", (name, seconds) => {
  const shown = scene(name);
  const { layout, scenario: parsed, data, index } = shown;
  for (const width of [330, 860]) {
    const drawn = geometryOf(layout, parsed, data, index, width);
    const ends = drawn.stacks.map(({ foot, up, length }) => ({ x: foot.x + up.x * length, y: foot.y + up.y * length }));
    for (const { x, y } of [...drawn.places, ...ends, ...drawn.stacks.map((stack) => stack.foot)]) {
      expect(x).toBeGreaterThan(0);
      expect(x).toBeLessThan(width);
      expect(y).toBeGreaterThan(8);
      expect(y).toBeLessThan(drawn.height - 8);
    }
    let [seen, right] = [0, 0];
    drawn.lanes.forEach((lane, edge) => {
      eachOnWire(index, edge, seconds * 1e9, (row) => {
        const share = shareOf(index, edge, row, seconds * 1e9);
        const point = {
          x: lane.a.x + (lane.b.x - lane.a.x) * share,
          y: lane.a.y + (lane.b.y - lane.a.y) * share,
        };
        seen++;
        if (picked(shown, drawn, seconds * 1e9, point) === row) right++;
      });
    });
    // A few lie below a queue, or at a node where another link ends in the same spot.
    expect(seen).toBeGreaterThan(10);
    expect(right / seen).toBeGreaterThan(0.85);
    for (const stack of drawn.stacks.filter((one) => one.edge !== null && !index.edges[one.edge]?.source)) {
      const rows: number[] = [];
      eachWaiting(index, stack.edge as number, seconds * 1e9, (row) => rows.push(row));
      rows.forEach((row, place) => {
        const height = ((place + 0.5) / stack.full) * stack.length;
        const point = { x: stack.foot.x + stack.up.x * height, y: stack.foot.y + stack.up.y * height };
        expect(picked(shown, drawn, seconds * 1e9, point)).toBe(row);
      });
    }
  }
});

test("the legend says what is approximate, and until when a cut log reaches", () => {
  expect(notes(scene("cellular"))).toContain("Arrivals over r1->r2 are approximate: the link follows a trace.");
  expect(notes(scene("reordering"))).toContain("Arrivals over base->phone are approximate: impairments change delays.");
  const whole = scene("dumbbell-cubic");
  expect(notes(whole)).toEqual(["Queues at hosts that send show the length of the latest sample."]);
  const log = whole.data.log as PacketLog;
  const half = Object.fromEntries(
    Object.entries(log).map(([key, value]) => [
      key,
      ArrayBuffer.isView(value) ? (value as Uint8Array).slice(0, 1000) : value,
    ]),
  ) as unknown as PacketLog;
  const cut = sceneOf(whole.scenario, { ...whole.data, log: { ...half, left_out: 5 } });
  const last = ((half.time_ns[999] as number) / 1e9).toFixed(3);
  expect(cut && notes(cut)[0]).toBe(`The packet log is full at ${last} s: 5 later packets are not shown.`);
  expect(cut?.index.until).toBe(half.time_ns[999]);
});
