/** Registers the service worker, where there can be one. */

import { served } from "../remote/session";

/** Hosts that browsers trust without encryption: pages of this machine. */
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Name of the built service worker, beside `index.html`. */
const FILE = "service-worker.js";

/**
 * Keeps the page for use without a network.
 *
 * Not from the file system, where browsers allow none, nor under `narrows ui`, whose address holds for one session.
 */
export function keepOffline(): void {
  const { protocol, hostname } = location;
  const trusted = protocol === "https:" || (protocol === "http:" && LOCAL.has(hostname));
  if (!import.meta.env.SERVICE_WORKER || !trusted || served() || !("serviceWorker" in navigator)) return;
  // Scripts are in a folder of the page's root. A variable keeps the bundler from taking the file for one of its own.
  const here = import.meta.url;
  navigator.serviceWorker.register(new URL(`../${FILE}`, here)).catch((error: unknown) => {
    console.warn(`The page will not work offline: ${error instanceof Error ? error.message : String(error)}`);
  });
}
