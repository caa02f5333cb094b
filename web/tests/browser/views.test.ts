import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, opened, serious, started } from "./browser";

/** Waits until the first run is drawn. */
async function drawn(page: Page): Promise<void> {
  await page.waitForSelector('[data-view="throughput"] canvas');
  await page.waitForFunction(() => performance.getEntriesByName("narrows:drawn").length > 0);
}

const value = (page: Page, label: string): Promise<number> =>
  page.getByLabel(label, { exact: true }).evaluate((input: HTMLInputElement) => input.valueAsNumber);

describe.skipIf(!chromiumPath)("views in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());

  test("the first scenario is plotted, and its results are told", async () => {
    const { page, errors } = await opened(browser);
    await drawn(page);
    const views = await page.$$eval("[data-view]", (all) => all.map((one) => one.getAttribute("data-view")));
    expect(views).toEqual(["throughput", "cwnd", "rtt", "queue", "delay", "losses"]);
    expect(await page.locator(".verdict").textContent()).toContain("first (cubic) got 6.66 Mb/s, 63 %");
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("a drag zooms all plots, and a double click shows the whole run again", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    const over = page.locator('[data-view="cwnd"] .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    if (!box) throw new Error("the plot has no size");
    await page.mouse.move(box.x + box.width / 4, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 60, { steps: 5 });
    await page.mouse.up();
    expect(await value(page, "From")).toBeCloseTo(15, 0);
    expect(await value(page, "to s")).toBeCloseTo(30, 0);
    await page.locator('[data-view="rtt"] .u-over').dblclick();
    expect(await value(page, "to s")).toBe(60);
    await page.context().close();
  });

  test("the keyboard moves the cursor of all plots, zooms, and sets the playhead", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    const plot = page.locator('[data-view="throughput"] .plot');
    await plot.focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
    expect(await plot.getAttribute("aria-valuetext")).toMatch(/^1.1 s, first [\d.]+ Mb\/s/);
    expect(await page.locator('[data-view="rtt"] .readout').textContent()).toContain("at 1.1 s");
    await page.keyboard.press("Enter");
    expect(await value(page, "Playhead s")).toBe(1.1);
    await page.keyboard.press("+");
    expect(await value(page, "to s")).toBeCloseTo(30.55, 3);
    await page.keyboard.press("Escape");
    expect(await value(page, "to s")).toBe(60);
    await page.context().close();
  });

  test("dragging in a plot's strip sets the playhead", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    const strip = page.locator('[data-view="throughput"] .strip');
    await strip.scrollIntoViewIfNeeded();
    const box = await strip.boundingBox();
    if (!box) throw new Error("the strip has no size");
    await page.mouse.move(box.x + box.width / 4, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 10, { steps: 4 });
    await page.mouse.up();
    expect(await value(page, "Playhead s")).toBeCloseTo(30, 0);
    await page.context().close();
  });

  test("states are sampled at the press of a button, and drawn with their words", async () => {
    const { page, errors } = await opened(browser);
    await drawn(page);
    await page.getByRole("button", { name: "Sample states" }).click();
    const readout = page.locator('[data-view="cwnd"] .readout');
    await readout.getByText("slow start").waitFor();
    expect(await readout.textContent()).toContain("congestion avoidance");
    expect(await page.getByText("States are not sampled.").count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("packets are logged when they are asked for, and the time-sequence graph tells the packet at the cursor", async () => {
    const { page, errors } = await opened(browser);
    await drawn(page);
    await page.getByRole("button", { name: "Log packets" }).click();
    const plot = page.locator('[data-view="sequence"] .plot');
    await plot.waitFor();
    await plot.focus();
    await page.keyboard.press("Home");
    expect(await plot.getAttribute("aria-valuetext")).toMatch(/segment 0 to 1/);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("a flow that is switched off is in no plot and in no file", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    await page.locator(".legend").getByRole("button", { name: "second" }).click();
    expect(await page.locator('[data-view="throughput"] .readout').textContent()).not.toContain("second");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator('[data-view="throughput"]').getByRole("button", { name: "CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("throughput.csv");
    const text = readFileSync(await download.path(), "utf8");
    expect(text.split("\n")[0]).toBe("Time (s),first (Mb/s)");
    expect(text.trimEnd().split("\n").length).toBeGreaterThan(590);
    await page.context().close();
  });

  test("pictures are SVG with text, and PNG at twice the size", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    const saved = async (name: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.locator('[data-view="cwnd"]').getByRole("button", { name }).click(),
      ]);
      return readFileSync(await download.path());
    };
    const svg = (await saved("SVG")).toString("utf8");
    expect(svg).toContain("Congestion window</text>");
    expect(svg).toContain('stroke="#0072b2"');
    const png = await saved("PNG");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1640, 680]);
    await page.context().close();
  });

  test("the numbers behind a plot are in pages", async () => {
    const { page } = await opened(browser);
    await drawn(page);
    const view = page.locator('[data-view="rtt"]');
    await view.getByRole("button", { name: "Data" }).click();
    const first = view.locator("tbody tr").first().locator("td").first();
    expect(await first.textContent()).toBe("0.1");
    await view.getByRole("button", { name: "Next" }).click();
    expect(await first.textContent()).toBe("2.6");
    await page.context().close();
  });

  test("two scenarios are overlaid, and their differences are in a table", async () => {
    const { page, errors } = await opened(browser);
    await drawn(page);
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    const results = page.locator(".results");
    await results.getByText("Results of A and B").waitFor();
    expect(await results.locator("th").allTextContents()).toEqual(["Of", "Metric", "A", "B", "B − A", "B − A (%)"]);
    const jain = await results.locator("tbody tr").first().locator("td").allTextContents();
    // B begins as a copy of A.
    expect(jain).toEqual(["All flows", "Jain's index of throughput", "0.9406", "0.9406", "0", "0"]);
    const readout = await page.locator('[data-view="throughput"] .readout').textContent();
    expect(readout).toContain("first (A)");
    expect(readout).toContain("second (B)");
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("nothing serious is found by axe, with a table open, in both themes and at 360 px", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await opened(browser, "", { colorScheme, viewport: { width: 360, height: 740 } });
      await drawn(page);
      await page.locator('[data-view="throughput"]').getByRole("button", { name: "Data" }).click();
      await page.getByText("All tables of the run").click();
      expect(await serious(page, ".views")).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      await page.context().close();
    }
  });
});
