import { readFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import { Controls } from "../../src/engine/own";
import type { Call, Own } from "../../src/engine/types";
import { indexAt, rows, visible, written } from "../../src/own/calls";
import { examples } from "../../src/own/examples";
import { asScript, lineIn, nameFault } from "../../src/own/probe";
import { loaded, scenario } from "../engine";
import { type Ran, ran } from "../run";

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});
afterEach(() => vi.unstubAllGlobals());

/** Node imports no blob: addresses; a data: address has the same content. */
function dataAddresses(): void {
  vi.stubGlobal(
    "Blob",
    class {
      readonly text: string;
      constructor(parts: string[]) {
        this.text = parts.join("");
      }
    },
  );
  vi.stubGlobal("URL", {
    createObjectURL: (blob: { text: string }) => `data:text/javascript,${encodeURIComponent(blob.text)}`,
    revokeObjectURL: () => {},
  });
}

/** Runs a bundled scenario whose first flow has a control of the user's. */
async function withOwn(one: Own, changes: Record<string, string> = {}): Promise<Ran> {
  dataAddresses();
  const controls = await Controls.load([one], engine.hooks(), true, null);
  vi.unstubAllGlobals();
  return ran(engine, changed({ ...changes, "flows[0].cc": one.name }), [one], controls);
}

function changed(changes: Record<string, string>): string {
  const all = { duration: "20 s", ...changes };
  return Object.entries(all).reduce((text, [path, value]) => engine.set(text, path, value), scenario("dumbbell-cubic"));
}

const example = (name: string, params: Own["params"] = []): Own => {
  const found = examples.find((one) => one.name === name);
  if (!found) throw new Error(`there is no example ${name}`);
  return { name, title: name, params, source: found.source };
};

describe("examples", () => {
  test("Reno is the engine's Reno, to the bit", async () => {
    const mine = await withOwn(example("my_reno"));
    const theirs = ran(engine, changed({ "flows[0].cc": "reno" }));
    expect(mine.digest).toBe(theirs.digest);
    expect(mine.tables.flow_totals?.columns.lost_packets?.values[0]).toBeGreaterThan(0);
  });

  test("AIMD takes its parameters from the scenario, and its defaults from the class", async () => {
    const params = [
      { name: "increase", doc: "", value: 1 },
      { name: "decrease", doc: "", value: 0.5 },
    ];
    const lost = (run: Ran): number => run.tables.flow_totals?.columns.lost_packets?.values[0] ?? 0;
    const one = await withOwn(example("my_aimd", params));
    const same = await withOwn(example("my_aimd", params), { "flows[0].tcp.cc_params.increase": "1" });
    const four = await withOwn(example("my_aimd", params), { "flows[0].tcp.cc_params.increase": "4" });
    expect(same.tables.flows?.columns.cwnd_bytes?.values).toEqual(one.tables.flows?.columns.cwnd_bytes?.values);
    expect(lost(four)).toBeGreaterThan(1.5 * lost(one));
  });

  test("the one by delay keeps its few segments in the queue, and loses nothing", async () => {
    dataAddresses();
    const one = example("my_delay", [{ name: "target", doc: "", value: 4 }]);
    const controls = await Controls.load([one], engine.hooks(), false, null);
    vi.unstubAllGlobals();
    const alone = engine.remove(engine.set(changed({}), "tcp.cc", one.name), "flows[1]");
    const run = ran(engine, alone, [one], controls);
    const totals = run.tables.flow_totals?.columns;
    const queue = run.tables.queues?.columns;
    const at = run.names.queues.indexOf("r1->r2");
    const late = [...(queue?.packets?.values ?? [])].filter(
      (_, row) => queue?.queue?.values[row] === at && (queue?.time_ns?.values[row] ?? 0) > 10e9,
    );
    expect(totals?.lost_packets?.values[0]).toBe(0);
    expect((totals?.delivered_bytes?.values[0] ?? 0) * 8).toBeGreaterThan(0.9 * 10e6 * 20 * 0.95);
    const mean = late.reduce((a, b) => a + b, 0) / late.length;
    expect(mean).toBeGreaterThan(1);
    expect(mean).toBeLessThan(8);
  });
});

test("the class of the documentation runs, with its parameter", async () => {
  const page = readFileSync(new URL("../../../docs/own-algorithm.md", import.meta.url), "utf8");
  const source = /```js\n(.*?)```/s.exec(page)?.[1] ?? "";
  const half = { name: "half_again", title: "", params: [{ name: "increase", doc: "", value: 0.5 }], source };
  const lost = (run: Ran): number => run.tables.flow_totals?.columns.lost_packets?.values[0] ?? 0;
  const slow = await withOwn(half, { duration: "60 s" });
  const fast = await withOwn(half, { duration: "60 s", "flows[0].tcp.cc_params.increase": "8" });
  expect(lost(slow)).toBeGreaterThan(0);
  expect(lost(fast)).toBeGreaterThan(lost(slow));
});

