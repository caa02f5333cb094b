/** Runs scenarios with the engine in Node, without a worker. */

import { read } from "../src/engine/data";
import type { Engine } from "../src/engine/engine";
import { parseRaw, provide, wasm } from "../src/engine/module";
import type { Controls } from "../src/engine/own";
import type { Own, RunData } from "../src/engine/types";

/** A finished run with its digest. */
export interface Ran extends RunData {
  digest: string;
}

/**
 * Runs a text once, and logs its packets if `packets` is true.
 * @throws Error with the problems of a text that is refused.
 */
export function ran(
  engine: Engine,
  toml: string,
  own: Own[] = [],
  controls: Controls | null = null,
  packets = false,
): Ran {
  const absent = (): never => {
    throw new Error("the scenario names no control of its own");
  };
  provide({
    progress: () => {},
    make: (name, params) => controls?.make(name, params as Record<string, number>) ?? absent(),
    call: (object, hook, values) => (controls ?? absent()).call(object, hook, values),
    panicked: (message) => {
      throw new Error(message);
    },
  });
  const parsed = parseRaw(toml, "scenario.toml", own, engine.files);
  if (!parsed.ok) throw new Error(parsed.problems.map((one) => one.message).join("\n"));
  const { scenario } = parsed;
  const began = performance.now();
  const run = wasm.run(scenario, scenario.seed, 0, packets);
  const took = performance.now() - began;
  try {
    return { ...read(run, controls?.calls ?? [], took), digest: run.digest() };
  } finally {
    run.free();
    scenario.free();
  }
}
