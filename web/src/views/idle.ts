/** Work that follows what is in sight. */

/** Does something when the page has nothing else to do, at the latest after a time in ms; returns what cancels it. */
export function whenIdle(act: () => void, latest: number): () => void {
  if (typeof requestIdleCallback === "function") {
    const waiting = requestIdleCallback(act, { timeout: latest });
    return () => cancelIdleCallback(waiting);
  }
  // Safari has no idle callbacks.
  const waiting = setTimeout(act, Math.min(latest, 50));
  return () => clearTimeout(waiting);
}
