/** Runs scenarios in a Web Worker of the page. */

import type { Files } from "./module";
import { type Backend, type RunData, RunFailure, type RunRequest } from "./types";
import type { FromWorker, ToWorker } from "./worker";

/** Longest time that a call of the user's control may take, ms. */
export const HOOK_MS = 2_000;

/** A run under way. */
interface Pending {
  id: number;
  request: RunRequest;
  watch: number | null;
  progress: (fraction: number) => void;
  resolve: (data: RunData) => void;
  reject: (failure: RunFailure) => void;
  /** Calls that the last report of progress counted. */
  calls: number;
  /** The call that was reported last, in a watched run. */
  entered: Extract<FromWorker, { kind: "entered" }> | null;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/**
 * A worker that is ended to stop a run, and started again.
 *
 * A control whose hook does not return blocks the worker. The worker is then ended, and the run is repeated in one that
 * reports each call after the last reported number of calls: runs repeat exactly, so the last report names the hook.
 */
export class WorkerBackend implements Backend {
  private worker: Worker | null = null;
  private pending: Pending | null = null;
  private digests: ((digest: string) => void)[] = [];
  private next = 0;

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly files: Files,
    private readonly start: () => Worker = () =>
      new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }),
  ) {}

  run(request: RunRequest, progress: (fraction: number) => void): Promise<RunData> {
    this.stop();
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.begin({
        id,
        request,
        watch: null,
        progress,
        resolve,
        reject,
        calls: 0,
        entered: null,
        timer: undefined,
      });
    });
  }

  stop(): void {
    const pending = this.pending;
    if (!pending) return;
    this.end();
    pending.reject(new RunFailure("the run was stopped", [], true));
  }

  digest(): Promise<string> {
    return new Promise((resolve) => {
      this.digests.push(resolve);
      this.post({ kind: "digest", id: this.next++ });
    });
  }

  private post(message: ToWorker): void {
    if (!this.worker) {
      this.worker = this.start();
      this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.hear(data);
      this.worker.onerror = (event) => this.fail(event.message || "the worker ended");
      this.worker.postMessage({ kind: "load", module: this.module, files: this.files } satisfies ToWorker);
    }
    this.worker.postMessage(message);
  }

  private begin(pending: Pending): void {
    this.pending = pending;
    this.post({ kind: "run", id: pending.id, request: pending.request, watch: pending.watch });
    this.watchdog(pending);
  }

  /** Ends the worker if the user's control lets nothing be heard for too long. */
  private watchdog(pending: Pending): void {
    clearTimeout(pending.timer);
    if (pending.request.own.length === 0) return;
    pending.timer = setTimeout(() => {
      const { entered } = pending;
      this.end();
      if (entered) {
        const place = `simulated time ${entered.now} s, call ${entered.count}`;
        const text = `${entered.control}: ${entered.hook} did not return within ${HOOK_MS / 1000} s; ${place}`;
        pending.reject(new RunFailure(text));
      } else if (pending.watch === null) {
        this.begin({ ...pending, id: this.next++, watch: pending.calls, timer: undefined });
      } else {
        const names = pending.request.own.map((one) => one.name).join(", ");
        pending.reject(
          new RunFailure(`${names}: the text did not end within ${HOOK_MS / 1000} s, before any hook was called`),
        );
      }
    }, HOOK_MS);
  }

  private hear(message: FromWorker): void {
    if (message.kind === "digest") {
      this.digests.shift()?.(message.digest);
      return;
    }
    const pending = this.pending;
    if (!pending || pending.id !== message.id) return;
    switch (message.kind) {
      case "progress":
        pending.calls = message.calls;
        pending.progress(message.fraction);
        this.watchdog(pending);
        break;
      case "entered":
        pending.entered = message;
        this.watchdog(pending);
        break;
      case "done":
        this.settle();
        pending.resolve(message.data);
        break;
      case "failed":
        // After a fault of the engine or of a hook, the module's memory may be in any state, and large.
        if (message.problems.length === 0) this.end();
        else this.settle();
        pending.reject(new RunFailure(message.message, message.problems));
        break;
    }
  }

  private settle(): void {
    clearTimeout(this.pending?.timer);
    this.pending = null;
  }

  private fail(message: string): void {
    const pending = this.pending;
    this.end();
    pending?.reject(new RunFailure(message));
  }

  private end(): void {
    this.settle();
    this.worker?.terminate();
    this.worker = null;
    for (const resolve of this.digests.splice(0)) resolve("");
  }
}
