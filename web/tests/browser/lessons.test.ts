import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { lessons } from "../../src/lessons/content";
import { filled } from "../../src/lessons/pages";
import { chromiumPath, opened, serious, started } from "./browser";

describe.skipIf(!chromiumPath)("lessons in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());
  afterEach(() => page?.context().close());

  const open = async (name: string, options = {}): Promise<void> => {
    ({ page, errors } = await opened(browser, `lessons/${name}/index.html`, options));
  };

  test("every lesson runs, and shows the numbers that its answer has for the scenario as it is", async () => {
    await open(lessons[0]?.name ?? "");
    for (const [index, lesson] of lessons.entries()) {
      await page.waitForFunction(
        () => [...document.querySelectorAll(".watched td")].some((cell) => /\d/.test(cell.textContent ?? "")),
        undefined,
        { timeout: 30_000 },
      );
      expect(await page.locator("h1").first().textContent(), lesson.name).toContain(lesson.title);
      if (index < lessons.length - 1) await page.locator("a[rel=next]").first().click();
    }
    expect(errors).toEqual([]);
  });

  test("a changed scenario changes the numbers", async () => {
    await open("slow-start");
    const lost = page.locator(".watched tr", { hasText: "Packets lost" }).locator("td");
    await lost.getByText("137 packets").waitFor();
    const buffer = page.getByLabel("Buffer", { exact: true }).first();
    await buffer.fill("268 packets");
    await buffer.press("Enter");
    await lost.getByText("337 packets").waitFor();
    const back = page.getByRole("button", { name: "Back to the scenario of the lesson" });
    await back.click();
    await lost.getByText("137 packets").waitFor();
    expect(await back.isDisabled()).toBe(true);
    await buffer.fill("268 packets");
    await buffer.press("Enter");
    await lost.getByText("337 packets").waitFor();
    const href = await page.waitForFunction(() => {
      const anchor = document.getElementById("open");
      return anchor instanceof HTMLAnchorElement && anchor.hash.length > 1 ? anchor.href : null;
    });
    await page.goto((await href.jsonValue()) ?? "");
    await page.getByText("337 packets were lost").first().waitFor();
    expect(errors).toEqual([]);
  });

  test("without JavaScript the lesson can be read, its answer too", async () => {
    await open("bufferbloat", { javaScriptEnabled: false });
    const lesson = lessons.find((one) => one.name === "bufferbloat");
    if (!lesson) throw new Error("there is no such lesson");
    const answer = page.getByText(filled(lesson.answer[0] ?? "", lesson));
    expect(await answer.isVisible()).toBe(false);
    await page.getByText("Answer", { exact: true }).click();
    expect(await answer.isVisible()).toBe(true);
    expect(await page.locator("#scenario").textContent()).toContain('kind = "dumbbell"');
  });

  test("a lesson prints without its answer, or with it, and never with the laboratory", async () => {
    await open("aimd");
    await page.locator(".watched").waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("details.answer").isVisible()).toBe(false);
    expect(await page.locator("#app").isVisible()).toBe(false);
    const printed = await page.evaluate(() => {
      const seen: boolean[] = [];
      window.print = () => seen.push(document.querySelector("details.answer")?.hasAttribute("open") ?? false);
      document.getElementById("print")?.click();
      document.getElementById("print-answer")?.click();
      seen.push(document.querySelector("details.answer")?.hasAttribute("open") ?? true);
      return seen;
    });
    expect(printed).toEqual([false, true, false]);
  });

  test.each(["light", "dark"] as const)("no serious findings of axe-core, at 360 px too (%s)", async (colorScheme) => {
    await open("wifi", { colorScheme, viewport: { width: 360, height: 740 } });
    await page.locator(".watched").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    expect(await serious(page)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(await serious(page)).toEqual([]);
    await page.locator("nav a", { hasText: "All lessons" }).first().click();
    expect(await page.locator("main.lessons li").count()).toBe(lessons.length);
    expect(await serious(page)).toEqual([]);
  });
});
