import { expect, test } from "vitest";
import type { Backend, RunData, RunRequest } from "../../src/engine/types";
import { engine, backend as runner, texts } from "../../src/model/state";
import { Connection, type Socket } from "../../src/remote/connection";
import { decode } from "../../src/remote/frames";
import { ServerBackend } from "../../src/remote/server-backend";
import { open, type Session, session } from "../../src/remote/session";

/** A frame as `python/narrows/ui/frames.py` makes it. */
function frame(id: number, values: number[], more: object = {}): ArrayBuffer {
  const data = {
    events: 5,
    packets: 3,
    names: { flows: ["naïve"] },
    series: [],
    took_ms: 2,
    step: 1,
    tables: [
      { name: "flows", rows: values.length, columns: [{ name: "time_ns", unit: "ns", doc: "Time." }] },
      { name: "routers", rows: 0, columns: [{ name: "flows", unit: "flows", doc: "Flows." }] },
    ],
    ...more,
  };
  let text = new TextEncoder().encode(JSON.stringify({ kind: "done", id, data }));
  text = new Uint8Array([...text, ...new Uint8Array((8 - ((4 + text.length) % 8)) % 8).fill(32)]);
  const made = new ArrayBuffer(4 + text.length + 8 * values.length);
  new DataView(made).setUint32(0, text.length, true);
  new Uint8Array(made).set(text, 4);
  new Float64Array(made, 4 + text.length).set(values);
  return made;
}

class Wire {
  readyState = 1;
  binaryType: BinaryType = "blob";
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  hear(message: object): void {
    this.onmessage?.({ data: message instanceof ArrayBuffer ? message : JSON.stringify(message) });
  }
}

function wired(): { wires: Wire[]; connection: Connection } {
  const wires: Wire[] = [];
  const connection = new Connection(() => {
    const wire = new Wire();
    wires.push(wire);
    return wire as Socket;
  });
  return { wires, connection };
}

const request: RunRequest = { toml: "a", path: "scenario.toml", number: 0, packets: false, own: [], calls: false };

function backends(fits = true): { backend: ServerBackend; wire: () => Wire; asked: RunRequest[] } {
  const { wires, connection } = wired();
  const asked: RunRequest[] = [];
  const browser: Backend = {
    run: (one) => {
      asked.push(one);
      return Promise.resolve({ events: 1 } as RunData);
    },
    stop: () => {},
    digest: () => Promise.resolve("the browser's"),
  };
  const backend = new ServerBackend(connection, browser, () => fits);
  return { backend, asked, wire: () => wires.at(-1) as Wire };
}

test("a frame's columns are views of its memory", () => {
  const made = frame(3, [1, Number.NaN, 2.5]);
  const { id, data } = decode(made);
  expect(id).toBe(3);
  const values = data.tables.flows?.columns.time_ns?.values;
  expect([...(values ?? [])]).toEqual([1, Number.NaN, 2.5]);
  expect(values?.buffer).toBe(made);
  expect(data.names.flows).toEqual(["naïve"]);
  expect(data.tables.routers?.rows).toBe(0);
  expect(data.log).toBeNull();
});

test("a frame that ends too soon is refused", () => {
  expect(() => decode(frame(1, [1, 2]).slice(0, -8))).toThrow(RangeError);
});

test("answers reach their requests, and a lost connection is told and opened again", async () => {
  const { wires, connection } = wired();
  const fractions: number[] = [];
  const first = connection.ask({ kind: "run", toml: "a", path: "p", number: 0 }, (fraction) =>
    fractions.push(fraction),
  );
  const second = connection.ask({ kind: "digest" });
  const [wire] = wires as [Wire];
  expect(wire.binaryType).toBe("arraybuffer");
  wire.hear({ kind: "progress", id: 0, fraction: 0.5 });
  wire.hear({ kind: "answer", id: 1, value: "abc" });
  wire.hear(frame(0, [7]));
  expect(await second).toBe("abc");
  expect(await first).toMatchObject({ id: 0, step: 1 });
  expect(fractions).toEqual([0.5]);
  const third = connection.ask({ kind: "digest" });
  wire.onclose?.();
  await expect(third).rejects.toThrow("the server has ended");
  const fourth = connection.ask({ kind: "digest" });
  expect(wires).toHaveLength(2);
  wires[1]?.hear({ kind: "failed", id: 3, message: "no", problems: [{ line: 3 }], stopped: false });
  await expect(fourth).rejects.toMatchObject({ message: "no", problems: [{ line: 3 }], stopped: false });
});

