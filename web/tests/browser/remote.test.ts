import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { chromiumPath, serious, started } from "./browser";
import { python, runPython, type Server, serve } from "./server";

const RESULTS = `
import narrows as nw
from narrows.studies.comparison import directory
from narrows.studies.comparison.comparison import Arm, Comparison
run = nw.run("dumbbell-cubic", overrides={"duration": "12 s"})
other = nw.run("dumbbell-cubic", seed=2, overrides={"duration": "12 s"})
run.save("results/one")
run.report("results/one")
directory.write(Comparison(Arm("simulated", run), Arm("live", other)), "results/both")
`;

describe.skipIf(!chromiumPath || !python)("the page under narrows ui (Chromium, and the extra `ui`)", () => {
  let browser: Browser;
  const directory = mkdtempSync(join(tmpdir(), "narrows-ui-"));
  const servers: Server[] = [];
  beforeAll(async () => {
    browser = await started();
    runPython(directory, RESULTS);
  });
  afterAll(async () => {
    await browser?.close();
    for (const server of servers) server.process.kill();
    rmSync(directory, { recursive: true });
  });

  async function opened(name = ""): Promise<{ page: Page; errors: string[]; server: Server }> {
    const server = await serve(inject("directory"), directory, name);
    servers.push(server);
    const page = await (await browser.newContext()).newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(server.address);
    await page.waitForSelector(".remote summary");
    return { page, errors, server };
  }

  const finished = (page: Page): Promise<unknown> =>
    page.waitForFunction(() =>
      /packets(?: in \d|, recorded)/.test(document.querySelector(".run-bar")?.textContent ?? ""),
    );

  const status = (page: Page, text: string): Promise<unknown> =>
    page.waitForFunction(
      (wanted) => document.querySelector(".remote [role=status]")?.textContent?.includes(wanted),
      text,
    );

  test("a scenario is run by the server, and its result saved once", async () => {
    const { page, errors } = await opened("dumbbell-cubic");
    await finished(page);
    await page.click(".remote summary");
    expect(await page.textContent(".remote")).toContain("The last run was the native engine's.");
    await page.fill(".remote input[type=text]", "saved");
    await page.click('.remote button:text-is("Save result")');
    await status(page, "saved: saved");
    expect(existsSync(join(directory, "saved/samples.parquet"))).toBe(true);
    expect(await page.evaluate(() => navigator.serviceWorker.getRegistrations().then((all) => all.length))).toBe(0);
    expect(await serious(page, ".remote")).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("results are opened from the list: both arms of a comparison, and a page in a frame without rights", async () => {
    const { page, errors } = await opened();
    await finished(page);
    await page.click(".remote summary");
    await page.waitForSelector(".remote option", { state: "attached" });
    await page.selectOption(".remote select", "results/both");
    await page.click('.remote button:text-is("Open in A and B")');
    await status(page, "A is simulated, B is live");
    await page.waitForFunction(() => document.querySelector(".remote")?.textContent?.includes("read from a directory"));
    await page.selectOption(".remote select", "results/one");
    await page.click('.remote button:text-is("Show page")');
    const frame = page.frameLocator(".result-page iframe");
    await frame.locator("h1").first().waitFor();
    const inside = page.frames().find((one) => one.url().endsWith("/report.html"));
    expect(await inside?.evaluate(() => self.origin)).toBe("null");
    expect(await inside?.evaluate(() => document.querySelectorAll("canvas").length)).toBeGreaterThan(0);
    expect(errors).toEqual([]);
    expect(
      await inside?.evaluate(() =>
        fetch(new URL("../../session.json", location.href)).then(
          () => 1,
          () => 0,
        ),
      ),
    ).toBe(0);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".result-page", { state: "detached" });
    await page.context().close();
  });

  test("a directory of results is opened first, and a lost server is told", async () => {
    const { page, errors, server } = await opened("results/one");
    await status(page, "results/one: in A");
    await finished(page);
    server.process.kill("SIGKILL");
    await page.click(".remote summary");
    await page.waitForSelector(".remote option", { state: "attached" });
    await page.fill(".remote input[type=text]", "lost");
    await page.click('.remote button:text-is("Save result")');
    await status(page, "the server has ended");
    expect(existsSync(join(directory, "lost"))).toBe(false);
    expect(errors.filter((one) => !/WebSocket|ERR_CONNECTION|Failed to load/.test(one))).toEqual([]);
    await page.context().close();
  });
});
