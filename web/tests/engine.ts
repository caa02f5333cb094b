/** The engine in Node, for unit tests. */

import { readdirSync, readFileSync } from "node:fs";
import { Engine } from "../src/engine/engine";

const root = new URL("../../", import.meta.url);

/** The text of a bundled scenario. */
export function scenario(name: string): string {
  return readFileSync(new URL(`scenarios/${name}.toml`, root), "utf8");
}

/** Loads the built engine. */
export async function loaded(): Promise<Engine> {
  const traces = new URL("scenarios/traces/", root);
  const files = readdirSync(traces).map((name) => [
    `traces/${name}`,
    new Uint8Array(readFileSync(new URL(name, traces))),
  ]);
  return Engine.load(readFileSync(new URL("web/engine/narrows_web_bg.wasm", root)), Object.fromEntries(files));
}
