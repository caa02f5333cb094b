/**
 * Digests of scenarios by the WebAssembly engine, in Node or in a browser's page.
 *
 * In Node: `node web/tests/digests.mjs [NAME..]` prints name, digest and seconds of each bundled scenario, tab-separated.
 * In a page: `import { digest } from ".../digests.mjs"`.
 */

/** Loads the engine; `module` is what wasm-bindgen's initialiser takes. */
export async function engine(address, module) {
  const made = await import(address);
  const host = globalThis;
  const absent = () => {
    throw new Error("no control of the user's is there");
  };
  host.narrowsHost = { progress() {}, make: absent, call: absent, panicked: (message) => console.error(message) };
  await made.default({ module_or_path: module });
  return made;
}

/** Runs a scenario; returns the digest of its samples. `files` has the traces by name. */
export function digest(made, toml, name, files) {
  const folder = new made.Folder();
  for (const [path, content] of Object.entries(files)) folder.put(path, content);
  const scenario = made.parse(toml, `${name}.toml`, [], undefined, folder);
  const run = made.run(scenario, scenario.seed, 0, false);
  const found = run.digest();
  run.free();
  scenario.free();
  return found;
}

async function main(names) {
  const { readFileSync, readdirSync } = await import("node:fs");
  const root = new URL("../../", import.meta.url);
  const bytes = readFileSync(new URL("web/engine/narrows_web_bg.wasm", root));
  const made = await engine(new URL("web/engine/narrows_web.js", root).href, bytes);
  const traces = new URL("scenarios/traces/", root);
  const files = Object.fromEntries(
    readdirSync(traces).map((name) => [`traces/${name}`, new Uint8Array(readFileSync(new URL(name, traces)))]),
  );
  for (const name of names) {
    const began = performance.now();
    const found = digest(made, readFileSync(new URL(`scenarios/${name}.toml`, root), "utf8"), name, files);
    console.log(`${name}\t${found}\t${((performance.now() - began) / 1000).toFixed(3)}`);
  }
}

if (globalThis.process?.argv?.[1]?.endsWith("digests.mjs")) await main(globalThis.process.argv.slice(2));
