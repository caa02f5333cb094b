import { afterEach, expect, test } from "vitest";
import type { Backend, Parsed, RunData, RunRequest } from "../../src/engine/types";
import { RunFailure } from "../../src/engine/types";
import { allow, forget, watch } from "../../src/model/runner";
import { backend, engine, failures, gates, running, runs, stopped, texts } from "../../src/model/state";

/** An engine that takes every text for a small scenario. */
const SIZE = { nodes: 0, links: 0, flows: 0, flow_rows: 0, queue_rows: 0, router_rows: 0, state_rows: 0 };
const scenario = {
  duration: 1,
  size: SIZE,
  resolved: { nodes: [], links: [], directions: [], flows: [], workloads: [], wifi: [] },
  paths: [],
} as unknown as Parsed;
const parser = {
  parse: (text: string) => {
    if (text === "wrong") return { ok: false, problems: [] };
    return {
      ok: true,
      scenario: text.startsWith("large") ? { ...scenario, size: { ...SIZE, flow_rows: 1e9 } } : scenario,
    };
  },
};

/** A backend whose runs end when the test says so. */
class Slow implements Backend {
  readonly asked: string[] = [];
  end: (data: RunData) => void = () => {};
  fail: (failure: RunFailure) => void = () => {};

  run(request: RunRequest): Promise<RunData> {
    this.asked.push(request.toml);
    return new Promise((resolve, reject) => {
      [this.end, this.fail] = [resolve, reject];
    });
  }

  stop(): void {
    this.fail(new RunFailure("the run was stopped", [], true));
  }

  digest(): Promise<string> {
    return Promise.resolve("");
  }
}

const DATA = { packets: 0, took_ms: 0 } as RunData;
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

let end = (): void => {};
afterEach(() => {
  end();
  backend.value = null;
  texts.a.value = "";
  texts.b.value = null;
});

function begun(): Slow {
  const slow = new Slow();
  engine.value = parser as never;
  texts.a.value = "a";
  backend.value = slow;
  end = watch();
  return slow;
}

test("a run of B that nobody waits for any more is stopped, and A is run", async () => {
  const slow = begun();
  slow.end(DATA);
  await settled();
  texts.b.value = "b";
  expect([slow.asked, running.value]).toEqual([["a", "b"], "b"]);
  texts.a.value = "a2";
  texts.b.value = null;
  await settled();
  expect([slow.asked.at(-1), running.value, stopped.b.value]).toEqual(["a2", "a", false]);
  slow.end(DATA);
  await settled();
  expect([runs.b.value, running.value]).toEqual([null, null]);
});

test("a failure of an arm that has gone is not shown when there is a new one", async () => {
  const slow = begun();
  slow.end(DATA);
  await settled();
  texts.b.value = "b";
  slow.stop = () => {};
  texts.b.value = null;
  slow.fail(new RunFailure("out of memory"));
  await settled();
  expect(failures.b.value).toBeNull();
});

test("a run that is too large waits for the user", async () => {
  const slow = begun();
  slow.end(DATA);
  await settled();
  texts.a.value = "large";
  expect(slow.asked).toEqual(["a"]);
  expect(gates.a.value?.bytes).toBeGreaterThan(1e9);
  texts.a.value = "wrong";
  expect(gates.a.value).toBeNull();
});

test("permission for a long run does not hold for another scenario", async () => {
  const slow = begun();
  slow.end(DATA);
  await settled();
  texts.a.value = "large";
  allow("a");
  slow.end(DATA);
  await settled();
  texts.a.value = "large, of the same scenario";
  expect(gates.a.value).toBeNull();
  slow.end(DATA);
  await settled();
  forget();
  texts.a.value = "large, of a link";
  expect(gates.a.value).not.toBeNull();
  expect(slow.asked).toEqual(["a", "large", "large, of the same scenario"]);
});
