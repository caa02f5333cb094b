/** Pages in Chromium, for tests. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { inject } from "vitest";

export { chromiumPath, started } from "./chromium";

/** A page with the errors that it met. */
export interface Opened {
  page: Page;
  /** Errors of scripts, and messages of the console that are errors. */
  errors: string[];
}

/** Opens an address below the served page. */
export async function opened(browser: Browser, path = "", options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(inject("address") + path);
  return { page, errors };
}

/** Serious and critical findings of axe-core in the page, or in what a selector names: rule and markup. */
export async function serious(page: Page, within = "html"): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  return page.evaluate(async (selector) => {
    // @ts-expect-error the library puts itself there
    const result = await window.axe.run(selector);
    const bad = result.violations.filter((one: { impact: string }) => ["serious", "critical"].includes(one.impact));
    return bad.map(
      (one: { id: string; nodes: { html: string }[] }) => `${one.id}: ${one.nodes[0]?.html.slice(0, 200)}`,
    );
  }, within);
}
