/** Keeps the files of the page, so that it works without a network after it was opened once. */

/** The files of the build, by path relative to this one, and a hash over all of them; the build fills this in. */
declare const NARROWS_FILES: { version: string; paths: string[] };

const worker = self as unknown as ServiceWorkerGlobalScope;
const { version, paths } = NARROWS_FILES;

/** Caches of this page only: other pages of the same host may have service workers of their own. */
const PREFIX = `narrows-laboratory ${worker.registration.scope} `;
const CACHE = PREFIX + version;

async function fill(): Promise<void> {
  const cache = await caches.open(CACHE);
  // The browser's own cache may hold an older page; names with a hash never change.
  await cache.addAll(
    paths.map((path) => new Request(path, { cache: path.startsWith("assets/") ? "default" : "reload" })),
  );
}

async function sweep(): Promise<void> {
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url);
  url.search = "";
  url.hash = "";
  if (url.pathname.endsWith("/")) url.pathname += "index.html";
  const cache = await caches.open(CACHE);
  return (await cache.match(url.href)) ?? fetch(request);
}

worker.addEventListener("install", (event) => event.waitUntil(fill()));
worker.addEventListener("activate", (event) => event.waitUntil(sweep()));
worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(worker.registration.scope)) event.respondWith(answer(request));
});
