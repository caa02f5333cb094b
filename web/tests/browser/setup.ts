/** Builds the page once for all browser tests, and serves it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";
import { served } from "./served";

declare module "vitest" {
  interface ProvidedContext {
    /** Address of the served page, ending in a slash. */
    address: string;
    /** Directory of the built page. */
    directory: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "narrows-page-"));
  await build({
    root: join(import.meta.dirname, "../.."),
    build: { outDir: directory, emptyOutDir: true },
    logLevel: "error",
  });
  const server = await served(directory);
  project.provide("directory", directory);
  project.provide("address", server.address);
  return () => {
    server.close();
    rmSync(directory, { recursive: true });
  };
}
