/** Congestion controls of the user's in the worker: makes their objects, and calls their hooks for the engine. */

import type { Call, Own, OwnParam, OwnRow } from "./types";

/** Most calls that are kept for stepping. */
export const MOST_CALLS = 20_000;

/** What the engine's `hooks()` gives. */
export interface Layout {
  values: string[];
  kinds: string[];
  phases: string[];
}

type Values = Record<string, number | string | boolean | null>;
type Hook = (...args: unknown[]) => void;
type Instance = Record<string, Hook | undefined>;
type Class = (new (params: Values) => Instance) & { title?: unknown; params?: unknown };

const PATH = [
  "now_s smss initial_window srtt_s min_rtt_s rto_s flightsize inflight snd_una snd_nxt path.delivered path.lost",
  "cwnd_limited path.pacing_rate departure_s phase",
]
  .join(" ")
  .split(" ");
/** Values of the hook's first argument, by what it is of. */
export const ACK = "acked delivered rtt_s one_way_delay_s delivery_rate app_limited marked newly_lost".split(" ");
export const CONGESTION = "kind repeated lost".split(" ");
/** Values that are true or false. */
export const SWITCHES = new Set(["cwnd_limited", "app_limited", "repeated"]);

/** The window that a hook may change. */
class Window {
  constructor(
    public cwnd: unknown,
    public ssthresh: unknown,
    public pacing_rate: unknown,
  ) {}

  /** Whether cwnd is below ssthresh. */
  get in_slow_start(): boolean {
    return this.ssthresh === null || Number(this.cwnd) < Number(this.ssthresh);
  }
}

/** An error with its text and its line in the user's source, as the engine shows it. */
function shown(error: unknown, sources: Map<string, string>): Error & { shown: string } {
  const thrown = error instanceof Error ? error : new Error(String(error));
  let place = "";
  for (const [url, name] of sources) {
    const found = new RegExp(`${url.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}:(\\d+)`).exec(thrown.stack ?? "");
    if (found) place = ` (${name}:${found[1]})`;
  }
  return Object.assign(thrown, { shown: `${thrown.name}: ${thrown.message}${place}` });
}

/**
 * Imports a user's module, and checks it as a Python class is checked.
 * @throws Error if the text cannot be read, or does not export a class with `on_ack` and `on_congestion`.
 */
export async function imported(name: string, source: string, sources: Map<string, string>): Promise<Class> {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  sources.set(url, name);
  let exported: { default?: Class };
  try {
    exported = await import(/* @vite-ignore */ url);
  } catch (error) {
    throw new Error(`${name}: ${shown(error, sources).shown}`, { cause: error });
  } finally {
    URL.revokeObjectURL(url);
  }
  const made = exported.default;
  if (typeof made !== "function") {
    throw new Error(`${name}: the text exports no class; allowed: export default class { ... }`);
  }
  for (const hook of ["on_ack", "on_congestion"]) {
    if (typeof made.prototype?.[hook] !== "function") {
      throw new Error(
        `${name}: the class has no ${hook}; needed: on_ack(ack, path, win) and on_congestion(event, path, win)`,
      );
    }
  }
  return made;
}

/**
 * What a class says of itself: `static title`, and `static params` with a default, or a default and its meaning.
 * @throws Error if a default is neither a number nor a switch.
 */
export function described(name: string, made: Class): OwnRow {
  const given = typeof made.params === "object" && made.params !== null ? Object.entries(made.params) : [];
  const params = given.map(([key, entry]): OwnParam => {
    const [value, doc] = Array.isArray(entry) ? entry : [entry, ""];
    if (typeof value !== "boolean" && !(typeof value === "number" && Number.isFinite(value))) {
      const text = JSON.stringify(value) ?? String(value);
      throw new Error(`${name}: parameter ${key} has the default ${text}; allowed: a number, true or false`);
    }
    return { name: key, doc: typeof doc === "string" ? doc : "", value };
  });
  return { name, title: typeof made.title === "string" ? made.title : `${name} (JavaScript)`, params };
}

