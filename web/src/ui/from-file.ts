/** What every page says if it is opened from a file. */

import type { Plugin } from "vite";

/** Runs in the page before its modules would; browsers say in the console alone that they do not load those. */
const SCRIPT = `
      if (location.protocol === "file:") {
        document.getElementById("app")?.replaceChildren(
          "This page does not work from a file: browsers load modules and WebAssembly from servers only. " +
            "Serve the laboratory's folder, for example by python3 -m http.server in it, and open http://localhost:8000/.",
        );
      }
    `;

/** Adds the script to all pages of the build. */
export function fromFile(): Plugin {
  return {
    name: "from-file",
    transformIndexHtml: () => [{ tag: "script", children: SCRIPT, injectTo: "body" }],
  };
}
