import preact from "@preact/preset-vite";
import { defineConfig } from "vite";
import { lessonPages } from "./src/lessons/plugin.ts";
import { offline } from "./src/offline/plugin.ts";
import { fromFile } from "./src/ui/from-file.ts";

export default defineConfig({
  // Relative addresses: the page works below any path, and inside the documentation site.
  base: "./",
  plugins: [preact(), lessonPages(import.meta.dirname), fromFile(), offline(import.meta.dirname)],
  worker: { format: "es" },
  build: { outDir: "../python/narrows/laboratory", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0 },
  server: { fs: { allow: [".."] } },
});
