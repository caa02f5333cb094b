/** The engine in the page's own thread: parses, resolves and changes scenarios at once. Runs are a backend's. */

import { type Files, load, parse, parseRaw, provide, wasm } from "./module";
import type { Layout } from "./own";
import type { OwnRow, ParseResult } from "./types";

/** Why the engine cannot be loaded in a browser without WebAssembly. */
const NO_WEBASSEMBLY =
  "this browser has no WebAssembly, or has it switched off, and the engine needs it. Use Firefox 114, Chrome 111, Safari 16.4 or later, or the command line: narrows run SCENARIO";

/** The loaded engine. */
export class Engine {
  private constructor(
    readonly module: WebAssembly.Module,
    readonly files: Files,
  ) {}

  /**
   * Compiles the module.
   * @throws Error if the browser has no WebAssembly, or the file cannot be fetched.
   */
  static async load(source: Response | Promise<Response> | BufferSource, files: Files): Promise<Engine> {
    if (typeof WebAssembly === "undefined") throw new Error(NO_WEBASSEMBLY);
    const given = await source;
    if (given instanceof Response && !given.ok)
      throw new Error(`the engine cannot be loaded: ${given.status} ${given.url}`);
    const bytes = given instanceof Response ? await given.arrayBuffer() : given;
    const module = await WebAssembly.compile(bytes);
    const absent = (): never => {
      throw new Error("runs are the worker's");
    };
    provide({ progress: () => {}, make: absent, call: absent, panicked: (message) => console.error(message) });
    await load(module);
    return new Engine(module, files);
  }

  /** Parses and resolves a text. */
  parse(toml: string, path: string, own: OwnRow[] = []): ParseResult {
    return parse(toml, path, own, this.files);
  }

  /** A text with every default shown, as `narrows show` prints it; null if it has problems. */
  written(toml: string, path: string, own: OwnRow[] = []): string | null {
    const parsed = parseRaw(toml, path, own, this.files);
    if (!parsed.ok) return null;
    try {
      return parsed.scenario.to_toml();
    } finally {
      parsed.scenario.free();
    }
  }

  /**
   * Sets the value at a path (`flows[0].cc`) and keeps comments and order. A value is TOML, or a bare word.
   * @throws Error if the text is not TOML or the path leads nowhere.
   */
  set(toml: string, path: string, value: string): string {
    return wasm.set(toml, path, value);
  }

  /** Removes the value or table at a path, if it is there. */
  remove(toml: string, path: string): string {
    return wasm.remove(toml, path);
  }

  /** Appends a table to an array of tables: `append(text, "flows", 'name = "third"')`. */
  append(toml: string, key: string, table: string): string {
    return wasm.append(toml, key, table);
  }

  /** Lines of keys and elements: arrays of a path (strings and numbers) and a line. */
  places(toml: string): [(string | number)[], number][] {
    return wasm.places(toml);
  }

  /** Congestion controls, queues and schemes with their parameters, as `narrows._core.catalogue()` gives them. */
  // biome-ignore lint/suspicious/noExplicitAny: the format is the engine's
  catalogue(): Record<string, any> {
    return JSON.parse(wasm.catalogue());
  }

  /** The values that hooks of the user's control get. */
  hooks(): Layout {
    return wasm.hooks();
  }

  /** The released version of the engine. */
  version(): string {
    return wasm.version();
  }
}
