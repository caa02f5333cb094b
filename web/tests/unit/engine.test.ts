import { beforeAll, expect, test } from "vitest";
import { Engine } from "../../src/engine/engine";
import { loaded, scenario } from "../engine";

let engine: Engine;
beforeAll(async () => {
  engine = await loaded();
});

test("a bundled scenario is parsed and resolved", () => {
  const result = engine.parse(scenario("dumbbell-cubic"), "dumbbell-cubic.toml");
  if (!result.ok) throw new Error(result.problems[0]?.message);
  expect(result.scenario.duration).toBe(60);
  expect(result.scenario.size.flows).toBe(2);
  expect(result.scenario.paths[0]).toHaveLength(4);
});

test("problems are those of the command line", () => {
  const result = engine.parse('duration = "60 sec"\n', "mine.toml");
  if (result.ok) throw new Error("it was accepted");
  expect(result.problems[0]).toMatchObject({ path: "mine.toml", line: 1, field: "duration" });
  expect(result.problems[0]?.message).toContain('did you mean "60 s"?');
});

test("changes of a value keep the rest of the text", () => {
  const text = scenario("dumbbell-cubic");
  const changed = engine.set(text, "topology.bottleneck.rate", "5 Mb/s");
  expect(changed).toBe(text.replace('bottleneck = { rate = "10 Mb/s"', 'bottleneck = { rate = "5 Mb/s"'));
});

test("scenarios that name traces find them", () => {
  expect(engine.parse(scenario("cellular"), "cellular.toml").ok).toBe(true);
});

test("a module that the server does not have is told of as such", async () => {
  const answer = new Response("<h1>Not found</h1>", { status: 404 });
  await expect(Engine.load(answer, {})).rejects.toThrow("the engine cannot be loaded: 404");
});
