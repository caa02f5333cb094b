import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { chromiumPath, opened, serious, started } from "./browser";

describe.skipIf(!chromiumPath)("the user's own control in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());
  afterEach(() => page?.context().close());

  async function panel(): Promise<void> {
    ({ page, errors } = await opened(browser));
    await page.getByText("Your own congestion control").click();
    await page.locator(".own .cm-content").waitFor();
  }

  /** Replaces the text, and runs it in all flows. */
  async function run(source: string): Promise<void> {
    await page.locator(".own .cm-content").fill(source);
    await page.getByLabel("Use it in").selectOption("all flows");
    await page.locator(".own .cm-content").press("Control+Enter");
  }

  const text = (hook: string, elsewhere = ""): string =>
    `${elsewhere}export default class {\n  on_ack(ack, path, win) {\n    ${hook}\n  }\n  on_congestion() {}\n}\n`;

  const fault = (): Promise<string | null> => page.locator(".own .fault").textContent({ timeout: 30_000 });

  test("Reno runs in all flows, and its calls can be stepped through by keyboard", async () => {
    await panel();
    await page.getByLabel("Use it in").selectOption("all flows");
    await page.getByRole("button", { name: "Run (Ctrl+Enter)" }).click();
    await page.getByText("Runs use this text.").waitFor();
    await page.getByLabel("Keep the calls of a run").check();
    const list = page.getByRole("listbox", { name: /^Calls/ });
    await list.waitFor();
    expect(await list.getByRole("option").count()).toBeLessThan(60);
    await list.press("Home");
    const first = await page.locator(".values caption").textContent();
    await list.press("ArrowDown");
    await list.press("PageDown");
    expect(await page.locator(".stepping [role=status]").textContent()).toMatch(/^12 of \d+/);
    expect(await page.locator(".values caption").textContent()).not.toBe(first);
    expect(await page.getByRole("rowheader", { name: "path.flightsize" }).count()).toBe(1);
    // The playhead follows the chosen call, and leads to the call at its time.
    const playhead = page.locator("label", { hasText: "Playhead" }).locator("input").first();
    const chosen = await page.locator(".call[aria-selected=true] span").first().textContent();
    expect(Number(await playhead.inputValue())).toBeCloseTo(Number(chosen), 2);
    await playhead.fill("5");
    await playhead.press("Enter");
    await page.waitForFunction(() => {
      const time = document.querySelector(".call[aria-selected=true] span")?.textContent;
      return Math.abs(Number(time) - 5) < 0.05;
    });
    expect(await serious(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test("an error in a hook is shown at its line", async () => {
    await panel();
    await run(text("win.cwnd = absent;"));
    expect(await fault()).toMatch(/^Line 3: my_reno: on_ack threw ReferenceError: absent is not defined \(my_reno:3\)/);
    expect(await page.locator(".own .at-fault").textContent()).toBe("    win.cwnd = absent;");
  });

  test("a syntax error is shown at its line", async () => {
    await panel();
    await run(text("win.cwnd = ;"));
    expect(await fault()).toMatch(/^Line 3: my_reno: SyntaxError/);
    expect(await page.locator(".own .at-fault").textContent()).toBe("    win.cwnd = ;");
  });

  test("an invalid value is refused with hook, value and what is allowed", async () => {
    await panel();
    await run(text("win.cwnd = -1;"));
    expect(await fault()).toMatch(/my_reno: on_ack set cwnd to -1; allowed: a number of bytes from 1 to 1073725440/);
  });

  test("a text without a class, without a hook, or with a wrong default is refused", async () => {
    await panel();
    await run("export const a = 1;");
    expect(await fault()).toContain("my_reno: the text exports no class; allowed: export default class { ... }");
    await run("export default class { on_ack() {} }");
    await page.getByText("the class has no on_congestion").waitFor();
    await run(text("").replace("{\n", '{\n  static params = { beta: "half" };\n'));
    await page.getByText('parameter beta has the default "half"; allowed: a number, true or false').waitFor();
  });

  test("a hook that does not return is ended and named", async () => {
    await panel();
    await run(text("while (true) {}"));
    expect(await fault()).toMatch(/^my_reno: on_ack did not return within 2 s; simulated time [\d.]+ s, call \d+/);
  });

  test("a text that does not end is ended before any hook", async () => {
    await panel();
    await run(text("", "while (true) {}\n"));
    expect(await fault()).toContain("my_reno: the text did not end within 2 s, before any hook was called");
  });

  test("a name of the engine's is refused", async () => {
    await panel();
    await page.getByLabel("Name", { exact: true }).fill("cubic");
    await page.getByLabel("Name", { exact: true }).press("Tab");
    await page.getByRole("button", { name: "Run (Ctrl+Enter)" }).click();
    expect(await fault()).toContain("the engine has one of this name");
  });

  test("texts are there again when the page is opened again, and are not run", async () => {
    await panel();
    await page.locator(".own .cm-content").fill(text("win.cwnd = 3000;"));
    await page.reload();
    await page.getByText("Your own congestion control").click();
    await page.locator(".own .cm-content").getByText("win.cwnd = 3000;").waitFor();
    await page.getByText("Not run yet.").waitFor();
  });

  test("code that came by a link is shown, and not run until asked", async () => {
    await panel();
    const source = text("win.cwnd = 10 * path.smss;", 'fetch("ran-of-link");\n');
    await run(source);
    await page.getByText("Runs use this text.").waitFor();
    await page.waitForURL(/#./);
    const link = page.url();
    await page.context().close();

    ({ page, errors } = await opened(browser, "lessons/index.html"));
    const fetched: string[] = [];
    page.context().on("request", (request) => request.url().endsWith("ran-of-link") && fetched.push(request.url()));
    await page.goto(link);
    await page.locator(".own .foreign").waitFor();
    expect(await page.locator(".own .cm-content").textContent()).toContain("win.cwnd = 10 * path.smss;");
    await page.waitForTimeout(1500);
    expect(fetched).toEqual([]);
    await page.getByRole("button", { name: "Run (Ctrl+Enter)" }).click();
    await page.getByText("Runs use this text.").waitFor();
    expect(fetched).not.toEqual([]);
  });

  test("it is usable at 360 px width, in the dark too", async () => {
    await panel();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= 360);
    expect(await serious(page)).toEqual([]);
  });
});
