/** The worker that runs scenarios. A run blocks it; the page stops a run by ending the worker. */

import { buffers, read } from "./data";
import { type Files, load, parseRaw, provide, wasm } from "./module";
import { Controls } from "./own";
import type { Problem, RunData, RunRequest } from "./types";

/** Messages to the worker. */
export type ToWorker =
  | { kind: "load"; module: WebAssembly.Module; files: Files }
  | { kind: "run"; id: number; request: RunRequest; watch: number | null }
  | { kind: "digest"; id: number };

/** Messages from it. `entered` reports a call that is about to be made, if the run is watched. */
export type FromWorker =
  | { kind: "progress"; id: number; fraction: number; calls: number }
  | { kind: "entered"; id: number; control: string; hook: string; now: number; count: number }
  | { kind: "done"; id: number; data: RunData }
  | { kind: "failed"; id: number; message: string; problems: Problem[] }
  | { kind: "digest"; id: number; digest: string };

let files: Files = {};
let last: wasm.Run | null = null;
let loaded: Promise<void> = Promise.resolve();

/** Shortest time between two reports of progress, ms. */
const REPORT_MS = 50;

const send = (message: FromWorker, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });

async function run(id: number, request: RunRequest, watch: number | null): Promise<void> {
  await loaded;
  const entered = (control: string, hook: string, now: number, count: number): void => {
    if (watch !== null && count > watch) send({ kind: "entered", id, control, hook, now, count });
  };
  const controls = await Controls.load(request.own, wasm.hooks(), request.calls, watch === null ? null : entered);
  let told = Number.NEGATIVE_INFINITY;
  const progress = (fraction: number): void => {
    const now = performance.now();
    if (now - told < REPORT_MS) return;
    told = now;
    send({ kind: "progress", id, fraction, calls: controls.count });
  };
  provide({
    progress,
    make: (name, params) => controls.make(name, params as Record<string, number>),
    call: (object, hook, values) => controls.call(object, hook, values),
    panicked: (message) => send({ kind: "failed", id, message: `the engine failed: ${message}`, problems: [] }),
  });
  const parsed = parseRaw(request.toml, request.path, request.own, files);
  if (!parsed.ok) {
    send({
      kind: "failed",
      id,
      message: parsed.problems[0]?.message ?? "the scenario is refused",
      problems: parsed.problems,
    });
    return;
  }
  const { scenario } = parsed;
  try {
    last?.free();
    last = null;
    const began = performance.now();
    last = wasm.run(scenario, scenario.seed, request.number, request.packets);
    const data = read(last, controls.calls, performance.now() - began);
    send({ kind: "done", id, data }, buffers(data));
  } finally {
    scenario.free();
  }
}

self.onmessage = ({ data: message }: MessageEvent<ToWorker>): void => {
  const failed = (error: unknown, id: number): void => {
    const text = error instanceof Error ? error.message : String(error);
    send({ kind: "failed", id, message: text, problems: [] });
  };
  switch (message.kind) {
    case "load":
      files = message.files;
      loaded = load(message.module);
      break;
    case "run":
      run(message.id, message.request, message.watch).catch((error) => failed(error, message.id));
      break;
    case "digest":
      try {
        send({ kind: "digest", id: message.id, digest: last?.digest() ?? "" });
      } catch {
        // A run that cannot be hashed has no digest; the answers' order tells the page which request this one is for.
        send({ kind: "digest", id: message.id, digest: "" });
      }
      break;
  }
};
