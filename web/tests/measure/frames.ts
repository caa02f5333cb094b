/** Frames of the animation per second, with many packets in view. */

import type { Browser, Page } from "playwright-core";
import { started } from "../browser/chromium";

/** 100 Mb/s and a round-trip time of 100 ms: 833 packets of 1500 bytes fill the path. */
const LONG_FAT = `
duration = "20 s"
[topology]
kind = "dumbbell"
pairs = 2
bottleneck = { rate = "100 Mb/s", delay = "48 ms", queue = { limit = "400 packets" } }
access = { rate = "1 Gb/s", delay = "1 ms", queue = { limit = "10000 packets" } }
[tcp]
cc = "cubic"
[[flows]]
from = "s1"
to = "d1"
[[flows]]
from = "s2"
to = "d2"
`;

/** Time over which frames are counted, s. */
const SECONDS = 5;

/** What a stretch of the animation yields. */
interface Counted {
  frames: number;
  packets: number;
}

/** Counts the frames that are painted while the animation plays from a time of the run. */
async function counted(page: Page, from: number, speed: number): Promise<Counted> {
  return page.evaluate(
    async ([start, rate, seconds]) => {
      const canvas = document.querySelectorAll<HTMLCanvasElement>(".network-stage canvas")[1];
      const context = canvas?.getContext("2d");
      if (!context) throw new Error("there is no drawing");
      const { state, player } = window.narrows;
      let frames = 0;
      const clear = context.clearRect.bind(context);
      context.clearRect = (...box) => {
        frames++;
        clear(...box);
      };
      state.playhead.value = start;
      player.speed.value = rate;
      // The sentence counts packets every two seconds.
      const seen: number[] = [];
      const status = document.querySelector<HTMLElement>(".network-status");
      const watch = setInterval(() => seen.push(Number(status?.dataset.packets)), 500);
      player.playing.value = true;
      const began = performance.now();
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      const passed = (performance.now() - began) / 1000;
      player.playing.value = false;
      clearInterval(watch);
      return { frames: frames / passed, packets: Math.min(...seen.slice(2)) };
    },
    [from, speed, SECONDS] as const,
  );
}

/** The figures of the animation: what, value, and what is wanted. */
export async function frames(address: string): Promise<{ what: string; value: string; wanted: string }[]> {
  const browser: Browser = await started();
  try {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    await page.goto(address);
    await page.getByRole("button", { name: "Show packets" }).waitFor();
    await page.evaluate((toml) => {
      window.narrows.state.texts.a.value = toml;
    }, LONG_FAT);
    const began = performance.now();
    await page.getByRole("button", { name: "Show packets" }).click();
    await page.locator(".network-stage canvas").first().waitFor();
    await page.waitForFunction(() => window.narrows.state.ran.a.value?.duration === 20);
    await page.waitForTimeout(1000);
    const opened = performance.now() - began - 1000;
    const figures = [{ what: "opening the animation, its run included", value: `${opened.toFixed(0)} ms`, wanted: "" }];
    for (const speed of [0.01, 0.1, 1]) {
      const { frames: rate, packets } = await counted(page, 10, speed);
      figures.push({
        what: `frames of the animation at ${speed}x, at least ${packets} packets in view`,
        value: `${rate.toFixed(0)} per s`,
        wanted: "30 per s at least",
      });
    }
    return figures;
  } finally {
    await browser.close();
  }
}
