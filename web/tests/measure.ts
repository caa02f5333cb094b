/**
 * Measures the page in Chromium and prints a table: `npm run measure`.
 *
 * Times are those of a production build from the local disk, on this machine, with nothing else running.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { chromiumPath, started } from "./browser/chromium";
import { served } from "./browser/served";
import { frames } from "./measure/frames";

/** Moves of the slider that are measured. */
const MOVES = 30;

/** Loads that are measured. */
const LOADS = 5;

const root = join(import.meta.dirname, "..");

/** A figure with what it is to be. */
interface Figure {
  what: string;
  value: string;
  wanted: string;
}

function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;

/** A new page that notes when its first plot is presented. */
async function opened(browser: Browser, address: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(() => {
    new PerformanceObserver((_, observer) => {
      observer.disconnect();
      requestAnimationFrame(() => performance.mark("measure:first"));
    }).observe({ type: "mark" });
  });
  await page.goto(address);
  return page;
}

/** When the first plot was presented, ms after the address was entered. */
async function firstPlot(page: Page): Promise<number> {
  const first = await page.waitForFunction(() => performance.getEntriesByName("measure:first")[0]?.startTime);
  return (await first.jsonValue()) ?? Number.NaN;
}

/** Times from the address to the first plot, ms. */
async function loads(address: string): Promise<Figure[]> {
  const times: number[] = [];
  const browser = await started();
  try {
    for (let i = 0; i < LOADS; i++) {
      const page = await opened(browser, address);
      times.push(await firstPlot(page));
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
  return [{ what: "load to first plot, median of 5", value: ms(quantile(times, 0.5)), wanted: "1500 ms" }];
}

/** Times from a change of the text to the presented frame, ms. */
async function redraws(page: Page): Promise<Figure[]> {
  const times = await page.evaluate(async (moves) => {
    const { state, presets } = window.narrows;
    const text = presets.find((one) => one.name === "dumbbell-cubic")?.toml ?? "";
    const presented = (): Promise<number> =>
      new Promise((resolve) => {
        requestAnimationFrame(() => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => resolve(performance.now());
          channel.port2.postMessage(null);
        });
      });
    const move = async (rate: number): Promise<{ whole: number; run: number }> => {
      const loaded = state.engine.peek();
      if (!loaded) throw new Error("the engine is not loaded");
      const began = performance.now();
      const before = state.runs.a.peek();
      const drawn = new Promise<void>((resolve) => {
        const end = state.runs.a.subscribe((run) => {
          if (run === before) return;
          queueMicrotask(() => {
            end();
            resolve();
          });
        });
      });
      state.texts.a.value = loaded.set(text, "topology.bottleneck.rate", `"${rate} Mb/s"`);
      await drawn;
      return { whole: (await presented()) - began, run: state.runs.a.peek()?.took_ms ?? Number.NaN };
    };
    const out: { whole: number; run: number }[] = [];
    for (let i = 0; i < moves + 5; i++) {
      const one = await move(10 + (((i * 7) % 11) - 5) * 0.1);
      // The first moves warm the compiler.
      if (i >= 5) out.push(one);
    }
    return out;
  }, MOVES);
  const whole = times.map((one) => one.whole);
  return [
    { what: `redraw after a slider's move, median of ${MOVES}`, value: ms(quantile(whole, 0.5)), wanted: "100 ms" },
    { what: "redraw, 95th percentile", value: ms(quantile(whole, 0.95)), wanted: "200 ms" },
    {
      what: "of that the run in the worker, median",
      value: ms(
        quantile(
          times.map((one) => one.run),
          0.5,
        ),
      ),
      wanted: "",
    },
    {
      what: "of that all but the run, median",
      value: ms(
        quantile(
          times.map((one) => one.whole - one.run),
          0.5,
        ),
      ),
      wanted: "",
    },
  ];
}

/** Packets per second of a bundled scenario in the worker. */
async function speed(page: Page): Promise<Figure[]> {
  const rates = await page.evaluate(async () => {
    const { state, presets } = window.narrows;
    const toml = presets.find((one) => one.name === "speed-w1")?.toml ?? "";
    const request = { toml, path: "scenario.toml", number: 0, packets: false, own: [], calls: false };
    const out: number[] = [];
    for (let i = 0; i < 5; i++) {
      const run = await state.backend.peek()?.run(request, () => {});
      if (run) out.push(run.packets / (run.took_ms / 1e3));
    }
    return out;
  });
  const value = `${(quantile(rates, 0.5) / 1e6).toFixed(2)} million/s`;
  return [{ what: "packets per second of speed-w1 in the worker, median of 5", value, wanted: "" }];
}

/** A scenario with 10^6 samples of flows and queues. */
const LARGE = `
duration = "200 s"
sampling = "1 ms"
[topology]
kind = "dumbbell"
pairs = 1
bottleneck = { rate = "2 Mb/s", delay = "20 ms", queue = { limit = "20 packets" } }
access = { rate = "10 Mb/s", delay = "1 ms", queue = { limit = "100 packets" } }
[tcp]
cc = "cubic"
[[flows]]
from = "s1"
to = "d1"
`;

/** Memory of the page with 10^6 samples, after a run and its plots, and the time of a frame that zooms. */
async function memory(address: string): Promise<Figure[]> {
  const browser = await started();
  try {
    const page = await opened(browser, address);
    await firstPlot(page);
    const told = await page.evaluate(async (toml) => {
      const { state } = window.narrows;
      const before = state.runs.a.peek();
      const done = new Promise<void>((resolve) => {
        const end = state.runs.a.subscribe((run) => {
          if (run === before) return;
          queueMicrotask(() => {
            end();
            resolve();
          });
        });
      });
      state.texts.a.value = toml;
      await done;
      const tables = state.runs.a.peek()?.tables ?? {};
      const samples = (tables.flows?.rows ?? 0) + (tables.queues?.rows ?? 0);
      const zooms: number[] = [];
      for (let i = 0; i < 20; i++) {
        const began = performance.now();
        state.range.value = [i, 200 - i];
        zooms.push(performance.now() - began);
      }
      const buffers = Object.values(tables).flatMap((table) => Object.values(table.columns).map((one) => one.values));
      const bytes = buffers.reduce((sum, one) => sum + one.byteLength, 0);
      return { samples, zooms, bytes };
    }, LARGE);
    // Counts typed arrays, and those of the worker; the browser takes its time to collect garbage before it answers.
    const used = await page.evaluate(async () => {
      const told = performance as unknown as { measureUserAgentSpecificMemory(): Promise<{ bytes: number }> };
      return (await told.measureUserAgentSpecificMemory()).bytes;
    });
    return [
      { what: "samples of the large scenario", value: told.samples.toLocaleString("en"), wanted: "" },
      { what: "memory of the page with them", value: `${(used / 1e6).toFixed(0)} MB`, wanted: "300 MB" },
      { what: "of that columns of the run", value: `${(told.bytes / 1e6).toFixed(0)} MB`, wanted: "" },
      { what: "redraw of a zoom with them, median of 20", value: ms(quantile(told.zooms, 0.5)), wanted: "16 ms" },
    ];
  } finally {
    await browser.close();
  }
}

/** Builds the page, measures it, and prints the table. */
export async function main(): Promise<void> {
  if (!chromiumPath) throw new Error("there is no Chromium in PATH (Debian package chromium)");
  const directory = mkdtempSync(join(tmpdir(), "narrows-measure-"));
  const input = [join(root, "tests/measure/page.html")];
  await build({ root, logLevel: "error", build: { outDir: directory, emptyOutDir: true, rollupOptions: { input } } });
  const server = await served(directory, {
    // Without isolation the browser does not tell the memory of typed arrays.
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
  });
  try {
    const address = `${server.address}tests/measure/page.html`;
    const figures = await loads(address);
    const browser = await started();
    try {
      const page = await opened(browser, address);
      await firstPlot(page);
      figures.push(...(await redraws(page)), ...(await speed(page)));
    } finally {
      await browser.close();
    }
    figures.push(...(await memory(address)), ...(await frames(address)));
    const cores = cpus();
    console.log(`Chromium on ${cores.length} cores of ${cores[0]?.model ?? "this machine"}\n`);
    console.log("| figure | measured | wanted at most |\n|---|---|---|");
    for (const { what, value, wanted } of figures) console.log(`| ${what} | ${value} | ${wanted} |`);
  } finally {
    server.close();
    rmSync(directory, { recursive: true });
  }
}