test("an answer that cannot be read ends the requests that wait", async () => {
  const { wires, connection } = wired();
  const asked = connection.ask({ kind: "digest" });
  wires[0]?.hear(frame(0, [1, 2]).slice(0, 40));
  await expect(asked).rejects.toThrow("the server's answer cannot be read");
});

test("requests wait until the connection is open", () => {
  const { wires, connection } = wired();
  const opening = new Connection(() => {
    const wire = new Wire();
    wire.readyState = 0;
    wires.push(wire);
    return wire as Socket;
  });
  void connection;
  void opening.ask({ kind: "digest" });
  const [wire] = wires as [Wire];
  expect(wire.sent).toEqual([]);
  wire.readyState = 1;
  wire.onopen?.();
  expect(wire.sent).toEqual([{ id: 0, kind: "digest" }]);
});

test("the server runs all but controls of the page's and runs whose packets are logged", async () => {
  const { backend, asked, wire } = backends();
  const run = backend.run(request, () => {});
  expect(wire().sent.at(-1)).toEqual({ id: 0, kind: "run", toml: "a", path: "scenario.toml", number: 0 });
  wire().hear(frame(0, [1], { step: 4 }));
  expect((await run).events).toBe(5);
  expect([backend.place.value, backend.step.value]).toEqual(["server", 4]);
  await backend.run({ ...request, packets: true }, () => {});
  expect([asked.length, backend.place.value, backend.step.value]).toEqual([1, "browser", 1]);
  expect(await backend.digest()).toBe("the browser's");
  await backend.run({ ...request, own: [{ name: "x", title: "", params: [], source: "" }] }, () => {});
  expect(asked).toHaveLength(2);
});

test("the server runs what would not fit into a log of packets", () => {
  const { backend, asked, wire } = backends(false);
  void backend.run({ ...request, packets: true }, () => {});
  expect(asked).toEqual([]);
  expect(wire().sent.at(-1)).toMatchObject({ kind: "run", toml: "a" });
});

test("a new run stops the one under way", async () => {
  const { backend, wire } = backends();
  const first = backend.run(request, () => {});
  void backend.run({ ...request, toml: "b" }, () => {});
  expect(wire().sent.map((one) => one.kind)).toEqual(["run", "stop", "run"]);
  wire().hear({ kind: "failed", id: 0, message: "the run was stopped", problems: [], stopped: true });
  await expect(first).rejects.toMatchObject({ stopped: true });
});

test("texts of results that were read are not run, until they change", async () => {
  const { backend, asked, wire } = backends();
  const opening = backend.open("results/x", 1);
  expect(wire().sent.at(-1)).toEqual({ id: 0, kind: "open", name: "results/x", number: 1, arm: 0 });
  wire().hear(frame(0, [9], { step: 3, recorded: { toml: "recorded", runs: 2, live: true, doubts: [], label: "" } }));
  expect((await opening).runs).toBe(2);
  const read = { ...request, toml: "recorded", packets: true };
  expect(backend.has(read)).toBe(true);
  expect((await backend.run(read, () => {})).tables.flows?.rows).toBe(1);
  expect([asked.length, backend.place.value, backend.step.value]).toEqual([0, "recorded", 3]);
  expect(await backend.digest()).toBe("");
  await backend.run({ ...request, packets: true }, () => {});
  await backend.run(read, () => {});
  expect(backend.step.value).toBe(3);
  expect(backend.has({ ...read, toml: "recorded " })).toBe(false);
});

test("results that are opened again are read again, though their text is the same", async () => {
  const asked: string[] = [];
  const recorded = { toml: "# results/x", runs: 1, live: false, doubts: [], label: "" };
  engine.value = { parse: () => ({ ok: true, scenario: {} }) } as never;
  const run = ({ toml }: RunRequest): Promise<RunData> => {
    asked.push(toml);
    return new Promise(() => {});
  };
  runner.value = { has: () => true, run } as never;
  session.value = { backend: { open: () => Promise.resolve(recorded) } } as unknown as Session;
  const entry = { name: "results/x", kind: "run", page: false, number: 0 } as const;
  await open(entry, "a");
  expect([texts.a.value, asked]).toEqual([recorded.toml, []]);
  await open(entry, "a");
  expect(asked).toEqual([recorded.toml]);
});
