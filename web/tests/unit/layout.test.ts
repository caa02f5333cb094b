import { readdirSync } from "node:fs";
import { beforeAll, expect, test, vi } from "vitest";
import type { Engine } from "../../src/engine/engine";
import type { Parsed } from "../../src/engine/types";
import { type Layout, laidOut, type Place } from "../../src/net/layout";
import { loaded, scenario } from "../engine";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

function parsed(text: string): Parsed {
  const result = engine.parse(text, "test.toml");
  if (!result.ok) throw new Error(result.problems[0]?.message);
  return result.scenario;
}

/** The place of a label. */
function at(layout: Layout, label: string): Place {
  const found = layout.places.find((place) => place.label === label);
  if (!found) throw new Error(`there is no ${label}: ${layout.places.map((place) => place.label)}`);
  return found;
}

test("a dumbbell has senders at the left, routers in the middle, receivers at the right", () => {
  const layout = laidOut(parsed(scenario("dumbbell-cubic")));
  const layers = ["s1", "s2", "r1", "r2", "d1", "d2"].map((label) => at(layout, label).layer);
  expect(layers).toEqual([0, 0, 1, 2, 3, 3]);
  expect(at(layout, "r1").y).toBe(at(layout, "r2").y);
  expect(at(layout, "s1").y).toBe(at(layout, "d1").y);
  expect(at(layout, "s1").y).toBeLessThan(at(layout, "r1").y);
  expect(layout.gaps[1]).toBeGreaterThan(layout.gaps[0] as number);
});

test("the cross traffic of a parking lot enters from above and leaves below", () => {
  const layout = laidOut(parsed(scenario("parking-lot")));
  const routers = ["r1", "r2", "r3", "r4"].map((label) => at(layout, label));
  expect(routers.map((place) => place.layer)).toEqual([1, 2, 3, 4]);
  for (const place of routers) expect(place.y).toBe(0.5);
  for (const label of ["s2", "s3"]) expect(at(layout, label).y).toBeLessThan(0.2);
  for (const label of ["d1", "d2"]) expect(at(layout, label).y).toBeGreaterThan(0.8);
  expect([at(layout, "s0").layer, at(layout, "d0").layer]).toEqual([0, 5]);
});

test("branches of a general graph keep their order", () => {
  const layout = laidOut(parsed(scenario("acns")));
  for (const branch of [0, 1, 2]) {
    expect(at(layout, `N${branch}`).y).toBe(at(layout, `R${branch}`).y);
    expect(at(layout, `R${branch}`).layer).toBe(1);
  }
});

test("a flow against the others' way leaves the places of routers as they are", () => {
  const layout = laidOut(parsed(scenario("aqm-asymmetric")));
  const [left, right] = [at(layout, "r1").layer, at(layout, "r2").layer];
  for (const place of layout.places.filter((one) => one.kind === "host")) {
    expect([left - 1, right + 1]).toContain(place.layer);
  }
});

test("more than 40 hosts are grouped by router", () => {
  const flows = Array.from({ length: 30 }, (_, i) => `[[flows]]\nfrom = "s${i + 1}"\nto = "d${i + 1}"\n`).join("");
  const text = (pairs: number): string => `duration = "1 s"
[topology]
kind = "dumbbell"
pairs = ${pairs}
bottleneck = { rate = "10 Mb/s", delay = "20 ms", queue = { limit = "50 packets" } }
access = { rate = "100 Mb/s", delay = "1 ms", queue = { limit = "1000 packets" } }
`;
  const many = laidOut(parsed(text(30) + flows));
  expect(many.places.map((place) => place.label).sort()).toEqual(["30 receivers", "30 senders", "r1", "r2"]);
  expect(at(many, "30 senders").nodes).toHaveLength(30);
  const few = laidOut(parsed(text(20) + flows.split("[[flows]]").slice(0, 21).join("[[flows]]")));
  expect(few.places).toHaveLength(42);
  expect(few.rows).toBe(20);
});

test("every bundled scenario has a drawing in which no node covers another", () => {
  const names = readdirSync(new URL("../../../scenarios", import.meta.url)).filter((name) => name.endsWith(".toml"));
  expect(names.length).toBeGreaterThan(30);
  for (const name of names) {
    const drawn = parsed(scenario(name.replace(".toml", "")));
    const layout = laidOut(drawn);
    const spots = new Set(layout.places.map((place) => `${place.layer.toFixed(3)},${place.y.toFixed(3)}`));
    expect([name, spots.size]).toEqual([name, layout.places.length]);
    expect([name, layout.placeOf.length]).toEqual([name, drawn.size.nodes]);
    for (const place of layout.places) {
      expect(place.y).toBeGreaterThan(0);
      expect(place.y).toBeLessThan(1);
      expect(place.layer).toBeGreaterThanOrEqual(0);
      expect(place.layer).toBeLessThanOrEqual(layout.gaps.length);
    }
  }
});
