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
    const box = await page.locator('[data-view="cwnd"] .u-over').boundingBox();
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
    const box = await page.locator('[data-view="throughput"] .strip').boundingBox();
    if (!box) throw new Error("the strip has no size");
    await page.mouse.move(box.x + box.width / 4, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 10, { steps: 4 });
    await page.mouse.up();
    expect(await value(page, "Playhead s")).toBeCloseTo(30, 0);
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
