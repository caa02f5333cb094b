/** The Chromium of this machine. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Path of Chromium; undefined if there is none. Tests then skip: `describe.skipIf(!chromiumPath)`. */
export const chromiumPath: string | undefined = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((directory) => NAMES.map((name) => join(directory, name)))
  .find((path) => existsSync(path));

/** Starts the browser. */
export function started(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath ?? "chromium", args: ["--no-sandbox"] });
}
