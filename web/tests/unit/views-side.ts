/** Runs as the views get them. */

import type { Engine } from "../../src/engine/engine";
import type { Side } from "../../src/views/figures";
import { ran } from "../run";

/** Runs a text and pairs the run with its scenario. */
export function sideOf(engine: Engine, toml: string, packets = false, arm: Side["arm"] = "a"): Side {
  const parsed = engine.parse(toml, "scenario.toml");
  if (!parsed.ok) throw new Error(parsed.problems[0]?.message);
  const { resolved, paths, duration } = parsed.scenario;
  return { arm, run: ran(engine, toml, [], null, packets), resolved, paths, duration };
}

/** What is shown unless the user chooses otherwise. */
export const CHOICE = { queues: null, picked: new Set<string>(), flow: null, unit: "packets" as const };
