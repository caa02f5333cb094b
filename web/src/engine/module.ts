/** The WebAssembly module, loaded once per thread, and conversions that the page and its worker share. */

import init, * as wasm from "../../engine/narrows_web.js";
import type { OwnRow, ParseResult, Problem } from "./types";

/** What the engine expects in the global scope. */
export interface Host {
  progress(fraction: number): void;
  make(name: string, params: object): number;
  call(object: number, hook: string, values: Float64Array): string | undefined;
  panicked(message: string): void;
}

/** Sets what the engine calls. */
export function provide(host: Host): void {
  (globalThis as unknown as { narrowsHost: Host }).narrowsHost = host;
}

/** Loads the module into this thread: compiled, as bytes, or from an address. */
export async function load(source: WebAssembly.Module | BufferSource | URL | string): Promise<void> {
  await init({ module_or_path: source });
}

/** Files that scenarios name, by name. */
export type Files = Record<string, Uint8Array>;

/** Parses a text; a valid scenario must be freed by the caller. */
export function parseRaw(
  toml: string,
  path: string,
  own: OwnRow[],
  files: Files,
): { ok: true; scenario: wasm.Scenario } | { ok: false; problems: Problem[] } {
  const folder = new wasm.Folder();
  for (const [name, content] of Object.entries(files)) folder.put(name, content);
  try {
    return { ok: true, scenario: wasm.parse(toml, path, [], own, folder) };
  } catch (thrown) {
    if (Array.isArray(thrown)) return { ok: false, problems: thrown as Problem[] };
    throw thrown;
  }
}

/** Parses and resolves a text. */
export function parse(toml: string, path: string, own: OwnRow[], files: Files): ParseResult {
  const parsed = parseRaw(toml, path, own, files);
  if (!parsed.ok) return parsed;
  const { scenario } = parsed;
  try {
    return {
      ok: true,
      scenario: {
        name: scenario.name,
        duration: scenario.duration_ns / 1e9,
        seed: scenario.seed,
        size: scenario.size(),
        resolved: JSON.parse(scenario.to_json()),
        paths: scenario.paths(),
        warnings: scenario.warnings,
      },
    };
  } finally {
    scenario.free();
  }
}

export { wasm };
