import { expect, test } from "vitest";
import type { RunData, RunRequest } from "../../src/engine/types";
import type { FromWorker, ToWorker } from "../../src/engine/worker";
import { WorkerBackend } from "../../src/engine/worker-backend";

/** A worker that does nothing by itself. */
class Idle {
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  ended = false;
  readonly heard: ToWorker[] = [];

  postMessage(message: ToWorker): void {
    this.heard.push(message);
  }

  terminate(): void {
    this.ended = true;
  }

  /** The number of the run that it was asked for last. */
  get id(): number {
    return this.heard.filter((one) => one.kind === "run").at(-1)?.id ?? -1;
  }

  say(message: FromWorker): void {
    this.onmessage?.({ data: message });
  }
}

const REQUEST: RunRequest = { toml: "a", path: "scenario.toml", number: 0, packets: false, own: [], calls: false };

function backends(): { backend: WorkerBackend; workers: Idle[] } {
  const workers: Idle[] = [];
  const backend = new WorkerBackend({} as WebAssembly.Module, {}, () => {
    const made = new Idle();
    workers.push(made);
    return made as unknown as Worker;
  });
  return { backend, workers };
}

test("a worker whose engine failed runs nothing more", async () => {
  const { backend, workers } = backends();
  const run = backend.run(REQUEST, () => {});
  workers[0]?.say({ kind: "failed", id: workers[0].id, message: "the engine failed: out of memory", problems: [] });
  await expect(run).rejects.toThrow("out of memory");
  expect(workers[0]?.ended).toBe(true);
  const again = backend.run(REQUEST, () => {});
  expect(workers).toHaveLength(2);
  workers[1]?.say({ kind: "done", id: workers[1].id, data: { events: 7 } as RunData });
  expect((await again).events).toBe(7);
});

test("a worker that refused a scenario goes on", async () => {
  const { backend, workers } = backends();
  const run = backend.run(REQUEST, () => {});
  const problem = { path: "", line: 1, field: "flows", value: "", allowed: "", message: "flows: is missing" };
  workers[0]?.say({ kind: "failed", id: workers[0].id, message: problem.message, problems: [problem] });
  await expect(run).rejects.toMatchObject({ problems: [problem] });
  expect(workers[0]?.ended).toBe(false);
});

test("results of a run that was stopped are not taken for those of the next one", async () => {
  const { backend, workers } = backends();
  const first = backend.run(REQUEST, () => {});
  const old = workers[0]?.id ?? -1;
  const second = backend.run({ ...REQUEST, toml: "b" }, () => {});
  await expect(first).rejects.toMatchObject({ stopped: true });
  workers[0]?.say({ kind: "done", id: old, data: { events: 1 } as RunData });
  workers[1]?.say({ kind: "done", id: workers[1].id, data: { events: 2 } as RunData });
  expect((await second).events).toBe(2);
});