describe("what a hook sets", () => {
  const NONSENSE: Record<string, string[]> = {
    cwnd: ["0", "-1", "NaN", "Infinity", "2 ** 40", "null", "undefined", "true", '"a lot"', "{}", "10n"],
    ssthresh: ["0", "-1", "NaN", "2 ** 40", '"a lot"'],
    pacing_rate: ["0", "-1", "NaN", "Infinity", '"a lot"'],
  };
  const cases = Object.entries(NONSENSE).flatMap(([field, all]) =>
    all.flatMap((value) => ["on_start", "on_ack", "on_congestion"].map((hook) => [hook, field, value] as const)),
  );

  test.each(cases)("nonsense stops the run with name and value: %s, %s = %s", async (hook, field, value) => {
    const [, base] = example("my_reno").source.split("export default class Reno");
    const set = `${hook}(...all) { all[all.length - 1].${field} = ${value}; }`;
    const source = `class Base ${base}\nexport default class extends Base { ${set} }`;
    const spelled: Record<string, string> = {
      "2 ** 40": "1099511627776",
      "{}": "[object Object]",
      "10n": "10",
      Infinity: "inf",
    };
    await expect(withOwn({ ...example("my_reno"), source })).rejects.toThrow(
      `my_reno: ${hook} set ${field} to ${spelled[value] ?? value}; allowed: `,
    );
  });

  test("null is no threshold and no pacing", async () => {
    const [, base] = example("my_reno").source.split("export default class Reno");
    const set = "on_start(path, win) { win.ssthresh = null; win.pacing_rate = null; }";
    const run = await withOwn({
      ...example("my_reno"),
      source: `class Base ${base}\nexport default class extends Base { ${set} }`,
    });
    expect(run.digest).toBe((await withOwn(example("my_reno"))).digest);
  });
});

describe("names and lines", () => {
  test("names are checked as the Python ones are", () => {
    expect(nameFault("my_aimd", ["cubic"])).toBeNull();
    expect(nameFault("My CC", [])).toContain("allowed: lower-case letters, digits and _");
    expect(nameFault("cubic", ["cubic"])).toContain("the engine has one of this name");
  });

  test("the line of a message is that of the text that it names", () => {
    expect(lineIn("mine: on_ack threw TypeError: x (mine:12); simulated time 1 s", "mine")).toBe(12);
    expect(lineIn("mine: on_ack threw TypeError: x", "mine")).toBeNull();
    expect(lineIn("other: on_ack threw TypeError: x (other:3)", "mine")).toBeNull();
  });

  test("a module as a script keeps its lines and columns", () => {
    const source = "// first\nexport default class A {\n}\n";
    expect(asScript(source)).toBe("// first\nvoid           class A {\n}\n");
    expect(asScript(source)).toHaveLength(source.length);
  });
});

describe("calls", () => {
  const call = (now_s: number, argument: number): Call => ({
    object: 0,
    hook: argument === 1 ? "on_ack" : "on_congestion",
    before: {
      cwnd: 3000,
      ssthresh: Number.NaN,
      pacing_rate: Number.NaN,
      now_s,
      acked: 1448,
      kind: 2,
      argument,
      phase: 3,
    },
    after: [4448, Number.NaN, Number.NaN],
  });
  const words = { kinds: ["loss", "ecn", "timeout"], phases: ["open", "disorder", "cwr", "recovery", "loss"] };

  test("the call at a time is the last one that is not later", () => {
    const calls = [call(1, 1), call(2, 1), call(2, 1), call(3, 1)];
    expect([0, 1, 2, 2.5, 9].map((time) => indexAt(calls, time))).toEqual([0, 0, 2, 2, 3]);
    expect(indexAt([], 1)).toBe(0);
  });

  test("a call's rows have what its hook was called with, in words", () => {
    const found = rows(call(1, 2), words);
    expect(found[0]).toEqual({ argument: "win", name: "cwnd", before: "3000", after: "4448" });
    expect(found.find((row) => row.name === "kind")).toMatchObject({ argument: "event", before: "timeout" });
    expect(found.find((row) => row.name === "phase")).toMatchObject({ argument: "path", before: "recovery" });
    expect(found.some((row) => row.name === "acked")).toBe(false);
    expect(rows(call(1, 1), words).find((row) => row.name === "acked")?.argument).toBe("ack");
    expect(written("ssthresh", Number.NaN, words)).toBe("null");
    expect(written("cwnd_limited", 1, words)).toBe("true");
  });

  test("of a long list only a screenful is drawn", () => {
    expect(visible(0, 240, 24, 20_000)).toEqual({ from: 0, to: 15 });
    expect(visible(24 * 1000, 240, 24, 20_000)).toEqual({ from: 995, to: 1015 });
    expect(visible(24 * 19_990, 240, 24, 20_000).to).toBe(20_000);
  });
});
