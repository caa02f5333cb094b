import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, opened, started } from "./browser";

describe.skipIf(!chromiumPath)("the page in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());

  test("runs the first scenario when it is opened", async () => {
    const { page, errors } = await opened(browser);
    await page.waitForFunction(() => document.querySelector("main") !== null);
    expect(errors).toEqual([]);
  });
});
