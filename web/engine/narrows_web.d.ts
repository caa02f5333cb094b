/* tslint:disable */
/* eslint-disable */

/**
 * Files by the names that scenarios use, such as `traces/drive.pps`.
 */
export class Folder {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Makes an empty folder.
     */
    constructor();
    /**
     * Adds a file, or replaces the file of that name.
     */
    put(name: string, content: Uint8Array | number[]): void;
}

/**
 * The outcome of one run.
 */
export class Run {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * A column's values; NaN is "no value". Integers above 2^53 are rounded.
     *
     * # Errors
     * There is no such table or column, or not enough memory.
     */
    column(table: string, column: string): Float64Array;
    /**
     * Computes SHA-256 of the samples: the digest that every platform gives.
     *
     * # Errors
     * There is not enough memory.
     */
    digest(): string;
    /**
     * The packets of a run that was asked for them, as typed arrays by column; null for another. `what` has an index
     * into `words`; `left_out` counts the packets that did not fit.
     */
    log(): any;
    /**
     * Names by kind: `flows`, `queues`, `routers`, `stations`, `channels`, `workloads`, and `subqueues` as arrays of
     * queue, index in the queue, and label.
     */
    names(): any;
    /**
     * What the rows of `state` describe, by the number in their column `series`: objects with `owner` (kind of
     * object), `index`, `algorithm`, `variable`, `unit`, `doc`, and `words` for the values 0, 1, 2 ...
     */
    series(): any;
    /**
     * The tables: objects with `name`, `rows`, and `columns`, objects with `name`, `unit` and `doc`.
     */
    tables(): any;
    /**
     * Events that the loop handled.
     */
    readonly events: number;
    /**
     * Packets that arrived at a node, counted at every hop.
     */
    readonly packets: number;
}

/**
 * A validated scenario.
 */
export class Scenario {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * The nodes that the packets of each flow pass: arrays of indices, both ends included.
     *
     * # Errors
     * The scenario is too large.
     */
    paths(): any;
    /**
     * Counts of nodes, links and flows, and of the rows that sampling will yield.
     */
    size(): any;
    /**
     * The resolved scenario (nodes, links, flows) as JSON. Parts that flows or links share are listed once.
     */
    to_json(): string;
    /**
     * The scenario as TOML with every default shown.
     */
    to_toml(): string;
    /**
     * Simulated time, ns.
     */
    readonly duration_ns: number;
    /**
     * Its name.
     */
    readonly name: string;
    /**
     * Seed of its random streams.
     */
    readonly seed: bigint;
    /**
     * What is legal but odd: objects as those that [`parse`] throws.
     */
    readonly warnings: any;
}

/**
 * Appends a table to an array of tables: `append(text, "flows", "name = 'third'")` adds `[[flows]]`.
 *
 * # Errors
 * Either text is not TOML, or the key holds something else.
 */
export function append(toml: string, key: string, table: string): string;

/**
 * Congestion controls, queues and schemes with their parameters, as JSON.
 */
export function catalogue(): string;

/**
 * What `narrowsHost.call` gets: `values`, the names of its numbers in order; `kinds` and `phases`, the words that
 * `kind` and `phase` index.
 */
export function hooks(): any;

/**
 * Parses and validates a scenario, which may also name the congestion controls of `own`.
 *
 * `path` names the file in problems. `overrides` are paths and values in turn: `["links[0].rate", "5 Mb/s"]`.
 *
 * # Errors
 * Throws an array of objects with `path`, `line`, `field`, `value`, `allowed` and `message`: all problems at once.
 */
export function parse(toml: string, path: string, overrides: string[], own?: Array<any> | null, files?: Folder | null): Scenario;

/**
 * The path and the line of each key and each element of an array in a TOML document: arrays of a path (strings and
 * numbers) and a line.
 */
export function places(toml: string): any;

/**
 * Removes the value or table at a path, if it is there.
 *
 * # Errors
 * The text is not TOML, or an index on the path is too large.
 */
export function remove(toml: string, path: string): string;

/**
 * Runs a scenario to its end. With `packets`, the run also logs every packet, which takes longer.
 *
 * # Errors
 * Throws an error with the reason: the scenario is too large, or a congestion control of the page's failed.
 */
