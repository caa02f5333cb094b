import { readdirSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { second } from "../../src/controls/load";
import type { Engine } from "../../src/engine/engine";
import { packets } from "../../src/model/estimate";
import { described, presets } from "../../src/model/presets";
import { loaded } from "../engine";

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

test("all bundled scenarios are offered, each once, beginning with the first to read", () => {
  const files = readdirSync(new URL("../../../scenarios", import.meta.url)).filter((name) => name.endsWith(".toml"));
  const names = presets.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(files.map((name) => name.slice(0, -5))));
  expect(new Set(names).size).toBe(names.length);
  expect(names[0]).toBe("dumbbell-cubic");
});

test("each has a title and a description, both arms are valid, and runs end within seconds", () => {
  for (const preset of presets) {
    expect(preset.description.length, preset.name).toBeGreaterThan(20);
    expect(preset.title, preset.name).not.toBe(preset.name);
    for (const text of [preset.toml, second(preset, engine)]) {
      if (text === null) continue;
      const result = engine.parse(text, preset.name);
      if (!result.ok) throw new Error(`${preset.name}: ${result.problems[0]?.message}`);
      expect(packets(result.scenario), preset.name).toBeLessThan(30e6);
    }
  }
});

test("the second arm of a paper differs from the first", () => {
  const papers = presets.filter(({ against }) => against);
  expect(papers.length).toBe(4);
  for (const preset of papers) {
    const texts = [preset.toml, second(preset, engine) ?? ""].map((text) => engine.parse(text, "x"));
    const [a, b] = texts.map((one) => (one.ok ? JSON.stringify(one.scenario.resolved) : ""));
    expect(a, preset.name).not.toBe(b);
  }
});

test("a description is the text's own, or its first comment", () => {
  expect(described("# one\n# two.\n#\n#   narrows run x\nformat = 1\n")).toBe("one two.");
  expect(described('# one\ndescription = """\nlong\ntext\n"""\n')).toBe("long text");
});
