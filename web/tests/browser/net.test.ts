import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, type Opened, opened, serious, started } from "./browser";

describe.skipIf(!chromiumPath)("the animated network in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());

  async function shown(options: BrowserContextOptions = {}, path = ""): Promise<Opened> {
    const made = await opened(browser, path, options);
    await made.page.getByRole("button", { name: "Show packets" }).click();
    await made.page.locator(".network-stage canvas").first().waitFor();
    return made;
  }

  const seconds = async (page: Page): Promise<number> =>
    Number.parseFloat((await page.locator(".network-time .network-number").textContent()) ?? "");

  async function seek(page: Page, to: number): Promise<void> {
    await page.getByRole("slider", { name: "Time", exact: true }).fill(String(to));
  }

  /** Different colours of the upper canvas. */
  const colours = (page: Page): Promise<number> =>
    page
      .locator(".network-stage canvas")
      .nth(1)
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
        return new Set(new Uint32Array(Uint8ClampedArray.from(data).buffer)).size;
      });

  test("is closed at first, and has no canvas", async () => {
    const { page } = await opened(browser);
    await page.getByRole("button", { name: "Show packets" }).waitFor();
    expect(await page.locator(".network-stage canvas").count()).toBe(0);
    await page.context().close();
  });

  test("shows packets, says what it shows, and has no serious finding", async () => {
    const { page, errors } = await shown();
    await seek(page, 17.5);
    await page.getByText("At 17.500000 s: r1 to r2: 17 on the link, 39 waiting").waitFor();
    expect(await colours(page)).toBeGreaterThan(5);
    await page.getByText("Links and queues as a table").click();
    const row = page.getByRole("row", { name: "r1->r2" });
    await row.waitFor();
    expect(await row.getByRole("cell").allTextContents()).toEqual(["17", "39", "148", "0"]);
    expect(await serious(page, ".network")).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("tells of the packet under the pointer", async () => {
    const { page } = await shown();
    await seek(page, 17.5);
    const box = await page.locator(".network-stage").boundingBox();
    if (!box) throw new Error("the drawing has no size");
    const told = page.locator(".network-packet");
    for (let x = 0.4; x < 0.6 && (await told.count()) === 0; x += 0.005) {
      await page.mouse.move(box.x + box.width * x, box.y + box.height * 0.46);
    }
    expect(await told.textContent()).toMatch(
      /^(data|retransmission) of (first|second), sequence number [\d,]+, 1,500 bytes$/,
    );
    await page.context().close();
  });

  test("plays, pauses and steps by keys", async () => {
    const { page } = await shown();
    await seek(page, 10);
    await page.locator(".network-stage").focus();
    await page.keyboard.press("ArrowRight");
    const next = await seconds(page);
    expect(next).toBeGreaterThan(10);
    expect(next).toBeLessThan(10.01);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowLeft");
    expect(await seconds(page)).toBe(next);
    await page.keyboard.press("Shift+ArrowRight");
    expect((await seconds(page)) - next).toBeGreaterThan(0.04);
    const before = await seconds(page);
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.waitForFunction(
      (from) => Number.parseFloat(document.querySelector(".network-time .network-number")?.textContent ?? "") > from,
      before,
    );
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Play" }).waitFor();
    const paused = await seconds(page);
    await page.waitForTimeout(200);
    expect(await seconds(page)).toBe(paused);
    await page.keyboard.press("ArrowUp");
    await page.getByText("0.036× real time").waitFor();
    await page.context().close();
  });

  test("does not play where less motion is wanted, and steps", async () => {
    const { page } = await shown({ reducedMotion: "reduce" });
    expect(await page.getByRole("button", { name: "Play" }).isDisabled()).toBe(true);
    await page.locator(".network-stage").focus();
    const first = await seconds(page);
    await page.keyboard.press("Space");
    await page.waitForTimeout(200);
    expect(await seconds(page)).toBe(first);
    await page.keyboard.press("Shift+ArrowRight");
    expect(await seconds(page)).toBeGreaterThan(first);
    await page.context().close();
  });

  test("its time is the playhead of the plots", async () => {
    const { page } = await shown();
    const line = page.locator(".playhead-line").first();
    const place = (): Promise<string> => line.evaluate((element) => element.style.cssText);
    await seek(page, 10);
    const before = await place();
    await seek(page, 40);
    await expect.poll(place).not.toBe(before);
    await page.locator('[data-view="throughput"] .plot').focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await expect.poll(() => seconds(page)).not.toBe(40);
    await page.context().close();
  });

  test("closed again, it asks for packet logs no longer", async () => {
    const { page } = await shown();
    const sequence = page.locator('[data-view="sequence"]');
    await sequence.waitFor();
    await page.getByRole("button", { name: "Hide packets" }).click();
    await sequence.waitFor({ state: "detached" });
    expect(await page.locator(".network-stage").count()).toBe(0);
    await page.context().close();
  });

  test("shows 802.11 frames and the base's queues", async () => {
    const { page, errors } = await shown({}, "#scenario=wifi-cell");
    await page.getByText("802.11 queues show the length of the latest sample.").waitFor();
    await seek(page, 5);
    await page.getByText(/ap to w4: \d+ waiting/).waitFor();
    expect(await colours(page)).toBeGreaterThan(5);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("a run that follows a change of the scenario takes the place of the one before", async () => {
    const { page } = await shown();
    await seek(page, 50);
    await page.evaluate(() => {
      location.hash = "#scenario=cellular";
    });
    await page.getByText("Arrivals over r1->r2 are approximate: the link follows a trace.").waitFor();
    await expect.poll(() => seconds(page)).toBe(30);
    await page.context().close();
  });

  test("shows either of two scenarios", async () => {
    const { page } = await shown();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.locator(".network").getByLabel("Scenario").selectOption("b");
    await page.locator(".network-stage canvas").first().waitFor();
    await seek(page, 17.5);
    await page.getByText("At 17.500000 s: r1 to r2: 17 on the link, 39 waiting").waitFor();
    await page.context().close();
  });

  test("says why there is nothing to show", async () => {
    // The packets of the last run stay while the text has problems, so it has them before there are packets.
    const { page } = await opened(browser, "#scenario=standard");
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("wrong = 1\n");
    await page.getByRole("list", { name: "problems" }).waitFor();
    await page.getByRole("button", { name: "Show packets" }).click();
    await page.getByText("The scenario has problems.").waitFor();
    expect(await page.locator(".network-stage canvas").count()).toBe(0);
    await page.context().close();
  });

  test("fits a narrow screen", async () => {
    const { page } = await shown({ viewport: { width: 360, height: 740 } });
    await seek(page, 17.5);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await colours(page)).toBeGreaterThan(5);
    await page.context().close();
  });
});
