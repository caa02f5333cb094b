import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { chromiumPath, opened, started } from "./browser";

describe.skipIf(!chromiumPath)("without a network, in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());

  test("the page and its lessons open again after the first load, and run", async () => {
    const { page, errors } = await opened(browser);
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    const names = await page.evaluate(() => caches.keys());
    expect(names).toHaveLength(1);
    await page.context().setOffline(true);
    await page.reload();
    await page.waitForFunction(() => /packets in \d/.test(document.querySelector(".run-bar")?.textContent ?? ""));
    await page.goto(`${inject("address")}lessons/index.html`);
    expect(await page.locator("h1").count()).toBe(1);
    await page.goto(`${inject("address")}?from=a-link`);
    await page.waitForSelector("main");
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