/** Puts the window into the engine's values; returns the first field that is neither a number nor, where allowed, null. */
function takeOver(win: Window, values: Float64Array): string | undefined {
  for (const [index, field] of (["cwnd", "ssthresh", "pacing_rate"] as const).entries()) {
    const set = win[field];
    if (set === null && index > 0) values[index] = Number.NaN;
    else if (typeof set === "number" && !Number.isNaN(set)) values[index] = set;
    else return `${field} to ${typeof set === "string" ? JSON.stringify(set) : String(set)}`.slice(0, 80);
  }
  return undefined;
}

/** The classes and objects of a run. */
export class Controls {
  private readonly objects: Instance[] = [];
  private readonly names: string[] = [];
  private readonly at: Map<string, number>;
  /** Calls that were kept. */
  readonly calls: Call[] = [];
  /** Number of calls so far. */
  count = 0;

  private constructor(
    private readonly classes: Map<string, Class>,
    private readonly sources: Map<string, string>,
    private readonly layout: Layout,
    private readonly keep: boolean,
    /** Called before each call of a hook, to find one that does not return. */
    private readonly before: ((control: string, hook: string, now: number, count: number) => void) | null,
  ) {
    this.at = new Map(layout.values.map((name, index) => [name, index]));
  }

  /**
   * Imports the user's modules.
   * @throws Error if a module does not export a class with `on_ack` and `on_congestion`.
   */
  static async load(
    own: Own[],
    layout: Layout,
    keep: boolean,
    before: ((control: string, hook: string, now: number, count: number) => void) | null,
  ): Promise<Controls> {
    const classes = new Map<string, Class>();
    const sources = new Map<string, string>();
    for (const { name, source } of own) classes.set(name, await imported(name, source, sources));
    return new Controls(classes, sources, layout, keep, before);
  }

  /** Makes an object for one end of a flow, with the class's defaults for parameters not given; returns its number. */
  make(name: string, params: Values): number {
    const made = this.classes.get(name);
    if (!made) throw new Error(`there is no class ${name}`);
    try {
      const defaults = described(name, made).params.map((one): [string, number | boolean] => [one.name, one.value]);
      this.objects.push(new made({ ...Object.fromEntries(defaults), ...params }));
    } catch (error) {
      throw shown(error, this.sources);
    }
    this.names.push(name);
    return this.objects.length - 1;
  }

  /** Calls a hook; returns a field that the hook set to something that is no number. */
  call(object: number, hook: string, values: Float64Array): string | undefined {
    const instance = this.objects[object];
    const method = instance?.[hook];
    if (typeof method !== "function") return undefined;
    this.count += 1;
    this.before?.(this.names[object] ?? "", hook, this.value(values, "now_s"), this.count);
    const win = new Window(values[0], this.optional(values, "ssthresh"), this.optional(values, "pacing_rate"));
    const before = this.keep && this.calls.length < MOST_CALLS ? this.all(values) : null;
    const path = this.group(values, PATH);
    const argument = values[this.at.get("argument") ?? -1];
    const first = argument === 1 ? [this.group(values, ACK)] : argument === 2 ? [this.group(values, CONGESTION)] : [];
    try {
      method.call(instance, ...first, path, win);
    } catch (error) {
      throw shown(error, this.sources);
    }
    const wrong = takeOver(win, values);
    if (wrong !== undefined) return wrong;
    if (before) {
      const after: Call["after"] = [values[0] ?? 0, values[1] ?? Number.NaN, values[2] ?? Number.NaN];
      this.calls.push({ object, hook, before, after });
    }
    return undefined;
  }

  private value(values: Float64Array, name: string): number {
    return values[this.at.get(name) ?? -1] ?? Number.NaN;
  }

  private optional(values: Float64Array, name: string): number | null {
    const value = this.value(values, name);
    return Number.isNaN(value) ? null : value;
  }

  private all(values: Float64Array): Record<string, number> {
    return Object.fromEntries(this.layout.values.map((name, index) => [name, values[index] ?? Number.NaN]));
  }

  private group(values: Float64Array, names: string[]): Values {
    const made: Values = {};
    for (const name of names) {
      const value = this.optional(values, name);
      const key = name.replace("path.", "");
      if (SWITCHES.has(name)) made[key] = value === 1;
      else if (name === "phase") made[key] = this.layout.phases[value ?? -1] ?? null;
      else if (name === "kind") made[key] = this.layout.kinds[value ?? -1] ?? null;
      else made[key] = value;
    }
    return Object.freeze(made);
  }
}