export function run(scenario: Scenario, seed: bigint, number: number, packets: boolean): Run;

/**
 * JSON Schema of scenario files.
 */
export function schema(): string;

/**
 * Sets the value at a path: TOML, or a bare word. Missing tables on the way are made.
 *
 * # Errors
 * The text is not TOML, or the path leads nowhere.
 */
export function set(toml: string, path: string, value: string): string;

/**
 * Reports panics to the page; called once, when the module has been loaded.
 */
export function start(): void;

/**
 * The released version of the engine.
 */
export function version(): string;

export type InitInput = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

export interface InitOutput {
    readonly memory: WebAssembly.Memory;
    readonly __wbg_folder_free: (a: number, b: number) => void;
    readonly __wbg_run_free: (a: number, b: number) => void;
    readonly __wbg_scenario_free: (a: number, b: number) => void;
    readonly append: (a: number, b: number, c: number, d: number, e: number, f: number, g: number) => void;
    readonly catalogue: (a: number) => void;
    readonly folder_new: () => number;
    readonly folder_put: (a: number, b: number, c: number, d: number, e: number) => void;
    readonly hooks: () => any;
    readonly parse: (a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: number, i: number) => void;
    readonly places: (a: number, b: number) => any;
    readonly remove: (a: number, b: number, c: number, d: number, e: number) => void;
    readonly run: (a: number, b: number, c: bigint, d: number, e: number) => void;
    readonly run_column: (a: number, b: number, c: number, d: number, e: number, f: number) => void;
    readonly run_digest: (a: number, b: number) => void;
    readonly run_events: (a: number) => number;
    readonly run_log: (a: number) => any;
    readonly run_names: (a: number) => any;
    readonly run_packets: (a: number) => number;
    readonly run_series: (a: number) => any;
    readonly run_tables: (a: number) => any;
    readonly scenario_duration_ns: (a: number) => number;
    readonly scenario_name: (a: number, b: number) => void;
    readonly scenario_paths: (a: number, b: number) => void;
    readonly scenario_seed: (a: number) => bigint;
    readonly scenario_size: (a: number) => any;
    readonly scenario_to_json: (a: number, b: number) => void;
    readonly scenario_to_toml: (a: number, b: number) => void;
    readonly scenario_warnings: (a: number) => any;
    readonly schema: (a: number) => void;
    readonly set: (a: number, b: number, c: number, d: number, e: number, f: number, g: number) => void;
    readonly start: () => void;
    readonly version: (a: number) => void;
    readonly __wbindgen_export: (a: number, b: number) => number;
    readonly __wbindgen_export2: (a: number, b: number, c: number, d: number) => number;
    readonly __wbindgen_export3: (a: number, b: number, c: number) => void;
    readonly __wbindgen_export4: (a: number) => void;
    readonly __wbindgen_export5: () => number;
    readonly __wbindgen_externrefs: WebAssembly.Table;
    readonly __wbindgen_add_to_stack_pointer: (a: number) => number;
    readonly __wbindgen_export6: (a: number) => void;
    readonly __wbindgen_export7: (a: number, b: number) => void;
    readonly __wbindgen_start: () => void;
}

export type SyncInitInput = BufferSource | WebAssembly.Module;

/**
 * Instantiates the given `module`, which can either be bytes or
 * a precompiled `WebAssembly.Module`.
 *
 * @param {{ module: SyncInitInput }} module - Passing `SyncInitInput` directly is deprecated.
 *
 * @returns {InitOutput}
 */
export function initSync(module: { module: SyncInitInput } | SyncInitInput): InitOutput;

/**
 * If `module_or_path` is {RequestInfo} or {URL}, makes a request and
 * for everything else, calls `WebAssembly.instantiate` directly.
 *
 * @param {{ module_or_path: InitInput | Promise<InitInput> }} module_or_path - Passing `InitInput` directly is deprecated.
 *
 * @returns {Promise<InitOutput>}
 */
export default function __wbg_init (module_or_path?: { module_or_path: InitInput | Promise<InitInput> } | InitInput | Promise<InitInput>): Promise<InitOutput>;
