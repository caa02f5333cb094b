import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { pack } from "../../src/share/codec";
import { scenario } from "../engine";
import { chromiumPath, type Opened, opened, serious, started } from "./browser";

const FIRST = scenario("dumbbell-cubic");

/** The text in the editor. */
const text = (page: Page): Promise<string> =>
  page.evaluate(() => [...document.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"));

/** Opens the page and waits for its editor and its first run. */
async function ready(browser: Browser, path = "", options = {}): Promise<Opened> {
  const made = await opened(browser, path, { viewport: { width: 1400, height: 2600 }, ...options });
  await made.page.waitForSelector(".cm-content");
  // The editor draws only lines in view.
  await made.page.addStyleTag({ content: ".controls .editor { max-height: none !important; }" });
  await made.page.waitForFunction(() => document.querySelector(".run-bar .numbers")?.textContent?.includes("packets"));
  return made;
}

/** What the last run did, in numbers. */
const numbers = (page: Page): Promise<string> => page.locator(".run-bar .numbers").innerText();

/** Replaces the text by the keyboard. */
async function type(page: Page, toml: string): Promise<void> {
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(toml);
}

describe.skipIf(!chromiumPath)("controls in Chromium (Debian package chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await started();
  });
  afterAll(() => browser?.close());

  test("a slider changes the text, keeps its comments, and runs it", async () => {
    const { page, errors } = await ready(browser);
    const slider = page.getByRole("slider", { name: "Rate", exact: true });
    await slider.focus();
    for (let step = 0; step < 5; step++) await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("textbox", { name: "Rate", exact: true }).inputValue()).toBe("16 Mb/s");
    await expect
      .poll(() => text(page))
      .toContain('bottleneck = { rate = "16 Mb/s", delay = "20 ms", queue = { limit = "50 packets" } }');
    await expect.poll(() => text(page)).toContain("# A delay is one way.");
    // At 10 Mb/s a run has about 230,000 packets.
    const count = async (): Promise<number> => Number((await numbers(page)).split(" ")[0]?.replaceAll(",", ""));
    await expect.poll(count).toBeGreaterThan(350_000);
    const field = page.getByRole("textbox", { name: "Rate", exact: true });
    for (const [typed, written] of [
      ["2.5Mb/s", "2.5 Mb/s"],
      ["800", "800 Mb/s"],
      ["1,5 Gb/s", "1.5 Gb/s"],
    ] as const) {
      await field.fill(typed);
      await page.keyboard.press("Enter");
      await expect.poll(() => text(page)).toContain(`bottleneck = { rate = "${written}"`);
    }
    await field.fill("10 mbit");
    await page.keyboard.press("Enter");
    expect(await page.getByText("Allowed: a number and b/s, kb/s, Mb/s, Gb/s, Tb/s.").count()).toBe(1);
    expect(errors).toEqual([]);
  });

  test("typing changes the controls", async () => {
    const { page } = await ready(browser);
    await type(page, FIRST.replace('rate = "10 Mb/s"', 'rate = "3 Mb/s"').replace('name = "second"', 'name = "other"'));
    await page.waitForFunction(
      () => document.querySelector<HTMLInputElement>('.field input[type="text"]')?.value === "3 Mb/s",
    );
    expect(await page.getByRole("textbox", { name: "Name of flow 2" }).inputValue()).toBe("other");
  });

  test("a problem is marked at its line and listed, and the last run stays", async () => {
    const { page } = await ready(browser);
    const before = await numbers(page);
    await type(page, FIRST.replace('duration = "60 s"', 'duration = "60 sec"'));
    const item = page.getByRole("list", { name: "problems" }).getByRole("button");
    expect(await item.innerText()).toContain("line 13: duration");
    expect(await item.innerText()).toContain('did you mean "60 s"?');
    expect(await page.locator(".line-problem").innerText()).toBe('duration = "60 sec"');
    expect(await numbers(page)).toBe(`${before} (last text without problems)`);
    await item.click();
    expect(await page.evaluate(() => document.activeElement?.className)).toContain("cm-content");
  });

  test("flows are added and removed, and can be renamed and given another control", async () => {
    const { page } = await ready(browser);
    await page.getByRole("button", { name: "Add a flow" }).click();
    await expect.poll(() => text(page)).toContain('name = "flow3"\nfrom = "s3"\nto = "d3"');
    await page.getByLabel("Congestion control of flow3").selectOption("dctcp");
    await expect.poll(() => text(page)).toContain("ecn = true");
    await page.getByRole("textbox", { name: "Name of flow 3" }).fill("no good name");
    await page.keyboard.press("Tab");
    expect(await page.getByText("Allowed: 1 to 64 letters").count()).toBe(1);
    await page.getByRole("button", { name: "Remove first" }).click();
    await expect.poll(() => text(page)).not.toContain('name = "first"');
  });

  test("a scenario of the list is loaded with both arms, and the text before comes back", async () => {
    const { page } = await ready(browser);
    await page.getByRole("button", { name: "Scenarios" }).click();
    await page.getByRole("button", { name: /ACNS, with and without/ }).click();
    await page.waitForFunction(() => /A: .*B: /.test(document.querySelector(".run-bar .numbers")?.textContent ?? ""));
    await page.getByRole("button", { name: "Scenario B" }).click();
    expect(await page.getByLabel("ACNS in routers and at end points").isChecked()).toBe(false);
    await page.getByRole("button", { name: "Back to the former scenario" }).click();
    await expect.poll(() => text(page)).toContain("Two CUBIC flows share a bottleneck");
    expect(await page.getByRole("button", { name: "Stop comparing" }).count()).toBe(0);
  });

  test("B begins as a copy of A, and only the chosen one changes", async () => {
    const { page } = await ready(browser);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByLabel("Queue discipline").selectOption("codel");
    await expect.poll(() => text(page)).toContain('kind = "codel"');
    await page.getByRole("button", { name: "Scenario A" }).click();
    await page.waitForFunction(() => !document.querySelector(".cm-content")?.textContent?.includes("codel"));
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+z");
    expect(await text(page)).not.toContain("codel");
    expect(await page.getByLabel("Queue discipline").inputValue()).toBe("droptail");
  });

  test("a long run is asked for with its time, and can be stopped", async () => {
    const { page } = await ready(browser);
    await type(page, FIRST.replace(/10+ Mb/g, "10000 Mb"));
    const question = page.getByRole("alert");
    expect(await question.innerText()).toMatch(/takes about \d+ (s|minutes|hours) in this browser/);
    await question.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Run again" }).click();
    await question.getByRole("button", { name: "Run" }).click();
    await page.waitForFunction(() => document.querySelector(".run-bar .numbers")?.textContent?.includes("%"));
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.waitForFunction(() =>
      document.body.textContent?.includes("was stopped. The plots show the last complete run."),
    );
    await page.getByRole("textbox", { name: "Rate", exact: true }).fill("5 Mb/s");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => !document.body.textContent?.includes("was stopped"));
  });

  test("the text with all defaults is shown and cannot be changed", async () => {
    const { page } = await ready(browser);
    await page.getByLabel("with all defaults").check();
    await page.waitForFunction(() => document.querySelector(".cm-content")?.textContent?.includes("initial_window"));
    await type(page, "nothing");
    await page.getByLabel("with all defaults").uncheck();
    await page.waitForFunction(() => document.querySelector(".cm-content")?.textContent?.includes("Two CUBIC flows"));
  });

  test("the fragment holds what was changed, and a page opened with it shows the same", async () => {
    const { page } = await ready(browser);
    await page.getByLabel("Queue discipline").selectOption("fq_codel");
    await page.waitForFunction(() => location.hash.startsWith("#1."));
    const again = await ready(browser, await page.evaluate(() => location.hash));
    expect(await again.page.getByLabel("Queue discipline").inputValue()).toBe("fq_codel");
    expect(again.errors).toEqual([]);
  });

  test.each([
    ["#1.00000000.AAAA", "not complete"],
    ["#9.00000000.AAAA", "version 9"],
    ["#scenario=nothing", "no scenario nothing"],
  ])("a link %s is refused in words, and the page works", async (hash, words) => {
    const { page, errors } = await ready(browser, hash);
    expect(await page.getByRole("alert").innerText()).toContain(words);
    await page.getByRole("alert").getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Add a flow" }).click();
    await expect.poll(() => text(page)).toContain("flow3");
    expect(errors).toEqual([]);
  });

  test("a link names a scenario of the list, with both arms where it has two", async () => {
    const { page } = await ready(browser, "#scenario=ngwa-pair");
    await page.getByRole("button", { name: "Scenario B" }).click();
    await expect.poll(() => page.getByLabel("NGWA in routers and at end points").isChecked()).toBe(false);
  });

  test("names of a link's scenario are text", async () => {
    const toml = FIRST.replace('title = "', 'title = "<img src=x onerror=alert(1)>');
    const { page, errors } = await ready(browser, `#${await pack(JSON.stringify({ a: toml }))}`);
    expect(await page.locator(".scenario > h2").innerText()).toContain("<img src=x");
    expect(await page.locator(".controls img").count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test("code of a link does not run until the user says so", async () => {
    const source = "export default class { on_ack() {} on_congestion() {} }; throw new Error('it ran');";
    const content = {
      a: FIRST.replace('cc = "cubic"', 'cc = "mine"'),
      own: [{ name: "mine", title: "Mine", params: [], source }],
    };
    const { page } = await opened(browser, `#${await pack(JSON.stringify(content))}`);
    const notice = page.getByRole("alert").filter({ hasText: "The link brings a congestion control" });
    await notice.waitFor();
    await page.waitForTimeout(500);
    expect(await notice.innerText()).not.toContain("it ran");
    await notice.getByText("Text of mine").click();
    expect(await notice.locator("pre").innerText()).toBe(source);
    await notice.getByRole("button", { name: "Run this code" }).click();
    await notice.getByText("it ran").nth(1).waitFor();
  });

  test("a frame runs no code of a link", async () => {
    const own = [{ name: "mine", title: "", params: [], source: "export default class {}" }];
    const fragment = await pack(JSON.stringify({ a: FIRST, own }));
    const page = await browser.newPage();
    await page.setContent(`<iframe src="${inject("address")}#${fragment}" width="900" height="700"></iframe>`);
    const notice = page.frameLocator("iframe").locator(".notice");
    await notice.getByText("run outside of a frame").waitFor();
    expect(await notice.getByRole("button", { name: "Run this code" }).count()).toBe(0);
    expect(await notice.getByRole("link", { name: "Open in the laboratory" }).count()).toBe(1);
  });

  test("an embedded page has no controls, and leads to the whole one", async () => {
    const { page, errors } = await opened(browser, `?embed=1#${await pack(JSON.stringify({ a: FIRST }))}`);
    await page.waitForFunction(() => document.querySelector(".run-bar .numbers")?.textContent?.includes("packets"));
    expect(await page.locator(".controls").count()).toBe(0);
    expect(await page.getByRole("link", { name: "Open in the laboratory" }).count()).toBe(1);
    expect(errors).toEqual([]);
  });

  test("a browser without WebAssembly, and a page from a file, say so", async () => {
    const context = await browser.newContext();
    await context.addInitScript("delete globalThis.WebAssembly");
    const page = await context.newPage();
    await page.goto(inject("address"));
    await page.getByText("this browser has no WebAssembly").waitFor();
    const file = await context.newPage();
    for (const name of ["index.html", "lessons/aimd/index.html"]) {
      await file.goto(`file://${join(inject("directory"), name)}`);
      await file.getByText("This page does not work from a file").waitFor();
    }
  });

  test.each(["light", "dark"] as const)("axe finds nothing serious, %s", async (colorScheme) => {
    const { page } = await ready(browser, "", { colorScheme });
    await type(page, FIRST.replace('duration = "60 s"', 'duration = "60 sec"'));
    await page.getByRole("list", { name: "problems" }).waitFor();
    expect(await serious(page)).toEqual([]);
    await page.keyboard.press("Control+z");
    await page.getByRole("button", { name: "Scenarios" }).click();
    expect(await serious(page)).toEqual([]);
  });

  test("a phone's width is enough", async () => {
    const { page } = await ready(browser, "#scenario=acns", { viewport: { width: 360, height: 740 } });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
});
