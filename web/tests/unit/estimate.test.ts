import { beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../src/engine/engine";
import { parseRaw, wasm } from "../../src/engine/module";
import { FIRST_SPEED, memory, packets, Speed } from "../../src/model/estimate";
import { loaded, scenario } from "../engine";

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

/** Scenarios of every kind of network and traffic whose runs are short. */
const NAMES = [
  ["acns", 1],
  ["aqm-unresponsive", 1],
  ["cellular", 1],
  ["dumbbell-cubic", 1],
  ["hybrid-contest", 1],
  ["l4s", 1],
  ["parking-lot", 1],
  ["policer", 5],
  ["request-response", 1],
  ["video", 1],
  ["web-search", 1],
  ["wifi-cell", 1],
] as const;

describe.each(NAMES)("%s", (name, above) => {
  test("is estimated within a factor of two", () => {
    const parsed = parseRaw(scenario(name), name, [], engine.files);
    const view = engine.parse(scenario(name), name);
    if (!parsed.ok || !view.ok) throw new Error("it has problems");
    const run = wasm.run(parsed.scenario, 1n, 0, false);
    const ratio = packets(view.scenario) / run.packets;
    run.free();
    expect(ratio).toBeGreaterThan(0.5);
    // A policer's rate is below the link's, which the estimate goes by.
    expect(ratio).toBeLessThan(2.2 * above);
  });
});

test("speed is that of former runs of the same kind, and 3 million packets per second before", () => {
  const speed = new Speed();
  expect(speed.of("")).toBe(FIRST_SPEED);
  speed.learn("", { packets: 1e6, took_ms: 1000 });
  expect(speed.of("")).toBe(1e6);
  expect(speed.of("packets")).toBe(1e6);
  speed.learn("", { packets: 3e6, took_ms: 1000 });
  expect(speed.of("")).toBe(2e6);
  speed.learn("", { packets: 10, took_ms: 1 });
  expect(speed.of("")).toBe(2e6);
});

test("memory is that of the tables with samples, twice", () => {
  const parsed = parseRaw(scenario("acns"), "acns", [], engine.files);
  const view = engine.parse(scenario("acns"), "acns");
  if (!parsed.ok || !view.ok) throw new Error("it has problems");
  const run = wasm.run(parsed.scenario, 1n, 0, false);
  const tables = run.tables() as { name: string; rows: number; columns: object[] }[];
  run.free();
  const samples = tables.filter(({ name }) => ["flows", "queues", "routers", "state"].includes(name));
  const bytes = samples.reduce((sum, { rows, columns }) => sum + 16 * rows * columns.length, 0);
  expect(memory(view.scenario) / bytes).toBeGreaterThan(0.95);
  expect(memory(view.scenario) / bytes).toBeLessThan(1.1);
});

test("samples of ten thousand flows are too many to begin with unasked", () => {
  const text = scenario("dumbbell-cubic")
    .replace("pairs = 2", "pairs = 10000")
    .replace('from = "s1"\nto = "d1"', 'from = "s*"\nto = "d*"\ncopies = 10000');
  const view = engine.parse(text, "many");
  if (!view.ok) throw new Error(view.problems[0]?.message);
  expect(memory(view.scenario)).toBeGreaterThan(1e9);
});
