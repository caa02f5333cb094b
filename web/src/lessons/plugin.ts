/** The Vite plugin that adds the lessons' pages to the page, when it is built and when it is served. */

import { resolve } from "node:path";
import type { Plugin } from "vite";
import { lessons } from "./content/index.ts";
import { pages } from "./pages.ts";

/** Adds `index.html` and the lessons to the inputs, and gives their content. No file is written but by the build. */
export function lessonPages(root: string): Plugin {
  const made = pages(lessons);
  const byFile = new Map([...made].map(([path, html]) => [resolve(root, path), html]));
  return {
    name: "lessons",
    config: () => ({
      build: { rollupOptions: { input: [resolve(root, "index.html"), ...byFile.keys()] } },
    }),
    resolveId: (id) => (byFile.has(id) ? id : null),
    load: (id) => byFile.get(id) ?? null,
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const path = (request.url ?? "")
          .replace(/^\//, "")
          .replace(/[?#].*$/, "")
          .replace(/\/$/, "/index.html");
        const html = made.get(path === "lessons" ? "lessons/index.html" : path);
        if (html === undefined) return next();
        server
          .transformIndexHtml(`/${path}`, html)
          .then((text) => {
            response.setHeader("content-type", "text/html");
            response.end(text);
          })
          .catch(next);
      });
    },
  };
}
