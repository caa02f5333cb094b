/** Builds the page once for all browser tests, and serves it. */

import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";

const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

declare module "vitest" {
  interface ProvidedContext {
    /** Address of the served page, ending in a slash. */
    address: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "narrows-page-"));
  await build({
    root: join(import.meta.dirname, "../.."),
    build: { outDir: directory, emptyOutDir: true },
    logLevel: "error",
  });
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://page").pathname));
    let file = join(directory, path);
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
    if (!file.startsWith(directory) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  project.provide("address", `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return () => {
    server.close();
    rmSync(directory, { recursive: true });
  };
}
