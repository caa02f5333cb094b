import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import * as edits from "../../src/controls/edits";
import { leastRtt, rows } from "../../src/controls/flows";
import { choices, field, places } from "../../src/controls/links";
import { get, read, toml, written } from "../../src/controls/toml";
import type { Engine } from "../../src/engine/engine";
import type { Parsed } from "../../src/engine/types";
import { loaded, scenario } from "../engine";

const names = readdirSync(new URL("../../../scenarios", import.meta.url))
  .filter((name) => name.endsWith(".toml"))
  .map((name) => name.slice(0, -5));

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

/** The parsed text; a text with problems fails the test. */
function parsed(text: string): Parsed {
  const result = engine.parse(text, "scenario.toml");
  if (!result.ok) throw new Error(result.problems.map((one) => one.message).join("\n"));
  return result.scenario;
}

const comments = (text: string): string[] => text.match(/#.*$/gm) ?? [];

describe.each(names)("%s", (name) => {
  const text = scenario(name);

  test("is read as the engine reads it", () => {
    const tree = read(text);
    const again = Object.entries(tree).map(([key, value]) => `${key} = ${toml(value)}`);
    expect(parsed(again.join("\n")).resolved).toEqual(parsed(text).resolved);
    for (const [path] of engine.places(text)) expect(get(tree, path), written(path)).toBeDefined();
  });

  test("each place is of the links that the text describes there", () => {
    const tree = read(text);
    const before = parsed(text);
    for (const { path, links } of places(tree, before.resolved)) {
      const changed = parsed(engine.set(text, written([...path, "delay"]), '"123456 us"')).resolved;
      for (const [index, link] of changed.links.entries()) {
        const delays = [link.forward, link.reverse].map((one: number) => changed.directions[one].delay_ns);
        expect(delays.includes(123_456_000), `${written(path)} and link ${index}`).toBe(links.includes(index));
      }
    }
  });

  test("the first choice carries data, and its rate can be changed", () => {
    const tree = read(text);
    const [first] = choices(tree, parsed(text));
    if (!first) throw new Error("there is none");
    expect(first.flows.length > 0 || parsed(text).resolved.flows.length === 0).toBe(true);
    if (first.kind === "channel" || first.resolved.trace) return;
    const changed = edits.set(engine, text, field(tree, first, "rate"), "1234 kb/s");
    const again = choices(read(changed), parsed(changed)).find(({ id }) => id === first.id);
    expect(again?.rate).toBe(1_234_000);
    expect(comments(changed)).toEqual(comments(text));
  });

  test("every queue discipline can be chosen, and drop-tail after it", () => {
    const tree = read(text);
    const [first] = choices(tree, parsed(text));
    if (!first) throw new Error("there is none");
    const queue = field(tree, first, "queue");
    for (const discipline of engine.catalogue().queues) {
      const parameters = discipline.parameters.map((one: { name: string }) => one.name);
      const changed = edits.setDiscipline(engine, text, queue, discipline.name, parameters);
      const result = engine.parse(changed, "scenario.toml");
      const refused = result.ok ? [] : result.problems.map((one) => one.message);
      expect(refused, discipline.name).toEqual([]);
      parsed(edits.setDiscipline(engine, changed, queue, "droptail", ["limit"]));
    }
  });

  test("flows can be added and removed, and the rest stays", () => {
    const before = rows(read(text), parsed(text));
    if (before.length === 0) return;
    const more = edits.addFlow(engine, text);
    const after = rows(read(more), parsed(more));
    expect(after.slice(0, -1).map((row) => [row.name, row.rtt])).toEqual(before.map((row) => [row.name, row.rtt]));
    const back = edits.removeFlow(engine, more, before.length);
    expect(parsed(back).resolved).toEqual(parsed(text).resolved);
    for (const index of before.length > 1 ? before.keys() : []) parsed(edits.removeFlow(engine, text, index));
  });

  test("the round-trip time of a flow changes, and that of no other", () => {
    const before = rows(read(text), parsed(text));
    for (const [index, row] of before.entries()) {
      if (!row.reach) continue;
      const wanted = leastRtt(row) + 0.0421;
      const changed = edits.setRtt(engine, text, row, wanted);
      const after = rows(read(changed), parsed(changed));
      for (const [other, { rtt, name }] of after.entries()) {
        expect(rtt, `${row.name} changed, ${name}`).toBeCloseTo(
          other === index ? wanted : (before[other]?.rtt ?? 0),
          7,
        );
      }
    }
  });

  test("every congestion control can be chosen for the first and the last TCP flow", () => {
    const flows = rows(read(text), parsed(text)).filter(({ tcp }) => tcp);
    for (const row of new Set([...flows.slice(0, 1), ...flows.slice(-1)])) {
      for (const cc of engine.catalogue().cc as edits.Control[]) {
        // ACNS has the bits of IP and TCP that ECN would have.
        if (parsed(text).resolved.acns && (cc.needs_ecn || cc.l4s)) continue;
        const changed = edits.setControl(engine, text, row, cc);
        expect(rows(read(changed), parsed(changed)).find(({ name }) => name === row.name)?.tcp?.cc).toBe(cc.name);
      }
    }
  });

  test("ECN and loss are switched on and off", () => {
    const [first] = choices(read(text), parsed(text));
    if (first?.kind === "link") {
      const lossy = edits.setLoss(engine, text, first, 0.02);
      const again = choices(read(lossy), parsed(lossy)).find(({ id }) => id === first.id);
      expect(again?.resolved.loss).toEqual({ kind: "uniform", per: 0.02 });
    }
    const { resolved } = parsed(text);
    if (resolved.acns || edits.bound(resolved, engine.catalogue().cc).length > 0) return;
    const on = edits.setEcn(engine, text, true);
    expect(parsed(on).resolved.tcps.map((tcp: { ecn: string }) => tcp.ecn)).not.toContain("off");
    expect(
      new Set(parsed(edits.setEcn(engine, on, false)).resolved.tcps.map((tcp: { ecn: string }) => tcp.ecn)),
    ).toEqual(new Set(resolved.tcps.map(() => "off")));
  });
});

test("a thousand flows are described in less than a second", () => {
  const text = scenario("dumbbell-cubic").replace("pairs = 2", "pairs = 1000") + many(998);
  const [tree, made] = [read(text), parsed(text)];
  choices(tree, made);
  const began = performance.now();
  choices(tree, { ...made });
  rows(tree, { ...made });
  expect(performance.now() - began).toBeLessThan(1000);
});

/** Entries of flows between the pairs from the third on. */
function many(count: number): string {
  const entry = (number: number): string => `[[flows]]\nfrom = "s${number}"\nto = "d${number}"\n`;
  return Array.from({ length: count }, (_, index) => entry(index + 3)).join("");
}
