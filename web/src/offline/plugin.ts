/** The Vite plugin that builds the service worker, and lists the files of the build in it. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import type { Plugin } from "vite";

const NAME = "service-worker";

/** Beside `index.html`: a service worker controls only what is below its address. */
const FILE = `${NAME}.js`;

/** Paths of all files below a directory, with slashes. */
function below(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

/** The files of a build, and a hash over their names and contents. */
export function listed(directory: string): { version: string; paths: string[] } {
  const paths = below(directory).filter((path) => path !== FILE);
  const hash = createHash("sha256");
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(join(directory, path)));
  return { version: hash.digest("hex").slice(0, 16), paths };
}

/** Adds the service worker to the build, and tells the page that it is there. */
export function offline(root: string): Plugin {
  return {
    name: "offline",
    apply: "build",
    config: () => ({
      define: { "import.meta.env.SERVICE_WORKER": "true" },
      build: {
        rollupOptions: {
          input: [resolve(root, `src/offline/${NAME}.ts`)],
          output: {
            entryFileNames: ({ name }) => (name === NAME ? FILE : "assets/[name]-[hash].js"),
          },
        },
      },
    }),
    writeBundle({ dir }) {
      if (!dir) return;
      const file = join(dir, FILE);
      const list = `const NARROWS_FILES=${JSON.stringify(listed(dir))};`;
      writeFileSync(file, list + readFileSync(file, "utf8"));
    },
  };
}
