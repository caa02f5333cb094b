/** Chromium for tests: the one of this machine. */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { inject } from "vitest";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Path of Chromium; undefined if there is none. Tests then skip: `describe.skipIf(!chromiumPath)`. */
export const chromiumPath: string | undefined = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((directory) => NAMES.map((name) => join(directory, name)))
  .find((path) => existsSync(path));

/** A page with the errors that it met. */
export interface Opened {
  page: Page;
  /** Errors of scripts, and messages of the console that are errors. */
  errors: string[];
}

/** Starts the browser. */
export function started(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? "chromium", args: ["--no-sandbox"] });
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

/** Serious and critical findings of axe-core: rule and markup. */
export async function serious(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  return page.evaluate(async () => {
    // @ts-expect-error the library puts itself there
    const result = await window.axe.run();
    const bad = result.violations.filter((one: { impact: string }) => ["serious", "critical"].includes(one.impact));
    return bad.map(
      (one: { id: string; nodes: { html: string }[] }) => `${one.id}: ${one.nodes[0]?.html.slice(0, 200)}`,
    );
  });
}
